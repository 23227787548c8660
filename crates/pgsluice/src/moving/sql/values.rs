//! The values of key columns, which decide what leaves a table needs.

use pgsluice_core::catalog::quoted;

/// Returns the least and the greatest finite value of a column as text, and the numbers of rows with NULL and with a
/// value that no range contains.
pub(in crate::moving) fn extent(own: &str, column: &str, is_time: bool, is_float: bool) -> String {
    let column = quoted(column);
    let finite = match (is_time, is_float) {
        (true, _) => format!("isfinite({column})"),
        (_, true) => format!("{column}::text NOT IN ('NaN', 'Infinity', '-Infinity')"),
        _ => "true".to_owned(),
    };
    format!(
        "SELECT min({column}) FILTER (WHERE {finite})::text, max({column}) FILTER (WHERE {finite})::text,
                count(*) FILTER (WHERE {column} IS NULL), count(*) FILTER (WHERE NOT {finite})
         FROM ONLY {own}"
    )
}

/// Returns the different values of a column as text, at most `most` of them. The text is that of the output function: a
/// cast may be a user's code.
pub(in crate::moving) fn distinct(own: &str, column: &str, most: usize) -> String {
    let column = quoted(column);
    format!(
        "SELECT DISTINCT CASE WHEN {column} IS NOT NULL THEN format('%s', {column}) END
         FROM ONLY {own} LIMIT {most}"
    )
}

/// Returns the number of rows of a table and a sum over the text of each, under settings that make it exact.
pub(in crate::moving) fn fingerprint(table: &str, columns: &[String]) -> String {
    let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    format!(
        "SELECT count(*), COALESCE(sum(hashtextextended(ROW({})::text COLLATE \"C\", 0)), 0)::text FROM {table}",
        columns.join(", ")
    )
}

/// The columns of table `$1`, in their order.
pub(in crate::moving) const COLUMNS: &str = "
SELECT attname::text FROM pg_attribute
WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped ORDER BY attnum";

/// The columns of table `$1` that an INSERT can name.
pub(in crate::moving) const STORED: &str = "
SELECT attname::text FROM pg_attribute
WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum";
