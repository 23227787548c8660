//! Random tables: columns of any type with awkward values, random keys, indexes and shapes. The move does not
//! change the rows or anything else that users see.
//!
//! Each server runs a few fixed cases. `PROPTEST_CASES` changes their number, and `PGSLUICE_SEED` the seed.

use super::case::{Case, cases};
use crate::harness::{Chance, Server, on_each_server};

on_each_server!([random_tables,]);

const CASES: usize = 8;

/// Types of the key, an expression for its values, and the arguments to partition by it.
const KEYS: &[(&str, &str, &[&str])] = &[
    ("date", "date '2024-01-01' + (h % 500)", &["--by=RANGE (k)", "--step=month"]),
    (
        "timestamptz",
        "timestamptz '2024-02-28 22:00Z' + h % 9000 * interval '97 min'",
        &["--by=RANGE (k)", "--step=week"],
    ),
    (
        "timestamp(0)",
        "timestamp '1999-12-31' + h % 100000 * interval '1 hour'",
        &["--by=RANGE (k)", "--step=year"],
    ),
    ("int", "h % 10000 - 5000", &["--by=RANGE (k)", "--step=1000", "--by=HASH (id)", "--leaves=2"]),
    ("bigint", "h::bigint * 1000003", &["--by=HASH (k)", "--leaves=7"]),
    ("numeric", "(h % 1000) / 7.0", &["--by=RANGE (k)", "--step=12.5"]),
    (
        "text",
        "(ARRAY['a', 'B', 'ä', '', ' ', E'\\\\', '\"', 'NULL'])[1 + h % 8]",
        &["--by=LIST (k)"],
    ),
    ("text", "md5(h::text)", &["--by=HASH (k)", "--leaves=5"]),
    ("uuid", "md5(h::text)::uuid", &["--by=HASH (k, id)", "--leaves=3"]),
    ("boolean", "h % 2 = 0", &["--by=LIST (k)", "--by=HASH (id)", "--leaves=3"]),
    ("smallint", "h % 7", &["--by=LIST (k)", "--default-partition"]),
];

/// Types of other columns, each with an expression for its values.
const OTHERS: &[(&str, &str)] = &[
    ("text", "repeat(md5(h::text), h % 100)"),
    ("numeric(20,5)", "CASE h % 5 WHEN 0 THEN 'NaN'::numeric ELSE h / 3.0 END"),
    ("float8", "(ARRAY['NaN', '-0', 'Infinity', '5e-324', '0.1'])[1 + h % 5]::float8"),
    ("jsonb", "jsonb_build_object('a', h, 'b', ARRAY[1, NULL])"),
    ("json", "'{\"b\" : [1], \"b\": null}'"),
    ("int[]", "ARRAY[h, NULL, -1]"),
    ("text[]", "'{\"a,b\",NULL,\"\\\\\",\"\"}'"),
    ("bytea", "decode(md5(h::text), 'hex')"),
    ("interval", "h * interval '1 day 3 ms'"),
    ("point", "point(h, 'NaN')"),
    ("char(5)", "left(md5(h::text), h % 6)"),
    (
        "timestamptz",
        "CASE h % 3 WHEN 0 THEN 'infinity' ELSE '2024-02-29 23:59:59.99Z'::timestamptz END",
    ),
    ("cidr", "'10.0.0.0/8'"),
    ("tstzrange", "'[2024-01-01 00:00Z,infinity)'"),
    ("mood", "(ARRAY['sad', 'ok'])[1 + h % 2]::mood"),
    ("pair", "ROW(h, 'a \"b\"')::pair"),
    ("small", "h % 10"),
];

/// Optional parts of a table.
const BELONGINGS: &[&str] = &[
    "ALTER TABLE events ADD PRIMARY KEY (id, k)",
    "ALTER TABLE events ADD CONSTRAINT odd UNIQUE (id, k) DEFERRABLE",
    "CREATE UNIQUE INDEX partial ON events (id, k) WHERE id % 2 = 0",
    "CREATE INDEX ON events (k DESC NULLS LAST) INCLUDE (id)",
    "CREATE INDEX expression ON events ((id % 10), k) WITH (fillfactor = 50)",
    "CREATE INDEX block ON events USING brin (id)",
    "ALTER TABLE events ADD CHECK (id > 0)",
    "ALTER TABLE events ADD twice int GENERATED ALWAYS AS (id * 2) STORED",
    "ALTER TABLE events ADD FOREIGN KEY (mod) REFERENCES ten",
    "ALTER TABLE events ADD serial serial",
    "ALTER TABLE events ADD extra int DEFAULT 7",
    "ALTER TABLE events ALTER id ADD GENERATED ALWAYS AS IDENTITY (START 100000)",
    "CREATE STATISTICS s ON id, k FROM events",
    "CREATE VIEW v AS SELECT count(*) FROM events",
    "COMMENT ON COLUMN events.k IS 'the key'",
    "GRANT SELECT ON events TO PUBLIC",
    "CREATE TRIGGER z AFTER UPDATE ON events FOR EACH ROW EXECUTE FUNCTION noop()",
    "ALTER TABLE events ENABLE ROW LEVEL SECURITY",
];

const SETUP: &str = "
CREATE TYPE mood AS ENUM ('ok', 'sad'); CREATE TYPE pair AS (a int, b text);
CREATE DOMAIN small AS int CHECK (VALUE < 100);
CREATE FUNCTION noop() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TABLE ten AS SELECT generate_series(0, 9) AS mod; ALTER TABLE ten ADD PRIMARY KEY (mod)";

fn random_tables(server: Server) {
    let (cases, seed) = cases(CASES, server);
    let mut chance = Chance::from_seed(seed);
    let case = Case::new(server);
    case.bench.session.run(SETUP);
    for count in 0..cases {
        judge(&case, &mut chance, &format!("case {count} of PGSLUICE_SEED={seed}"));
    }
}

fn judge(case: &Case, chance: &mut Chance, which: &str) {
    let (key, values, by) = chance.one_of(KEYS);
    let others: Vec<(&str, &str)> = (0..chance.below(4)).map(|_| chance.one_of(OTHERS)).collect();
    let columns: String =
        others.iter().enumerate().map(|(place, (ty, _))| format!(", c{place} {ty}")).collect();
    let expressions: String = others
        .iter()
        .map(|(ty, value)| format!(", CASE WHEN h % 6 > 0 THEN ({value})::{ty} END"))
        .collect();
    let rows = 1 + chance.below(3000);
    let mut ddl = format!(
        "DROP TABLE IF EXISTS events, events_old, before CASCADE;
         CREATE TABLE events (dropped int, mod int, id int NOT NULL{columns}, k {key} NOT NULL);
         ALTER TABLE events DROP COLUMN dropped;
         INSERT INTO events SELECT i % 10, i{expressions}, {values}
         FROM generate_series(1, {rows}) AS i, LATERAL (SELECT hashint4(i) & 1048575 AS h) AS hashed;
         DELETE FROM events WHERE id % 7 = 3"
    );
    for belonging in BELONGINGS {
        if chance.is_one_in(3) {
            ddl.push_str("; ");
            ddl.push_str(belonging);
        }
    }
    case.bench.session.run(&format!("{ddl}; CREATE TABLE before AS SELECT * FROM events"));
    let jobs = format!("-j{}", 1 + chance.below(3));
    let seen = case.describe();
    let mut arguments = [&["events", "--offline", "--json", "-q", &jobs], by].concat();
    if chance.is_one_in(4) {
        arguments.extend(["--wire=text", "--memory=1MiB"]);
    }
    let ended = case.run(&arguments);
    assert!(ended.status.success(), "{which}: {arguments:?}\n{ddl}\n{ended:?}");
    case.is_moved(&format!("{which}: {arguments:?}\n{ddl}"));
    assert_eq!(case.describe(), seen, "{which}: {arguments:?}\n{ddl}");
}
