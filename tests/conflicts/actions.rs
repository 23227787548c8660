//! Rows whose change affects other rows through the actions of a self-referencing foreign key: the load
//! leaves the table as one statement would, and counts only the rows of its input.

use std::collections::BTreeMap;

use super::row_counts;
use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    updates_that_others_follow_are_counted_once,
    deletes_that_others_follow_are_counted_once,
    tables_that_inherit_keep_their_rows,
]);

const GROUPS: usize = 4;

/// Number of rows of a group. Half of them exist, and all but the first refer to the first.
const ROWS: usize = 40;

/// Options that send rows in different ways.
const WAYS: [&[&str]; 5] = [
    &["-j1"],
    &["-j2", "--few-rows=0"],
    &["-j1", "--memory=1MiB"],
    &["--atomic"],
    &["--wire=text"],
];

fn bench(server: Server, actions: &str) -> Bench {
    let bench = Bench::new(server);
    bench.session.run(&format!(
        "CREATE TABLE t (g int, id int, code int, of int DEFAULT 0, parent int DEFAULT 0,
             PRIMARY KEY (g, id), UNIQUE (g, code), FOREIGN KEY (of, parent) REFERENCES t (g, code) {actions})
             PARTITION BY LIST (g)"
    ));
    for group in 0..GROUPS {
        bench
            .session
            .run(&format!("CREATE TABLE t_{group} PARTITION OF t FOR VALUES IN ({group})"));
    }
    bench
}

fn begin_anew(bench: &Bench) {
    bench.session.run(&format!(
        "TRUNCATE t; INSERT INTO t SELECT g, id, id, g, CASE WHEN id > 1 THEN 1 END
         FROM generate_series(0, {GROUPS} - 1) AS g, generate_series(0, {ROWS} / 2 - 1) AS id"
    ));
}

fn content(bench: &Bench) -> Vec<Vec<Option<String>>> {
    bench.session.rows("SELECT tableoid::regclass, t::text FROM t ORDER BY 1, 2")
}

fn updates_that_others_follow_are_counted_once(server: Server) {
    // The key of the first row changes, some rows stay as they are, and some are new.
    let row = |group, id: usize| match id {
        1 => format!("{group},1,1001\n"),
        id if id % 5 == 0 => format!("{group},{id},{id}\n"),
        id => format!("{group},{id},{}\n", id + 100),
    };
    let ids = || (1..ROWS).filter(|id| id % 3 != 2);
    let rows: String = (0..GROUPS).flat_map(|group| ids().map(move |id| row(group, id))).collect();
    let of_each =
        |wanted: &dyn Fn(usize) -> bool| (GROUPS * ids().filter(|id| wanted(*id)).count()) as u64;
    let expected = BTreeMap::from([
        ("inserted".to_owned(), of_each(&|id| id >= ROWS / 2)),
        ("updated".to_owned(), of_each(&|id| id < ROWS / 2 && id % 5 != 0)),
        ("unchanged".to_owned(), of_each(&|id| id < ROWS / 2 && id % 5 == 0)),
    ]);
    for action in ["CASCADE", "SET NULL", "SET DEFAULT"] {
        let bench = bench(server, &format!("ON UPDATE {action}"));
        bench.file("rows.csv", rows.clone());
        begin_anew(&bench);
        let values = rows.lines().map(|row| format!("({row})")).collect::<Vec<_>>().join(", ");
        bench.session.run(&format!(
            "INSERT INTO t (g, id, code) VALUES {values} ON CONFLICT (g, id) DO UPDATE SET code = excluded.code
             WHERE t.code <> excluded.code"
        ));
        let wanted = content(&bench);
        for way in WAYS {
            begin_anew(&bench);
            let load = ["rows.csv", "-t", "t", "-q", "--json", "--columns=g,id,code"];
            let ended = bench.load(load.iter().chain(&["--on-conflict=update"]).chain(way));
            assert_eq!(row_counts(&ended, 0), expected, "{action} {way:?}: {ended:?}");
            assert!(content(&bench) == wanted, "{action} {way:?}: {ended:?}");
        }
    }
}

fn deletes_that_others_follow_are_counted_once(server: Server) {
    let keys: String =
        (0..GROUPS).map(|group| format!("{group},1\n{group},5\n{group},99\n")).collect();
    for action in ["CASCADE", "SET NULL", "SET DEFAULT"] {
        let bench = bench(server, &format!("ON DELETE {action}"));
        bench.file("keys.csv", keys.clone());
        for way in WAYS {
            begin_anew(&bench);
            let load = ["keys.csv", "-t", "t", "-q", "--json", "--columns=g,id"];
            let ended = bench.load(load.iter().chain(&["--on-conflict=delete"]).chain(way));
            let groups = GROUPS as u64;
            let expected = [("deleted", 2 * groups), ("not_found", groups)];
            let expected = expected.map(|(counts, rows)| (counts.to_owned(), rows));
            assert_eq!(
                row_counts(&ended, 0),
                BTreeMap::from(expected),
                "{action} {way:?}: {ended:?}"
            );
            let left = match action {
                "CASCADE" => GROUPS,
                _ => GROUPS * (ROWS / 2 - 2),
            };
            assert_eq!(bench.count("t"), left as u64, "{action} {way:?}");
            assert_eq!(bench.count("t WHERE parent = 1"), 0);
        }
    }
}

/// The index of a table does not contain the rows of its inheritance children.
fn tables_that_inherit_keep_their_rows(server: Server) {
    let bench = Bench::new(server);
    bench.session.run("CREATE TABLE t (id int PRIMARY KEY, v int); CREATE TABLE u () INHERITS (t)");
    bench.file("rows.csv", (0..ROWS).map(|id| format!("{id},1\n")).collect::<String>());
    let (all, half) = (ROWS as u64, ROWS as u64 / 2);
    for (action, other, own) in [
        (&["--on-conflict=update"][..], ("inserted", half), ("updated", half)),
        (&["--on-conflict=update", "--atomic"], ("inserted", half), ("updated", half)),
        (&["--on-conflict=update", "--no-insert"], ("not_found", half), ("updated", half)),
        (&["--on-conflict=skip", "--key=id"], ("inserted", half), ("skipped", half)),
        (&["--on-conflict=delete"], ("not_found", half), ("deleted", half)),
    ] {
        bench.session.run(&format!(
            "TRUNCATE t; INSERT INTO t SELECT id, 0 FROM generate_series(0, {half} - 1) AS id;
             INSERT INTO u SELECT id, 0 FROM generate_series(0, {all} - 1) AS id"
        ));
        let ended = bench.load(["rows.csv", "-t", "t", "-q", "--json"].iter().chain(action));
        let expected = [other, own].map(|(counts, rows)| (counts.to_owned(), rows));
        assert_eq!(row_counts(&ended, 0), BTreeMap::from(expected), "{action:?}: {ended:?}");
        assert_eq!(bench.count("u WHERE v = 0"), all, "{action:?}");
    }
}
