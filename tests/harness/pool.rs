//! A private pgbouncer in front of a server.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use tempfile::TempDir;

use super::{Address, free_port, wait_until};

/// A pgbouncer that lives as long as the test.
pub(crate) struct Pool {
    process: Child,
    folder: TempDir,
    server: Address,
    size: usize,
    port: u16,
}

impl Pool {
    /// Starts a pool in front of the server of `url`, with `size` server sessions in pool mode `mode`.
    pub(crate) fn before(url: &str, mode: &str, size: usize) -> Self {
        let program = std::env::var("PGSLUICE_TEST_PGBOUNCER");
        let program = program.expect("PGSLUICE_TEST_PGBOUNCER is not set: run by `make test`");
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let port = free_port();
        let settings = folder.path().join("pgbouncer.ini");
        let server = Address::from_url(url);
        write(&settings, &server, port, mode, size);
        let mut command = Command::new(program);
        // pgbouncer refuses to run as root.
        if fs::metadata(folder.path()).unwrap().uid() == 0 {
            command.args(["-u", "nobody"]);
        }
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let process = command.arg(&settings).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = process.spawn().unwrap();
        wait_until("pgbouncer", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Self { process, folder, server, size, port }
    }

    /// Returns the server's URL through the pool.
    pub(crate) fn url(&self) -> String {
        let Address { database, user, password, .. } = &self.server;
        format!("postgresql://{user}:{password}@127.0.0.1:{}/{database}", self.port)
    }

    /// Changes the pool mode from the next statement on.
    pub(crate) fn set_mode(&self, mode: &str) {
        write(&self.settings(), &self.server, self.port, mode, self.size);
        let pid = self.process.id().to_string();
        assert!(Command::new("kill").args(["-HUP", &pid]).status().unwrap().success());
        let log = self.folder.path().join("log");
        wait_until("the mode", || fs::read_to_string(&log).unwrap().contains("got SIGHUP"));
    }

    fn settings(&self) -> PathBuf {
        self.folder.path().join("pgbouncer.ini")
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let _ = self.process.kill().and_then(|()| self.process.wait());
    }
}

fn write(path: &PathBuf, server: &Address, own_port: u16, mode: &str, size: usize) {
    let Address { host, port, user, password, .. } = server;
    // Until 1.22.1, pgbouncer miscounts outstanding requests after a COPY, and may give a session to the next
    // client before it has answered the previous one completely.
    let once = if mode == "session" { "server_lifetime = 0\n" } else { "" };
    let settings = format!(
        "[databases]\n\
         * = host={host} port={port} user={user} password={password}\n\
         [pgbouncer]\n\
         listen_addr = 127.0.0.1\nlisten_port = {own_port}\nunix_socket_dir =\n\
         auth_type = any\npool_mode = {mode}\ndefault_pool_size = {size}\n\
         server_login_retry = 1\n{once}"
    );
    fs::write(path, settings).unwrap();
}
