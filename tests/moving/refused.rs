//! Obstacles are reported before the table is locked, with a next step that works. The table does not change.

use super::case::{Case, MONTHS};
use crate::harness::{Role, Server, on_each_server};

on_each_server!([
    what_would_be_lost,
    next_steps_work,
    generated_columns_that_would_change,
    tables_that_cannot_be_moved,
    roles_without_rights,
    arguments_that_make_no_sense,
]);

/// Obstacles whose next step is not SQL, each with a part of the message.
const OTHERS: &[(&str, &str)] = &[
    (
        "CREATE MATERIALIZED VIEW m AS SELECT id FROM events",
        "Materialized view public.m depends on it",
    ),
    (
        "CREATE FUNCTION one(events) RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "Function public.one(public.events) depends on it",
    ),
    ("CREATE TABLE holds (e events)", "Column e of table public.holds depends on it"),
    ("CREATE PUBLICATION p FOR TABLE events", "Publication p publishes it"),
    (
        "ALTER TABLE events ADD CONSTRAINT c CHECK (id > 0) NO INHERIT",
        "Constraint c is not inherited",
    ),
];

/// Obstacles, each with the statement that removes it, as the message has it.
const STEPS: &[(&str, &str)] = &[
    (
        "CREATE TABLE other (id bigint, placed date, FOREIGN KEY (id, placed) REFERENCES events)",
        "ALTER TABLE public.other DROP CONSTRAINT other_id_placed_fkey;",
    ),
    (
        "ALTER TABLE events ADD CONSTRAINT c CHECK (id > 0) NOT VALID",
        "ALTER TABLE public.events VALIDATE CONSTRAINT c;",
    ),
    ("CREATE RULE r AS ON DELETE TO events DO INSTEAD NOTHING", "DROP RULE r ON public.events;"),
    (
        "CREATE TABLE heir () INHERITS (events)",
        "ALTER TABLE public.heir NO INHERIT public.events;",
    ),
    (
        "CREATE TABLE elder (id bigint NOT NULL, placed date NOT NULL, v text); ALTER TABLE events INHERIT elder",
        "ALTER TABLE public.events NO INHERIT public.elder;",
    ),
    ("ALTER TABLE events SET UNLOGGED", "ALTER TABLE public.events SET LOGGED;"),
    (
        "ALTER TABLE events REPLICA IDENTITY USING INDEX events_pkey",
        "ALTER TABLE public.events REPLICA IDENTITY DEFAULT;",
    ),
    (
        "CREATE FUNCTION noop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER g AFTER INSERT ON events REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION noop()",
        "DROP TRIGGER g ON public.events;",
    ),
    (
        "ALTER TABLE events ADD EXCLUDE USING btree (id WITH =, placed WITH =)",
        "ALTER TABLE public.events DROP CONSTRAINT events_id_placed_excl;",
    ),
];

#[track_caller]
fn refuses(case: &Case, part: &str) {
    let ended = case.run(&[&["events"], &MONTHS[..]].concat());
    ended.fails(2, &["cannot partition table public.events (SQLSTATE 0A000)", part]);
    assert_eq!(case.kind("events"), "r");
    // The plan names it as well, and is no failure.
    let plan = case.run(&[&["events"], &MONTHS[..], &["--plan"]].concat());
    assert!(plan.status.success(), "{plan:?}");
    assert!(plan.stdout.contains("\nrefused  "), "{plan:?}");
}

fn what_would_be_lost(server: Server) {
    for (ddl, part) in OTHERS {
        let case = Case::with_events(server, 50);
        case.bench.session.run(ddl);
        refuses(&case, part);
        case.is_untouched(ddl);
    }
}

fn next_steps_work(server: Server) {
    for (ddl, step) in STEPS {
        let case = Case::with_events(server, 50);
        case.bench.session.run(ddl);
        refuses(&case, step);
        case.bench.session.run(step);
        case.moves("events", &MONTHS);
        case.is_moved(ddl);
    }
}

fn generated_columns_that_would_change(server: Server) {
    let case = Case::with_events(server, 50);
    case.bench.session.run(
        "CREATE FUNCTION twice(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT 2 * $1';
         ALTER TABLE events ADD t bigint GENERATED ALWAYS AS (twice(id)) STORED;
         DROP TABLE before; CREATE TABLE before AS SELECT * FROM events;
         CREATE OR REPLACE FUNCTION twice(bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS
             'SELECT 2 * $1 + CASE $1 WHEN 7 THEN 1 ELSE 0 END'",
    );
    let ended = case.run(&[&["events"], &MONTHS[..]].concat());
    ended.fails(
        1,
        &[
            "generated columns of table public.events would get other values",
            "HINT:  Find the rows: ",
        ],
    );
    let (_, query) = ended.stderr.split_once("Find the rows: ").unwrap();
    assert_eq!(case.bench.session.rows(query.trim()).len(), 1);
    case.is_untouched("a generated column that would change");
    case.bench.session.run("UPDATE events SET id = id WHERE id = 7; DROP TABLE before; CREATE TABLE before AS SELECT * FROM events");
    case.moves("events", &MONTHS);
    case.is_moved("a generated column");
}

fn tables_that_cannot_be_moved(server: Server) {
    let case = Case::with_events(server, 50);
    case.bench.session.run(
        "CREATE TABLE tree (placed date) PARTITION BY RANGE (placed);
         CREATE TABLE leaf PARTITION OF tree DEFAULT;
         CREATE VIEW v AS SELECT * FROM events; CREATE TABLE empty (placed date)",
    );
    for (table, status, part) in [
        ("nope", 1, "relation \"nope\" does not exist (SQLSTATE 42P01)"),
        ("1", 1, "relation \"1\" does not exist"),
        ("tree", 2, "\"public.tree\" is a partitioned table already"),
        ("leaf", 2, "It is a partition of public.tree."),
        ("v", 2, "\"public.v\" is not a table"),
        ("empty", 2, "table public.empty has no rows to derive partitions from"),
    ] {
        case.run(&[&[table], &MONTHS[..]].concat()).fails(status, &[part]);
    }
}

fn roles_without_rights(server: Server) {
    let case = Case::with_events(server, 50);
    let role = Role::new(&case.bench);
    case.bench.session.run(&format!("GRANT ALL ON events TO {}", role.name));
    let run = || case.start_on(&role.url, &[&["events"], &MONTHS[..]].concat(), &[]).ended();
    run().fails(2, &["cannot partition table public.events", "This role does not own it."]);
    case.is_untouched("a role that does not own the table");
}

fn arguments_that_make_no_sense(server: Server) {
    let case = Case::with_events(server, 50);
    for (arguments, part) in [
        (&["events", "--offline"][..], "no partition key given"),
        (&["events", "--by", "RANGE (placed)", "--step=month"], "add --offline"),
        (&["events", "--by", "RANGE (placed)", "--offline"], "--step is needed for a RANGE level"),
        (&["events", "--by", "HASH (id)", "--offline"], "--leaves is needed for a HASH level"),
        (&["events", "--by", "HASH (id)", "--leaves=0", "--offline"], "number of leaves must be"),
        (
            &["events", "--by", "RANGE (id, placed)", "--step=1", "--offline"],
            "must be a single column",
        ),
        (&["events", "--by", "placed", "--offline"], "\"placed\" is not a partition key"),
        (
            &["events", "--by", "RANGE (nope)", "--step=month", "--offline"],
            "column \"nope\" of table public.events does not exist",
        ),
        (&["before", "--by", "RANGE (v)", "--step=1", "--offline"], "neither a number nor a date"),
        (&["events", "--by", "RANGE (placed)", "--step=-1 month", "--offline"], "is not positive"),
        (
            &["events", "--by", "RANGE (placed)", "--step=soon", "--offline"],
            "neither a number nor an interval",
        ),
        (&["events", "--like=nope", "--offline"], "relation \"nope\" does not exist"),
        (&["events", "--like=before", "--offline"], "is not a partitioned table"),
        (&["events", "--like=x", "--step=day", "--offline"], "--like cannot be used with"),
        (&["abort", "events"], "table public.events is not being partitioned"),
        (&["--offline"], "required"),
    ] {
        let ended = case.run(arguments);
        let status = ended.status.code().unwrap();
        assert!((1..=2).contains(&status), "{ended:?}");
        ended.fails(status, &[part]);
    }
    case.is_untouched("arguments that make no sense");
}
