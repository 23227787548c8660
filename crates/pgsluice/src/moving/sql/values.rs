//! The values of key columns, which determine the leaves that a table needs.

use pgsluice_core::catalog::quote_identifier;

/// Returns the query for the least and the greatest finite value of a column as text, and the numbers of rows
/// with NULL and with a value that no range contains.
pub(in crate::moving) fn extent(
    table: &str,
    column: &str,
    is_time: bool,
    is_float: bool,
) -> String {
    let column = quote_identifier(column);
    let finite = match (is_time, is_float) {
        (true, _) => format!("isfinite({column})"),
        (_, true) => format!("{column}::text NOT IN ('NaN', 'Infinity', '-Infinity')"),
        _ => "true".to_owned(),
    };
    format!(
        "SELECT min({column}) FILTER (WHERE {finite})::text, max({column}) FILTER (WHERE {finite})::text,
                count(*) FILTER (WHERE {column} IS NULL), count(*) FILTER (WHERE NOT {finite})
         FROM ONLY {table}"
    )
}

/// Returns the query for the distinct values of a column as text, at most `max` of them. The text comes from
/// the output function, because a cast may be a user's code.
pub(in crate::moving) fn distinct(table: &str, column: &str, max: usize) -> String {
    let column = quote_identifier(column);
    format!(
        "SELECT DISTINCT CASE WHEN {column} IS NOT NULL THEN format('%s', {column}) END
         FROM ONLY {table} LIMIT {max}"
    )
}

/// Returns the query for the number of rows of a table and a sum over a hash of each, under settings that
/// make the text of values exact.
///
/// `columns` are rows of [`COMPARED`]. A hash of elements costs a third of a hash of the whole row as text.
pub(in crate::moving) fn fingerprint(table: &str, columns: &[(String, Option<String>)]) -> String {
    let as_text: Vec<&str> = columns
        .iter()
        .filter(|(_, element)| element.is_none())
        .map(|(name, _)| name.as_str())
        .collect();
    let mut elements: Vec<&str> =
        columns.iter().filter_map(|(_, element)| element.as_deref()).collect();
    let text = format!("ROW({})::text COLLATE \"C\"", as_text.join(", "));
    let hash = if elements.is_empty() {
        format!("hashtextextended({text}, 0)")
    } else {
        if !as_text.is_empty() {
            elements.push(&text);
        }
        format!("hash_record_extended(ROW({}), 0)", elements.join(", "))
    };
    format!("SELECT count(*), COALESCE(sum({hash}), 0)::text FROM {table}")
}

/// The columns of table `$1`, in order: the quoted name, and an expression whose hash differs if the value
/// does, by a bit or in its display scale. The expression is NULL for types that other roles may own, and
/// before PostgreSQL 14, which cannot hash a row. The hash of a bigint folds its halves, and the hash of a
/// numeric ignores its scale, so such types are hashed in their send format.
pub(in crate::moving) const COMPARED: &str = "
SELECT quote_ident(attname), CASE
           WHEN current_setting('server_version_num')::int4 < 140000 THEN NULL
           WHEN t.typtype = 'e' OR t.oid = ANY ('{bool,int2,int4,oid,date,uuid,bytea}'::regtype[])
           THEN quote_ident(attname)
           WHEN t.oid = ANY ('{text,varchar}'::regtype[]) THEN format('%I COLLATE \"C\"', attname)
           WHEN t.oid < 10000 AND t.typtype = 'b' AND t.typsend <> 0
           THEN format('%s(%I)', t.typsend, attname)
       END
FROM pg_attribute a JOIN pg_type t ON t.oid = atttypid
WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum";

/// The columns of table `$1`, in order.
pub(in crate::moving) const COLUMNS: &str = "
SELECT attname::text FROM pg_attribute
WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum";

/// The columns of table `$1` that an INSERT can name.
pub(in crate::moving) const STORED: &str = "
SELECT attname::text FROM pg_attribute
WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum";
