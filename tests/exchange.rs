//! `load --exchange` puts the same rows into the same leaves as `COPY root`, preserves everything that
//! belongs to a leaf, and leaves the table unchanged if it fails.
//!
//! `pg_dump` lists what belongs to a leaf: its output before and after the load must be identical.

mod carried;
mod differing;
mod readers;
mod refused;
mod replaced;
mod stopped;
mod swapped;
mod trees;
mod unreplaceable;

use std::process::{Command, Stdio};

use crate::harness::{Bench, Ended, Server};

/// A database with the table `t`.
struct Case {
    bench: Bench,
    server: Server,
}

impl Case {
    fn new(server: Server) -> Self {
        Self { bench: Bench::new(server), server }
    }

    fn run(&self, sql: &str) {
        self.bench.session.run(sql);
    }

    fn value(&self, sql: &str) -> String {
        self.bench.value(sql)
    }

    /// Loads `rows`, as CSV, into `t`.
    fn load(&self, rows: &str, more: &[&str]) -> Ended {
        self.bench.file("rows.csv", rows);
        self.bench.load([&["rows.csv", "-t", "t", "--exchange", "--json", "-q"], more].concat())
    }

    /// Dumps the definitions of everything in the database except the ledger. Removes comments of the dump,
    /// and the token with which newer versions protect their output.
    fn dump(&self) -> String {
        self.dump_without("no table")
    }

    /// Dumps the database without the tables that are being built.
    fn dump_without_new(&self) -> String {
        self.dump_without("pgsluice_new_*")
    }

    fn dump_without(&self, tables: &str) -> String {
        let program = std::env::var_os("PGSLUICE_TEST_PG_DUMP").expect("run by `make test`");
        let mut command = Command::new(program);
        command
            .args(["--schema-only", "-N", "pgsluice", "-T", tables, "-d", &self.bench.url])
            .stdin(Stdio::null());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8(output.stdout).unwrap();
        let lines = text.lines().filter(|line| {
            !["--", "\\restrict", "\\unrestrict"].iter().any(|start| line.starts_with(start))
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// Checks that nothing that an exchange builds is left.
    #[track_caller]
    fn nothing_is_left(&self) {
        let left = "SELECT count(*) FROM pg_class c FULL JOIN pg_constraint n ON false
                    WHERE c.relname LIKE 'pgsluice%' OR n.conname LIKE 'pgsluice%'";
        assert_eq!(self.value(left), "0");
    }

    /// Loads `rows` by `COPY root` and by exchange, and compares the leaves. Returns the number of exchanged leaves.
    #[track_caller]
    fn same_as_copy(&self, rows: &str, more: &[&str]) -> u64 {
        let placed = "SELECT tableoid::regclass::text, t::text FROM t ORDER BY 1, 2";
        let session = &self.bench.session;
        session.copy_in("COPY t FROM STDIN (FORMAT csv)", rows.into()).unwrap();
        let wanted = session.rows(placed);
        self.run("TRUNCATE t");
        let (dump, oids) = (self.dump(), self.oids());
        let summary = self.load(rows, more).summary();
        assert_eq!(session.rows(placed), wanted);
        assert_eq!(summary["rows_loaded"], wanted.len() as u64, "{summary}");
        same(&self.dump(), &dump);
        self.nothing_is_left();
        let exchanged = summary["exchanged"].as_u64().unwrap();
        let kept = self.oids().iter().filter(|oid| oids.contains(oid)).count();
        assert_eq!(oids.len() - kept, exchanged as usize, "{summary}");
        exchanged
    }

    fn oids(&self) -> Vec<Vec<Option<String>>> {
        self.bench.session.rows("SELECT relid::oid FROM pg_partition_tree('t') WHERE isleaf")
    }

    /// Checks that the table has no rows and that its definition did not change.
    #[track_caller]
    fn is_untouched(&self, dump: &str) {
        same(&self.dump(), dump);
        self.nothing_is_left();
        assert_eq!(self.value("SELECT count(*) FROM t"), "0");
    }
}

/// Checks that two dumps are identical. Otherwise it reports the first statements that differ.
#[track_caller]
fn same(now: &str, before: &str) {
    let differ = now.lines().zip(before.lines()).position(|(now, before)| now != before);
    let lines = |dump: &str| {
        let from = differ.unwrap_or_default().saturating_sub(5);
        dump.lines().skip(from).take(15).collect::<Vec<_>>().join("\n")
    };
    assert!(now == before, "before:\n{}\nnow:\n{}", lines(before), lines(now));
}
