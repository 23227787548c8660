//! Concurrent changes to the source: the target gets the rows of one snapshot.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::case::{Case, TREE};
use crate::harness::{Server, Session, on_each_server, wait_until};

on_each_server!([
    rows_are_those_of_one_moment,
    a_table_is_loaded_into_itself,
    a_leaf_is_loaded_into_its_own_table,
    an_exchange_of_a_table_with_itself,
    a_source_that_is_altered,
]);

const ROWS: u64 = 30_000;

/// A transaction that updates all rows, and replaces some of them.
const CHANGE: &str = "
BEGIN;
UPDATE old SET version = version + 1;
CREATE TEMP TABLE moved ON COMMIT DROP AS SELECT * FROM old WHERE id % 10 = 3;
DELETE FROM old WHERE id % 10 = 3;
INSERT INTO old SELECT * FROM moved;
COMMIT";

/// A statement that moves all rows.
const VACUUM: &str = "VACUUM FULL old";

fn rows_are_those_of_one_moment(server: Server) {
    for case in Case::both(server) {
        case.make(
            "CREATE TABLE t (id int, version int, v text) PARTITION BY HASH (id);
             CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
             CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
        );
        case.source().session.run(&format!(
            "CREATE TABLE old AS SELECT id, 0 AS version, repeat('x', 100) AS v
             FROM generate_series(1, {ROWS}) AS id"
        ));
        for options in [&["-j1"][..], &["-j3"], &["-j2", "--wire=text"]] {
            case.empty();
            changed_meanwhile(&case, options);
            let found = "SELECT concat_ws(' ', count(*), count(DISTINCT id), count(DISTINCT version)) FROM t";
            assert_eq!(case.bench.value(found), format!("{ROWS} {ROWS} 1"), "{options:?}");
        }
    }
}

/// Stops a writer, even if the test fails.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Loads while a writer changes the source at least twice after the first rows were read.
fn changed_meanwhile(case: &Case, options: &[&str]) {
    let (is_done, url) = (AtomicBool::new(false), case.source().url.clone());
    thread::scope(|scope| {
        let _ending = Ending(&is_done);
        scope.spawn(|| {
            let writer = Session::open(&url);
            writer.run("SET client_min_messages = warning");
            while !is_done.load(Ordering::Relaxed) {
                writer.run(CHANGE);
            }
        });
        let hold = case.bench.hold("payload::begun");
        let options = [options, &["--memory=1MiB", "--few-rows=0"]].concat();
        let load = case.start_with("old", &options, &hold.environment());
        hold.wait();
        let version = || case.source().value("SELECT max(version) FROM old");
        for _ in 0..2 {
            let before = version();
            wait_until("a change", || version() != before);
        }
        hold.let_go();
        assert_eq!(load.ended().summary()["rows_read"], ROWS);
    });
}

fn a_table_is_loaded_into_itself(server: Server) {
    let case = Case::here(server);
    case.make(TREE);
    case.fill("t", 20_000);
    case.bench.session.run("INSERT INTO twin.t SELECT * FROM public.t");
    for options in [&[][..], &["--atomic"], &["-j3", "--memory=1MiB", "--few-rows=0"]] {
        case.bench.session.run("INSERT INTO twin.t SELECT * FROM twin.t");
        case.load("public.t", options).summary();
        case.agree("the table itself");
    }
    // An empty table stays empty, and each of a few rows is inserted once more.
    case.empty();
    assert_eq!(case.load("public.t", &[]).summary()["rows_read"], 0);
    case.bench.session.run("INSERT INTO public.t VALUES (1, '2024-01-05', 'x')");
    assert_eq!(case.load("public.t", &[]).summary()["rows_read"], 1);
    assert_eq!(case.bench.count("public.t"), 2);
}

fn a_leaf_is_loaded_into_its_own_table(server: Server) {
    let case = Case::here(server);
    case.make(TREE);
    case.fill("t", 20_000);
    case.bench.session.run(
        "INSERT INTO twin.t SELECT * FROM public.t; INSERT INTO twin.t SELECT * FROM twin.t_1",
    );
    case.load("public.t_1", &[]).summary();
    case.agree("a part of the table");
}

/// The swap may have to wait for a lock of the load's own snapshot. It succeeds or fails in time, and no row is lost.
fn an_exchange_of_a_table_with_itself(server: Server) {
    let case = Case::here(server);
    case.make(TREE);
    case.fill("t", 20_000);
    case.bench.session.run("INSERT INTO twin.t SELECT * FROM public.t");
    let ended = case.load("public.t", &["--exchange=replace", "--swap-patience=2"]);
    assert!(matches!(ended.status.code(), Some(0..=2)), "{ended:?}");
    case.agree("an exchange");
}

/// DDL waits for the load, or the load fails. A load that succeeds has all rows.
fn a_source_that_is_altered(server: Server) {
    for ddl in ["DROP TABLE old", "TRUNCATE old", "ALTER TABLE old RENAME v TO w", VACUUM] {
        let case = Case::elsewhere(server);
        case.make(TREE);
        case.make_old(100_000);
        case.copy("old", "id, day, v");
        let hold = case.bench.hold("payload::begun:2");
        let load = case.start_with("old", &["-j1", "--memory=1MiB"], &hold.environment());
        hold.wait();
        let other = case.source().other();
        other.run("SET lock_timeout = '500ms'");
        let is_done = other.try_run(ddl).is_ok();
        hold.let_go();
        let ended = load.ended();
        assert!(is_done || ended.status.success(), "{ddl}: {ended:?}");
        if ended.status.success() {
            case.agree(ddl);
        } else {
            ended.fails(1, &["error: "]);
        }
    }
}
