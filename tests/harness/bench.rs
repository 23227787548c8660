//! The usual setting of a test: a database, and a folder in which the program runs.

use std::ffi::OsStr;
use std::fs;
use std::path::PathBuf;
use std::process::Stdio;

use tempfile::TempDir;

use super::{Ended, Hold, Running, Scratch, Server, Session, program, wait_until, with_database};

/// A database, and a folder for the inputs.
pub(crate) struct Bench {
    pub(crate) url: String,
    pub(crate) session: Session,
    pub(crate) folder: TempDir,
    /// Dropped after the sessions have ended.
    _scratch: Option<Scratch>,
}

impl Bench {
    pub(crate) fn new(server: Server) -> Self {
        let scratch = server.scratch();
        let (url, session) = (scratch.url().to_owned(), scratch.session());
        Self { url, session, folder: tempfile::tempdir().unwrap(), _scratch: Some(scratch) }
    }

    /// Opens a database of a private server, which is removed with the server.
    pub(crate) fn from_url(url: &str) -> Self {
        let (session, folder) = (Session::open(url), tempfile::tempdir().unwrap());
        Self { url: url.to_owned(), session, folder, _scratch: None }
    }

    /// Opens the session again after the server was restarted.
    pub(crate) fn come_back(&mut self) {
        self.session = self.other();
    }

    /// Opens another session.
    pub(crate) fn other(&self) -> Session {
        Session::open(&self.url)
    }

    /// Opens a session in another database of the server.
    pub(crate) fn other_in(&self, database: &str) -> Session {
        Session::open(&with_database(&self.url, database))
    }

    /// Opens a database with a table `t`, which has the columns `id` and `v` and ten ids in each of the
    /// leaves `t0` to `t9`.
    pub(crate) fn with_table(server: Server) -> Self {
        let bench = Self::new(server);
        bench.make_table();
        bench
    }

    pub(crate) fn make_table(&self) {
        self.session.run("CREATE TABLE t (id int NOT NULL, v text) PARTITION BY RANGE (id)");
        for leaf in 0..10 {
            let (from, to) = (leaf * 10, leaf * 10 + 10);
            self.session.run(&format!(
                "CREATE TABLE t{leaf} PARTITION OF t FOR VALUES FROM ({from}) TO ({to})"
            ));
        }
    }

    /// Returns a hold for loads at the failpoint `name`.
    pub(crate) fn hold(&self, name: &'static str) -> Hold {
        Hold::at(name, self.path("held"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// Runs `pgsluice load` in the folder.
    pub(crate) fn load<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Ended {
        self.start(arguments, Stdio::null()).ended()
    }

    /// Runs `pgsluice load` into another server, or as another role.
    pub(crate) fn load_into<I: AsRef<OsStr>>(
        &self,
        url: &str,
        arguments: impl IntoIterator<Item = I>,
    ) -> Ended {
        self.start_into(url, arguments, Stdio::null()).ended()
    }

    pub(crate) fn start<I: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = I>,
        stdin: Stdio,
    ) -> Running {
        self.start_into(&self.url, arguments, stdin)
    }

    pub(crate) fn start_into<I: AsRef<OsStr>>(
        &self,
        url: &str,
        arguments: impl IntoIterator<Item = I>,
        stdin: Stdio,
    ) -> Running {
        let mut command = program();
        command.args(["load", "-d", url]).args(arguments);
        command.current_dir(self.folder.path());
        Running::start(command.stdin(stdin))
    }

    /// Waits until all other sessions have ended, because they outlive their clients for a moment.
    pub(crate) fn wait_for_sessions(&self) {
        let others = "pg_stat_activity WHERE datname = current_database() \
                      AND pid <> pg_backend_pid() AND backend_type = 'client backend'";
        wait_until("the end of all sessions", || self.count(others) == 0);
    }

    /// Ends the sessions of killed loads. Before version 14, a session that waits for a lock does not notice
    /// that its program is gone, and blocks all readers.
    pub(crate) fn end_orphans(&self) {
        self.session.run(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
             WHERE datname = current_database() AND application_name = 'pgsluice'
                   AND current_setting('server_version_num')::int < 140000",
        );
    }

    /// Returns the single value of a query.
    pub(crate) fn value(&self, sql: &str) -> String {
        self.session.rows(sql)[0][0].clone().unwrap()
    }

    pub(crate) fn count(&self, table: &str) -> u64 {
        self.value(&format!("SELECT count(*) FROM {table}")).parse().unwrap()
    }
}

/// Returns `count` rows for the table `t`, some for each leaf, with `width` bytes of text in each.
pub(crate) fn rows(count: usize, width: usize) -> Vec<u8> {
    let text = "x".repeat(width);
    (0..count).flat_map(|row| format!("{},{text}\n", row * 37 % 100).into_bytes()).collect()
}
