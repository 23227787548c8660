//! Keys, bounds and names of the partitions of a moved table.

use super::case::Case;
use crate::harness::{Server, on_each_server};

on_each_server!([
    names_and_bounds,
    rows_that_no_range_contains,
    keys_at_the_ends_of_their_types,
    too_many_partitions,
    the_shape_of_another_tree,
    names_that_are_taken,
    casts_of_others_are_not_run,
]);

/// The type of the key, its values, the arguments, and the names of the leaves.
const SHAPES: &[(&str, &str, &[&str], &str)] = &[
    (
        "date",
        "'2026-01-31', '2026-03-01'",
        &["--by=RANGE (k)", "--step=month", "--ahead=1"],
        "events_2026_01 events_2026_02 events_2026_03 events_2026_04",
    ),
    (
        "date",
        "'2025-12-31', '2026-01-01'",
        &["--by=RANGE (k)", "--step=year", "--ahead=0"],
        "events_2025 events_2026",
    ),
    (
        "date",
        "'2026-01-01', '2026-01-14'",
        &["--by=RANGE (k)", "--step=week", "--ahead=0"],
        "events_2025_12_29 events_2026_01_05 events_2026_01_12",
    ),
    (
        "timestamp",
        "'2026-01-01 23:59:59.999999', '2026-01-02'",
        &["--by=RANGE (k)", "--step=12 hours", "--ahead=0"],
        "events_2026_01_01_12_00_00 events_2026_01_02",
    ),
    (
        "timestamptz",
        "'2026-03-28 00:00 Europe/Berlin', '2026-03-30 12:00 Europe/Berlin'",
        &["--by=RANGE (k)", "--step=month", "--ahead=0"],
        "events_2026_03",
    ),
    (
        "int",
        "0, 2500, -1",
        &["--by=RANGE (k)", "--step=1000", "--ahead=0"],
        "events_0 events_1000 events_2000 events__1000",
    ),
    (
        "numeric(6,2)",
        "0.5, 1.49",
        &["--by=RANGE (k)", "--step=0.5", "--ahead=0"],
        "events_0_50 events_1_00",
    ),
    (
        "text",
        "'de', 'FR', 'it''s', NULL",
        &["--by=LIST (k)"],
        "events_de events_fr events_it_s events_null",
    ),
    (
        "boolean",
        "true, false",
        &["--by=LIST (k)", "--default-partition"],
        "events_default events_false events_true",
    ),
    (
        "uuid",
        "gen_random_uuid(), gen_random_uuid()",
        &["--by=HASH (k)", "--leaves=3"],
        "events_0 events_1 events_2",
    ),
    (
        "date",
        "'2026-01-31', '2026-02-01'",
        &["--by=RANGE (k)", "--by=HASH (id)", "--step=month", "--leaves=2", "--ahead=0"],
        "events_2026_01_0 events_2026_01_1 events_2026_02_0 events_2026_02_1",
    ),
    (
        "date",
        "'2026-01-31', NULL, 'infinity'",
        &["--by=RANGE (k)", "--step=month", "--ahead=0", "--default-partition"],
        "events_2026_01 events_default",
    ),
];

/// Creates `events` with a key of this type, and many rows with these values.
fn with_keys(case: &Case, ty: &str, values: &str) {
    let listed: Vec<String> = values.split(", ").map(|value| format!("({value}::{ty})")).collect();
    case.bench.session.run(&format!(
        "DROP TABLE IF EXISTS events, events_old, before CASCADE;
         CREATE TABLE events (id int, k {ty});
         INSERT INTO events SELECT i, k FROM generate_series(1, 20) AS i, (VALUES {}) AS v (k);
         CREATE TABLE before AS SELECT * FROM events",
        listed.join(", ")
    ));
}

fn leaves(case: &Case) -> String {
    case.bench.value(
        "SELECT string_agg(relid::text, ' ' ORDER BY relid::text COLLATE \"C\")
         FROM pg_partition_tree('events') WHERE isleaf",
    )
}

fn names_and_bounds(server: Server) {
    let case = Case::new(server);
    for (ty, values, arguments, expected) in SHAPES {
        with_keys(&case, ty, values);
        case.moves("events", &[arguments, &["--offline"][..]].concat());
        case.is_moved(&format!("{ty} {arguments:?}"));
        assert_eq!(leaves(&case), *expected, "{ty} {arguments:?}");
    }
}

fn rows_that_no_range_contains(server: Server) {
    let case = Case::new(server);
    let by = ["--by=RANGE (k)", "--step=month", "--offline"];
    for (values, part) in [
        ("'2026-01-31', NULL", "20 rows have NULL in column \"k\""),
        ("'2026-01-31', '-infinity'", "20 rows have an infinite value in column \"k\""),
    ] {
        with_keys(&case, "date", values);
        case.run(&[&["events"], &by[..]].concat()).fails(1, &[part, "Add --default-partition"]);
        case.is_untouched(part);
    }
}

fn keys_at_the_ends_of_their_types(server: Server) {
    let case = Case::new(server);
    for (ty, values, step) in [
        ("smallint", "32767, 32766", "10"),
        ("int", "2147483647, 2147483600", "10"),
        ("bigint", "9223372036854775807, 9223372036854775800", "1000"),
        ("bigint", "'-9223372036854775808', '-9223372036854775800'", "1000"),
        ("numeric", "1e30, 1e30", "1e29"),
        ("date", "'5874897-12-31', '5874897-12-30'", "day"),
        ("date", "'0044-03-15 BC', '0044-03-16 BC'", "month"),
    ] {
        with_keys(&case, ty, values);
        let ended =
            case.run(&["events", "--by=RANGE (k)", "--step", step, "--offline", "--json", "-q"]);
        // A date without a next day has no upper bound either. The server refuses it, and nothing is left.
        match ended.status.success() {
            true => case.is_moved(&format!("{ty} {values}")),
            false => {
                ended.fails(1, &["out of range"]);
                case.is_untouched(&format!("{ty} {values}"));
            }
        }
    }
}

fn too_many_partitions(server: Server) {
    let case = Case::new(server);
    with_keys(&case, "int", "0, 2000000000");
    case.run(&["events", "--by=RANGE (k)", "--step=1", "--offline"]).fails(
        2,
        &[
            "the step makes more than 10000 partitions (SQLSTATE 54000)",
            "Column \"k\" has values from 0 to 2000000000.",
            "Use a wider --step.",
        ],
    );
    case.is_untouched("too many partitions");
}

fn the_shape_of_another_tree(server: Server) {
    let case = Case::new(server);
    with_keys(&case, "text", "'a', 'B', 'c', NULL");
    case.bench.session.run(
        "CREATE TABLE tree (id int, k text) PARTITION BY LIST (lower(k));
         CREATE TABLE tree_ab PARTITION OF tree FOR VALUES IN ('a', 'b') PARTITION BY HASH (id);
         CREATE TABLE tree_ab_0 PARTITION OF tree_ab FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE tree_ab_1 PARTITION OF tree_ab FOR VALUES WITH (MODULUS 2, REMAINDER 1);
         CREATE TABLE rest PARTITION OF tree DEFAULT",
    );
    case.moves("events", &["--like=tree", "--offline"]);
    case.is_moved("the shape of another tree");
    assert_eq!(leaves(&case), "events_0 events_ab_0 events_ab_1");
    assert_eq!(case.bench.value("SELECT pg_get_partkeydef('events'::regclass)"), "LIST (lower(k))");
    // A unique key cannot contain the expression.
    with_keys(&case, "text", "'a', 'B'");
    case.bench.session.run("ALTER TABLE events ADD u serial UNIQUE; DROP TABLE before; CREATE TABLE before AS SELECT * FROM events");
    let refused = case.run(&["events", "--like=tree", "--offline", "--widen-keys"]);
    refused
        .fails(2, &["Unique key events_u_key cannot contain the expression of the partition key."]);
    case.is_untouched("a unique key and an expression");
}

fn names_that_are_taken(server: Server) {
    let case = Case::new(server);
    with_keys(&case, "date", "'2026-01-31', '2026-02-01'");
    case.bench.session.run(
        "CREATE TABLE taken (); ALTER TABLE taken RENAME TO events_2026_01;
         CREATE TABLE events_old (); CREATE TYPE events_new AS (a int); CREATE INDEX i ON events (id);
         CREATE SEQUENCE i_old",
    );
    let moved = case.moves("events", &["--by=RANGE (k)", "--step=month", "--ahead=0", "--offline"]);
    assert_eq!(moved["old_table"], "public.events_old_1", "{moved}");
    case.is_moved("names that are taken");
    assert_eq!(leaves(&case), "events_2026_01_1 events_2026_02");
}

/// A cast would run its owner's code with the rights of the role that reads the values.
fn casts_of_others_are_not_run(server: Server) {
    let case = Case::new(server);
    case.bench.session.run(
        "CREATE TYPE mood AS ENUM ('it''s', 'a \"b\\', 'NULL'); CREATE TABLE ran ();
         CREATE FUNCTION shown(mood) RETURNS text LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO public.ran DEFAULT VALUES; RETURN 'x'; END $$;
         CREATE CAST (mood AS text) WITH FUNCTION shown(mood);
         CREATE FUNCTION read(text) RETURNS mood LANGUAGE plpgsql AS
             $$ BEGIN INSERT INTO public.ran DEFAULT VALUES; RETURN 'NULL'; END $$;
         CREATE CAST (text AS mood) WITH FUNCTION read(text);
         CREATE TABLE events (id int, k mood);
         INSERT INTO events SELECT i, (enum_range(NULL::mood) || NULL::mood)[1 + i % 4] FROM generate_series(1, 20) AS i;
         CREATE TABLE before AS SELECT * FROM events",
    );
    let by = ["--by=LIST (k)", "--offline"];
    assert!(case.run(&[&["events", "--plan"], &by[..]].concat()).status.success());
    case.moves("events", &by);
    case.is_moved("a type with casts");
    assert_eq!(leaves(&case), "events_a__b_ events_it_s events_null events_null_1");
    assert_eq!(case.bench.count("ran"), 0);
}
