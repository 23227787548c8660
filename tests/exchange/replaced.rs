//! `load --exchange=replace`: the leaves for which the input has rows contain only these rows afterwards, and
//! no other leaf changes.

use std::process::Stdio;

use super::{Case, same};
use crate::harness::{Ended, Running, on_each_server, program, wait_until};

on_each_server!(with super::Case::new, [leaves_without_rows_stay, rows_of_others_go_too, old_snapshots_find_no_rows, a_default_partition, partitions_that_are_made, an_input_without_rows, a_load_that_is_finished, resumed_only_as_begun, verified_leaf_by_leaf,]);

/// A table of three months. The second month is partitioned further.
pub(super) const MONTHS: &str = "
CREATE TABLE t (d date, id int, v text NOT NULL, PRIMARY KEY (d, id)) PARTITION BY RANGE (d);
CREATE TABLE t_01 PARTITION OF t FOR VALUES FROM ('2026-01-01') TO ('2026-02-01');
CREATE TABLE t_02 PARTITION OF t FOR VALUES FROM ('2026-02-01') TO ('2026-03-01')
    PARTITION BY HASH (id);
CREATE TABLE t_02_0 PARTITION OF t_02 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_02_1 PARTITION OF t_02 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE t_03 PARTITION OF t FOR VALUES FROM ('2026-03-01') TO ('2026-04-01');
CREATE INDEX ON t (v)";

pub(super) const REPLACE: &str = "--exchange=replace";

/// Returns `count` rows of each month, all with the same word.
pub(super) fn rows(months: &[u32], count: u32, word: &str) -> String {
    let row = |&month: &u32| {
        (0..count).map(move |id| format!("2026-{month:02}-{:02},{id},{word}\n", id % 28 + 1))
    };
    months.iter().flat_map(row).collect()
}

/// Inserts rows in the same way as other sessions.
pub(super) fn fill(case: &Case, months: &[u32], count: u32, word: &str) {
    let rows = rows(months, count, word).into_bytes();
    case.bench.session.copy_in("COPY t FROM STDIN (FORMAT csv)", rows).unwrap();
}

/// The words of each month, and the number of rows with each.
pub(super) const CONTENT: &str = "
SELECT string_agg(concat_ws(' ', month, v, n), ', ' ORDER BY month, v)
FROM (SELECT to_char(d, 'MM') AS month, v, count(*) AS n FROM t GROUP BY 1, 2) AS each";

fn leaves_without_rows_stay(case: &Case) {
    case.run(MONTHS);
    case.run("CREATE TABLE word (v text PRIMARY KEY); INSERT INTO word VALUES ('old'), ('new')");
    case.run("ALTER TABLE t ADD CONSTRAINT f FOREIGN KEY (v) REFERENCES word");
    fill(case, &[1, 3], 50, "old");
    let (dump, third) = (case.dump(), case.value("SELECT 't_03'::regclass::oid"));
    let summary = case.load(&rows(&[1, 2], 10, "new"), &[REPLACE]).summary();
    assert_eq!((&summary["exchanged"], &summary["replaced"]), (&3.into(), &1.into()));
    assert_eq!(case.value(CONTENT), "01 new 10, 02 new 10, 03 old 50");
    assert_eq!(case.value("SELECT 't_03'::regclass::oid"), third);
    same(&case.dump(), &dump);
    case.nothing_is_left();

    let loaded = case.bench.load(["rows.csv", "-t", "t", REPLACE]);
    let message = "3 leaves built beside the table and swapped in; the old rows of 3 leaves were \
                dropped";
    assert!(loaded.stderr.contains(message), "{loaded:?}");
    assert_eq!(case.value(CONTENT), "01 new 10, 02 new 10, 03 old 50");
}

/// Begins to load the first month from a pipe, and waits until its table is built beside the leaf.
fn begun(case: &Case) -> Running {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    let given = ["-", "--format", "csv", "-t", "t", REPLACE, "-q", "--json", "--memory=1MiB"];
    let mut load = case.bench.start(given, Stdio::piped());
    load.feed(rows(&[1], 100_000, "new").as_bytes());
    let beside =
        "SELECT count(*) FROM pg_class WHERE relname LIKE 'pgsluice_new_%' AND relkind = 'r'";
    wait_until("the building", || case.value(beside) == "1");
    assert_eq!(case.value(CONTENT), "01 old 50, 03 old 50", "nobody sees the rows yet");
    load
}

/// Rows of other sessions are dropped, as by TRUNCATE at the moment of the swap.
fn rows_of_others_go_too(case: &Case) {
    let mut load = begun(case);
    case.run(
        "INSERT INTO t VALUES ('2026-01-05', -1, 'theirs'), ('2026-03-05', -1, 'theirs');
         UPDATE t SET v = 'changed' WHERE d = '2026-01-01' AND id = 0",
    );
    load.child.stdin.take();
    let summary = load.ended().summary();
    assert_eq!((&summary["exchanged"], &summary["replaced"]), (&1.into(), &1.into()));
    assert_eq!(case.value(CONTENT), "01 new 100000, 03 old 50, 03 theirs 1");
    case.nothing_is_left();
}

/// A snapshot from before the load sees no rows, as after TRUNCATE: the old rows are gone, and the new ones
/// are too young.
fn old_snapshots_find_no_rows(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    let reader = case.bench.other();
    reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1");
    case.load(&rows(&[1], 10, "new"), &[REPLACE]).summary();
    assert_eq!(reader.rows(CONTENT)[0][0].as_deref(), Some("03 old 50"));
    reader.run("COMMIT");
    assert_eq!(reader.rows(CONTENT)[0][0].as_deref(), Some("01 new 10, 03 old 50"));
    // A transaction that has read the leaf delays the swap.
    reader.run("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM t_01");
    let patience = "--swap-patience=1";
    let refused = case.load(&rows(&[1], 20, "newer"), &[REPLACE, patience]);
    refused.fails_empty(&["other sessions held locks on the table for 1 s"]);
    assert_eq!(reader.rows(CONTENT)[0][0].as_deref(), Some("01 new 10, 03 old 50"));
    case.nothing_is_left();
}

/// A DEFAULT partition is replaced without being read. While it has rows, no partition beside it can be replaced.
fn a_default_partition(case: &Case) {
    case.run(MONTHS);
    case.run("CREATE TABLE t_d PARTITION OF t DEFAULT");
    fill(case, &[1, 7], 50, "old");
    let dump = case.dump();
    let summary = case.load(&rows(&[8], 10, "new"), &[REPLACE]).summary();
    assert_eq!((&summary["exchanged"], &summary["replaced"]), (&1.into(), &1.into()));
    assert_eq!(case.value(CONTENT), "01 old 50, 08 new 10");
    same(&case.dump(), &dump);
    let refused = case.load(&rows(&[1], 10, "new"), &[REPLACE]);
    let why = "rows for public.t_01 are not exchanged: the DEFAULT partition public.t_d has rows";
    refused.fails_empty(&[why, "HINT:  Remove the obstacle"]);
    assert_eq!(case.value(CONTENT), "01 old 50, 08 new 10");
    case.nothing_is_left();
}

fn partitions_that_are_made(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    let made = case.load(&rows(&[3, 4], 10, "new"), &[REPLACE, "--create-partitions"]).summary();
    assert_eq!(made["partitions_created"].as_array().unwrap().len(), 1, "{made}");
    assert_eq!((&made["exchanged"], &made["replaced"]), (&2.into(), &1.into()));
    assert_eq!(case.value(CONTENT), "01 old 50, 03 new 10, 04 new 10");
}

fn an_input_without_rows(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    let summary = case.load("", &[REPLACE]).summary();
    assert_eq!((&summary["exchanged"], &summary["rows_read"]), (&0.into(), &0.into()));
    assert_eq!(summary["warnings"][0], "the input has no rows", "{summary}");
    assert_eq!(case.value(CONTENT), "01 old 50, 03 old 50");
}

/// A finished load that is run again replaces nothing.
fn a_load_that_is_finished(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    case.bench.file("rows.csv", rows(&[1], 10, "new"));
    let given = ["rows.csv", "-t", "t", REPLACE, "--load-id=once", "--json", "-q"];
    let load = || case.bench.load(given).summary();
    assert_eq!(load()["replaced"], 1);
    fill(case, &[2], 5, "theirs");
    case.run("INSERT INTO t VALUES ('2026-01-05', -1, 'theirs')");
    let again = load();
    assert_eq!((&again["already_finished"], &again["exchanged"]), (&true.into(), &0.into()));
    assert_eq!(case.value(CONTENT), "01 new 10, 01 theirs 1, 02 theirs 5, 03 old 50");
}

/// The remaining rows of a load must not replace rows that its previous run has put into the same leaves.
fn resumed_only_as_begun(case: &Case) {
    case.run(MONTHS);
    case.bench.file("rows.csv", rows(&[1, 2], 10_000, "new"));
    let run = |id: &str, how: &[&str], point: &str| -> Ended {
        let mut command = program();
        command.args(["load", "-d", &case.bench.url, "rows.csv", "-t", "t", "--memory=1MiB", "-q"]);
        command.args(["--load-id", id]).args(how).current_dir(case.bench.folder.path());
        if !point.is_empty() {
            command.env("PGSLUICE_FAILPOINT", point);
        }
        Running::start(command.stdin(Stdio::null())).ended()
    };
    for (number, [begun, resumed]) in
        [[REPLACE, "--exchange"], ["--exchange", REPLACE], ["-j2", REPLACE], [REPLACE, "-j2"]]
            .into_iter()
            .enumerate()
    {
        case.run("TRUNCATE t");
        fill(case, &[3], 50, "old");
        let id = number.to_string();
        let killed = run(&id, &[begun, "--few-rows=0"], "payload::committed");
        assert_eq!(killed.status.code(), None, "{killed:?}");
        // The COMMIT of another connection may still be in transit.
        case.bench.end_orphans();
        case.bench.wait_for_sessions();
        let before = case.value(CONTENT);
        run(&id, &[resumed], "").fails(
            1,
            &["error: this load was begun ", "exchange", ", and is resumed ", "(SQLSTATE 55000)"],
        );
        assert_eq!(case.value(CONTENT), before, "{begun} {resumed}");
    }
}

/// `verify` compares each leaf that a load has replaced as a separate table.
fn verified_leaf_by_leaf(case: &Case) {
    case.run(MONTHS);
    fill(case, &[1, 3], 50, "old");
    case.load(&rows(&[1, 2], 10, "new"), &[REPLACE]).summary();
    let verify = |more: &[&str]| {
        let file = case.bench.path("rows.csv");
        let given = ["verify", file.to_str().unwrap(), "-t", "t", "-d", &case.bench.url];
        crate::harness::run(&[&given, more].concat(), None)
    };
    assert_eq!(verify(&[]).status, Some(1), "other leaves have rows");
    let equal = verify(&["--replaced"]);
    assert_eq!(equal.status, Some(0), "{equal:?}");
    let message = "equal: the leaves that the input has rows for hold exactly these rows";
    assert!(equal.stdout.contains("table  20 rows in 3 leaves"), "{equal:?}");
    assert!(equal.stdout.contains(message), "{equal:?}");
    for (change, different) in [
        ("INSERT INTO t VALUES ('2026-01-05', -1, 'theirs')", "t_01: of 11 rows, 1 not in"),
        ("DELETE FROM t WHERE d < '2026-02-01'", "t_01: of 0 rows, 10 missing"),
        ("DELETE FROM t WHERE d >= '2026-02-01' AND id = 0", ", 1 missing"),
    ] {
        case.run(&format!("BEGIN; {change}; COMMIT"));
        let found = verify(&["--replaced"]);
        assert!(found.status == Some(1) && found.stdout.contains(different), "{found:?}");
        assert!(!found.stdout.contains("t_03"), "{found:?}");
        case.load(&rows(&[1, 2], 10, "new"), &[REPLACE]).summary();
    }
}
