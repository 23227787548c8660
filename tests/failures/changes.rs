//! Partitions that change while rows go in: an error that says so, no row lost, none twice.

use std::process::Stdio;

use super::{Bench, on_both, rows, wait_until};

/// Feeds half of the input, changes the table, feeds the rest. The rows that the message says are
/// in the table must be those that the load has put there.
fn change_in_the_middle(bench: &Bench, change: &str, messages: &[&str]) {
    bench.make_table();
    let mut load = bench.start(["-", "-t", "t", "--format", "csv", "-j", "2"], Stdio::piped());
    load.feed(&rows(120_000, 100));
    wait_until("a commit", || bench.count("t") > 0);
    bench.session.run(change);
    load.feed(&rows(120_000, 100));
    drop(load.child.stdin.take());
    let ended = load.ended();
    ended.fails(1, &["pgsluice: error: "]);
    let said = messages.iter().any(|message| ended.stderr.contains(message));
    assert!(said, "{change}: {}", ended.stderr);
    assert!(ended.stderr.contains("HINT:  "), "{ended:?}");
    let gone = bench.value(
        "SELECT coalesce(sum((xpath('/row/c/text()', query_to_xml(
             format('SELECT count(*) AS c FROM %s', c.oid::regclass), false, true, '')))[1]
             ::text::bigint), 0)
         FROM pg_class c WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace
         AND NOT relispartition AND relname <> 'kept'",
    );
    let gone: u64 = gone.parse().unwrap();
    let kept: u64 = bench.count("kept");
    assert_eq!(ended.committed(), bench.count("t") + gone + kept, "{}", ended.stderr);
}

#[test]
fn a_leaf_that_is_dropped() {
    on_both(|bench| {
        // What was in it when it was dropped is gone with it, so it is counted before.
        bench.session.run("CREATE TABLE kept (id int, v text)");
        let change =
            "BEGIN; LOCK TABLE t7; INSERT INTO kept SELECT * FROM t7; DROP TABLE t7; COMMIT";
        let message = "relation \"public.t7\" does not exist (SQLSTATE 42P01)";
        change_in_the_middle(bench, change, &[message]);
    });
}

#[test]
fn a_leaf_that_is_detached() {
    on_both(|bench| {
        bench.session.run("CREATE TABLE kept (id int, v text)");
        let change = "ALTER TABLE t DETACH PARTITION t7; SELECT count(*) FROM t7";
        let message = "table public.t7 is no longer a partition of public.t";
        change_in_the_middle(bench, change, &[message]);
        // Nothing went into it by its name after it had left.
        bench.session.run("BEGIN; CREATE TABLE seen AS SELECT 1; ROLLBACK");
    });
}

#[test]
fn a_leaf_that_is_renamed() {
    on_both(|bench| {
        bench.session.run("CREATE TABLE kept (id int, v text)");
        let change = "ALTER TABLE t7 RENAME TO was_t7";
        change_in_the_middle(bench, change, &["relation \"public.t7\" does not exist"]);
    });
}

#[test]
fn a_leaf_that_is_replaced() {
    on_both(|bench| {
        bench.session.run("CREATE TABLE kept (id int, v text)");
        let change = "BEGIN; ALTER TABLE t7 RENAME TO was_t7;
                      CREATE TABLE t7 (id int NOT NULL, v text); COMMIT";
        let message = "table public.t7 is no longer a partition of public.t";
        change_in_the_middle(bench, change, &[message]);
        assert_eq!(bench.count("t7"), 0, "a stranger's table took rows");
    });
}

#[test]
fn a_tree_that_is_dropped() {
    on_both(|bench| {
        bench.session.run("CREATE TABLE kept (id int, v text)");
        let change = "BEGIN; LOCK TABLE t; INSERT INTO kept SELECT * FROM t; DROP TABLE t;
                      CREATE TABLE t (id int); COMMIT";
        change_in_the_middle(bench, change, &["(SQLSTATE 42P01)"]);
    });
}
