//! Loads that are shared by several processes, such as the tasks of a cluster: each participant is loaded
//! once or not at all, however often it is tried, killed, or tried twice at the same time.

mod finished;
mod killed;
mod refused;
mod twins;

use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, program};

/// A tree with leaves on two levels.
const TABLE: &str = "
CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE t_0 PARTITION OF t FOR VALUES FROM (0) TO (15000);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (15000) TO (30000) PARTITION BY HASH (id);
CREATE TABLE t_1_0 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_1_1 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE t_2 PARTITION OF t DEFAULT";

/// Number of participants, and of the rows of each.
const PARTS: usize = 4;
const ROWS: usize = 10_000;

/// A table `t`, and a file for each participant.
struct Shared {
    bench: Bench,
}

impl Shared {
    fn new(server: Server) -> Self {
        let bench = Bench::new(server);
        bench.session.run(TABLE);
        for part in 0..PARTS {
            bench.file(&format!("{part}.csv"), rows(part));
        }
        Self { bench }
    }

    /// Starts to load the share of `part` from its file.
    fn start(&self, part: usize, options: &[&str], environment: &[(&str, &str)]) -> Running {
        let mut load = program();
        load.args(["load", &format!("{part}.csv"), "-t", "t", "-d", &self.bench.url, "-q"]);
        load.args(["--json", "--load-id=shared", "--participant", &part.to_string()]);
        load.args(options).envs(environment.iter().copied());
        Running::start(load.current_dir(self.bench.folder.path()).stdin(Stdio::null()))
    }

    fn load(&self, part: usize, options: &[&str]) -> Ended {
        self.start(part, options, &[]).ended()
    }

    /// Runs `pgsluice ledger` with a command.
    fn ledger(&self, arguments: &[&str]) -> Ended {
        let mut ledger = program();
        ledger.arg("ledger").args(arguments).args(["-d", &self.bench.url, "--json"]);
        Running::start(ledger.current_dir(self.bench.folder.path()).stdin(Stdio::null())).ended()
    }

    fn forget(&self) -> Ended {
        let mut forget = program();
        forget.args(["ledger", "forget", "shared", "-d", &self.bench.url]);
        Running::start(forget.stdin(Stdio::null())).ended()
    }

    fn finish(&self, options: &[&str]) -> Ended {
        self.ledger(&[&["finish", "shared"], options].concat())
    }

    /// Checks that the table has each row of these participants once, in the correct leaf.
    #[track_caller]
    fn has(&self, parts: usize) {
        let found = self.bench.value("SELECT format('%s %s', count(*), sum(id)) FROM t");
        let ids = 0..parts * ROWS;
        assert_eq!(found, format!("{} {}", ids.len(), ids.sum::<usize>()));
    }

    /// Returns the ledger's records of loads: the participant, and the state.
    fn recorded(&self) -> String {
        self.bench.value(
            "SELECT string_agg(format('%s %s', participant, state), ', ' ORDER BY participant)
             FROM pgsluice.load",
        )
    }
}

/// Returns the rows of a participant.
fn rows(part: usize) -> String {
    (part * ROWS..(part + 1) * ROWS).map(|id| format!("{id},value of {id}\n")).collect()
}
