//! Kinds of relations that are read: tables, leaves, partitioned tables, views of both kinds and foreign tables.

use super::case::{Case, TREE, WAYS, notes};
use crate::harness::{Address, Server, on_each_server};

on_each_server!([
    tables,
    partitioned_tables,
    views,
    foreign_tables,
    tables_that_inherit,
    names_as_in_sql,
    generated_columns,
    empty_tables,
    columns_without_match,
]);

/// Row counts of a small load and of a larger one.
const COUNTS: [usize; 2] = [20, 4000];

/// A tree whose leaves have their columns in different orders, and have different dropped columns.
const OLD_TREE: &str = "
CREATE TABLE old (gone int, v text, id int, day date) PARTITION BY RANGE (id);
CREATE TABLE old_1 (day date, other text, id int, v text, gone int);
ALTER TABLE old_1 DROP COLUMN other;
ALTER TABLE old ATTACH PARTITION old_1 FOR VALUES FROM (MINVALUE) TO (10);
CREATE TABLE old_2 PARTITION OF old FOR VALUES FROM (10) TO (MAXVALUE) PARTITION BY HASH (id);
CREATE TABLE old_2_0 PARTITION OF old_2 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE old_2_1 (id int, v text, gone int, day date);
ALTER TABLE old_2 ATTACH PARTITION old_2_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
ALTER TABLE old DROP COLUMN gone";

/// Loads `relation` in every way, and compares the result each time.
#[track_caller]
fn check(case: &Case, relation: &str) {
    for way in WAYS {
        case.empty();
        let rows = case.copy(relation, "id, day, v");
        let summary = case.load(relation, way).summary();
        let read = (&summary["rows_read"], &summary["rows_loaded"]);
        assert_eq!(read, (&rows.into(), &rows.into()), "{relation}: {summary}");
        case.agree(relation);
    }
}

fn tables(server: Server) {
    for case in Case::both(server) {
        case.make(TREE);
        for count in COUNTS {
            case.source().session.run("DROP TABLE IF EXISTS old");
            case.make_old(count);
            check(&case, "public.old");
        }
        let summary = case.load("old", &[]).summary();
        assert!(notes(&summary).contains("VACUUM"), "{summary}");
        assert!(!notes(&summary).contains("as text"), "{summary}");
    }
}

fn partitioned_tables(server: Server) {
    for case in Case::both(server) {
        case.make(TREE);
        for count in COUNTS {
            case.source().session.run("DROP TABLE IF EXISTS old");
            case.source().session.run(OLD_TREE);
            case.fill("old", count);
            for relation in ["old", "public.old_1", "old_2", "old_2_1"] {
                check(&case, relation);
            }
        }
    }
}

fn views(server: Server) {
    for case in Case::both(server) {
        case.make(TREE);
        case.make_old(COUNTS[1]);
        case.source().session.run(
            "CREATE VIEW seen AS SELECT DISTINCT upper(v) AS v, id, day FROM old WHERE id % 2 = 0;
             CREATE MATERIALIZED VIEW kept AS SELECT * FROM seen",
        );
        for relation in ["public.seen", "public.kept"] {
            check(&case, relation);
        }
    }
}

fn foreign_tables(server: Server) {
    let case = Case::here(server);
    case.make(TREE);
    case.make_old(COUNTS[1]);
    let Address { host, port, database, user, password } = Address::from_url(&case.bench.url);
    case.bench.session.run(&format!(
        "CREATE EXTENSION postgres_fdw;
         CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw
             OPTIONS (host '{host}', port '{port}', dbname '{database}');
         CREATE USER MAPPING FOR CURRENT_USER SERVER far OPTIONS (user '{user}', password '{password}');
         CREATE FOREIGN TABLE far (id int, day date, v text) SERVER far OPTIONS (table_name 'old')"
    ));
    check(&case, "public.far");
}

/// Rows of child tables are read, as SELECT reads them.
fn tables_that_inherit(server: Server) {
    let case = Case::here(server);
    case.make(TREE);
    case.make_old(COUNTS[1]);
    case.source().session.run(
        "CREATE TABLE more (other int, v text, id int, day date); ALTER TABLE more DROP COLUMN other;
         ALTER TABLE more INHERIT old; INSERT INTO more SELECT 'more', id + 100000, day FROM ONLY old",
    );
    check(&case, "public.old");
}

fn names_as_in_sql(server: Server) {
    for case in Case::both(server) {
        case.make("CREATE TABLE t (id int, \"Full name\" text)");
        case.source().session.run(
            "CREATE SCHEMA \"Of 2024\";
             CREATE TABLE \"Of 2024\".\"the \"\"rows\"\"\" (\"Full name\" text, id int);
             INSERT INTO \"Of 2024\".\"the \"\"rows\"\"\" SELECT 'n' || i, i FROM generate_series(1, 1000) AS i",
        );
        let relation = "\"Of 2024\".\"the \"\"rows\"\"\"";
        case.copy(relation, "id, \"Full name\"");
        case.load(relation, &[]).summary();
        case.agree(relation);
        // Columns with other names are mapped.
        case.source().session.run(&format!("ALTER TABLE {relation} RENAME id TO \"key=id\""));
        case.source().session.run(&format!("ALTER TABLE {relation} ADD more int"));
        case.bench.session.run("TRUNCATE public.t");
        case.load(relation, &["--map=key=id=id", "--ignore-extra"]).summary();
        case.agree(relation);
    }
}

fn generated_columns(server: Server) {
    let case = Case::here(server);
    case.make("CREATE TABLE t (id int, twice int GENERATED ALWAYS AS (id * 2) STORED)");
    for of_source in ["thrice", "twice"] {
        case.empty();
        case.bench.session.run(&format!(
            "DROP TABLE IF EXISTS old;
             CREATE TABLE old ({of_source} int GENERATED ALWAYS AS (id * 3) STORED, id int);
             INSERT INTO old (id) SELECT generate_series(1, 1000)"
        ));
        case.copy("old", "id");
        case.load("old", &[]).summary();
        case.agree(of_source);
    }
}

fn empty_tables(server: Server) {
    let case = Case::here(server);
    case.make(TREE);
    case.bench.session.run(OLD_TREE);
    let read = |relation: &str| case.load(relation, &[]).summary()["rows_read"].clone();
    assert_eq!(read("old_2_0"), 0);
    assert_eq!(read("old"), 0);
    // Pages without rows.
    case.fill("old", 1000);
    case.bench.session.run("DELETE FROM old");
    assert_eq!(read("old"), 0);
    assert_eq!(case.bench.count("t"), 0);
}

fn columns_without_match(server: Server) {
    let case = Case::here(server);
    case.make(TREE);
    case.bench.session.run("CREATE TABLE old (a int, b text); INSERT INTO old VALUES (1, 'x')");
    case.load("old", &[]).fails(1, &["\"a\""]);
    case.load("old", &["--ignore-extra"]).fails(1, &["\"a\""]);
    case.load("old", &["--map=nope=id", "--ignore-extra"]).fails(1, &["\"nope\""]);
    assert_eq!(case.bench.count("t"), 0);
}
