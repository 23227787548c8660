//! Publications that include the ledger, and tables whose changed rows no subscriber could identify.

use std::process::Stdio;

use super::{ledger, table};
use crate::harness::{Bench, Ended, Server, on_each_server, rows};

on_each_server!([
    a_ledger_that_is_published_takes_every_load,
    only_publications_that_nobody_has_chosen_it_for_are_named,
    rows_that_no_subscriber_could_find_are_not_changed,
]);

/// Loads `source` as `id`; the source `-` is a stream.
fn load(bench: &Bench, source: &str, id: &str, options: &[&str]) -> Ended {
    let given = [source, "-t", "t", "--format=csv", "--json", "--load-id", id];
    let mut load = bench.start([&given[..], options].concat(), Stdio::piped());
    if source == "-" {
        load.feed(&rows(60_000, 100));
    }
    drop(load.child.stdin.take());
    load.ended()
}

fn a_ledger_that_is_published_takes_every_load(server: Server) {
    let bench = &table(server);
    bench.session.run("CREATE PUBLICATION everything FOR ALL TABLES");
    let ways: [(&str, &[&str], u64); 5] = [
        ("few.csv", &[], 10),
        ("rows.csv", &[], 2000),
        ("rows.csv", &["--atomic"], 2000),
        // Several connections write a block at the same moment.
        ("-", &["-j4", "--memory=1MiB"], 60_000),
        ("bad.csv", &["--reject-file=bad", "--max-rejects=9"], 2000),
    ];
    bench.file("bad.csv", [&rows(2000, 10)[..], b"x,y\n"].concat());
    for (number, (source, options, count)) in ways.into_iter().enumerate() {
        bench.session.run("TRUNCATE t");
        let id = number.to_string();
        let status = if source == "bad.csv" { 3 } else { 0 };
        let ended = load(bench, source, &id, options);
        let summary = ended.summary_of(status);
        let warned = summary["warnings"].to_string();
        assert_eq!(
            warned.matches("publication everything includes the ledger").count(),
            1,
            "{warned}"
        );
        assert!(ended.stderr.contains("warning: publication everything"), "{ended:?}");
        assert_eq!(bench.count("t"), count, "{source}");
        assert_eq!(ledger(&bench.url, &["forget", &id]).status.code(), Some(0));
    }
    let without_key = "pg_class c WHERE relnamespace = 'pgsluice'::regnamespace AND relkind = 'r' \
                   AND NOT EXISTS (SELECT FROM pg_index WHERE indrelid = c.oid AND indisprimary)";
    assert_eq!((bench.count(without_key), bench.count("pgsluice.load")), (0, 0));
    // Without a ledger there is no warning.
    let ended = bench.load(["rows.csv", "-t", "t", "--no-ledger", "--json"]);
    assert_eq!(ended.summary()["warnings"].to_string(), "[]");
}

fn only_publications_that_nobody_has_chosen_it_for_are_named(server: Server) {
    let bench = &table(server);
    load(bench, "few.csv", "first", &[]).summary();
    let warned = |publication: &str| -> Vec<String> {
        bench.session.run(&format!("CREATE PUBLICATION \"a B\" {publication}"));
        let warned = ["few.csv", "rows.csv"].map(|source| {
            bench.session.run("TRUNCATE t");
            let summary = load(bench, source, &format!("{publication} {source}"), &[]).summary();
            summary["warnings"].to_string()
        });
        bench.session.run("DROP PUBLICATION \"a B\"");
        warned.into()
    };
    assert_eq!(warned("FOR TABLE t"), ["[]", "[]"]);
    assert_eq!(warned("FOR TABLE t, pgsluice.load, pgsluice.tree"), ["[]", "[]"]);
    if server.lacks(15, "TABLES IN SCHEMA") {
        return;
    }
    assert_eq!(warned("FOR TABLES IN SCHEMA public"), ["[]", "[]"]);
    for warning in warned("FOR TABLES IN SCHEMA public, pgsluice") {
        assert!(warning.contains("publication \\\"a B\\\" includes the ledger"), "{warning}");
    }
}

fn rows_that_no_subscriber_could_find_are_not_changed(server: Server) {
    let bench = &table(server);
    bench.session.run("CREATE UNIQUE INDEX ON t (id); CREATE PUBLICATION p FOR TABLE t");
    let unique = (0..2000).map(|id| format!("{},x\n", id % 100)).collect::<String>();
    bench.file("keys.csv", unique);
    let load = |more: &[&str]| {
        let given = ["keys.csv", "-t", "t", "--key=id", "--json", "--duplicates=last", "-j2"];
        bench.load([&given[..], more].concat())
    };
    for change in [&["--on-conflict=update"][..], &["--on-conflict=delete"]] {
        let what = if change[0].ends_with("update") { "update" } else { "delete from" };
        let refused = load(change);
        let message = [
            &format!("cannot {what} table \"t0\" because it does not have a replica identity"),
            "(SQLSTATE 55000)",
            "HINT:  ALTER TABLE public.t0 REPLICA IDENTITY FULL;",
        ];
        refused.fails(1, &message);
        assert_eq!(bench.count("t"), 0);
    }
    assert_eq!(load(&["--on-conflict=skip"]).summary()["rows_loaded"], 100);
    // Follow the hint, for each leaf.
    for leaf in 0..10 {
        bench.session.run(&format!("ALTER TABLE public.t{leaf} REPLICA IDENTITY FULL"));
    }
    load(&["--on-conflict=update"]).summary();
    load(&["--on-conflict=delete"]).summary();
    assert_eq!(bench.count("t"), 0);
    bench.session.run("ALTER TABLE t3 REPLICA IDENTITY NOTHING");
    load(&["--on-conflict=update"]).fails(1, &["cannot update table \"t3\""]);
    bench.session.run("ALTER PUBLICATION p SET (publish = 'insert')");
    load(&["--on-conflict=update"]).summary();
}
