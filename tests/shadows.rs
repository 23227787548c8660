//! Shadows: a role that may create objects in a schema of the loader's search_path creates operators,
//! functions, types and relations there that hide those of pg_catalog, or match better. pgsluice never calls
//! them, because they would run with the rights of the loader.
//!
//! COPY itself uses that path for the functions that it runs: these belong to the user.

mod attacks;
mod commands;

use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, program};

/// The tables of `tables.sql`, in a database whose sessions search other schemas first.
struct Case {
    bench: Bench,
}

impl Case {
    fn new(server: Server) -> Self {
        let bench = Bench::new(server);
        bench.session.run(include_str!("shadows/tables.sql"));
        Self { bench }
    }

    /// Creates the shadows, and puts them into the search_path of later sessions.
    fn haunt(&self, shadows: &str, search_path: &str) {
        self.bench.session.run(shadows);
        let database = self.bench.value("SELECT current_database()");
        let path = format!("ALTER DATABASE {database} SET search_path = {search_path}");
        self.bench.session.run(&path);
        // The test's own queries must not call them.
        self.bench.session.run("SET search_path = pg_catalog");
    }

    /// Runs a command about a table, and checks that it called no shadow.
    #[track_caller]
    fn run(&self, command: &str, table: &str, options: &[&str], failpoint: Option<&str>) -> Ended {
        let mut program = program();
        program.arg(command).args(options).args(["-d", &self.bench.url]);
        program.args((!table.is_empty()).then_some(["-t", table]).into_iter().flatten());
        program.current_dir(self.bench.folder.path()).stdin(Stdio::null());
        program.envs(failpoint.map(|point| ("PGSLUICE_FAILPOINT", point)));
        let ended = Running::start(&mut program).ended();
        self.nobody_called(&ended);
        ended
    }

    #[track_caller]
    fn succeeds(&self, command: &str, table: &str, options: &[&str]) -> Ended {
        let ended = self.run(command, table, options, None);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        ended
    }

    /// Loads. Returns the summary.
    #[track_caller]
    fn loads(&self, table: &str, options: &[&str]) -> serde_json::Value {
        self.succeeds("load", table, &[options, &["--json", "-q"]].concat()).summary()
    }

    #[track_caller]
    fn nobody_called(&self, ended: &Ended) {
        let called = "SELECT what FROM evil.shadow, evil.calls, evil.which
                      WHERE calls.is_called AND number = which.last_value";
        let called = self.bench.session.rows(called);
        assert!(called.is_empty(), "called: {called:?}\n{ended:?}");
    }
}
