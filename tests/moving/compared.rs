//! The proof before the swap: a new table that differs from the table in any value is not swapped in.

use super::case::{Case, MONTHS};
use super::voided::arguments;
use crate::harness::{Server, on_each_server};

on_each_server!([each_bit_of_a_value_counts, each_row_counts,]);

/// Types, each with a value and a different one. For most pairs, the type or its hash function treats the two
/// as equal.
const CHANGES: [(&str, &str, &str); 28] = [
    ("bigint", "1", "4294967296"),
    ("bigint", "1", "NULL"),
    ("integer", "1", "2"),
    ("boolean", "true", "false"),
    ("\"char\"", "'a'", "'b'"),
    ("name", "'a'", "'b'"),
    ("numeric", "1.0", "1.00"),
    ("double precision", "'0'", "'-0'"),
    ("real[]", "'{0}'", "'{-0}'"),
    ("timestamp", "'epoch'", "'1970-01-01 01:11:34.967297'"),
    ("timestamptz", "'epoch'", "'1970-01-01 01:11:34.967297+00'"),
    ("timetz", "'12:00+00'", "'13:00+01'"),
    ("interval", "'1 month'", "'30 days'"),
    ("text", "'a'", "'A'"),
    ("text COLLATE blind", "'a'", "'A'"),
    ("bpchar", "'a'", "'a '"),
    ("varchar(9)", "''", "NULL"),
    ("bytea", "'a'", "'b'"),
    ("uuid", "md5('a')::uuid", "md5('b')::uuid"),
    ("json", "'{}'", "'{ }'"),
    ("jsonb", "'1.0'", "'1.00'"),
    ("xml", "'<a/>'", "'<a />'"),
    ("point", "'(0,0)'", "'(0,1)'"),
    ("int4range", "'[1,2)'", "'[1,3)'"),
    ("mood", "'calm'", "'loud'"),
    ("mood[]", "'{calm}'", "'{loud}'"),
    ("amount", "1.0", "1.00"),
    ("pair", "'(1,1.0)'", "'(1,1.00)'"),
];

/// Moves until the swap is due, makes `change`, and checks that the swap is refused with this detail.
#[track_caller]
fn refused(case: &Case, change: &str, detail: &str) {
    let ended = case.run(&[&arguments()[..], &["--until=follow"]].concat());
    assert!(ended.status.success(), "{ended:?}");
    case.bench.session.run(change);
    let refused = case.run(&["swap", "events", "--json", "-q"]);
    let text = &refused.stderr;
    assert_eq!(refused.status.code(), Some(1), "{change}: {refused:?}");
    assert!(text.contains("the new table differs from table public.events"), "{change}: {text}");
    assert!(text.contains("XX001") && text.contains(detail), "{change}: {text}");
    case.is_untouched(change);
    case.nothing_beside(change);
}

fn each_bit_of_a_value_counts(server: Server) {
    let case = Case::new(server);
    let columns = CHANGES.iter().enumerate().map(|(i, (ty, ..))| format!(", c{i} {ty}"));
    let values = CHANGES.iter().map(|(_, value, _)| format!(", {value}"));
    case.bench.session.run(&format!(
        "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
         CREATE TYPE mood AS ENUM ('calm', 'loud'); CREATE DOMAIN amount AS numeric;
         CREATE TYPE pair AS (a integer, b numeric);
         CREATE TABLE events (id bigint, placed date{}, PRIMARY KEY (id, placed));
         INSERT INTO events SELECT i, '2026-01-10'{} FROM generate_series(1, 3) AS i;
         CREATE TABLE before AS SELECT * FROM events",
        columns.collect::<String>(),
        values.collect::<String>()
    ));
    for (column, (_, _, other)) in CHANGES.iter().enumerate() {
        let change = format!("UPDATE events_new SET c{column} = {other} WHERE id = 2");
        refused(&case, &change, "Both have 3 rows, but not the same ones.");
    }
    case.moves("events", &MONTHS[..3]);
    case.is_moved("a table of many types");
}

fn each_row_counts(server: Server) {
    let case = Case::with_events(server, 100);
    let differ = "Both have 100 rows, but not the same ones.";
    for (change, detail) in [
        ("DELETE FROM events_new WHERE id = 1", "The table has 100 rows; the new one has 99."),
        (
            "INSERT INTO events_new VALUES (101, '2026-02-01', 'x')",
            "The table has 100 rows; the new one has 101.",
        ),
        (
            "UPDATE events_new SET v = (SELECT v FROM before WHERE id = 3 - events_new.id) WHERE id < 3",
            differ,
        ),
        ("UPDATE events_new SET id = 0 WHERE id = 50", differ),
    ] {
        refused(&case, change, detail);
    }
    case.moves("events", &MONTHS[..3]);
    case.is_moved("the tree as it was made");
}
