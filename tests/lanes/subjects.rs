//! The keys in the document: every type of the server with each of its operator classes, collations, and
//! expressions. Each is planned as a key of a hash, a list and ranges.

use std::collections::HashMap;

use pgsluice_core::catalog::Strategy;
use tokio_postgres::error::SqlState;

use super::planned::{Column, Database, Planned};
use crate::expressions::{list, rows};
use crate::harness::{Cell, Session, explain};

const STRATEGIES: [Strategy; 3] = [Strategy::Hash, Strategy::List, Strategy::Range];

/// A key for each strategy, in the order of [`STRATEGIES`]; `None` if the server has no operator class for it.
pub(super) type Keys = [Option<Planned>; 3];

/// Keys with their name in the document.
pub(super) struct Subject {
    pub(super) name: String,
    pub(super) keys: Keys,
}

const COLLATED: [&str; 6] = [
    "text COLLATE \"C\"",
    "text COLLATE \"POSIX\"",
    "text COLLATE ucs_basic",
    "text COLLATE pg_c_utf8",
    "text COLLATE pg_unicode_fast",
    "text COLLATE language",
];

const OF_ICU: [&str; 2] = ["text COLLATE \"en-x-icu\"", "text COLLATE blind"];

/// Types whose order depends on the database.
const OF_THE_DATABASE: [&str; 2] = ["text", "jsonb"];

/// Immutable expressions that only the server evaluates.
const SERVED: [&str; 14] = [
    "i # 7",
    "n + m",
    "g * 2",
    "n % 10",
    "length(word)",
    "md5(word)",
    "reverse(word)",
    "word || note",
    "greatest(i, j)",
    "CASE WHEN ok THEN i ELSE j END",
    "day - '2000-01-01'::date",
    "ts + '1 day'::interval",
    "extract(julian FROM day)",
    "tz AT TIME ZONE 'Europe/Berlin'",
];

/// User-defined types, and an operator class.
const USER_TYPES: &str = "
CREATE TYPE mood AS ENUM ('sad', 'happy');
CREATE TYPE pair AS (a int, b int);
CREATE TYPE span AS RANGE (subtype = float8);
CREATE DOMAIN year AS int;
CREATE DOMAIN word AS text COLLATE \"C\";
CREATE FUNCTION backwards(int, int) RETURNS int LANGUAGE sql IMMUTABLE
    AS 'SELECT btint4cmp($2, $1)';
CREATE FUNCTION salted(int, bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
    AS 'SELECT $1 + $2';
CREATE OPERATOR CLASS int_own FOR TYPE int USING btree
    AS OPERATOR 3 =, FUNCTION 1 backwards(int, int);
CREATE OPERATOR CLASS int_own FOR TYPE int USING hash
    AS OPERATOR 1 =, FUNCTION 2 salted(int, bigint);
";

const LANGUAGE: &str = "CREATE COLLATION language (provider = libc, locale = 'C.UTF-8')";

const BLIND: &str =
    "CREATE COLLATION blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)";

/// User-defined types and types composed of others, each with an operator class if it is not the default.
const MADE: [(&str, &str); 13] = [
    ("mood", ""),
    ("mood[]", ""),
    ("pair", ""),
    ("span", ""),
    ("year", ""),
    ("word", ""),
    ("int", "int_own"),
    ("interval day", ""),
    ("int[]", ""),
    ("text[] COLLATE \"C\"", ""),
    ("numeric[]", ""),
    ("timestamptz[]", ""),
    ("money[]", ""),
];

/// The query for the server's own types that a column can have, and additional operator classes.
const TYPES: &str = "
SELECT format('pg_catalog.%I', t.typname)
           || CASE WHEN t.typcollation <> 0 THEN ' COLLATE \"C\"' ELSE '' END, ''
FROM pg_type t
WHERE t.typnamespace = 'pg_catalog'::regnamespace AND t.typtype IN ('b', 'r', 'm')
  AND NOT EXISTS (SELECT FROM pg_type e WHERE e.typarray = t.oid)
UNION ALL
SELECT DISTINCT format('pg_catalog.%I', t.typname)
           || CASE WHEN t.typcollation <> 0 THEN ' COLLATE \"C\"' ELSE '' END, o.opcname
FROM pg_opclass o
JOIN pg_am m ON m.oid = o.opcmethod AND m.amname IN ('hash', 'btree')
JOIN pg_type t ON t.oid = o.opcintype AND t.typtype <> 'p'
WHERE NOT o.opcdefault AND o.opcnamespace = 'pg_catalog'::regnamespace
ORDER BY 2, 1";

pub(super) fn has_icu(session: &Session) -> bool {
    !session.rows("SELECT FROM pg_collation WHERE collname = 'en-x-icu'").is_empty()
}

/// Returns every type.
pub(super) fn types(database: &mut Database) -> Vec<Subject> {
    database.session.run(USER_TYPES);
    let text = |cell: &Cell| cell.clone().unwrap_or_default();
    let core = database.session.rows(TYPES);
    let core = core.iter().map(|row| (text(&row[0]), text(&row[1])));
    let made = MADE.iter().map(|(ty, class)| ((*ty).to_owned(), (*class).to_owned()));
    let (types, classes): (Vec<String>, Vec<String>) = core.chain(made).unzip();
    named(columns(database, "types", &types, &classes), |column| column.ty.clone())
}

/// Returns text in named collations.
pub(super) fn collations(database: &mut Database) -> Vec<Subject> {
    database.session.run(LANGUAGE);
    let types = COLLATED.map(String::from);
    named(columns(database, "collations", &types, &[]), collated)
}

/// Returns the types that depend on the collation of the database.
pub(super) fn for_database(database: &mut Database) -> Vec<Subject> {
    let types = OF_THE_DATABASE.map(String::from);
    named(columns(database, "collated", &types, &[]), collated)
}

/// Returns text in collations that only some servers have.
pub(super) fn for_icu(database: &mut Database) -> Vec<Subject> {
    database.session.run(BLIND);
    let types = OF_ICU.map(String::from);
    named(columns(database, "collations", &types, &[]), collated)
}

fn collated(column: &Column) -> String {
    let collation = column.collation.as_deref().unwrap_or_default();
    format!("{} in {collation}", column.ty)
}

/// Returns the natively evaluated expressions, whose values tests/expressions compares with the server's, and others.
pub(super) fn expressions(database: &mut Database, major: u32) -> Vec<Subject> {
    let texts: Vec<String> =
        list::expressions(major).into_iter().chain(SERVED.map(String::from)).collect();
    let columns: Vec<String> =
        rows::COLUMNS.iter().map(|(name, ty, _)| format!("{name} {ty}")).collect();
    let keys: Vec<String> = texts.iter().map(|text| format!("({text})")).collect();
    let planned = plan(database, "expressions", &columns, &keys);
    texts.into_iter().zip(planned).map(|(name, keys)| Subject { name, keys }).collect()
}

/// Returns the keys of columns of these types with these operator classes.
pub(super) fn columns(
    database: &mut Database,
    schema: &str,
    types: &[String],
    classes: &[String],
) -> Vec<Keys> {
    let numbered = types.iter().enumerate();
    let columns: Vec<String> = numbered.map(|(n, ty)| format!("c{n} {ty}")).collect();
    let class = |n| classes.get(n).map_or("", String::as_str);
    let keys: Vec<String> = (0..types.len()).map(|n| format!("c{n} {}", class(n))).collect();
    plan(database, schema, &columns, &keys)
}

/// Plans one table that has a partition for each key and each strategy.
fn plan(database: &mut Database, schema: &str, columns: &[String], keys: &[String]) -> Vec<Keys> {
    let session = &database.session;
    let columns = columns.join(", ");
    session.run(&format!(
        "CREATE SCHEMA {schema};
         CREATE TABLE {schema}.t (part int, {columns}) PARTITION BY LIST (part)"
    ));
    let each = keys.iter().enumerate().flat_map(|key| STRATEGIES.map(|strategy| (key, strategy)));
    for (part, ((number, key), strategy)) in each.enumerate() {
        let create = format!(
            "CREATE TABLE {schema}.{strategy}_{number} PARTITION OF {schema}.t
             FOR VALUES IN ({part}) PARTITION BY {strategy} ({key})"
        );
        match session.try_run(&create) {
            Err(error) if error.code() != Some(&SqlState::UNDEFINED_OBJECT) => {
                panic!("{}\nin: {create}", explain(&error))
            }
            _ => {}
        }
    }
    let planned = database.planned(&format!("{schema}.t"), None, "").into_iter();
    let mut planned: HashMap<String, Planned> =
        planned.map(|key| (key.table.clone(), key)).collect();
    let of = |number| STRATEGIES.map(|strategy| planned.remove(&format!("{strategy}_{number}")));
    (0..keys.len()).map(of).collect()
}

/// Returns the keys for which the server has any operator class, with their names.
fn named(all: Vec<Keys>, name: fn(&Column) -> String) -> Vec<Subject> {
    let subject = |keys: Keys| {
        let name = keys.iter().flatten().find_map(|key| key.column().map(name))?;
        Some(Subject { name, keys })
    };
    all.into_iter().filter_map(subject).collect()
}
