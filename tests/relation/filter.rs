//! `--where`: a load reads the rows that a query with this condition returns, and the condition cannot alter the query.

use super::case::{Case, TREE};
use crate::harness::{Server, on_each_server};

on_each_server!([
    rows_that_the_condition_chooses,
    a_condition_that_is_a_join,
    conditions_are_one_expression,
    conditions_that_the_source_refuses,
    names_must_be_qualified,
]);

const CONDITIONS: [&str; 11] = [
    "id % 3 = 0",
    "id < 100 OR id > 2000",
    "old.v IS NULL AND (old).id > 5",
    "ctid >= '(1,0)'",
    // NULL for some rows.
    "v > 'a'",
    "false",
    "true",
    "id < 1000 -- the old ones",
    "id < 1000 /* the old ones */",
    "id IN (SELECT id FROM public.chosen)",
    "public.is_chosen(id) AND day < '2024-02-01'",
];

fn make(case: &Case) {
    case.make(TREE);
    case.make_old(4000);
    case.source().session.run(
        "CREATE TABLE chosen AS SELECT generate_series(1, 3000, 7) AS id;
         CREATE FUNCTION is_chosen(int) RETURNS bool LANGUAGE sql STABLE AS 'SELECT $1 % 13 = 1'",
    );
}

fn rows_that_the_condition_chooses(server: Server) {
    for case in Case::both(server) {
        make(&case);
        for condition in CONDITIONS {
            case.empty();
            let rows = case.copy(&format!("old WHERE ({condition}\n)"), "id, day, v");
            let summary = case.load("old", &["--where", condition]).summary();
            assert_eq!(summary["rows_read"], rows, "{condition}: {summary}");
            case.agree(condition);
        }
        // The condition may use a column that is not loaded.
        case.empty();
        case.source().session.run("ALTER TABLE old ADD more int; UPDATE old SET more = id % 9");
        case.copy("old WHERE more = 4", "id, day, v");
        case.load("old", &["--where=more = 4", "--ignore-extra"]).summary();
        case.agree("another column");
    }
}

/// A join by merging returns the rows in the order of its key, and not in the order of their places.
fn a_condition_that_is_a_join(server: Server) {
    for case in Case::both(server) {
        make(&case);
        case.source().session.run(
            "DO $$ BEGIN
                 EXECUTE format('ALTER DATABASE %I SET enable_hashjoin = off', current_database());
                 EXECUTE format('ALTER DATABASE %I SET enable_nestloop = off', current_database());
             END $$",
        );
        let condition = "id IN (SELECT id FROM public.chosen)";
        let rows = case.copy(&format!("old WHERE {condition}"), "id, day, v");
        let summary = case.load("old", &["--where", condition]).summary();
        assert_eq!(summary["rows_read"], rows, "{summary}");
        case.agree(condition);
    }
}

/// A condition that is more than an expression is refused, or selects the rows that it describes. No row is read twice.
fn conditions_are_one_expression(server: Server) {
    let case = Case::here(server);
    make(&case);
    let chosen = case.bench.count("old WHERE id < 10 OR id > 90");
    let ended = case.load("old", &["--where=id < 10) OR (id > 90", "--few-rows=0"]);
    let expected = if ended.status.success() { chosen } else { 0 };
    assert_eq!(case.bench.count("t"), expected, "{ended:?}");
    for condition in [
        "true; DROP TABLE public.chosen",
        "true); DROP TABLE public.chosen; SELECT (true",
        "true ORDER BY id",
        "true) TO STDOUT --",
    ] {
        case.empty();
        case.load("old", &["--where", condition]).fails(1, &["(SQLSTATE 42601)"]);
        assert_eq!(case.bench.count("t"), 0, "{condition}");
    }
    assert!(case.bench.count("chosen") > 0);
}

fn conditions_that_the_source_refuses(server: Server) {
    for case in Case::both(server) {
        make(&case);
        for (condition, sqlstate) in [
            ("id <", "42601"),
            ("id < 5 /* never ends", "42601"),
            ("'it", "42601"),
            ("", "42601"),
            ("nope = 1", "42703"),
            ("id", "42804"),
            ("count(*) > 1", "42803"),
            ("id / 0 = 1", "22012"),
        ] {
            let ended = case.load("old", &["--where", condition]);
            assert!(matches!(ended.status.code(), Some(1 | 2)), "{condition}: {ended:?}");
            if !condition.is_empty() {
                ended.fails(1, &[&format!("(SQLSTATE {sqlstate})")]);
            }
            assert_eq!(case.bench.count("t"), 0, "{condition}");
            let planned = case.run("plan", "old", &["--where", condition]);
            assert!(!planned.status.success() || sqlstate == "22012", "{condition}: {planned:?}");
        }
    }
}

fn names_must_be_qualified(server: Server) {
    let case = Case::here(server);
    make(&case);
    for (condition, sqlstate) in
        [("is_chosen(id)", "42883"), ("id IN (SELECT id FROM chosen)", "42P01")]
    {
        let refused = format!("(SQLSTATE {sqlstate})");
        let hint = "HINT:  In the condition, qualify names that are not in pg_catalog.";
        case.load("old", &["--where", condition]).fails(1, &[&refused, hint]);
        assert_eq!(case.bench.count("t"), 0, "{condition}");
    }
    let ended = case.load("old", &["--where=oops > 1"]);
    assert!(!ended.stderr.contains("qualify"), "{ended:?}");
    ended.fails(1, &["(SQLSTATE 42703)"]);
}
