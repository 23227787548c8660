//! Triggers that change the key of a row before it is stored: a load does what the server does row by row.

use std::collections::BTreeMap;

use super::row_counts;
use crate::harness::{Bench, Chance, Server, on_each_server};

on_each_server!([
    rows_get_their_keys_one_by_one,
    a_trigger_that_keeps_the_key_does_not_slow_a_load_down,
    options_that_need_keys_as_the_input_has_them,
]);

/// Bodies of a trigger function.
const BODIES: [&str; 5] = [
    "NEW.c := upper(NEW.c);",
    "NEW.c := NEW.c || NEW.v % 5;",
    "NEW.c := 'only one';",
    "IF NEW.v % 7 = 0 THEN RETURN NULL; END IF; NEW.c := left(NEW.c, 1);",
    "SELECT NEW.id, lower(NEW.c), NEW.v INTO NEW;",
];

const ROWS: usize = 120;

/// Options of a load, and the clause of `ON CONFLICT` that does the same.
const ACTIONS: [(&[&str], &str); 7] = [
    (&["--on-conflict=update"], "(id, c) DO UPDATE SET v = excluded.v WHERE t.v <> excluded.v"),
    (
        &["--on-conflict=update", "--atomic"],
        "(id, c) DO UPDATE SET v = excluded.v WHERE t.v <> excluded.v",
    ),
    (
        &["--on-conflict=update", "--reject-file=bad", "--max-rejects=9"],
        "(id, c) DO UPDATE SET v = excluded.v WHERE t.v <> excluded.v",
    ),
    (
        &["--on-conflict=update", "--newer=v", "--wire=text"],
        "(id, c) DO UPDATE SET v = excluded.v WHERE t.v < excluded.v",
    ),
    (&["--on-conflict=skip"], "DO NOTHING"),
    (&["--on-conflict=skip", "--key=id,c"], "(id, c) DO NOTHING"),
    (&["--on-conflict=skip", "--atomic"], "DO NOTHING"),
];

/// Creates a table with a trigger on its leaves or on the root.
fn make(bench: &Bench, schema: &str, body: &str, is_of_root: bool) {
    let tables: &[&str] = if is_of_root { &["t"] } else { &["t_1", "t_2"] };
    let trigger = |table: &&str| {
        format!(
            "CREATE TRIGGER turn BEFORE INSERT ON {schema}.{table} FOR EACH ROW EXECUTE FUNCTION {schema}.turn();"
        )
    };
    let triggers: String = tables.iter().map(trigger).collect();
    bench.session.run(&format!(
        "SET client_min_messages = warning; DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema};
         CREATE TABLE {schema}.t (id int, c text, v int, PRIMARY KEY (id, c)) PARTITION BY LIST (id);
         CREATE TABLE {schema}.t_1 PARTITION OF {schema}.t FOR VALUES IN (1);
         CREATE TABLE {schema}.t_2 PARTITION OF {schema}.t FOR VALUES IN (2);
         INSERT INTO {schema}.t VALUES (1, 'A', 0), (1, 'b', 3), (2, 'only one', 1);
         CREATE FUNCTION {schema}.turn() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN {} RETURN NEW; END'; {triggers}",
        body.replace('\'', "''")
    ));
}

fn rows_get_their_keys_one_by_one(server: Server) {
    let bench = Bench::new(server);
    let mut chance = Chance::from_seed(34);
    let words = ["a", "A", "b", "B", "only one", "c", "C"];
    let row = |chance: &mut Chance| {
        let (word, number) = (chance.one_of(&words), chance.below(12));
        (1 + chance.below(2), format!("{word}{number}"), chance.below(100))
    };
    let rows: Vec<_> = (0..ROWS).map(|_| row(&mut chance)).collect();
    let line = |(id, c, v): &(usize, String, usize)| format!("{id},{c},{v}\n");
    bench.file("rows.csv", rows.iter().map(line).collect::<String>());
    bench.session.run("CREATE TABLE input (n serial, id int, c text, v int)");
    let csv: String = rows.iter().map(line).collect();
    bench.session.copy_in("COPY input (id, c, v) FROM STDIN (FORMAT csv)", csv.into()).unwrap();
    for (number, body) in BODIES.iter().enumerate() {
        for (options, conflict) in ACTIONS {
            for schema in ["ours", "twin"] {
                make(&bench, schema, body, number % 2 == 0);
            }
            let wanted = one_by_one(&bench, conflict);
            let load = ["rows.csv", "-t", "ours.t", "--json", "-j4", "--memory=1MiB"];
            let ended = bench.load(load.iter().chain(&["--few-rows=0"]).chain(options));
            let context = format!("{body} {options:?}: {ended:?}");
            assert!(ended.stderr.contains("may change keys"), "{context}");
            let there = |schema: &str| {
                bench.session.rows(&format!("SELECT t::text FROM {schema}.t ORDER BY 1"))
            };
            assert_eq!(there("ours"), there("twin"), "{context}");
            let mut row_counts = row_counts(&ended, 0);
            let existing: u64 = ["unchanged", "not_newer", "skipped"]
                .iter()
                .filter_map(|it| row_counts.remove(*it))
                .sum();
            let mut wanted = wanted;
            let left = wanted.remove("left");
            assert_eq!(
                (row_counts, Some(existing).filter(|existing| *existing > 0)),
                (wanted, left),
                "{context}"
            );
            let _ = std::fs::remove_file(bench.path("bad"));
        }
    }
}

/// Inserts the rows into the twin one by one. Returns how many were inserted, updated and left unchanged.
fn one_by_one(bench: &Bench, conflict: &str) -> BTreeMap<String, u64> {
    let insert = |leaf: &str| {
        format!(
            "INSERT INTO twin.{leaf} AS t VALUES (r.id, r.c, r.v) ON CONFLICT {conflict}
             RETURNING CASE WHEN t.xmax = 0 THEN 'inserted' ELSE 'updated' END INTO what"
        )
    };
    bench.session.run(&format!(
        "DROP TABLE IF EXISTS counts; CREATE TABLE counts (what text);
         DO $$ DECLARE r record; what text; BEGIN
             FOR r IN SELECT * FROM input ORDER BY n LOOP
                 what := NULL;
                 IF r.id = 1 THEN {}; ELSE {}; END IF;
                 INSERT INTO counts VALUES (COALESCE(what, 'left'));
             END LOOP;
         END $$",
        insert("t_1"),
        insert("t_2")
    ));
    let rows = bench.session.rows("SELECT what, count(*) FROM counts GROUP BY what").into_iter();
    let count = |row: Vec<Option<String>>| {
        (row[0].clone().unwrap(), row[1].as_ref().unwrap().parse().unwrap())
    };
    rows.map(count).collect()
}

fn a_trigger_that_keeps_the_key_does_not_slow_a_load_down(server: Server) {
    let bench = Bench::new(server);
    make(&bench, "ours", "NEW.v := NEW.v + 1000;", true);
    bench.file("rows.csv", "1,A,5\n1,x,6\n1,x,7\n");
    for (options, there) in [("update", 1_007), ("skip", 1_006)] {
        let load = ["rows.csv", "-t", "ours.t", "--json", "--on-conflict", options];
        let ended = bench.load(load);
        assert!(!ended.stderr.contains("may change keys"), "{ended:?}");
        assert_eq!(row_counts(&ended, 0)["duplicate"], 1);
        assert_eq!(bench.value("SELECT v FROM ours.t WHERE c = 'x'"), there.to_string());
        bench.session.run("DELETE FROM ours.t WHERE c = 'x'");
    }
}

fn options_that_need_keys_as_the_input_has_them(server: Server) {
    let bench = Bench::new(server);
    make(&bench, "ours", "NEW.c := upper(NEW.c);", true);
    bench.session.run(
        "CREATE TRIGGER too BEFORE UPDATE ON ours.t_2 FOR EACH ROW EXECUTE FUNCTION ours.turn()",
    );
    bench.file("rows.csv", "1,A,5\n");
    for (options, parts) in [
        ("update --duplicates first", ["--duplicates", "trigger turn on ours.t "]),
        ("update --duplicates error", ["--duplicates", "trigger turn on ours.t "]),
        ("skip --key id,c --duplicates last", ["--duplicates", "trigger turn on ours.t "]),
        ("update --update v --delete-when v", ["--delete-when", "trigger turn on ours.t "]),
        ("update --no-insert", ["--no-insert", "trigger too on ours.t_2 "]),
    ] {
        let load = format!("rows.csv -t ours.t --on-conflict {options}");
        let message = ["needs unchanged keys", "may change keys (SQLSTATE 0A000)"];
        let parts: Vec<&str> = [parts[0], message[0], parts[1], message[1]].into();
        bench.load(load.split(' ')).fails(2, &parts);
    }
    let load = "rows.csv -t ours.t --on-conflict delete";
    assert_eq!(bench.load(load.split(' ')).status.code(), Some(0));
    assert_eq!(bench.count("ours.t"), 2);
}
