//! A small private disk: a file system in memory with a tablespace on it, if the test may mount one.

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::process::Command;

use tempfile::TempDir;

use crate::harness::{Bench, Session};

/// Unmounted when dropped, with its tablespace, which must be empty then.
pub(super) struct Room {
    folder: TempDir,
    name: String,
    admin: Session,
}

impl Room {
    /// Mounts a disk for `bench`, which must be dropped first. Returns `None` if it cannot be mounted.
    pub(super) fn mount(bench: &Bench) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=1g", "tmpfs"]).arg(folder.path());
        if !mount.output().is_ok_and(|mounted| mounted.status.success()) {
            return None;
        }
        let name = format!("room_of_{}", bench.value("SELECT current_database()"));
        let room = Self { folder, name, admin: bench.other_in("postgres") };
        let data = fs::metadata(bench.value("SHOW data_directory")).unwrap();
        let place = room.folder.path();
        fs::set_permissions(place, Permissions::from_mode(0o755)).unwrap();
        chown(place, Some(data.uid()), Some(data.gid())).unwrap();
        let place = place.to_str().unwrap().replace('\'', "''");
        room.admin.run(&format!("CREATE TABLESPACE {} LOCATION '{place}'", room.name));
        Some(room)
    }

    pub(super) fn tablespace(&self) -> &str {
        &self.name
    }

    /// Changes the size, in bytes.
    pub(super) fn resize(&self, bytes: u64) {
        let mut mount = Command::new("mount");
        mount.arg("-o").arg(format!("remount,size={bytes}")).arg(self.folder.path());
        let resized = mount.output().unwrap();
        assert!(resized.status.success(), "{}", String::from_utf8_lossy(&resized.stderr));
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if let Err(error) = self.admin.try_run(&format!("DROP TABLESPACE IF EXISTS {}", self.name))
        {
            eprintln!("{error:?}");
        }
        let _ = Command::new("umount").arg("--lazy").arg(self.folder.path()).status();
    }
}
