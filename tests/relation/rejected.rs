//! Rows of a table that the target rejects. Each is reported with its table and ctid, and written to the reject file as
//! an object that can be loaded again.

use std::collections::BTreeSet;
use std::fs;

use super::case::Case;
use crate::harness::{Server, on_each_server};

on_each_server!([
    a_bad_row_is_named,
    a_bad_row_keeps_all_out_of_an_atomic_load,
    rows_without_a_partition,
    rejected_rows_are_an_input,
    rows_of_a_view,
]);

const TARGET: &str = "
CREATE TABLE t (id int CHECK (id <> -1), n int, v text) PARTITION BY LIST (n);
CREATE TABLE t_0 PARTITION OF t FOR VALUES IN (0, 1);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (2, 3, NULL)";

const ROWS: u64 = 5000;

/// Creates the source, and a table whose column `n` has the same type or another one.
fn make(case: &Case, of_source: &str) {
    case.make(&format!("DROP TABLE IF EXISTS t; {TARGET}"));
    case.source().session.run(&format!(
        "DROP TABLE IF EXISTS old;
         CREATE TABLE old AS SELECT id, (id % 4)::{of_source} AS n, 'v\"' || id AS v
         FROM generate_series(1, {ROWS}) AS id"
    ));
}

/// Returns the ctids of some rows of the source.
fn ctids(case: &Case, condition: &str) -> BTreeSet<String> {
    let sql = format!("SELECT ctid FROM old WHERE {condition}");
    case.source().session.rows(&sql).into_iter().flatten().flatten().collect()
}

fn a_bad_row_is_named(server: Server) {
    for case in Case::both(server) {
        for of_source in ["int", "text"] {
            for (way, change) in [
                (&["-j1"][..], "id = -1"),
                (&["-j2", "--few-rows=0"], "id = -1"),
                (&["--wire=text"], "id = -1"),
                (&["--no-native"], "id = -1"),
                (&["-j1"], "n = '7'"),
                (&["--few-rows=0"], "n = '7'"),
            ] {
                make(&case, of_source);
                case.source().session.run(&format!("UPDATE old SET {change} WHERE id = 3333"));
                let ctid = ctids(&case, change).pop_first().unwrap();
                let place = format!("error: public.old, ctid {ctid}: ");
                case.load("old", way).fails(1, &[&place, "(SQLSTATE 23514)"]);
                assert_eq!(case.bench.count(&format!("t WHERE {change}")), 0, "{way:?}");
            }
        }
    }
}

fn a_bad_row_keeps_all_out_of_an_atomic_load(server: Server) {
    let case = Case::here(server);
    case.make(TARGET);
    case.source().session.run(
        "CREATE TABLE old AS SELECT id, id % 4 AS n, repeat('x', 500) AS v
         FROM generate_series(1, 30000) AS id; UPDATE old SET id = -1 WHERE id = 29000",
    );
    let ctid = ctids(&case, "id = -1").pop_first().unwrap();
    let ended = case.load("old", &["--atomic", "--memory=1MiB"]);
    ended.fails_empty(&[&format!("public.old, ctid {ctid}: "), "(SQLSTATE 23514)"]);
    assert_eq!(case.bench.count("t"), 0);
}

fn rows_without_a_partition(server: Server) {
    let case = Case::elsewhere(server);
    make(&case, "int");
    case.source().session.run(
        "CREATE TABLE tree (id int, n int, v text) PARTITION BY RANGE (id);
         CREATE TABLE tree_1 PARTITION OF tree FOR VALUES FROM (1) TO (100);
         CREATE TABLE tree_2 PARTITION OF tree FOR VALUES FROM (100) TO (10000);
         INSERT INTO tree SELECT * FROM old; UPDATE tree SET n = 9 WHERE id = 77",
    );
    let ctid = case.source().value("SELECT ctid FROM tree WHERE n = 9");
    let place = format!("public.tree_1, ctid {ctid}: no partition of relation \"t\" found for row");
    case.load("tree", &[]).fails_empty(&[&place]);
    assert_eq!(case.bench.count("t"), 0);
}

fn rejected_rows_are_an_input(server: Server) {
    for case in Case::both(server) {
        for of_source in ["int", "text"] {
            make(&case, of_source);
            case.source().session.run(
                "UPDATE old SET n = '8' WHERE id % 1000 = 1; UPDATE old SET id = -1 WHERE id % 1000 = 2;
                 UPDATE old SET v = E'a\\n\\\\\"é' WHERE id = -1",
            );
            let wanted = ctids(&case, "id = -1 OR n = '8'");
            let options = ["--reject-file=bad.ndjson", "--max-rejects=10"];
            let summary = case.load("old", &options).summary_of(3);
            assert_eq!(summary["rows_rejected"], wanted.len(), "{summary}");
            assert_eq!(case.bench.count("t"), ROWS - wanted.len() as u64);
            let log = fs::read_to_string(case.bench.path("bad.ndjson.log")).unwrap();
            let places = log.lines().map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).unwrap();
                assert_eq!(line["source"], "public.old", "{line}");
                line["ctid"].as_str().unwrap().to_owned()
            });
            assert_eq!(places.collect::<BTreeSet<String>>(), wanted, "{log}");
            assert_eq!(log.lines().count(), wanted.len(), "{log}");
            // Rows that only the target's constraints rejected can be loaded without them.
            case.bench.session.run(
                "ALTER TABLE public.t DROP CONSTRAINT t_id_check;
                 CREATE TABLE public.t_8 PARTITION OF public.t FOR VALUES IN (8)",
            );
            case.bench.load(["bad.ndjson", "-t", "public.t", "--json"]).summary();
            let differing = "(SELECT id::text, n::text, v FROM public.t EXCEPT ALL
                              SELECT id::text, n::text, v FROM twin.t) AS x";
            case.bench.session.run(
                "ALTER TABLE twin.t DROP CONSTRAINT t_id_check;
                 CREATE TABLE twin.t_8 PARTITION OF twin.t FOR VALUES IN (8)",
            );
            case.copy("old", "id, n, v");
            assert_eq!((case.bench.count("t"), case.bench.count(differing)), (ROWS, 0));
            for name in ["bad.ndjson", "bad.ndjson.log"] {
                fs::remove_file(case.bench.path(name)).unwrap();
            }
        }
    }
}

/// Rows of a view have no ctid, and are reported by their number.
fn rows_of_a_view(server: Server) {
    let case = Case::here(server);
    make(&case, "int");
    case.source()
        .session
        .run("UPDATE old SET n = 8 WHERE id = 5; CREATE VIEW seen AS SELECT DISTINCT * FROM old");
    case.load("seen", &[]).fails_empty(&["public.seen", "(SQLSTATE 23514)"]);
    assert_eq!(case.bench.count("t"), 0);
    let options = ["--reject-file=bad.ndjson", "--max-rejects=1"];
    assert_eq!(case.load("seen", &options).summary_of(3)["rows_rejected"], 1);
    let rejected = fs::read_to_string(case.bench.path("bad.ndjson")).unwrap();
    let rejected: serde_json::Value = serde_json::from_str(&rejected).unwrap();
    assert_eq!(rejected["v"], "v\"5", "{rejected}");
}
