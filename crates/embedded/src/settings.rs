//! Server settings that suit loading, from the machine's memory and disk. They are written to postgresql.conf
//! once, when the cluster is created, so that later edits and ALTER SYSTEM win.

use std::fs;
use std::path::Path;

use nix::sys::statvfs::statvfs;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Returns lines for postgresql.conf.
pub(super) fn for_loading(data: &Path) -> String {
    let buffers = shared_buffers(memory().unwrap_or(0)) / MIB;
    let wal = max_wal_size(free_disk(data).unwrap_or(0)) / GIB;
    format!(
        "\n# Set by pgsluice when it made this cluster, from this machine's memory and disk.\n\
         shared_buffers = '{buffers}MB'\n\
         max_wal_size = '{wal}GB'\n\
         max_connections = 100\n"
    )
}

/// Returns a quarter of the memory, from 128 MiB to 4 GiB.
fn shared_buffers(memory: u64) -> u64 {
    (memory / 4).clamp(128 * MIB, 4 * GIB)
}

/// Returns 8 GiB if that is at most a quarter of the free disk, for fewer checkpoints during a load; else 1 GiB.
fn max_wal_size(free: u64) -> u64 {
    if free >= 32 * GIB { 8 * GIB } else { GIB }
}

/// Returns the machine's memory or the container's limit, whichever is less.
fn memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().as_deref().and_then(mem_total);
    let limit = fs::read_to_string("/sys/fs/cgroup/memory.max").ok();
    let limit = limit.and_then(|text| text.trim().parse().ok());
    machine.into_iter().chain(limit).min()
}

fn mem_total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kib * 1024)
}

#[allow(clippy::unnecessary_cast)] // the fields' types differ between systems
fn free_disk(path: &Path) -> Option<u64> {
    let found = statvfs(path).ok()?;
    Some(found.blocks_available() as u64 * found.fragment_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_are_a_quarter_of_memory_within_limits() {
        assert_eq!(shared_buffers(0), 128 * MIB);
        assert_eq!(shared_buffers(8 * GIB), 2 * GIB);
        assert_eq!(shared_buffers(512 * GIB), 4 * GIB);
    }

    #[test]
    fn a_small_disk_gets_little_wal() {
        assert_eq!(max_wal_size(10 * GIB), GIB);
        assert_eq!(max_wal_size(32 * GIB), 8 * GIB);
    }

    #[test]
    fn meminfo_is_in_kib() {
        assert_eq!(mem_total("MemTotal:       2048 kB\nMemFree: 1 kB\n"), Some(2 * MIB));
        assert_eq!(mem_total("nothing"), None);
    }
}
