//! `load`, `plan` and `verify` work with a table as they do with files.

use super::case::{Case, TREE};
use crate::harness::{Server, on_each_server};

on_each_server!([
    existing_rows,
    missing_partitions,
    exchanged_leaves,
    the_plan,
    differences,
    nothing_is_left_at_the_source,
]);

const KEYED: &str = "
CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY RANGE (id);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (1000);
CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM (1000) TO (100000)";

fn keyed(server: Server, count: usize) -> Case {
    let case = Case::elsewhere(server);
    case.make(KEYED);
    case.source().session.run(&format!(
        "CREATE TABLE old (v text, id int PRIMARY KEY);
         INSERT INTO old SELECT 'new', id FROM generate_series(1, {count}) AS id"
    ));
    case.bench
        .session
        .run("INSERT INTO t SELECT id, 'before' FROM generate_series(2, 90000, 5) AS id");
    case
}

fn existing_rows(server: Server) {
    for count in [20_u64, 5000] {
        let existing = count / 5;
        let case = keyed(server, count as usize);
        let before = case.bench.count("t");
        let skip = ["--on-conflict=skip", "--key=id"];
        let counts = &case.load("old", &skip).summary()["counts"];
        let found = (&counts["inserted"], &counts["skipped"]);
        assert_eq!(found, (&(count - existing).into(), &existing.into()), "{counts}");
        // A load under another id adds nothing.
        let counts = &case.load("old", &skip).summary()["counts"];
        assert_eq!((&counts["inserted"], &counts["skipped"]), (&0.into(), &count.into()));
        assert_eq!(case.bench.count("t WHERE v = 'before'"), before);
        case.load("old", &["--on-conflict=update"]).summary();
        assert_eq!(case.bench.count("t WHERE v = 'before'"), before - existing);
        assert_eq!(case.bench.count("t"), before + count - existing);
    }
}

fn missing_partitions(server: Server) {
    let case = Case::elsewhere(server);
    case.make(
        "CREATE TABLE t (id int, day date, v text) PARTITION BY RANGE (day);
         CREATE TABLE t_2024_01 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
         CREATE TABLE t_2024_02 PARTITION OF t FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')",
    );
    case.make_old(3000);
    let planned = case.run("plan", "old", &["--full"]);
    assert!(planned.stdout.contains("FROM (E'2024-03-01') TO (E'2024-04-01')"), "{planned:?}");
    case.load("old", &[]).fails(1, &["public.old, ctid (", "no partition of relation"]);
    case.load("old", &["--create-partitions"]).summary();
    let of_twin = "CREATE TABLE twin.t_2024_03 PARTITION OF twin.t FOR VALUES FROM ('2024-03-01') TO ('2024-04-01')";
    case.bench.session.run(of_twin);
    case.copy("old", "id, day, v");
    assert_eq!(case.bench.count("public.t"), case.bench.count("twin.t"));
    let differing = "(SELECT * FROM public.t EXCEPT ALL SELECT * FROM twin.t) AS x";
    assert_eq!(case.bench.count(differing), 0);
}

fn exchanged_leaves(server: Server) {
    let case = Case::elsewhere(server);
    case.make(TREE);
    case.make_old(3000);
    // A DEFAULT partition with rows would keep its siblings from being exchanged.
    case.source().session.run("DELETE FROM old WHERE day >= '2024-03-01' OR day IS NULL");
    case.copy("old", "id, day, v");
    for exchange in ["--exchange=require", "--exchange=replace"] {
        let summary = case.load("old", &[exchange]).summary();
        assert_eq!(summary["exchanged"], 3, "{summary}");
        case.agree(exchange);
    }
}

fn the_plan(server: Server) {
    for case in Case::both(server) {
        case.make(TREE);
        case.make_old(3000);
        for options in [&[][..], &["--where=id < 100"], &["--full"]] {
            let planned = case.run("plan", "old", options);
            assert_eq!(planned.status.code(), Some(0), "{planned:?}");
            assert!(planned.stdout.contains("public.old"), "{planned:?}");
            assert!(planned.stdout.contains("equal"), "{planned:?}");
        }
        assert_eq!(case.bench.count("t"), 0);
    }
}

fn differences(server: Server) {
    for case in Case::both(server) {
        case.make(TREE);
        case.make_old(3000);
        case.load("old", &[]).summary();
        let verify = |options: &[&str]| {
            let ended = case.run("verify", "old", options);
            (ended.status.code(), ended.stdout.contains("\nequal: the table holds exactly these"))
        };
        assert_eq!(verify(&[]), (Some(0), true));
        assert_eq!(verify(&["--where=id > 10"]), (Some(1), false));
        case.bench.session.run("UPDATE t SET v = 'other' WHERE id = 5");
        assert_eq!(verify(&[]), (Some(1), false));
        case.source().session.run("UPDATE old SET v = 'other' WHERE id = 5");
        assert_eq!(verify(&[]), (Some(0), true));
        case.source().session.run("DELETE FROM old WHERE id = 6");
        assert_eq!(verify(&[]), (Some(1), false));
        let subset = case.run("verify", "old", &["--subset"]);
        assert_eq!(subset.status.code(), Some(0), "{subset:?}");
        case.source().session.run("INSERT INTO old SELECT * FROM old WHERE id = 7");
        assert_eq!(verify(&[]), (Some(1), false));
    }
}

/// No sessions or objects are left in the source's database.
fn nothing_is_left_at_the_source(server: Server) {
    let case = Case::elsewhere(server);
    case.make(TREE);
    case.make_old(3000);
    let objects =
        "SELECT string_agg(oid::regclass::text, ' ' ORDER BY oid) FROM pg_class WHERE oid >= 16384";
    let before = case.source().value(objects);
    case.load("old", &[]).summary();
    case.run("plan", "old", &[]);
    case.run("verify", "old", &[]);
    case.source().wait_for_sessions();
    assert_eq!(case.source().value(objects), before);
    assert_eq!(case.source().value("SELECT to_regnamespace('pgsluice') IS NULL"), "t");
}
