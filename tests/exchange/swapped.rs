//! The moment of the swap: changes that other sessions make to the table.

use std::process::Stdio;

use super::Case;
use crate::harness::{Running, WAITS, on_each_server, wait_until};

on_each_server!(with super::Case::new, [attach_reads_nothing, rows_of_others_are_moved, a_lock_is_waited_for, a_lock_that_stays, a_leaf_that_is_altered, a_leaf_that_is_replaced,]);

const TABLE: &str = "
CREATE TABLE t (k int, id int, v text, PRIMARY KEY (k, id)) PARTITION BY LIST (k);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES IN (2);";

/// Rows numbered from `first` on.
fn rows(first: u32, count: u32) -> String {
    let text = "x".repeat(100);
    (first..first + count).map(|id| format!("{},{id},{text}\n", id % 2 + 1)).collect()
}

/// Begins a load from a pipe, and waits until tables are built beside both leaves.
pub(super) fn begun(case: &Case, more: &[&str]) -> Running {
    case.run(TABLE);
    let given = ["-", "--format", "csv", "-t", "t", "--exchange", "-q", "--json"];
    let mut load = case.bench.start([&given, more].concat(), Stdio::piped());
    load.feed(rows(0, 20_000).as_bytes());
    let beside =
        "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgsluice_new_%' AND relkind = 'r'";
    wait_until("the building", || case.value(beside) == "2");
    assert_eq!(case.value("SELECT count(*) FROM t"), "0", "nobody sees the rows yet");
    load
}

/// Feeds the rest of the input.
pub(super) fn feed_the_rest(load: &mut Running) {
    load.feed(rows(20_000, 20_000).as_bytes());
    load.child.stdin.take();
}

/// A scan is counted even if it finds nothing, but COPY is not.
fn attach_reads_nothing(case: &Case) {
    case.run(
        "CREATE TABLE t (a int, b varchar(9) COLLATE \"C\", c timestamptz, d numeric(9, 2), u uuid)
             PARTITION BY LIST (a);
         CREATE TABLE t_d PARTITION OF t DEFAULT PARTITION BY RANGE (b, d);
         CREATE TABLE t_d_1 PARTITION OF t_d FOR VALUES FROM ('a', 1.5) TO ('m', MAXVALUE);
         CREATE TABLE t_d_d PARTITION OF t_d DEFAULT;
         CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1, NULL) PARTITION BY RANGE (c);
         CREATE TABLE t_1_1 PARTITION OF t_1 FOR VALUES FROM ('2020-01-01 00:00+01') TO ('2021-01-01') PARTITION BY HASH (u, a);
         CREATE TABLE t_1_1_0 PARTITION OF t_1_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t_1_1_1 PARTITION OF t_1_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    let rows = "1,x,2020-05-05 00:00Z,1,00000000-0000-0000-0000-000000000000\n\
                ,x,2020-05-05 00:00Z,1,00000000-0000-0000-0000-000000000001\n\
                1,x,2020-05-06 00:00Z,1,00000000-0000-0000-0000-000000000003\n\
                7,b,,2,\n8,z,,3,\n9,,,,\n";
    let summary = case.load(rows, &[]).summary();
    assert_eq!(summary["exchanged"], 4);
    let scans =
        "SELECT string_agg(concat_ws(' ', relname, n_tup_ins, seq_scan), ', ' ORDER BY relname)
                 FROM pg_stat_user_tables WHERE n_tup_ins > 0 AND schemaname = 'public'";
    wait_until("the statistics", || {
        case.run("SELECT pg_stat_clear_snapshot()");
        case.value(scans).matches(", ").count() == 3
    });
    let scans = case.value(scans);
    assert!(scans.split(", ").all(|leaf| leaf.ends_with(" 0")), "{scans}");
}

fn rows_of_others_are_moved(case: &Case) {
    let mut load = begun(case, &[]);
    case.run(
        "INSERT INTO t SELECT g % 2 + 1, g, 'theirs' FROM generate_series(1000001, 1000010) g",
    );
    feed_the_rest(&mut load);
    let summary = load.ended().summary();
    assert_eq!((&summary["exchanged"], &summary["rows_loaded"]), (&2.into(), &40_000.into()));
    let fallback = &summary["fallbacks"][0];
    assert_eq!((&fallback["what"], &fallback["rows"]), (&"rows moved".into(), &10.into()));
    let counts = "SELECT count(*) || ' ' || count(DISTINCT id) || ' ' || count(*) FILTER (WHERE v = 'theirs') FROM t";
    assert_eq!(case.value(counts), "40010 40010 10");
    case.nothing_is_left();
}

fn a_lock_is_waited_for(case: &Case) {
    let mut load = begun(case, &[]);
    case.run("BEGIN; SELECT count(*) FROM t");
    feed_the_rest(&mut load);
    let other = case.bench.other();
    let waiting = format!("SELECT count(*) > 0 FROM {WAITS} AND mode = 'AccessExclusiveLock'");
    let waits = || other.rows(&waiting)[0][0].as_deref() == Some("t");
    wait_until("the wait", waits);
    wait_until("the pause, in which others go on", || !waits());
    wait_until("the next attempt", waits);
    case.run("COMMIT");
    assert_eq!(load.ended().summary()["exchanged"], 2);
    assert_eq!(case.value("SELECT count(*) FROM t"), "40000");
    case.nothing_is_left();
}

fn a_lock_that_stays(case: &Case) {
    let mut load = begun(case, &["--swap-patience", "1"]);
    let dump =
        "SELECT string_agg(oid::text, ' ' ORDER BY oid) FROM pg_class WHERE relname LIKE 't%'";
    let before = case.value(dump);
    case.run("BEGIN; SELECT count(*) FROM t_2");
    feed_the_rest(&mut load);
    let ended = load.ended();
    case.run("COMMIT");
    ended.fails_empty(&[
        "error: canceling statement due to lock timeout (SQLSTATE 55P03)",
        "other sessions held locks on the table for 1 s",
        "HINT:  ",
    ]);
    assert_eq!(case.value(dump), before);
    assert_eq!(case.value("SELECT count(*) FROM t"), "0");
    case.nothing_is_left();
}

/// Every change of a leaf that could be lost is noticed.
fn a_leaf_that_is_altered(case: &Case) {
    for (ddl, thing) in [
        ("CREATE INDEX new ON t_1 (v)", "Its index new"),
        ("CREATE INDEX new ON t (v)", "Its index t_1_v_idx"),
        ("ALTER TABLE t ADD COLUMN more int", "Its column more"),
        (
            "ALTER TABLE t ALTER v SET DEFAULT 'd'; ALTER TABLE t_2 ALTER v SET DEFAULT 'e'",
            "Its column v",
        ),
        ("GRANT SELECT ON t_2 TO PUBLIC", "Its privileges t_2"),
        ("COMMENT ON TABLE t_2 IS 'new'", "Its comment t_2"),
        ("ALTER TABLE t_2 SET (fillfactor = 50)", "Its table t_2"),
        ("CREATE STATISTICS new ON k, id FROM t_1", "Its statistics public.new"),
    ] {
        let mut load = begun(case, &[]);
        case.run(ddl);
        let dump = case.dump_without_new();
        feed_the_rest(&mut load);
        load.ended().fails_empty(&["was altered during the load", thing, "HINT:  Load again."]);
        case.is_untouched(&dump);
        case.run("DROP TABLE t");
    }
}

fn a_leaf_that_is_replaced(case: &Case) {
    for ddl in [
        "ALTER TABLE t DETACH PARTITION t_1",
        "DROP TABLE t_1; CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1)",
        "ALTER TABLE t_1 RENAME TO t_9",
        "ALTER TABLE t DETACH PARTITION t_1; ALTER TABLE t ATTACH PARTITION t_1 FOR VALUES IN (1, 5)",
    ] {
        let mut load = begun(case, &[]);
        case.run(ddl);
        feed_the_rest(&mut load);
        let ended = load.ended();
        ended.fails_empty(&["error: ", "HINT"]);
        case.nothing_is_left();
        assert_eq!(case.value("SELECT count(*) FROM t"), "0", "{ddl}");
        case.run("DROP TABLE t; DROP TABLE IF EXISTS t_1");
    }
}
