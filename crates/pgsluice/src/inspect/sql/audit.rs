//! Statements of an audit: the input as a temporary table, and checksums of the input and the table.
//!
//! The hash of a row is `hashtextextended` of its text, which the server generates from its values. So two
//! spellings of one value are equal, and the hash includes only properties that a type prints. The sum of the
//! hashes does not depend on the order, and counts duplicate rows.
//!
//! The values may have types of users, whose functions resolve names as under COPY. So the session has the
//! user's search_path, and these statements qualify every name.

use pgsluice_core::catalog::{NodeId, Relation, quote_identifier};
use pgsluice_core::format::Format;
use tokio_postgres::types::Oid;
use tokio_postgres::{Error as PgError, Transaction};

use crate::job::FieldOptions;
use crate::pg::compared::{ComparedColumn, has_key};
use crate::pg::sql;
use crate::pg::template::{eq, fill, gt, le, minus};
use crate::sink::sql::changes::{differs, is_flagged, is_newer};
use crate::sink::sql::stage::columns_of;

/// Settings of an audit. No timeout of a role may end it, and row security must not hide rows: if it applies,
/// the server refuses the query. Constraints must be evaluated, not assumed.
pub(crate) const SESSION: &str = "
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET row_security = off;
SET constraint_exclusion = off;
SET extra_float_digits = 1";

/// Returns the statements that end [`sql::DEPARSE_SETTINGS`] in the session of an audit.
pub(crate) fn as_before() -> String {
    format!("{}; {SESSION}", sql::RESET_SETTINGS)
}

/// Selects the tables in `$1` whose rows can all be read.
pub(crate) const READABLE: &str = "
SELECT c.oid FROM pg_catalog.pg_class c
WHERE c.oid {any} ($1) AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
  AND pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE')
  AND NOT pg_catalog.row_security_active(c.oid)";

/// The temporary table with the input.
pub(crate) const INPUT: &str = "pgsluice_input";
const MISSING: &str = "pgsluice_missing";

/// Returns an SQL expression for the rows that a load of `table` can have reached. It includes its
/// partitions, but not tables that merely inherit from it.
pub(crate) fn rows_of(table: &Relation, is_partitioned: bool) -> String {
    if is_partitioned { table.to_string() } else { format!("ONLY {table}") }
}

/// Returns the statement that creates an empty table with the columns of the input and their types, but
/// without any rule of the table that could change a row. `flag` is the index of a boolean column that the
/// table lacks. The table is dropped at the end of the transaction.
pub(crate) fn create_input(table: &str, columns: &[String], flag: Option<usize>) -> String {
    let columns = columns_of(columns, flag);
    format!(
        "CREATE TEMPORARY TABLE {INPUT} ON COMMIT DROP AS SELECT {columns} FROM {table} WITH NO DATA"
    )
}

/// Makes the columns of the temporary table NOT NULL if they are in `table`.
pub(crate) async fn demand_values(
    transaction: &Transaction<'_>,
    table: Oid,
    columns: &[String],
) -> Result<(), PgError> {
    let sql =
        "SELECT pg_catalog.string_agg(pg_catalog.format('ALTER %I SET NOT NULL', attname), ', ')
               FROM pg_catalog.pg_attribute
               WHERE attrelid {eq} $1 AND attnotnull
                 AND attname::pg_catalog.text {any} ($2::pg_catalog.text[])";
    let sql = fill(sql, &[]);
    let demands: Option<String> = transaction.query_one(&sql, &[&table, &columns]).await?.get(0);
    match demands {
        Some(demands) => {
            transaction.batch_execute(&format!("ALTER TABLE pg_temp.{INPUT} {demands}")).await
        }
        None => Ok(()),
    }
}

/// Returns `COPY input FROM STDIN`.
pub(crate) fn copy_input(columns: &[String], format: &Format, fields: &FieldOptions) -> String {
    let copy = sql::copy_in(&temporary(INPUT), columns, Some(format));
    sql::with_fields(copy, fields, columns)
}

/// Returns the query for the row count and checksum of the input.
pub(crate) fn sum_input(columns: &[String]) -> String {
    let rows = hashes("ctid", &temporary(INPUT).to_string(), columns);
    format!("SELECT pg_catalog.count(*), {SUM} FROM {rows}")
}

/// Returns the query for each leaf of `table` that has rows, with its row count and checksum.
pub(crate) fn sum_leaves(table: &str, columns: &[String]) -> String {
    let rows = hashes("tableoid", table, columns);
    format!("SELECT place, pg_catalog.count(*), {SUM} FROM {rows} GROUP BY place")
}

const SUM: &str = "COALESCE(pg_catalog.sum(hash), 0)::pg_catalog.text";

/// Returns the query for the leaves of rows that the table contains more often than the input, and their
/// numbers. If equal rows are in several leaves, they count for the leaf with most of them.
pub(crate) fn surplus(table: &str, columns: &[String]) -> String {
    let table = hashes("tableoid", table, columns);
    let input = hashes("ctid", &temporary(INPUT).to_string(), columns);
    format!(
        "SELECT leaf, pg_catalog.sum(rows)::pg_catalog.int8 FROM (
             SELECT (pg_catalog.array_agg(place ORDER BY there DESC, place))[1] AS leaf,
                    pg_catalog.sum(there) {minus} COALESCE(pg_catalog.min(here), 0) AS rows
             FROM (SELECT hash, place, pg_catalog.count(*) AS there FROM {table} GROUP BY hash, place) AS t
             LEFT JOIN (SELECT hash, pg_catalog.count(*) AS here FROM {input} GROUP BY hash) AS i
                 ON i.hash {eq} t.hash
             GROUP BY t.hash) AS compared
         WHERE rows {gt} 0 GROUP BY leaf"
    )
}

/// Returns the statement that gathers the rows that the input contains more often than the table, with one
/// entry and a count for equal rows. The first `located` entries begin at node 0; the others have no node.
pub(crate) fn gather_missing(table: &str, columns: &[String], located: usize) -> String {
    let table = hashes("tableoid", table, columns);
    let input = hashes("ctid", &temporary(INPUT).to_string(), columns);
    format!(
        "CREATE TEMPORARY TABLE {MISSING} ON COMMIT DROP AS
         SELECT place, here {minus} COALESCE(there, 0) AS rows,
                CASE WHEN pg_catalog.row_number() OVER () {le} {located} THEN 0 END AS node
         FROM (SELECT hash, pg_catalog.count(*) AS here, (pg_catalog.array_agg(place))[1] AS place
               FROM {input} GROUP BY hash) AS i
         LEFT JOIN (SELECT hash, pg_catalog.count(*) AS there FROM {table} GROUP BY hash) AS t
             ON t.hash {eq} i.hash
         WHERE here {gt} COALESCE(there, 0)"
    )
}

/// Returns the statement that moves the missing rows of `node` that meet the constraint of its partition
/// `child` there. Every name in `constraint` is qualified.
pub(crate) fn descend(node: NodeId, child: NodeId, constraint: &str) -> String {
    let input = temporary(INPUT);
    // The names in the constraint are resolved in the inner query first.
    format!(
        "UPDATE pg_temp.{MISSING} AS missing SET node = {child}
         WHERE node {eq} {node} AND EXISTS (
             SELECT FROM {input}
             WHERE ctid {eq} missing.place AND ({constraint}) IS NOT FALSE)"
    )
}

/// Returns the query for the missing rows by node, and the number of those without a node.
pub(crate) fn missing_by_node() -> String {
    format!(
        "SELECT node, pg_catalog.sum(rows)::pg_catalog.int8 FROM pg_temp.{MISSING} GROUP BY node"
    )
}

/// A comparison of the table with rows of the input that have changed it.
pub(crate) struct ChangedRows<'a> {
    /// The table, written as in a query.
    pub(crate) table: &'a str,
    pub(crate) key: &'a [ComparedColumn],
    /// The column whose greatest value wins.
    pub(crate) newer: Option<&'a str>,
    /// The column that marks rows as deletions, and whether it is a boolean.
    pub(crate) delete_when: Option<(&'a str, bool)>,
    /// Whether the last row with a key wins, instead of the first.
    pub(crate) last_counts: bool,
    pub(crate) expected: ExpectedRow<'a>,
}

/// The expected row of the table for the key of an input row.
pub(crate) enum ExpectedRow<'a> {
    /// Any row.
    There,
    /// A row with the same values in these columns; if not `inserted`, the row may also be missing.
    As { set: &'a [String], inserted: bool },
    /// No row.
    Gone,
}

impl ChangedRows<'_> {
    /// Returns the query for the number of input rows that do not match the table, the number of rows that
    /// should be deleted and exist, and the number of input rows without a complete key. Rows were copied in
    /// input order, so their ctids are ascending.
    pub(crate) fn query(&self) -> String {
        let Self { table, key, .. } = self;
        let input = temporary(INPUT);
        let keys: Vec<String> = key.iter().map(|column| column.qualify("")).collect();
        let is_keyed =
            key.iter().map(|column| format!("{} IS NOT NULL", quote_identifier(&column.name)));
        let is_keyed = is_keyed.collect::<Vec<_>>().join(" AND ");
        let order = match (self.newer, self.last_counts) {
            (Some(newer), _) => format!("{} DESC NULLS LAST, ctid", quote_identifier(newer)),
            (None, true) => "ctid DESC".to_owned(),
            (None, false) => "ctid".to_owned(),
        };
        let newer = self.newer.map_or_else(|| "true".to_owned(), |column| is_newer(column, "i"));
        let deleting = match (&self.expected, self.delete_when) {
            (ExpectedRow::Gone, _) => "true".to_owned(),
            (_, Some(flag)) => format!("i.{}", is_flagged(flag)),
            (_, None) => "false".to_owned(),
        };
        let missing = match self.expected {
            ExpectedRow::Gone => "false".to_owned(),
            ExpectedRow::There => "t.\"pgsluice found\" IS NULL".to_owned(),
            ExpectedRow::As { set, inserted } => {
                let absent = if inserted { "t.\"pgsluice found\" IS NULL OR " } else { "" };
                let differs = differs(set, "i");
                format!("({absent}t.\"pgsluice found\" AND {newer} AND {differs})")
            }
        };
        format!(
            "WITH i AS (
                 SELECT * FROM (
                     SELECT *, pg_catalog.row_number() OVER (PARTITION BY {keys} ORDER BY {order})
                         AS \"pgsluice place\"
                     FROM {input} WHERE {is_keyed}) AS keyed
                 WHERE \"pgsluice place\" {eq} 1)
             SELECT pg_catalog.count(*) FILTER (WHERE ({deleting}) IS NOT TRUE AND {missing}),
                    pg_catalog.count(*) FILTER (WHERE {deleting} AND t.\"pgsluice found\" AND {newer}),
                    (SELECT pg_catalog.count(*) FROM {input} WHERE ({is_keyed}) IS NOT TRUE)
             FROM i LEFT JOIN (SELECT *, true AS \"pgsluice found\" FROM {table}) AS t ON {same}",
            keys = keys.join(", "),
            same = has_key(key, "i", false),
        )
    }
}

fn temporary(name: &str) -> Relation {
    Relation { schema: "pg_temp".to_owned(), name: name.to_owned() }
}

/// Returns an SQL expression for the hashes of the rows of `table`, each with `place`.
fn hashes(place: &str, table: &str, columns: &[String]) -> String {
    let columns = list(columns);
    let text = format!("ROW({columns})::pg_catalog.text COLLATE pg_catalog.\"C\"");
    format!(
        "(SELECT {place} AS place, pg_catalog.hashtextextended({text}, 0) AS hash FROM {table}) AS r"
    )
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|column| quote_identifier(column)).collect::<Vec<_>>().join(", ")
}
