//! Statements that read a table in place of files.
//!
//! The sessions run with `search_path` set to `pg_catalog`. Unqualified names, here and in the user's condition,
//! therefore refer to system objects.

use std::ops::Range;

use pgsluice_core::catalog::quote_identifier;
use pgsluice_session::template::{ge, lt};

/// Query for the table that `$1` names, resolved with the user's search_path. The caller rejects numbers, which
/// `to_regclass` takes for OIDs.
pub(in crate::source) const FIND: &str = "
SELECT c.oid, n.nspname::pg_catalog.text, c.relname::pg_catalog.text,
       pg_catalog.current_setting('server_version_num')::pg_catalog.int4,
       pg_catalog.current_setting('block_size')::pg_catalog.int8
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
WHERE c.oid {eq} pg_catalog.to_regclass($1)
  AND c.relkind {any} (ARRAY['r', 'p', 'm', 'v', 'f', 't']::pg_catalog.\"char\"[])";

/// Statements that begin a transaction for reading.
///
/// Rows must come in page order, so index scans and synchronized sequential scans are disabled. With `row_security`
/// off, the server raises an error where a policy would hide a row.
pub(in crate::source) const BEGIN: &str = "
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SET LOCAL search_path = pg_catalog, pg_temp;
SET LOCAL row_security = off;
SET LOCAL DateStyle = 'ISO';
SET LOCAL IntervalStyle = 'postgres';
SET LOCAL extra_float_digits = 3;
SET LOCAL bytea_output = 'hex';
SET LOCAL synchronize_seqscans = off;
SET LOCAL enable_indexscan = off;
SET LOCAL enable_indexonlyscan = off;
SET LOCAL enable_tidscan = on;
SET LOCAL max_parallel_workers_per_gather = 0;
SET LOCAL jit = off";

/// Returns the statements that begin a transaction whose statements have a snapshot each.
pub(in crate::source) fn begin_without_snapshot() -> String {
    BEGIN.replacen("REPEATABLE READ", "READ COMMITTED", 1)
}

/// Query without a result.
pub(in crate::source) const NOTHING: &str = "SELECT";

/// Query that exports the snapshot of the transaction.
pub(in crate::source) const EXPORT: &str = "SELECT pg_catalog.pg_export_snapshot()";

/// Query for the columns of the table `$1` that COPY TO reads: all except generated columns.
pub(in crate::source) const COLUMNS: &str = "
SELECT attname::pg_catalog.text, atttypid, pg_catalog.format_type(atttypid, atttypmod)
FROM pg_catalog.pg_attribute
WHERE attrelid {eq} $1 AND attnum {gt} 0 AND NOT attisdropped
  AND attgenerated {eq} ''::pg_catalog.\"char\"
ORDER BY attnum";

/// Query for the relations that hold the rows of the table `$1` and its descendants, in an order that new partitions
/// do not change. Like a scan of the parent, it leaves out partitions that are being detached.
pub(in crate::source) const HEAPS: &str = "
WITH RECURSIVE below (oid) AS (
    SELECT $1::pg_catalog.oid
    UNION
    SELECT i.inhrelid FROM below
    JOIN pg_catalog.pg_inherits i ON i.inhparent {eq} below.oid
    WHERE NOT COALESCE((pg_catalog.to_jsonb(i) OPERATOR(pg_catalog.->>) 'inhdetachpending')::pg_catalog.bool, false)
)
SELECT n.nspname::pg_catalog.text, c.relname::pg_catalog.text,
       c.relkind {any} (ARRAY['r', 'm', 't']::pg_catalog.\"char\"[]),
       COALESCE(pg_catalog.pg_relation_size(c.oid), 0),
       c.relfilenode {eq} 0 OR c.relfilenode {eq} COALESCE(pg_catalog.pg_relation_filenode(c.oid), 0)
FROM below
JOIN pg_catalog.pg_class c ON c.oid {eq} below.oid
JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
WHERE c.relkind {ne} 'p'::pg_catalog.\"char\"
ORDER BY c.oid";

/// Returns the statements that begin a transaction under a snapshot that another session exported.
pub(in crate::source) fn begin_with(snapshot: &str) -> String {
    let set = format!("SET TRANSACTION SNAPSHOT '{snapshot}';\nSET LOCAL search_path");
    BEGIN.replacen("SET LOCAL search_path", &set, 1)
}

/// Returns the query that locks a table in ACCESS SHARE mode.
pub(in crate::source) fn hold(heap: &str) -> String {
    format!("SELECT FROM ONLY {heap} LIMIT 0")
}

/// The rows of one heap that a statement reads.
pub(in crate::source) struct HeapQuery<'r> {
    /// The heap, qualified and quoted.
    pub(in crate::source) heap: &'r str,
    /// The alias by which `filter` refers to it.
    pub(in crate::source) alias: &'r str,
    /// Whether each row begins with its ctid.
    pub(in crate::source) has_ctid: bool,
    /// The range of pages; `None` for all.
    pub(in crate::source) pages: Option<&'r Range<u64>>,
    /// The user's condition, in SQL.
    pub(in crate::source) filter: Option<&'r str>,
    /// Whether the condition may be planned as a join, which returns rows in another order.
    pub(in crate::source) sorts: bool,
}

impl HeapQuery<'_> {
    /// Returns the statement that copies out `items` of each row, in binary or as text.
    pub(in crate::source) fn copy_out(&self, items: &[String], is_binary: bool) -> String {
        let Self { heap, alias, has_ctid, pages, filter, sorts } = *self;
        let alias = quote_identifier(alias);
        let ctid = has_ctid.then(|| format!("{alias}.ctid"));
        let items: Vec<String> = ctid.into_iter().chain(items.iter().cloned()).collect();
        let from = match filter {
            None => format!("ONLY {heap} AS {alias}"),
            Some(filter) => {
                let all = if has_ctid { "ctid, *" } else { "*" };
                // Inside a subquery, the condition cannot change which pages are read. The newline ends a comment.
                format!("(SELECT {all} FROM ONLY {heap} AS {alias} WHERE ({filter}\n)) AS {alias}")
            }
        };
        let bound =
            |sign: &str, page: u64| format!("{alias}.ctid {sign} '({page},0)'::pg_catalog.tid");
        let pages = pages.iter().flat_map(|pages| [bound(ge, pages.start), bound(lt, pages.end)]);
        let pages: Vec<String> = pages.collect();
        let pages = match pages.is_empty() {
            true => String::new(),
            false => format!(" WHERE {}", pages.join(" AND ")),
        };
        let format = if is_binary { " (FORMAT binary)" } else { "" };
        let order = match has_ctid && filter.is_some() && sorts {
            true => format!(" ORDER BY {alias}.ctid"),
            false => String::new(),
        };
        let items = items.join(", ");
        format!("COPY (SELECT {items} FROM {from}{pages}{order}) TO STDOUT{format}")
    }
}

/// Returns the expression for a column of the table with this alias.
pub(in crate::source) fn column(alias: &str, name: &str) -> String {
    format!("{}.{}", quote_identifier(alias), quote_identifier(name))
}

/// Returns the expression for a column as text, by the output function of its type. A cast to text may differ from it.
pub(in crate::source) fn text_of(alias: &str, name: &str) -> String {
    let column = column(alias, name);
    format!("CASE WHEN {column} IS NULL THEN NULL ELSE pg_catalog.concat({column}) END")
}
