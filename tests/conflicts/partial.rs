//! An upsert of some columns, where INSERT would refuse each row because of another column: existing rows are
//! updated, and only new rows are refused.

use std::collections::BTreeMap;
use std::fs;
use std::process::Stdio;

use super::row_counts;
use crate::harness::{Bench, Server, on_each_server, wait_until};

on_each_server!([
    rows_that_are_there_need_no_other_columns,
    only_rows_that_are_not_there_are_refused,
    a_column_that_is_not_set_may_have_no_value,
    others_may_insert_the_same_keys_meanwhile,
    a_trigger_sees_each_row_before_it_is_updated,
]);

const ROWS: usize = 2_000;

/// Columns that INSERT refuses in a row that has only the key and `v`.
const REFUSALS: [&str; 3] =
    ["w text NOT NULL", "w text CHECK (w IS NOT NULL)", "w text, CHECK (w IS NOT NULL OR v < 0)"];

const WAYS: [&[&str]; 6] = [
    &["-j1"],
    &["-j2"],
    &["-j2", "--few-rows=0", "--memory=1MiB"],
    &["-j1", "--few-rows=100000"],
    &["--atomic"],
    &["--wire=text", "--newer=v"],
];

fn bench(server: Server, column: &str) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(&format!(
        "CREATE TABLE t (id int PRIMARY KEY, v int, {column}) PARTITION BY RANGE (id)"
    ));
    for leaf in 0..4 {
        let [from, to] = [leaf, leaf + 1].map(|leaf| leaf * ROWS / 4);
        bench.session.run(&format!(
            "CREATE TABLE t_{leaf} PARTITION OF t FOR VALUES FROM ({from}) TO ({to})"
        ));
    }
    bench
}

fn begin_anew(bench: &Bench, wanted: &str) {
    bench.session.run(&format!(
        "TRUNCATE t; INSERT INTO t SELECT id, 0, 'old' FROM generate_series(0, {ROWS} - 1) AS id WHERE {wanted}"
    ));
}

fn counts_by_outcome<const N: usize>(row_counts: [(&str, usize); N]) -> BTreeMap<String, u64> {
    row_counts.into_iter().map(|(counts, rows)| (counts.to_owned(), rows as u64)).collect()
}

fn rows() -> String {
    (0..ROWS).map(|id| format!("{id},{}\n", id % 10)).collect()
}

const LOAD: [&str; 7] =
    ["rows.csv", "-t", "t", "-q", "--json", "--columns=id,v", "--on-conflict=update"];

fn rows_that_are_there_need_no_other_columns(server: Server) {
    for column in REFUSALS {
        let bench = bench(server, column);
        bench.file("rows.csv", rows());
        for way in WAYS {
            begin_anew(&bench, "true");
            let ended = bench.load(LOAD.iter().chain(way));
            let same = if way.contains(&"--newer=v") { "not_newer" } else { "unchanged" };
            let wanted = counts_by_outcome([("updated", ROWS / 10 * 9), (same, ROWS / 10)]);
            assert_eq!(row_counts(&ended, 0), wanted, "{column} {way:?}: {ended:?}");
            assert_eq!(bench.count("t WHERE w = 'old' AND v = id % 10"), ROWS as u64);
        }
    }
}

fn only_rows_that_are_not_there_are_refused(server: Server) {
    for column in REFUSALS {
        let bench = bench(server, column);
        bench.file("rows.csv", rows());
        for way in WAYS {
            begin_anew(&bench, "id % 100 <> 7");
            let before = bench.session.rows("SELECT t::text FROM t ORDER BY 1");
            let ended = bench.load(LOAD.iter().chain(way));
            let code = if column.contains("CHECK") { "23514" } else { "23502" };
            ended.fails(1, &[code]);
            assert!(bench.session.rows("SELECT t::text FROM t ORDER BY 1") == before, "{way:?}");
            let reject = ["--reject-file=bad", "--max-rejects=100"];
            let ended = bench.load(LOAD.iter().chain(way).chain(&reject));
            let same = if way.contains(&"--newer=v") { "not_newer" } else { "unchanged" };
            let refused = ROWS / 100;
            let updated = ROWS / 10 * 9 - refused;
            let wanted = [("updated", updated), (same, ROWS / 10), ("rejected", refused)];
            assert_eq!(
                row_counts(&ended, 3),
                counts_by_outcome(wanted),
                "{column} {way:?}: {ended:?}"
            );
            let rejected = fs::read_to_string(bench.path("bad")).unwrap();
            assert!(
                rejected.lines().all(|row| row.ends_with("07,7") || row == "7,7"),
                "{rejected}"
            );
            assert_eq!(rejected.lines().count(), refused);
            fs::remove_file(bench.path("bad")).unwrap();
            fs::remove_file(bench.path("bad.log")).unwrap();
        }
    }
}

fn a_column_that_is_not_set_may_have_no_value(server: Server) {
    let bench = bench(server, "w text NOT NULL");
    let row = |id: usize| match id % 50 {
        3 => format!("{id},{},\n", id % 10),
        _ => format!("{id},{},new\n", id % 10),
    };
    bench.file("rows.csv", (0..ROWS).map(row).collect::<String>());
    for way in WAYS {
        begin_anew(&bench, "id < 1000");
        let load = ["rows.csv", "-t", "t", "-q", "--json", "--on-conflict=update", "--update=v"];
        let reject = ["--reject-file=bad", "--max-rejects=100"];
        let ended = bench.load(load.iter().chain(way).chain(&reject));
        let same = if way.contains(&"--newer=v") { "not_newer" } else { "unchanged" };
        let wanted = [("inserted", 980), ("updated", 900), (same, 100), ("rejected", 20)];
        assert_eq!(row_counts(&ended, 3), counts_by_outcome(wanted), "{way:?}: {ended:?}");
        assert_eq!(bench.count("t WHERE v = id % 10"), 1980);
        assert_eq!(bench.count("t WHERE w = 'old'"), 1000);
        fs::remove_file(bench.path("bad")).unwrap();
        fs::remove_file(bench.path("bad.log")).unwrap();
    }
}

/// Another session has inserted a key that the load's statement does not see yet, and commits while the load waits.
fn others_may_insert_the_same_keys_meanwhile(server: Server) {
    let bench = bench(server, "w text NOT NULL");
    let rows: String =
        (0..100).map(|id| format!("{id},1,{}\n", if id == 5 { "" } else { "x" })).collect();
    bench.file("rows.csv", rows);
    begin_anew(&bench, "id = 5");
    let other = bench.other();
    other.run("BEGIN; INSERT INTO t VALUES (50, 0, 'other')");
    let load = ["rows.csv", "-t", "t", "-q", "--json", "--on-conflict=update", "--update=v"];
    let running = bench.start(load, Stdio::null());
    let waits = "pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()";
    wait_until("the load waiting", || bench.count(waits) == 1);
    other.run("COMMIT");
    let ended = running.ended();
    assert_eq!(
        row_counts(&ended, 0),
        counts_by_outcome([("inserted", 98), ("updated", 2)]),
        "{ended:?}"
    );
    assert_eq!(bench.value("SELECT v || w FROM t WHERE id = 50"), "1other");
}

/// If a BEFORE INSERT trigger changes the values for an existing row, the row is not updated without it.
fn a_trigger_sees_each_row_before_it_is_updated(server: Server) {
    let bench = bench(server, "w text NOT NULL");
    bench.session.run(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS
             'BEGIN NEW.v := NEW.v + 100; RETURN NEW; END';
         CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION f()",
    );
    bench.file("rows.csv", rows());
    bench.file("whole.csv", (0..ROWS).map(|id| format!("{id},1,new\n")).collect::<String>());
    for way in WAYS.iter().filter(|way| !way.contains(&"--newer=v")) {
        begin_anew(&bench, "true");
        bench.load(LOAD.iter().chain(*way)).fails(1, &["23502"]);
        assert_eq!(bench.count("t WHERE v = 100 AND w = 'old'"), ROWS as u64, "{way:?}");
        let load = ["whole.csv", "-t", "t", "-q", "--json", "--on-conflict=update", "--update=v"];
        let ended = bench.load(load.iter().chain(*way));
        assert_eq!(
            row_counts(&ended, 0),
            counts_by_outcome([("updated", ROWS)]),
            "{way:?}: {ended:?}"
        );
        assert_eq!(bench.count("t WHERE v = 101 AND w = 'old'"), ROWS as u64, "{way:?}");
    }
}
