//! The records that a load leaves in the ledger, and how to remove them.

use std::process::Stdio;

use super::{ledger, table};
use crate::harness::{Bench, on_each_server, rows, wait_until};

on_each_server!(with super::table, [
    a_finished_load_is_one_row,
    a_load_that_failed_without_a_row_is_none,
    tables_say_what_they_are,
    loads_are_chosen,
]);

const TABLES: [&str; 5] = ["tree", "receipt", "block", "reject", "witness"];

fn left(bench: &Bench) -> (u64, u64) {
    let others = TABLES.map(|table| bench.count(&format!("pgsluice.{table}")));
    (bench.count("pgsluice.load"), others.iter().sum())
}

fn a_finished_load_is_one_row(bench: &Bench) {
    let ways: [&[&str]; 6] = [
        &["few.csv"],
        &["rows.csv"],
        &["rows.csv", "--atomic"],
        &["rows.csv", "--exchange"],
        &["bad.csv", "--reject-file=rejects.csv", "--max-rejects=9"],
        &["-", "--format=csv"],
    ];
    bench.file("bad.csv", [&rows(2000, 10)[..], b"x,y\n-1,z\n"].concat());
    for (done, way) in ways.iter().enumerate() {
        if way.contains(&"--exchange") {
            bench.session.run("TRUNCATE t");
        }
        let mut load = bench.start([way, &["-t", "t"][..]].concat(), Stdio::piped());
        if way[0] == "-" {
            load.feed(&rows(2000, 10));
        }
        drop(load.child.stdin.take());
        let ended = load.ended();
        assert!(matches!(ended.status.code(), Some(0 | 3)), "{ended:?}");
        assert_eq!(left(bench), (done as u64 + 1, 0), "{way:?}");
    }
    let counts = bench.session.rows(
        "SELECT rows_read, rows_inserted, rows_dropped, rows_rejected, run ->> 'program', \
         run ->> 'user' = current_user, sources -> 0 ->> 'path' LIKE '/%/bad.csv' \
         FROM pgsluice.load WHERE sources -> 0 ->> 'name' = 'bad.csv'",
    );
    let program = format!("pgsluice {}", env!("CARGO_PKG_VERSION"));
    let expected = ["2002", "2000", "0", "2", &program, "t", "t"].map(|cell| Some(cell.to_owned()));
    assert_eq!(counts, [expected.to_vec()]);
}

fn a_load_that_failed_without_a_row_is_none(bench: &Bench) {
    bench.file("wrong.csv", "x,y\n".repeat(2000));
    bench.file("other.csv", "1,a,b\n".repeat(2000));
    for way in [
        &["wrong.csv"][..],
        &["other.csv"],
        &["wrong.csv", "--atomic"],
        &["wrong.csv", "--exchange"],
    ] {
        let ended = bench.load([way, &["-t", "t", "--load-id", "l"][..]].concat());
        ended.fails(1, &["No row of this load is in the table."]);
        assert_eq!(left(bench), (0, 0), "{way:?}");
    }
    // With a row in the table, the record stays, so that the load can be resumed.
    let mixed = [&rows(60_000, 100)[..], b"x,y\n"].concat();
    bench.file("mixed.csv", mixed);
    let ended = bench.load(["mixed.csv", "-t", "t", "--memory=1MiB", "--load-id", "l"]);
    assert!(ended.committed() > 0, "{ended:?}");
    assert_eq!(bench.count("pgsluice.load"), 1);
    let receipts = bench.count("pgsluice.receipt");
    assert!(receipts > 0);
    // A second failure that adds no row removes nothing.
    bench.load(["mixed.csv", "-t", "t", "--load-id", "l"]).fails(1, &["--load-id l"]);
    assert!(bench.count("pgsluice.load") == 1 && bench.count("pgsluice.receipt") > 0);
}

fn tables_say_what_they_are(bench: &Bench) {
    bench.load(["few.csv", "-t", "t"]);
    let silent = "SELECT count(*) FROM pg_class WHERE relnamespace = 'pgsluice'::regnamespace \
                  AND relkind = 'r' AND obj_description(oid, 'pg_class') IS NULL";
    assert_eq!(bench.value(silent), "0");
    let comment = bench.value("SELECT obj_description('pgsluice.load'::regclass, 'pg_class')");
    assert!(comment.starts_with("pgsluice ledger, format 5. "), "{comment}");
}

fn loads_are_chosen(bench: &Bench) {
    bench.session.run("CREATE SCHEMA other; CREATE TABLE other.u (LIKE t)");
    let load = |table: &str, id: &str| {
        let ended = bench.load(["few.csv", "-t", table, "--load-id", id]);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    };
    load("t", "a");
    load("other.u", "b");
    load("t", "c");
    let mixed = [&rows(60_000, 100)[..], b"x,y\n"].concat();
    bench.file("mixed.csv", mixed);
    bench.load(["mixed.csv", "-t", "t", "--memory=1MiB", "--load-id", "d"]);
    let listed = |options: &[&str]| -> Vec<String> {
        let ended = ledger(&bench.url, &[&["list", "--json"], options].concat());
        let loads: Vec<serde_json::Value> = serde_json::from_str(&ended.stdout).unwrap();
        loads.iter().map(|load| load["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(listed(&[]), ["d", "c", "b", "a"]);
    assert_eq!(listed(&["-t", "t"]), ["d", "c", "a"]);
    assert_eq!(listed(&["-t", "other.u"]), ["b"]);
    bench.session.run("DROP TABLE other.u");
    assert_eq!(
        (listed(&["-t", "other.u"]), listed(&["-t", "nothing"])),
        (vec!["b".to_owned()], vec![])
    );

    let forget = |options: &[&str]| ledger(&bench.url, &[&["forget"], options].concat());
    assert_eq!(forget(&[]).status.code(), Some(2));
    assert_eq!(forget(&["a", "--all"]).status.code(), Some(2));
    forget(&["--older-than", "nonsense"]).fails(1, &["invalid input syntax for type interval"]);
    assert!(forget(&["--older-than", "1h"]).stderr.ends_with("0 loads forgotten\n"));
    bench.session.run(
        "UPDATE pgsluice.load SET begun = begun - interval '40 days', ended = ended - interval '40 days' \
         WHERE id IN ('a', 'd')",
    );
    assert!(
        forget(&["--older-than", "30d", "-t", "other.u"]).stderr.ends_with("0 loads forgotten\n")
    );
    assert!(
        forget(&["--older-than", "30d", "--unfinished"]).stderr.ends_with("1 load forgotten\n")
    );
    assert_eq!(listed(&[]), ["c", "b", "a"]);
    assert!(forget(&["--older-than", "30d"]).stderr.contains("load a is forgotten"));
    // The record of a running load stays.
    let mut running =
        bench.start(["-", "-t", "t", "--format=csv", "--load-id", "r"], Stdio::piped());
    running.feed(&rows(120_000, 100));
    wait_until("a commit", || bench.count("t") > 60_000);
    let message = forget(&["--all"]).stderr;
    assert!(
        message.contains("load r is running and was kept\n")
            && message.ends_with("2 loads forgotten\n"),
        "{message}"
    );
    drop(running.child.stdin.take());
    assert_eq!(running.ended().status.code(), Some(0));
    assert_eq!(listed(&[]), ["r"]);
    forget(&["--all"]);
    assert_eq!(left(bench), (0, 0));
}
