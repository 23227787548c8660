//! Partitions that change during a load: the error names the change, and no row is lost or duplicated.

use std::process::Stdio;

use crate::harness::{Bench, Ended, Server, on_each_server, rows, wait_until};

on_each_server!([
    a_leaf_that_is_dropped,
    a_leaf_that_is_detached,
    a_leaf_that_is_renamed,
    a_leaf_that_is_replaced,
    a_tree_that_is_dropped,
]);

/// A change of the table, the expected message, the message for rows that go through the root if it differs,
/// and the table that has the rows that were committed earlier.
struct Change {
    sql: &'static str,
    message: &'static str,
    of_root: Option<&'static str>,
    tables: &'static [&'static str],
}

impl Change {
    /// Tries the change with rows that go to their leaf by name, and with rows that may go through the root.
    fn happens(&self, bench: &Bench) {
        let ended = self.happens_to(bench, &["--few-rows=0"]);
        ended.fails(1, &[self.message, "HINT:  "]);
        bench.session.run("DROP TABLE IF EXISTS t, was_t7, t7, kept CASCADE");
        // Rows that go through the root do not use the leaf's name.
        let ended = self.happens_to(bench, &[]);
        match ended.status.code() {
            Some(0) => assert_eq!(bench.count("t"), 240_000),
            _ => {
                let of_root = self.of_root.filter(|message| ended.stderr.contains(message));
                ended.fails(1, &[of_root.unwrap_or(self.message), "HINT:  "]);
            }
        }
    }

    /// Feeds half of the input, changes the table, and feeds the rest. The number of rows in the message must
    /// be the number of rows that the load has stored.
    fn happens_to(&self, bench: &Bench, options: &[&str]) -> Ended {
        bench.make_table();
        bench.session.run("CREATE TABLE kept (id int, v text)");
        let load = ["-", "-t", "t", "--format", "csv", "-j", "2"];
        let mut load = bench.start([&load, options].concat(), Stdio::piped());
        load.feed(&rows(120_000, 100));
        wait_until("a commit", || bench.count("t") > 0);
        bench.session.run(self.sql);
        load.feed(&rows(120_000, 100));
        drop(load.child.stdin.take());
        let ended = load.ended();
        if ended.status.code() != Some(0) {
            let found: u64 = self.tables.iter().map(|table| bench.count(table)).sum();
            assert_eq!(ended.committed(), found, "{}", ended.stderr);
        }
        ended
    }
}

fn a_leaf_that_is_dropped(server: Server) {
    let bench = &Bench::new(server);
    Change {
        // Rows that were in the leaf are dropped with it.
        sql: "BEGIN; LOCK TABLE t; INSERT INTO kept SELECT * FROM t7; DROP TABLE t7; COMMIT",
        message: "relation \"public.t7\" does not exist (SQLSTATE 42P01)",
        of_root: None,
        tables: &["t", "kept"],
    }
    .happens(bench);
}

fn a_leaf_that_is_detached(server: Server) {
    let bench = &Bench::new(server);
    Change {
        sql: "BEGIN; ALTER TABLE t DETACH PARTITION t7; INSERT INTO kept SELECT * FROM t7; COMMIT",
        message: "table public.t7 is no longer a partition of public.t",
        of_root: None,
        tables: &["t", "kept"],
    }
    .happens(bench);
    assert_eq!(bench.count("t7"), bench.count("kept"), "it took rows after it had left");
}

fn a_leaf_that_is_renamed(server: Server) {
    let bench = &Bench::new(server);
    Change {
        sql: "ALTER TABLE t7 RENAME TO was_t7",
        message: "relation \"public.t7\" does not exist (SQLSTATE 42P01)",
        of_root: None,
        tables: &["t"],
    }
    .happens(bench);
}

fn a_leaf_that_is_replaced(server: Server) {
    let bench = &Bench::new(server);
    Change {
        sql: "BEGIN; ALTER TABLE t7 RENAME TO was_t7;
              CREATE TABLE t7 (id int NOT NULL, v text); COMMIT",
        message: "table public.t7 is no longer a partition of public.t",
        of_root: None,
        tables: &["t"],
    }
    .happens(bench);
    assert_eq!(bench.count("t7"), 0, "a stranger took rows");
}

fn a_tree_that_is_dropped(server: Server) {
    let bench = &Bench::new(server);
    Change {
        sql: "BEGIN; LOCK TABLE t; INSERT INTO kept SELECT * FROM t; DROP TABLE t;
              CREATE TABLE t (id int, v text); COMMIT",
        message: "does not exist (SQLSTATE 42P01)",
        of_root: Some("table public.t is no longer the same table"),
        tables: &["t", "kept"],
    }
    .happens(bench);
    assert_eq!(bench.count("t"), 0, "a stranger took rows");
}
