//! All-or-nothing loads: what readers see during the load, what an interrupted load leaves behind, and how
//! the next run continues.

mod killed;
mod readers;
mod refused;
mod tables;

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, program};

/// A tree with leaves on two levels. The input has enough rows for several payloads in each leaf.
const TABLE: &str = "
CREATE TABLE t (id int, v text) PARTITION BY HASH (id);
CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES WITH (MODULUS 3, REMAINDER 2) PARTITION BY RANGE (id);
CREATE TABLE t_2_a PARTITION OF t_2 FOR VALUES FROM (0) TO (9000);
CREATE TABLE t_2_b PARTITION OF t_2 DEFAULT";

const ROWS: usize = 40_000;

/// A limit that is small enough for many payloads.
const MEMORY: &str = "--memory=1MiB";

/// Returns `count` distinct rows.
fn rows(count: usize) -> String {
    let text = "x".repeat(80);
    (0..count).map(|id| format!("{id},{text}\n")).collect()
}

/// A table `t` and an input file for it.
struct Whole {
    bench: Bench,
    /// The rows of each leaf after COPY of the file.
    wanted: String,
}

impl Whole {
    fn new(server: Server) -> Self {
        let bench = Bench::new(server);
        bench.session.run(TABLE);
        bench.session.copy_in("COPY t FROM STDIN (FORMAT csv)", rows(ROWS).into()).unwrap();
        bench.file("rows.csv", rows(ROWS));
        let whole = Self { wanted: placed(&bench), bench };
        whole.bench.session.run("TRUNCATE t");
        whole
    }

    fn start(&self, options: &[&str], environment: &[(&str, &str)]) -> Running {
        let mut load = program();
        load.args(["load", "rows.csv", "-t", "t", "-d", &self.bench.url, "-q", "--json"]);
        load.args(options).envs(environment.iter().copied());
        Running::start(load.current_dir(self.bench.folder.path()).stdin(Stdio::null()))
    }

    fn load(&self, options: &[&str], environment: &[(&str, &str)]) -> Ended {
        let ended = self.start(options, environment).ended();
        if ended.status.signal().is_some() {
            self.bench.end_orphans();
        }
        ended
    }

    /// Checks that the table has every row once, in the correct leaf.
    #[track_caller]
    fn is_whole(&self) {
        assert_eq!(placed(&self.bench), self.wanted);
    }

    /// Checks that the table has no row.
    #[track_caller]
    fn is_empty(&self) {
        assert_eq!(self.bench.count("t"), 0);
    }
}

/// Returns the number of rows of each leaf, and a checksum of their content.
fn placed(bench: &Bench) -> String {
    bench.value(
        "SELECT coalesce(string_agg(format('%s %s %s', leaf, n, sum), ' ' ORDER BY leaf), '') FROM (
             SELECT tableoid::regclass::text AS leaf, count(*) AS n,
                    sum(('x' || substr(md5(t::text), 1, 8))::bit(32)::bigint) AS sum
             FROM t GROUP BY 1) AS leaves",
    )
}

/// Counts the sessions of the program.
fn sessions(bench: &Bench, what: &str) -> u64 {
    bench.count(&format!(
        "pg_stat_activity
         WHERE datname = current_database() AND application_name = 'pgsluice' AND {what}"
    ))
}
