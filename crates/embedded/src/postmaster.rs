//! The running server: finds and stops it.
//!
//! `postmaster.pid` (PostgreSQL's `src/include/utils/pidfile.h`, lines: pid, data directory, start time, port,
//! socket directory, listen address, shared memory, status) describes the server. The file outlives a crash, and
//! another process may then have its pid. So only an answer on the socket in the server's private directory
//! counts as running.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pgsluice_session::{Error, Kind, Result};

use super::failed;

pub(super) const POLL: Duration = Duration::from_millis(50);
const STOP_WAIT: Duration = Duration::from_secs(300);

/// The contents of `postmaster.pid`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Postmaster {
    pub(super) port: u16,
    pub(super) pid: i32,
    socket_directory: PathBuf,
    pub(super) ready: bool,
}

impl Postmaster {
    /// Returns the server that runs in `data`, if one answers.
    pub(super) fn running(data: &Path) -> Result<Option<Self>> {
        Ok(Self::read(data)?.filter(|found| found.answers(data)))
    }

    /// Returns the server that runs in `data`, and waits while it starts or recovers.
    pub(super) fn wait_ready(data: &Path) -> Result<Option<Self>> {
        loop {
            match Self::running(data)? {
                Some(found) if !found.ready => sleep(POLL),
                other => return Ok(other),
            }
        }
    }

    /// Reads the lock file, which may be outdated.
    pub(super) fn read(data: &Path) -> Result<Option<Self>> {
        let path = lock_file(data);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(Self::parse(&text)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(failed("read", &path)(error)),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        Some(Self {
            pid: lines.first()?.parse().ok().filter(|pid| *pid > 1)?,
            port: lines.get(3)?.parse().ok()?,
            socket_directory: lines.get(4)?.into(),
            ready: lines.get(7).is_some_and(|status| *status == "ready"),
        })
    }

    fn answers(&self, data: &Path) -> bool {
        let owner = |path: &Path| fs::symlink_metadata(path).map(|found| found.uid()).ok();
        let private = owner(&self.socket_directory) == owner(data);
        let socket = self.socket_directory.join(format!(".s.PGSQL.{}", self.port));
        private && UnixStream::connect(socket).is_ok()
    }

    /// Shuts the server down in fast mode, and returns when it has ended.
    pub(super) fn stop(&self, data: &Path) -> Result<()> {
        match kill(Pid::from_raw(self.pid), Signal::SIGINT) {
            Ok(()) | Err(Errno::ESRCH) => {}
            Err(errno) => {
                return Err(Error::new(
                    Kind::Server,
                    format!("could not stop the embedded server (pid {}): {errno}", self.pid),
                )
                .with_hint("Stop it as the user who started it."));
            }
        }
        let begin = Instant::now();
        while Self::read(data)?.is_some_and(|found| found.pid == self.pid && found.lives()) {
            if begin.elapsed() > STOP_WAIT {
                return Err(Error::new(
                    Kind::Server,
                    format!("the embedded server (pid {}) is still shutting down", self.pid),
                )
                .with_hint("Check its log, next to its data directory, and try again."));
            }
            sleep(POLL);
        }
        self.remove_socket_directory();
        Ok(())
    }

    fn lives(&self) -> bool {
        kill(Pid::from_raw(self.pid), None) != Err(Errno::ESRCH)
    }

    fn remove_socket_directory(&self) {
        // Fails, as it should, if the directory is not empty.
        let _ = fs::remove_dir(&self.socket_directory);
    }
}

/// Returns the path of PostgreSQL's lock file.
pub(super) fn lock_file(data: &Path) -> PathBuf {
    data.join("postmaster.pid")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "4242\n/x/data\n1760000000\n5433\n/x/socket\n127.0.0.1\n  12 34\nready   \n";

    #[test]
    fn lock_file_is_read_line_by_line() {
        let found = Postmaster::parse(FILE).unwrap();
        let socket_directory = "/x/socket".into();
        assert_eq!(found, Postmaster { port: 5433, pid: 4242, socket_directory, ready: true });
        assert!(!Postmaster::parse(&FILE.replace("ready   ", "starting")).unwrap().ready);
    }

    #[test]
    fn a_lock_file_that_is_cut_or_names_no_process_is_no_server() {
        assert_eq!(Postmaster::parse(""), None);
        assert_eq!(Postmaster::parse("4242\n/x/data\n"), None);
        // Signals to 0, 1 and -4242 would reach groups or init.
        for pid in ["0", "1", "-4242"] {
            assert_eq!(Postmaster::parse(&FILE.replace("4242", pid)), None);
        }
    }
}
