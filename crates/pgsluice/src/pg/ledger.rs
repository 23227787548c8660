//! The ledger's tables and statements. Loads keep it in a schema of their own in the target, because a
//! receipt must be committed with the rows that it is for.
//!
//! Every transaction of a load takes its lock shared and then, in a later statement, looks whether the
//! load is still at the same attempt. Whoever resumes takes the lock alone and begins the next
//! attempt: after that nothing of an earlier one can be committed any more.

use pgsluice_core::catalog::Relation;
use pgsluice_core::hash::bytes_extended;
use tokio_postgres::{Client, SimpleQueryMessage};

use super::sql::{BEGIN, literal};
use crate::error::{Error, Result};
use crate::kind::Kind;

/// What the comment on the table `load` says: the version of all tables.
const FORMAT: &str = "pgsluice ledger, format 1";

const SCHEMA: &str = "CREATE SCHEMA pgsluice";

/// `relation` and `name` are the table that is loaded; `terms` is what decides how the input is read
/// and routed. A receipt says of one node of one `tree` of the load: all rows of sources before
/// `source`, and of this one those that begin before `upto`, are in; and so are those that begin in
/// `starts[n]` to `stops[n]` of `sources[n]`, the latter excluded. A block is what was read of a stream.
const TABLES: &str = "
CREATE TABLE pgsluice.load (
    id text PRIMARY KEY,
    relation oid NOT NULL,
    name text NOT NULL,
    state text NOT NULL CHECK (state IN ('running', 'finished')),
    attempt integer NOT NULL,
    terms jsonb NOT NULL,
    sources jsonb NOT NULL,
    begun timestamptz NOT NULL DEFAULT pg_catalog.now(),
    ended timestamptz,
    rows_read bigint,
    rows_loaded bigint,
    rows_rejected bigint,
    rows_skipped bigint
);
CREATE TABLE pgsluice.tree (
    load text NOT NULL,
    number integer NOT NULL,
    layout json NOT NULL,
    PRIMARY KEY (load, number)
);
CREATE TABLE pgsluice.receipt (
    load text NOT NULL,
    number bigint NOT NULL,
    tree integer NOT NULL,
    node integer NOT NULL,
    source integer NOT NULL,
    upto bigint NOT NULL,
    sources integer[] NOT NULL,
    starts bigint[] NOT NULL,
    stops bigint[] NOT NULL,
    rows bigint NOT NULL,
    PRIMARY KEY (load, number)
);
CREATE TABLE pgsluice.block (
    load text NOT NULL,
    source integer NOT NULL,
    start bigint NOT NULL,
    stop bigint NOT NULL,
    hash bigint NOT NULL
);
CREATE INDEX ON pgsluice.block (load);
CREATE TABLE pgsluice.reject (
    load text NOT NULL,
    source integer NOT NULL,
    start bigint NOT NULL,
    PRIMARY KEY (load, source, start)
)";

const EXISTING: &str = "
SELECT pg_catalog.to_regnamespace('pgsluice') IS NOT NULL AS schema,
       pg_catalog.to_regclass('pgsluice.load') IS NOT NULL AS tables,
       pg_catalog.obj_description(pg_catalog.to_regclass('pgsluice.load')::pg_catalog.oid, 'pg_class')";

/// What is known of a load, and what its terms would be now.
const FIND: &str = "
SELECT state, attempt, relation, sources::pg_catalog.text, terms::pg_catalog.text,
       rows_read, rows_loaded, rows_skipped, rows_rejected
FROM pgsluice.load WHERE id OPERATOR(pg_catalog.=) $1";

/// Writes receipts, those instead of which they stand, and blocks. If the load is not at the attempt $2
/// any more, there is no id, and that is an error.
pub(crate) const WRITE: &str = "
WITH gone AS (
    DELETE FROM pgsluice.receipt
    WHERE load OPERATOR(pg_catalog.=) $1 AND number OPERATOR(pg_catalog.=) ANY ($3::pg_catalog.int8[])
), seen AS (
    INSERT INTO pgsluice.block (load, source, start, stop, hash)
    SELECT $1, b.source, b.start, b.stop, b.hash
    FROM ROWS FROM (
        pg_catalog.unnest($4::pg_catalog.int4[]), pg_catalog.unnest($5::pg_catalog.int8[]),
        pg_catalog.unnest($6::pg_catalog.int8[]), pg_catalog.unnest($7::pg_catalog.int8[])
    ) AS b (source, start, stop, hash)
)
INSERT INTO pgsluice.receipt
    (load, number, tree, node, source, upto, sources, starts, stops, rows)
SELECT (SELECT id FROM pgsluice.load
        WHERE id OPERATOR(pg_catalog.=) $1 AND attempt OPERATOR(pg_catalog.=) $2),
       r.number, $8::pg_catalog.int4, r.node, r.source, r.upto, r.sources::pg_catalog.int4[],
       r.starts::pg_catalog.int8[], r.stops::pg_catalog.int8[], r.rows
FROM ROWS FROM (
    pg_catalog.unnest($9::pg_catalog.int8[]), pg_catalog.unnest($10::pg_catalog.int4[]),
    pg_catalog.unnest($11::pg_catalog.int4[]), pg_catalog.unnest($12::pg_catalog.int8[]),
    pg_catalog.unnest($13::pg_catalog.text[]), pg_catalog.unnest($14::pg_catalog.text[]),
    pg_catalog.unnest($15::pg_catalog.text[]), pg_catalog.unnest($16::pg_catalog.int8[])
) AS r (number, node, source, upto, sources, starts, stops, rows)";

/// Settings that decide how values are read, besides those that every connection sets.
const SETTINGS: [&str; 9] = [
    "TimeZone",
    "DateStyle",
    "IntervalStyle",
    "timezone_abbreviations",
    "array_nulls",
    "lc_monetary",
    "default_text_search_config",
    "xmloption",
    "search_path",
];

/// The lock of a load by which an attempt ends all earlier ones; see [`fence`].
fn turn(id: &str) -> i64 {
    bytes_extended(id.as_bytes(), u64::from_be_bytes(*b"pgsluice")).cast_signed()
}

/// The lock that a load holds while it runs; see [`stay`].
fn life(id: &str) -> i64 {
    bytes_extended(id.as_bytes(), u64::from_be_bytes(*b"sluicing")).cast_signed()
}

/// The lock of whoever makes the tables.
const MAKING: i64 = i64::from_be_bytes(*b"pgsluice");

/// Takes a load's lock for a transaction of its rows; [`is_held`] tells from the answers whether it did.
pub(crate) fn fence(id: &str) -> String {
    format!("SELECT pg_catalog.pg_try_advisory_xact_lock_shared({})", turn(id))
}

/// Whether the last of `answers` says that a lock is held.
pub(crate) fn is_held(answers: &[SimpleQueryMessage]) -> bool {
    answers.iter().rev().any(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0) == Some("t"),
        _ => false,
    })
}

/// Marks, for the session, a load as running.
pub(crate) fn stay(id: &str) -> String {
    format!("SELECT pg_catalog.pg_advisory_lock_shared({})", life(id))
}

/// Begins a transaction that has the load for itself; it waits for those of earlier attempts.
pub(crate) fn begin_alone(id: &str) -> String {
    format!("{BEGIN}; SELECT pg_catalog.pg_advisory_xact_lock({})", turn(id))
}

/// Begins a transaction that holds the lock that a load has while it runs, unless it does.
pub(crate) fn begin_unless_running(id: &str) -> String {
    format!("{BEGIN}; SELECT pg_catalog.pg_try_advisory_xact_lock({})", life(id))
}

/// What there is of the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Presence {
    Nothing,
    Schema,
    Whole,
}

/// What there is of the ledger; an error if it is another version's.
pub(crate) async fn look(client: &Client) -> Result<Presence> {
    let row = match client.query_one(EXISTING, &[]).await {
        Ok(row) => row,
        Err(error) => return Err(refused(client, error).await),
    };
    match (row.get(0), row.get(1), row.get::<_, Option<&str>>(2)) {
        (_, true, Some(FORMAT)) => Ok(Presence::Whole),
        (_, true, other) => Err(Error::new(
            Kind::Server,
            "the ledger in schema pgsluice is not of this version of pgsluice",
        )
        .sqlstate("55000")
        .detail(format!("It says \"{}\", not \"{FORMAT}\".", other.unwrap_or_default()))
        .hint("Rename the schema to keep it, or drop it; or load with --no-ledger.")),
        (true, false, _) => Ok(Presence::Schema),
        (false, false, _) => Ok(Presence::Nothing),
    }
}

/// Makes the tables that are not there. Of several that begin at once one makes them.
pub(crate) async fn make(client: &Client) -> Result<()> {
    if look(client).await? == Presence::Whole {
        return Ok(());
    }
    let lock = format!("{BEGIN}; SELECT pg_catalog.pg_advisory_xact_lock({MAKING})");
    client.batch_execute(&lock).await?;
    let comment = format!("COMMENT ON TABLE pgsluice.load IS {}", literal(FORMAT.as_bytes()));
    let statements = match look(client).await? {
        Presence::Whole => Vec::new(),
        Presence::Schema => vec![TABLES, &comment],
        Presence::Nothing => vec![SCHEMA, TABLES, &comment],
    };
    match client.batch_execute(&statements.join(";\n")).await {
        Ok(()) => Ok(client.batch_execute("COMMIT").await?),
        Err(error) => Err(refused(client, error).await),
    }
}

/// The error for `error`, with the way out where it is a lack of privileges.
pub(crate) async fn refused(client: &Client, error: tokio_postgres::Error) -> Error {
    let error = Error::from(error);
    if error.code() != Some("42501") {
        return error;
    }
    let who = "SELECT pg_catalog.quote_ident(pg_catalog.current_database()),
                      pg_catalog.quote_ident(CURRENT_USER),
                      pg_catalog.to_regnamespace('pgsluice') IS NOT NULL";
    let Ok(()) = client.batch_execute("ROLLBACK").await else { return error };
    let Ok(row) = client.query_one(who, &[]).await else { return error };
    let (database, user): (&str, &str) = (row.get(0), row.get(1));
    let grant = match row.get(2) {
        true => format!(
            "GRANT ALL ON SCHEMA pgsluice TO {user}; \
             GRANT ALL ON ALL TABLES IN SCHEMA pgsluice TO {user};"
        ),
        false => format!("GRANT CREATE ON DATABASE {database} TO {user};"),
    };
    error.of_kind(Kind::Server).only_hint(format!(
        "The load keeps a ledger in schema pgsluice. Let it: {grant} or give the ledger up: \
         --no-ledger."
    ))
}

/// An expression of type jsonb: the terms of a load of `columns` of `table`, those of the server added to
/// `own`.
fn terms(own: &str, table: &Relation, columns: &[String]) -> String {
    let table = literal(table.to_string().as_bytes());
    let column =
        |(place, name): (usize, &String)| format!("({place}, {})", literal(name.as_bytes()));
    let columns: Vec<String> = columns.iter().enumerate().map(column).collect();
    let columns = match columns.is_empty() {
        true => "(0, '')".to_owned(),
        false => columns.join(", "),
    };
    let settings = SETTINGS.map(|name| format!("'{name}', pg_catalog.current_setting('{name}')"));
    format!(
        "pg_catalog.jsonb_concat({}::pg_catalog.jsonb, pg_catalog.jsonb_build_object(
            'columns', (SELECT pg_catalog.string_agg(pg_catalog.format('%I %s', a.attname,
                            pg_catalog.format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY c.place)
                        FROM (VALUES {columns}) AS c (place, name) JOIN pg_catalog.pg_attribute a
                        ON a.attname OPERATOR(pg_catalog.=) c.name::pg_catalog.name
                        AND a.attrelid OPERATOR(pg_catalog.=) {table}::pg_catalog.regclass::pg_catalog.oid),
            {}))",
        literal(own.as_bytes()),
        settings.join(", ")
    )
}

/// The terms that a load would have now, as text.
pub(crate) async fn terms_now(
    client: &Client,
    own: &str,
    table: &Relation,
    columns: &[String],
) -> Result<String> {
    let sql = format!("SELECT ({})::pg_catalog.text", terms(own, table, columns));
    let answers = client.simple_query(&sql).await?;
    let text = answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    Ok(text.unwrap_or_default().to_owned())
}

/// What is to be written of a load that begins.
pub(crate) struct NewLoad<'l> {
    pub(crate) id: &'l str,
    pub(crate) table: &'l Relation,
    pub(crate) columns: &'l [String],
    /// The terms that the server does not know, as JSON.
    pub(crate) terms: &'l str,
    /// As JSON.
    pub(crate) sources: &'l str,
    /// The rows of one that is over when it is written.
    pub(crate) finished: Option<u64>,
}

impl NewLoad<'_> {
    /// The statement that writes it.
    pub(crate) fn insert(&self) -> String {
        let Self { id, table, columns, terms: own, sources, finished } = self;
        let text = |text: &str| literal(text.as_bytes());
        let (state, ended, rows, nothing) = match finished {
            Some(rows) => ("finished", "pg_catalog.clock_timestamp()", rows.to_string(), "0"),
            None => ("running", "NULL", "NULL".to_owned(), "NULL"),
        };
        format!(
            "INSERT INTO pgsluice.load
                 (id, relation, name, state, attempt, terms, sources, ended,
                  rows_read, rows_loaded, rows_skipped, rows_rejected)
             SELECT {}, {}::pg_catalog.regclass::pg_catalog.oid, {}, '{state}', 1, {}, {}, {ended},
                    {rows}, {rows}, {nothing}, {nothing}",
            text(id),
            text(&table.to_string()),
            text(&table.label()),
            terms(own, table, columns),
            text(sources),
        )
    }
}

/// What the ledger says of a load.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) is_finished: bool,
    pub(crate) attempt: i32,
    pub(crate) relation: u32,
    pub(crate) sources: String,
    pub(crate) terms: String,
    /// Rows read, loaded, skipped and rejected, of one that is finished.
    pub(crate) rows: [u64; 4],
}

/// The load `id`, if there is one.
pub(crate) async fn find(client: &Client, id: &str) -> Result<Option<Found>> {
    let row = match client.query_opt(FIND, &[&id]).await {
        Ok(row) => row,
        Err(error) => return Err(refused(client, error).await),
    };
    let count = |value: Option<i64>| value.unwrap_or_default().unsigned_abs();
    Ok(row.map(|row| Found {
        is_finished: row.get::<_, &str>(0) == "finished",
        attempt: row.get(1),
        relation: row.get(2),
        sources: row.get(3),
        terms: row.get(4),
        rows: [5, 6, 7, 8].map(|place| count(row.get(place))),
    }))
}

/// Whether the load `id` is in the ledger. An error if there is no ledger.
pub(crate) async fn knows(client: &Client, id: &str) -> Result<bool, tokio_postgres::Error> {
    let sql = "SELECT EXISTS (SELECT FROM pgsluice.load WHERE id OPERATOR(pg_catalog.=) $1)";
    Ok(client.query_one(sql, &[&id]).await?.get(0))
}

/// Marks a load as finished; a number of rows that is not 1 says that another attempt has begun.
pub(crate) const FINISH: &str = "
UPDATE pgsluice.load
SET state = 'finished', ended = pg_catalog.clock_timestamp(),
    rows_read = $3, rows_loaded = $4, rows_skipped = $5, rows_rejected = $6
WHERE id OPERATOR(pg_catalog.=) $1 AND attempt OPERATOR(pg_catalog.=) $2";

/// Begins the next attempt.
pub(crate) const RETRY: &str = "
UPDATE pgsluice.load SET attempt = attempt OPERATOR(pg_catalog.+) 1
WHERE id OPERATOR(pg_catalog.=) $1";

/// The layouts of a load's trees.
pub(crate) const TREES: &str = "
SELECT number, layout::pg_catalog.text FROM pgsluice.tree
WHERE load OPERATOR(pg_catalog.=) $1 ORDER BY number";

/// Keeps a layout.
pub(crate) const PLANT: &str = "
INSERT INTO pgsluice.tree (load, number, layout) VALUES ($1, $2, $3::pg_catalog.text::pg_catalog.json)";

/// The receipts of a load.
pub(crate) const RECEIPTS: &str = "
SELECT number, tree, node, source, upto, sources, starts, stops, rows
FROM pgsluice.receipt WHERE load OPERATOR(pg_catalog.=) $1";

/// Notes rows that are rejected.
pub(crate) const REJECT: &str = "
INSERT INTO pgsluice.reject (load, source, start)
SELECT $1, r.source, r.start
FROM ROWS FROM (
    pg_catalog.unnest($2::pg_catalog.int4[]), pg_catalog.unnest($3::pg_catalog.int8[])
) AS r (source, start)";

/// The rows of a load that are rejected.
pub(crate) const REJECTS: &str = "
SELECT source, start FROM pgsluice.reject WHERE load OPERATOR(pg_catalog.=) $1";

/// The blocks of a load.
pub(crate) const BLOCKS: &str = "
SELECT source, start, stop, hash FROM pgsluice.block WHERE load OPERATOR(pg_catalog.=) $1";

/// All loads, the newest first: with the rows that their receipts speak of.
pub(crate) const LIST: &str = "
SELECT l.id, l.name, l.state, l.attempt, l.begun::pg_catalog.text, l.ended::pg_catalog.text,
       l.rows_read, l.rows_loaded, l.rows_skipped,
       COALESCE(r.rows, 0)::pg_catalog.int8, l.sources::pg_catalog.text, l.terms::pg_catalog.text
FROM pgsluice.load l
LEFT JOIN (SELECT load, pg_catalog.sum(rows) AS rows FROM pgsluice.receipt GROUP BY load) r
    ON r.load OPERATOR(pg_catalog.=) l.id
WHERE $1::pg_catalog.text IS NULL OR l.id OPERATOR(pg_catalog.=) $1
ORDER BY l.begun DESC, l.id";

/// Takes all of a load out of the ledger.
pub(crate) fn forget(id: &str) -> String {
    let id = literal(id.as_bytes());
    ["block", "reject", "receipt", "tree", "load"]
        .map(|table| {
            let column = if table == "load" { "id" } else { "load" };
            format!("DELETE FROM pgsluice.{table} WHERE {column} OPERATOR(pg_catalog.=) {id}")
        })
        .join("; ")
}
