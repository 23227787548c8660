//! Starts `postgres` on an existing cluster, and waits until it accepts connections. It does not use pg_ctl,
//! whose `-o` passes through a shell and which gives up on a long recovery.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread::sleep;

use pgsluice_session::{Error, Kind, Result};

use super::account::Account;
use super::binaries::Binaries;
use super::directory::Directory;
use super::failed;
use super::postmaster::{POLL, Postmaster, lock_file};

const ATTEMPTS: usize = 10;

/// The inputs for starting a server.
pub(super) struct Launch<'a> {
    pub(super) directory: &'a Directory,
    pub(super) binaries: &'a Binaries,
    pub(super) account: &'a Account,
    pub(super) settings: &'a [(String, String)],
}

impl Launch<'_> {
    /// Starts the server and waits until it accepts connections.
    pub(super) fn run(&self) -> Result<Postmaster> {
        let data = self.directory.data();
        let socket_directory = self.directory.make_socket_directory(self.account)?;
        let mut port = self.directory.port().filter(|port| is_free(*port));
        let mut output = String::new();
        for _ in 0..ATTEMPTS {
            remove_leftovers(&data, &socket_directory)?;
            let chosen = port.take().map_or_else(free_port, Ok)?;
            match self.attempt(&data, &socket_directory, chosen)? {
                Ok(postmaster) => return Ok(postmaster),
                Err(log) => output = log,
            }
            if !is_passing(&output) {
                break;
            }
            sleep(10 * POLL);
        }
        Err(Error::new(Kind::Server, format!("PostgreSQL {} did not start", self.binaries.version))
            .with_detail(last_lines(&output, 12))
            .with_hint(format!("The whole log is \"{}\".", self.directory.log().display())))
    }

    /// Tries one start. The inner error is the server's log up to its end.
    fn attempt(&self, data: &Path, socket: &Path, port: u16) -> Result<Result<Postmaster, String>> {
        let path = self.directory.log();
        let mut log = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed("open", &path))?;
        let begin = log.seek(SeekFrom::End(0)).map_err(failed("read", &path))?;
        let mut child = self.spawn(data, socket, port, &log)?;
        loop {
            let found = Postmaster::read(data)?.filter(|found| found.ready);
            if let Some(found) = found.filter(|found| found.pid.unsigned_abs() == child.id()) {
                return Ok(Ok(found));
            }
            if child.try_wait().map_err(failed("wait for", &path))?.is_some() {
                let mut written = Vec::new();
                log.seek(SeekFrom::Start(begin))
                    .and_then(|_| log.read_to_end(&mut written))
                    .map_err(failed("read", &path))?;
                return Ok(Err(String::from_utf8_lossy(&written).into_owned()));
            }
            sleep(POLL);
        }
    }

    fn spawn(&self, data: &Path, socket: &Path, port: u16, log: &File) -> Result<Child> {
        let program = self.binaries.program("postgres");
        let copy =
            || log.try_clone().map(Stdio::from).map_err(failed("open", &self.directory.log()));
        // This is a list of directories, in which quotes protect commas and spaces.
        let sockets = socket.display().to_string().replace('"', "\"\"");
        let mut command = self.account.command(&program);
        command
            .arg("-D")
            .arg(data)
            .arg(format!("-cport={port}"))
            .arg("-clisten_addresses=127.0.0.1")
            .arg(format!("-cunix_socket_directories=\"{sockets}\""))
            .args(self.settings.iter().map(|(name, value)| format!("-c{name}={value}")))
            .stdout(copy()?)
            .stderr(copy()?)
            // A separate process group, so that Ctrl-C in the terminal does not reach the server.
            .process_group(0);
        command.spawn().map_err(failed("run", &program))
    }
}

/// Removes leftovers of a crashed server that would stop PostgreSQL from starting.
///
/// PostgreSQL removes lock files of dead processes itself. It refuses to start if their process is alive and
/// belongs to its own user (`CreateLockFile` in miscinit.c). That may be a zombie, or any process that got the
/// pid after a reboot. If a server of `data` were running after all, the shared memory block of its data
/// directory would still prevent the start.
fn remove_leftovers(data: &Path, socket_directory: &Path) -> Result<()> {
    if let Some(found) = Postmaster::read(data)? {
        let process = Path::new("/proc").join(found.pid.to_string());
        // A postmaster's working directory is its data directory; a zombie has none.
        let works_in = fs::read_link(process.join("cwd")).ok();
        if works_in.is_some_and(|cwd| data.canonicalize().is_ok_and(|data| data == cwd)) {
            return Ok(());
        }
        if process.is_dir() {
            let path = lock_file(data);
            fs::remove_file(&path).map_err(failed("remove", &path))?;
        }
    }
    let remove = |entry: io::Result<fs::DirEntry>| fs::remove_file(entry?.path());
    fs::read_dir(socket_directory)
        .and_then(|mut entries| entries.try_for_each(remove))
        .map_err(failed("empty", socket_directory))
}

/// Whether another try may succeed: another process took the port, or the processes of a crashed server are
/// still ending.
fn is_passing(log: &str) -> bool {
    ["Address already in use", "pre-existing shared memory block", "FATAL:  lock file"]
        .into_iter()
        .any(|reason| log.contains(reason))
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn free_port() -> Result<u16> {
    let listen = || -> io::Result<u16> {
        Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
    };
    listen()
        .map_err(|error| Error::new(Kind::Server, format!("could not find a free port: {error}")))
}

fn last_lines(text: &str, count: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(count)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_lines_are_the_last() {
        assert_eq!(last_lines("a\nb\nc\n", 2), "b\nc");
        assert_eq!(last_lines("", 2), "");
    }
}
