//! Bad input, tried as a user would: what the program says, how it ends, and what it leaves in the
//! table. Each file is one kind of trouble; this one runs the program and checks what holds for
//! every message.

mod asking;
mod changes;
mod few;
mod inputs;
mod locks;
mod options;
mod rows;
mod servers;
mod shapes;
mod stops;
mod tables;
mod terminal;

use std::ffi::OsStr;
use std::fs;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::server::{Scratch, Server, Session, with_database};

/// Longer than any load of these tests takes; what takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// The locks that sessions of this database wait for: those of other tests are of no interest.
pub(crate) const WAITS: &str = "pg_locks WHERE NOT granted AND database = \
                                (SELECT oid FROM pg_database WHERE datname = current_database())";

/// A database, and a folder for the inputs.
pub(crate) struct Bench {
    pub(crate) url: String,
    pub(crate) session: Session,
    pub(crate) folder: TempDir,
    /// Held until the sessions have ended.
    _scratch: Option<Scratch>,
}

/// Runs a test on both servers.
pub(crate) fn on_both(test: impl Fn(&Bench)) {
    for server in [Server::PG15, Server::PG18] {
        test(&Bench::new(server));
    }
}

impl Bench {
    pub(crate) fn new(server: Server) -> Self {
        let scratch = server.scratch();
        let (url, session) = (scratch.url().to_owned(), scratch.session());
        Self { url, session, folder: tempfile::tempdir().unwrap(), _scratch: Some(scratch) }
    }

    /// In a database of the test's own, which goes away with its server.
    pub(crate) fn of(url: &str) -> Self {
        let (session, folder) = (Session::open(url), tempfile::tempdir().unwrap());
        Self { url: url.to_owned(), session, folder, _scratch: None }
    }

    /// Opens its session again, whose server has been away.
    pub(crate) fn come_back(&mut self) {
        self.session = self.other();
    }

    /// Another session.
    pub(crate) fn other(&self) -> Session {
        Session::open(&self.url)
    }

    /// Another session in another database of the server.
    pub(crate) fn other_in(&self, database: &str) -> Session {
        Session::open(&with_database(&self.url, database))
    }

    /// With a table `t`, ten rows of `id` to each of the leaves `t0` to `t9`, and `v`.
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

    /// What holds a load up at the point `name` until it is let go.
    pub(crate) fn hold(&self, name: &'static str) -> Hold {
        Hold { name, file: self.path("held") }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    /// `pgsluice load`, run in the folder.
    pub(crate) fn load<I: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = I>) -> Ended {
        self.start(arguments, Stdio::null()).ended()
    }

    /// The same into another server, or as another role.
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

    /// One value.
    pub(crate) fn value(&self, sql: &str) -> String {
        self.session.rows(sql)[0][0].clone().unwrap()
    }

    pub(crate) fn count(&self, table: &str) -> u64 {
        self.value(&format!("SELECT count(*) FROM {table}")).parse().unwrap()
    }
}

/// Holds a load up at a point.
pub(crate) struct Hold {
    name: &'static str,
    file: PathBuf,
}

impl Hold {
    /// What the load finds in its environment.
    pub(crate) fn environment(&self) -> [(&str, &str); 2] {
        let file = self.file.to_str().unwrap();
        [("PGSLUICE_FAILPOINT", self.name), ("PGSLUICE_FAILPOINT_HOLD", file)]
    }

    /// Waits until it is held up.
    #[track_caller]
    pub(crate) fn wait(&self) {
        wait_until(&format!("coming to {}", self.name), || self.file.exists());
    }

    pub(crate) fn let_go(&self) {
        fs::remove_file(&self.file).unwrap();
    }
}

/// The program, or another that `PGSLUICE_BIN` names in its place.
pub(crate) fn program() -> Command {
    let program = std::env::var_os("PGSLUICE_BIN");
    Command::new(program.unwrap_or_else(|| env!("CARGO_BIN_EXE_pgsluice").into()))
}

/// The program at work.
pub(crate) struct Running {
    pub(crate) child: Child,
    began: Instant,
}

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child, began: Instant::now() }
    }

    /// Writes to its standard input; a program that has ended reads nothing.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        let _ = self.child.stdin.as_mut().unwrap().write_all(bytes);
    }

    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Waits for the end, which must come.
    pub(crate) fn ended(self) -> Ended {
        self.ended_within(PATIENCE)
    }

    /// The same of one that may take longer than others.
    pub(crate) fn ended_within(mut self, patience: Duration) -> Ended {
        let out = read(self.child.stdout.take());
        let err = read(self.child.stderr.take());
        let deadline = self.began + patience;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > deadline {
                self.child.kill().unwrap();
                panic!("the program hangs: {}", err.join().unwrap());
            }
            thread::sleep(Duration::from_millis(5));
        };
        Ended { status, stdout: out.join().unwrap(), stderr: err.join().unwrap() }
    }
}

pub(crate) fn read(stream: Option<impl Read + Send + 'static>) -> thread::JoinHandle<String> {
    let mut stream = stream.unwrap();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// What the program left behind.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// One message with all of `parts` in this order, and nothing else anywhere.
    #[track_caller]
    pub(crate) fn fails(&self, status: i32, parts: &[&str]) -> &Self {
        assert_eq!(self.status.code(), Some(status), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        let errors = self.stderr.lines().filter(|line| line.contains("error: ")).count();
        assert_eq!(errors, 1, "{self:?}");
        assert!(!self.stderr.contains("panicked"), "{self:?}");
        let mut rest = &*self.stderr;
        for part in parts {
            let Some((_, after)) = rest.split_once(part) else {
                panic!("{part:?} is missing or out of order in:\n{}", self.stderr);
            };
            rest = after;
        }
        self
    }

    /// As [`Self::fails`], and says that no row is in the table.
    #[track_caller]
    pub(crate) fn fails_empty(&self, parts: &[&str]) {
        self.fails(1, parts).fails(1, &["\nDETAIL:  No row of this load is in the table."]);
    }

    /// The number of rows that the message says are in the table.
    #[track_caller]
    pub(crate) fn committed(&self) -> u64 {
        let line = self.stderr.lines().find(|line| line.contains(" of this load "));
        let line = line.unwrap_or_else(|| panic!("nothing about the table in:\n{}", self.stderr));
        let number = line.trim_start_matches("DETAIL:  ").split(' ').next().unwrap();
        if number == "No" { 0 } else { number.parse().unwrap() }
    }

    /// The summary of a load that went well, its sums checked.
    #[track_caller]
    pub(crate) fn summary(&self) -> serde_json::Value {
        self.summary_of(0)
    }

    /// The same of one that ended with this status.
    #[track_caller]
    pub(crate) fn summary_of(&self, status: i32) -> serde_json::Value {
        assert_eq!(self.status.code(), Some(status), "{self:?}");
        let summary: serde_json::Value = serde_json::from_str(&self.stdout).unwrap();
        let get = |name: &str| summary[name].as_u64().unwrap();
        let parts = ["rows_loaded", "rows_rejected", "rows_skipped", "rows_already_loaded"];
        assert_eq!(get("rows_read"), parts.map(get).iter().sum::<u64>(), "{summary}");
        let first_row = ["seconds", "cpu_seconds"].map(|time| summary["first_row"][time].as_f64());
        match first_row {
            [Some(wall), Some(cpu)] => {
                let seconds = summary["seconds"].as_f64().unwrap();
                assert!(0.0 < cpu && 0.0 < wall && wall <= seconds, "{summary}");
            }
            _ => {
                // Rows may have been rejected by an earlier run.
                let sent = get("rows_loaded");
                assert!(summary["first_row"].is_null() && sent == 0, "{summary}");
            }
        }
        summary
    }
}

/// Waits until `done`.
#[track_caller]
pub(crate) fn wait_until(what: &str, done: impl Fn() -> bool) {
    wait_within(PATIENCE, what, done);
}

/// The same of what may take longer.
#[track_caller]
pub(crate) fn wait_within(patience: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !done() {
        assert!(Instant::now() < deadline, "{what} does not happen");
        thread::sleep(Duration::from_millis(20));
    }
}

/// `count` rows for the table `t`, in every leaf some, `width` bytes of text in each.
pub(crate) fn rows(count: usize, width: usize) -> Vec<u8> {
    let text = "x".repeat(width);
    (0..count).flat_map(|row| format!("{},{text}\n", row * 37 % 100).into_bytes()).collect()
}
