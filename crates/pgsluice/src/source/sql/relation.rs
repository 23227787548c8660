//! The statements that read a table in place of files.
//!
//! The sessions have a search_path of `pg_catalog`: our own names mean the system's, and so do those of a user's condition
//! that are not qualified.

use std::ops::Range;

use pgsluice_core::catalog::quoted;
use pgsluice_session::template::{ge, lt};

/// Finds the table that `$1` names, by the user's search_path. A number is no name.
pub(in crate::source) const FIND: &str = "
SELECT c.oid, n.nspname::pg_catalog.text, c.relname::pg_catalog.text,
       pg_catalog.current_setting('server_version_num')::pg_catalog.int4,
       pg_catalog.current_setting('block_size')::pg_catalog.int8
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid {eq} c.relnamespace
WHERE c.oid {eq} pg_catalog.to_regclass($1)
  AND c.relkind {any} (ARRAY['r', 'p', 'm', 'v', 'f', 't']::pg_catalog.\"char\"[])";

/// Begins a transaction that holds a snapshot as soon as it is exported.
///
/// Rows are read in the order of pages: index scans would have another, and so would a scan that joins one that is under
/// way. Row security is an error where it would hide a row.
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

/// Exports the snapshot of a transaction.
pub(in crate::source) const EXPORT: &str = "SELECT pg_catalog.pg_export_snapshot()";

/// Returns the columns of the table `$1` that COPY TO reads: not those that are generated.
pub(in crate::source) const COLUMNS: &str = "
SELECT attname::pg_catalog.text, atttypid, pg_catalog.format_type(atttypid, atttypmod)
FROM pg_catalog.pg_attribute
WHERE attrelid {eq} $1 AND attnum {gt} 0 AND NOT attisdropped
  AND attgenerated {eq} ''::pg_catalog.\"char\"
ORDER BY attnum";

/// Returns the tables with rows of the table `$1` and of all that are below it, in an order that new ones do not change.
/// One that is being detached is not read through its parent.
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

/// Begins a transaction under a snapshot that another session holds.
pub(in crate::source) fn begin_with(snapshot: &str) -> String {
    let set = format!("SET TRANSACTION SNAPSHOT '{snapshot}';\nSET LOCAL search_path");
    BEGIN.replacen("SET LOCAL search_path", &set, 1)
}

/// Takes the lock of a reader on a table, which keeps it as it is.
pub(in crate::source) fn hold(heap: &str) -> String {
    format!("SELECT FROM ONLY {heap} LIMIT 0")
}

/// What is read of one heap.
pub(in crate::source) struct Reading<'r> {
    /// The heap, qualified and quoted.
    pub(in crate::source) heap: &'r str,
    /// The name by which `filter` knows it.
    pub(in crate::source) alias: &'r str,
    /// Whether each row begins with its ctid.
    pub(in crate::source) has_ctid: bool,
    /// The pages, if not all.
    pub(in crate::source) pages: Option<&'r Range<u64>>,
    /// A condition for rows, in the user's SQL.
    pub(in crate::source) filter: Option<&'r str>,
}

impl Reading<'_> {
    /// Copies `items` of each row out, in binary or as text.
    pub(in crate::source) fn copy_out(&self, items: &[String], is_binary: bool) -> String {
        let Self { heap, alias, has_ctid, pages, filter } = self;
        let alias = quoted(alias);
        let ctid = has_ctid.then(|| format!("{alias}.ctid"));
        let items: Vec<String> = ctid.into_iter().chain(items.iter().cloned()).collect();
        let from = match filter {
            None => format!("ONLY {heap} AS {alias}"),
            Some(filter) => {
                let all = if *has_ctid { "ctid, *" } else { "*" };
                // Within a query of its own, whatever it is, it cannot change which pages are read. A comment at its end is
                // ended by the line.
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
        let items = items.join(", ");
        format!("COPY (SELECT {items} FROM {from}{pages}) TO STDOUT{format}")
    }
}

/// A column of the table that `alias` stands for.
pub(in crate::source) fn column(alias: &str, name: &str) -> String {
    format!("{}.{}", quoted(alias), quoted(name))
}

/// The same as text: by the output function of its type, which a cast to text need not be.
pub(in crate::source) fn text_of(alias: &str, name: &str) -> String {
    let column = column(alias, name);
    format!("CASE WHEN {column} IS NULL THEN NULL ELSE pg_catalog.concat({column}) END")
}
