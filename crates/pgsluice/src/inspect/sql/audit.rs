//! The statements of an audit: the input as a temporary table, and checksums of both.
//!
//! A row's hash is `hashtextextended` of its text, which the server makes of its values. So two
//! spellings of one value are equal, and the hash knows nothing that a type does not print. Their sum
//! does not depend on the order, and counts a row twice that is there twice.
//!
//! The values are those of a user's types, whose functions find what they find under COPY. So the
//! session has the user's search_path, and these statements qualify every name.

use pgsluice_core::catalog::{NodeId, Relation, quoted};
use pgsluice_core::format::Format;
use tokio_postgres::types::Oid;
use tokio_postgres::{Error as PgError, Transaction};

use crate::job::FieldOptions;
use crate::pg::compared::{ComparedColumn, has_key};
use crate::pg::sql;
use crate::pg::template::{eq, fill, gt, le, minus};
use crate::sink::sql::changes::{differs, is_flagged, is_newer};
use crate::sink::sql::stage::columns_of;

/// No setting of a role may end a long audit, and row security must not hide rows: if it applies, the
/// server refuses the query. Constraints must be evaluated and not believed.
pub(crate) const SESSION: &str = "
SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET row_security = off;
SET constraint_exclusion = off;
SET extra_float_digits = 1";

/// Ends [`sql::DEPARSE_SETTINGS`] in the session of an audit.
pub(crate) fn as_before() -> String {
    format!("{}; {SESSION}", sql::RESET_SETTINGS)
}

/// Selects from some tables those of which every row can be read.
pub(crate) const READABLE: &str = "
SELECT c.oid FROM pg_catalog.pg_class c
WHERE c.oid {any} ($1) AND pg_catalog.has_table_privilege(c.oid, 'SELECT')
  AND pg_catalog.has_schema_privilege(c.relnamespace, 'USAGE')
  AND NOT pg_catalog.row_security_active(c.oid)";

/// The temporary table with the input.
pub(crate) const INPUT: &str = "pgsluice_input";
const MISSING: &str = "pgsluice_missing";

/// Returns a table of the rows that a load of `table` can have reached. It holds the rows of its
/// partitions, but not those of tables that merely inherit from it.
pub(crate) fn rows_of(table: &Relation, is_partitioned: bool) -> String {
    if is_partitioned { table.to_string() } else { format!("ONLY {table}") }
}

/// Makes an empty table with the columns of the input: their types, and no rule of the table
/// that could change a row; `flag` is the place of a boolean that the table lacks. It is gone with the
/// transaction.
pub(crate) fn create_input(table: &str, columns: &[String], flag: Option<usize>) -> String {
    let columns = columns_of(columns, flag);
    format!(
        "CREATE TEMPORARY TABLE {INPUT} ON COMMIT DROP AS SELECT {columns} FROM {table} WITH NO DATA"
    )
}

/// Has the temporary table demand values where the columns of `table` do.
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

/// `COPY input FROM STDIN`.
pub(crate) fn copy_input(columns: &[String], format: &Format, fields: &FieldOptions) -> String {
    let copy = sql::copy_in(&temporary(INPUT), columns, Some(format));
    sql::with_fields(copy, fields, columns)
}

/// Rows and checksum of the input.
pub(crate) fn sum_input(columns: &[String]) -> String {
    let rows = hashes("ctid", &temporary(INPUT).to_string(), columns);
    format!("SELECT pg_catalog.count(*), {SUM} FROM {rows}")
}

/// Leaf, rows and checksum of each leaf of `table` that has rows.
pub(crate) fn sum_leaves(table: &str, columns: &[String]) -> String {
    let rows = hashes("tableoid", table, columns);
    format!("SELECT place, pg_catalog.count(*), {SUM} FROM {rows} GROUP BY place")
}

const SUM: &str = "COALESCE(pg_catalog.sum(hash), 0)::pg_catalog.text";

/// Leaf and number of the rows that the table has more often than the input. Where equal rows
/// lie in several leaves they count for the one that has most of them.
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

/// Gathers the rows that the input has more often than the table, equal ones once with their
/// number. The first `located` begin at node 0; the others have no node.
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

/// Moves the missing rows of `node` that meet the constraint of its partition `child` there. Every name
/// in `constraint` is qualified.
pub(crate) fn descend(node: NodeId, child: NodeId, constraint: &str) -> String {
    let input = temporary(INPUT);
    // The names in the constraint are looked up in the inner query first.
    format!(
        "UPDATE pg_temp.{MISSING} AS missing SET node = {child}
         WHERE node {eq} {node} AND EXISTS (
             SELECT FROM {input}
             WHERE ctid {eq} missing.place AND ({constraint}) IS NOT FALSE)"
    )
}

/// The missing rows by node, and the number of those that have none.
pub(crate) fn missing_by_node() -> String {
    format!(
        "SELECT node, pg_catalog.sum(rows)::pg_catalog.int8 FROM pg_temp.{MISSING} GROUP BY node"
    )
}

/// What the rows of the input have done to a table.
pub(crate) struct ChangedRows<'a> {
    /// The table as a query names it.
    pub(crate) table: &'a str,
    pub(crate) key: &'a [ComparedColumn],
    /// The column whose greatest value counts.
    pub(crate) newer: Option<&'a str>,
    /// The column that says which rows have deleted others, and whether it is a boolean.
    pub(crate) delete_when: Option<(&'a str, bool)>,
    /// Of several rows of a key the last one counts, not the first.
    pub(crate) last_counts: bool,
    pub(crate) expected: Expected<'a>,
}

/// What is to be found by the key of a row.
pub(crate) enum Expected<'a> {
    /// Any row.
    There,
    /// One with the same values in these columns, or if it was not `inserted` none.
    As { set: &'a [String], inserted: bool },
    /// None.
    Gone,
}

impl ChangedRows<'_> {
    /// How many rows of the input are not found as they should be; how many are found that should be gone; and how
    /// many cannot be looked for. Rows were copied in the order of the input, and so have ascending places.
    pub(crate) fn query(&self) -> String {
        let Self { table, key, .. } = self;
        let input = temporary(INPUT);
        let keys: Vec<String> = key.iter().map(|column| column.of("")).collect();
        let is_keyed = key.iter().map(|column| format!("{} IS NOT NULL", quoted(&column.name)));
        let is_keyed = is_keyed.collect::<Vec<_>>().join(" AND ");
        let order = match (self.newer, self.last_counts) {
            (Some(newer), _) => format!("{} DESC NULLS LAST, ctid", quoted(newer)),
            (None, true) => "ctid DESC".to_owned(),
            (None, false) => "ctid".to_owned(),
        };
        let newer = self.newer.map_or_else(|| "true".to_owned(), |column| is_newer(column, "i"));
        let deleting = match (&self.expected, self.delete_when) {
            (Expected::Gone, _) => "true".to_owned(),
            (_, Some(flag)) => format!("i.{}", is_flagged(flag)),
            (_, None) => "false".to_owned(),
        };
        let missing = match self.expected {
            Expected::Gone => "false".to_owned(),
            Expected::There => "t.\"pgsluice found\" IS NULL".to_owned(),
            Expected::As { set, inserted } => {
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

/// The rows of `table` as hashes with the place of each.
fn hashes(place: &str, table: &str, columns: &[String]) -> String {
    let columns = list(columns);
    let text = format!("ROW({columns})::pg_catalog.text COLLATE pg_catalog.\"C\"");
    format!(
        "(SELECT {place} AS place, pg_catalog.hashtextextended({text}, 0) AS hash FROM {table}) AS r"
    )
}

fn list(columns: &[String]) -> String {
    columns.iter().map(|column| quoted(column)).collect::<Vec<_>>().join(", ")
}
