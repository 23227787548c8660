//! The ledger in the target, in a schema of its own: a receipt must be committed with the rows that it
//! is for. The statements that write and read it; `schema` makes the tables, `turns` are its locks, `prepared` are
//! its transactions that are neither committed nor rolled back.

pub(crate) mod prepared;
mod schema;
mod turns;

use pgsluice_core::catalog::Relation;
use tokio_postgres::{Client, SimpleQueryMessage};

pub(crate) use self::schema::{Presence, look, make, refused};
pub(crate) use self::turns::{
    begin_alone, begin_unless_running, fence, is_held, is_over, is_running, lives, lives_noted,
    stay,
};
use super::sql::literal;
use crate::error::Result;

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

/// Settings that decide how values are read, or what keys come to, besides those that every connection sets.
const SETTINGS: [&str; 17] = [
    "TimeZone",
    "DateStyle",
    "IntervalStyle",
    "timezone_abbreviations",
    "array_nulls",
    "lc_monetary",
    "default_text_search_config",
    "xmloption",
    "search_path",
    "extra_float_digits",
    "bytea_output",
    "xmlbinary",
    "transform_null_equals",
    "lc_time",
    "lc_numeric",
    "standard_conforming_strings",
    "backslash_quote",
];

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
            'columns', (SELECT COALESCE(pg_catalog.string_agg(pg_catalog.format('%I %s', a.attname,
                            pg_catalog.format_type(a.atttypid, a.atttypmod)), ', ' ORDER BY c.place), '')
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
                    {rows}, {rows}, {nothing}, {nothing}; {}",
            text(id),
            text(&table.to_string()),
            text(&table.label()),
            terms(own, table, columns),
            text(sources),
            match finished {
                Some(_) => String::new(),
                None => format!("INSERT INTO pgsluice.witness (load) VALUES ({})", text(id)),
            },
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
    let sql = "SELECT EXISTS (SELECT FROM pgsluice.load
                              WHERE id OPERATOR(pg_catalog.=) $1::pg_catalog.text)";
    Ok(client.query_one(sql, &[&id]).await?.get(0))
}

/// Marks a load as finished; a number of rows that is not 1 says that another attempt has begun.
pub(crate) const FINISH: &str = "
UPDATE pgsluice.load
SET state = 'finished', ended = pg_catalog.clock_timestamp(),
    rows_read = $3, rows_loaded = $4, rows_skipped = $5, rows_rejected = $6
WHERE id OPERATOR(pg_catalog.=) $1 AND attempt OPERATOR(pg_catalog.=) $2";

/// Whether a table of `$2` is unlogged, and was emptied since the load began.
pub(crate) const EMPTIED: &str = "
SELECT EXISTS (SELECT FROM pg_catalog.pg_class
               WHERE oid OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.oid[])
                 AND relpersistence OPERATOR(pg_catalog.=) 'u')
   AND NOT EXISTS (SELECT FROM pgsluice.witness WHERE load OPERATOR(pg_catalog.=) $1)";

/// Whether the load $1 is still at the attempt $2, and not finished.
pub(crate) const IS_CURRENT: &str = "
SELECT EXISTS (SELECT FROM pgsluice.load
               WHERE id OPERATOR(pg_catalog.=) $1 AND attempt OPERATOR(pg_catalog.=) $2
                 AND state OPERATOR(pg_catalog.=) 'running')";

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

/// The rows of a load by node, as its receipts have them: of the tree `$2`, or of all others together.
pub(crate) const SUMS: &str = "
SELECT tree OPERATOR(pg_catalog.=) $2, node, pg_catalog.sum(rows)::pg_catalog.int8
FROM pgsluice.receipt WHERE load OPERATOR(pg_catalog.=) $1 GROUP BY 1, 2";

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
    ["witness", "block", "reject", "receipt", "tree", "load"]
        .map(|table| {
            let column = if table == "load" { "id" } else { "load" };
            format!("DELETE FROM pgsluice.{table} WHERE {column} OPERATOR(pg_catalog.=) {id}")
        })
        .join("; ")
}
