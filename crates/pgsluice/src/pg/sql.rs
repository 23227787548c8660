//! The statements of a load. Identifiers are always quoted, literals always escaped.

use std::time::Duration;

use pgsluice_core::catalog::{Relation, quote_identifier};
use pgsluice_core::format::{Format, Syntax};

use crate::job::FieldOptions;
pub(crate) use pgsluice_session::connect::PG_CATALOG_ONLY;

/// Ends [`ASYNCHRONOUS`]: the session uses the role's setting, or commits durably if that is off.
macro_rules! durable {
    () => {
        "
RESET synchronous_commit;
SELECT pg_catalog.set_config('synchronous_commit', 'on', false)
WHERE pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'"
    };
}

/// Settings of a session that loads: it waits for locks, regardless of the role's settings. No other timeout
/// ends a session either; see [`super::connect`].
pub(crate) const NO_LOCK_TIMEOUT: &str = "SET lock_timeout = 0";

/// Saves a flush for each payload, because a connection ends with [`FLUSH`].
pub(crate) const ASYNCHRONOUS: &str = "SET synchronous_commit = off";

/// Settings of a session that evaluates keys, in addition to [`NO_LOCK_TIMEOUT`]. Each statement is planned
/// only once, and not compiled, although the server overestimates the number of rows.
pub(crate) const ASKING_SESSION: &str = "
SET plan_cache_mode = force_generic_plan;
SET jit = off";

/// Settings that make the server write values exactly, regardless of the user's settings. They do not affect
/// how values are read.
pub(crate) const EXACT_OUTPUT: &str = "
SET extra_float_digits = 3;
SET bytea_output = 'hex'";

/// Ends [`EXACT_OUTPUT`].
pub(crate) const RESET_OUTPUT: &str = "
RESET extra_float_digits;
RESET bytea_output";

/// Settings under which deparsed SQL reads back as exactly the same; they begin with [`PG_CATALOG_ONLY`].
pub(crate) const DEPARSE_SETTINGS: &str = "
SET search_path = pg_catalog, pg_temp;
SET datestyle = 'ISO';
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
SET extra_float_digits = 3;
SET standard_conforming_strings = on";

/// Ends [`PG_CATALOG_ONLY`] and [`DEPARSE_SETTINGS`] by restoring the settings that the session began with.
/// From here on, every name must be qualified, because a bare name may find an object of another role: see
/// [`super::qualified`].
pub(crate) const RESET_SETTINGS: &str = "
RESET search_path;
RESET datestyle;
RESET timezone;
RESET intervalstyle;
RESET extra_float_digits;
RESET standard_conforming_strings";

/// Settings of a session whose commits must be durable.
pub(crate) const DURABLE: &str = durable!();

/// A synchronous commit, which makes all earlier commits durable. The message is WAL that nothing reads; it
/// is needed because a transaction without WAL is not flushed.
pub(crate) const FLUSH: &str =
    concat!(durable!(), "; SELECT pg_catalog.pg_logical_emit_message(true, 'pgsluice', '')");

/// Begins a transaction. COPY must see the current partitions, regardless of the isolation level that a role
/// has set.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

pub(crate) const COMMIT: &str = "COMMIT";

pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// Query for the server process of a session.
pub(crate) const PID: &str = "SELECT pg_catalog.pg_backend_pid()";

/// Statements that read and set the search_path of a session.
pub(crate) const SEARCH_PATH: &str = "SELECT pg_catalog.current_setting('search_path')";
pub(crate) const SET_SEARCH_PATH: &str = "SELECT pg_catalog.set_config('search_path', $1, false)";

/// Query for the table that a name stands for.
pub(crate) const OID: &str = "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid";

/// Query for the sizes of tables in bytes, including their indexes.
pub(crate) const SIZES: &str = "
SELECT oid, pg_catalog.pg_total_relation_size(oid)
FROM pg_catalog.pg_class WHERE oid {any} ($1)";

/// Restores the meaning that names have in other sessions of this user.
pub(crate) const RESET_SEARCH_PATH: &str = "RESET search_path";

/// Checks all constraints now, and after each later statement.
pub(crate) const IMMEDIATE: &str = "SET CONSTRAINTS ALL IMMEDIATE";

/// Follows [`BEGIN`] and [`IMMEDIATE`] if rows are stored a few at a time, so that they can be rolled back.
pub(crate) const SALVAGE: &str = "SAVEPOINT pgsluice";

/// Ends [`SALVAGE`], and keeps the later changes.
pub(crate) const NO_SAVEPOINT: &str = "RELEASE SAVEPOINT pgsluice";

/// Begins a part of a transaction that can be rolled back on its own.
pub(crate) const PART: &str = "SAVEPOINT pgsluice_part";

/// Rolls the part back, to begin it again.
pub(crate) const BACK_TO_PART: &str = "ROLLBACK TO SAVEPOINT pgsluice_part";

/// Ends the part without undoing it.
pub(crate) const RELEASE_PART: &str = "RELEASE SAVEPOINT pgsluice_part";

/// Commits durably, in spite of [`ASYNCHRONOUS`].
pub(crate) const COMMIT_DURABLY: &str = concat!(durable!(), "; COMMIT");

/// Rolls back the last few rows, which the server rejected.
pub(crate) const BACK_TO_SAVEPOINT: &str = "ROLLBACK TO SAVEPOINT pgsluice";

/// Keeps the rows since the last savepoint.
pub(crate) const NEXT_SAVEPOINT: &str = "RELEASE SAVEPOINT pgsluice; SAVEPOINT pgsluice";

/// Returns the setting of how long a transaction waits for a lock.
pub(crate) fn lock_timeout(wait: Duration) -> String {
    format!("SET LOCAL lock_timeout = {}", wait.as_millis().max(1))
}

/// Returns the statement that locks the tables exclusively, but not the tables that inherit from them.
pub(crate) fn lock_exclusively<'r>(tables: impl Iterator<Item = &'r Relation>) -> String {
    let tables: Vec<String> = tables.map(Relation::to_string).collect();
    format!("LOCK TABLE ONLY {} IN ACCESS EXCLUSIVE MODE", tables.join(", ONLY "))
}

/// Returns the statement that locks a table against writes, but not the tables that inherit from it.
pub(crate) fn lock_shared(table: &Relation) -> String {
    format!("LOCK TABLE ONLY {table} IN SHARE MODE")
}

/// Returns the statement that creates a partition; `by` is its own partition key, if it has one.
pub(crate) fn create_partition(
    relation: &Relation,
    parent: &Relation,
    bound: &str,
    by: Option<&str>,
) -> String {
    let by = by.map(|key| format!(" PARTITION BY {key}")).unwrap_or_default();
    format!("CREATE TABLE {relation} PARTITION OF {parent} {bound}{by}")
}

/// Returns the statement that locks the tables `path` against changes until the rows are committed.
///
/// The path leads from the root to a leaf. All tables are locked in this order, because DETACH locks the
/// parent first, and the leaf's own check of its rows accesses the parent. In the opposite order, the two
/// would deadlock.
pub(crate) fn lock(path: &[&Relation]) -> String {
    let names: Vec<String> = path.iter().map(ToString::to_string).collect();
    format!("LOCK TABLE ONLY {} IN ROW EXCLUSIVE MODE", names.join(", ONLY "))
}

/// Query, under these locks, for whether everything is as planned, or [`MOVED`] or [`RETYPED`].
///
/// $1 is the name of a leaf or the root, or NULL: it must still be the table with the oid $2, and the root $3
/// or below it. COPY would store the rows even if the table were detached, or if another table had its name.
/// $5 are the types of the root's columns $4, by name, or NULL. In binary, COPY would take the bytes of one
/// type for a value of another.
pub(crate) const RECHECK: &str = "
SELECT CASE
    WHEN $1::pg_catalog.text IS NOT NULL
         AND NOT ($1::pg_catalog.text::pg_catalog.regclass {eq} $2::pg_catalog.oid
                  AND ($2::pg_catalog.oid {eq} $3::pg_catalog.oid OR EXISTS (
                      SELECT FROM pg_catalog.pg_partition_ancestors(
                          $2::pg_catalog.oid::pg_catalog.regclass) AS a (relid)
                      WHERE a.relid {eq} $3::pg_catalog.oid)))
    THEN 'moved'
    WHEN $5::pg_catalog.oid[] IS NOT NULL
         AND ((SELECT pg_catalog.array_agg(atttypid ORDER BY attname)
               FROM pg_catalog.pg_attribute
               WHERE attrelid {eq} $3::pg_catalog.oid
                 AND attname {any} ($4::pg_catalog.name[])
                 AND NOT attisdropped) {eq} $5::pg_catalog.oid[]) IS NOT TRUE
    THEN 'retyped'
    ELSE 'same'
END";

/// Query for the number of rows that the session has stored in each of the tables $1, as far as not reported
/// yet: all rows of this transaction, even if a savepoint has undone them, and some earlier ones.
pub(crate) const STORED_BY_LEAF: &str = "
SELECT pg_catalog.array_agg(pg_catalog.pg_stat_get_xact_tuples_inserted(oid) ORDER BY place)
FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY AS u (oid, place)";

/// Query that divides by zero, and so fails the transaction, unless the session has stored $2 rows in each of
/// the tables $1. COMMIT can be sent without waiting for its answer.
pub(crate) const CHECK_STORED: &str = "
SELECT 1 OPERATOR(pg_catalog./)
       CASE WHEN pg_catalog.bool_and(pg_catalog.pg_stat_get_xact_tuples_inserted(oid)
                                     {eq} expected) THEN 1 ELSE 0 END
FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.int8[]))
     AS u (oid, expected)";

/// The answer of [`RECHECK`] if a table is no longer in its place.
pub(crate) const MOVED: &str = "moved";

/// The answer of [`RECHECK`] if columns have other types.
pub(crate) const RETYPED: &str = "retyped";

/// Returns `COPY relation (columns) FROM STDIN` in the input's own format, or in binary for `None`.
pub(crate) fn copy_in(relation: &Relation, columns: &[String], format: Option<&Format>) -> String {
    let columns: Vec<String> = columns.iter().map(|column| quote_identifier(column)).collect();
    let options = format.map_or_else(|| "FORMAT binary".to_owned(), text_options);
    // COPY needs no column list for a table without columns.
    let list =
        if columns.is_empty() { String::new() } else { format!(" ({})", columns.join(", ")) };
    format!("COPY {relation}{list} FROM STDIN WITH ({options})")
}

fn text_options(format: &Format) -> String {
    let delimiter = literal(&[format.delimiter]);
    let null = literal(&format.null);
    match format.syntax {
        Syntax::Text => format!("FORMAT text, DELIMITER {delimiter}, NULL {null}"),
        Syntax::Csv { quote, escape, .. } => {
            let (quote, escape) = (literal(&[quote]), literal(&[escape]));
            format!(
                "FORMAT csv, DELIMITER {delimiter}, NULL {null}, QUOTE {quote}, ESCAPE {escape}"
            )
        }
    }
}

/// Adds COPY's options about single fields to a statement of [`copy_in`].
pub(crate) fn with_fields(copy: String, fields: &FieldOptions, columns: &[String]) -> String {
    let Some(copy) = copy.strip_suffix(')').filter(|_| !fields.is_empty()) else { return copy };
    let mut options = String::new();
    for (name, some) in
        [("FORCE_NULL", &fields.force_null), ("FORCE_NOT_NULL", &fields.force_not_null)]
    {
        let names: Vec<String> =
            some.among(columns).iter().map(|name| quote_identifier(name)).collect();
        if !names.is_empty() {
            options.push_str(&format!(", {name} ({})", names.join(", ")));
        }
    }
    if let Some(default) = &fields.default {
        options.push_str(&format!(", DEFAULT {}", literal(default)));
    }
    format!("{copy}{options})")
}

/// Returns a string literal that does not depend on standard_conforming_strings.
pub(crate) fn literal(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace('\\', "\\\\").replace('\'', "''");
    format!("E'{text}'")
}

/// Rewrites SQL that the server deparsed under [`DEPARSE_SETTINGS`] so that it means the same in every
/// session: a literal with a backslash becomes E'...'. `simple_quote_literal` in
/// `src/backend/utils/adt/ruleutils.c`, PostgreSQL 13 to 18, relies on standard_conforming_strings.
pub(crate) fn portable(deparsed: &str) -> String {
    let mut portable = String::with_capacity(deparsed.len());
    let mut rest = deparsed;
    while let Some(start) = rest.find(['\'', '"']) {
        let (before, quoted) = rest.split_at(start);
        let (quoted, after) = quoted.split_at(quoted_length(quoted));
        portable.push_str(before);
        if quoted.starts_with('\'') && quoted.contains('\\') {
            portable.push('E');
            portable.push_str(&quoted.replace('\\', "\\\\"));
        } else {
            portable.push_str(quoted);
        }
        rest = after;
    }
    portable.push_str(rest);
    portable
}

/// Returns the length of the literal or identifier at the beginning of `text`, in which quotes are doubled.
fn quoted_length(text: &str) -> usize {
    let quote = &text[..1];
    let mut at = 1;
    while let Some(found) = text[at..].find(quote) {
        at += found + 1;
        if !text[at..].starts_with(quote) {
            return at;
        }
        at += 1;
    }
    text.len()
}

/// Returns the statement with which a user may change a column; the caller quotes the names if needed.
pub(crate) fn alter_column(table: &str, column: &str, action: &str) -> String {
    format!("ALTER TABLE {table} ALTER COLUMN {column} {action}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_what_the_user_named() {
        let relation = Relation { schema: "a\"b".to_owned(), name: "T".to_owned() };
        let columns = ["select".to_owned(), "x y".to_owned()];
        assert_eq!(
            copy_in(&relation, &columns, Some(&Format::text())),
            "COPY \"a\"\"b\".\"T\" (\"select\", \"x y\") FROM STDIN \
             WITH (FORMAT text, DELIMITER E'\t', NULL E'\\\\N')"
        );
        assert!(copy_in(&relation, &[], Some(&Format::csv())).contains("\"T\" FROM STDIN"));
        assert!(copy_in(&relation, &[], None).ends_with("FROM STDIN WITH (FORMAT binary)"));
    }

    #[test]
    fn deparsed_sql_reads_the_same_in_every_session() {
        for (deparsed, expected) in [
            (r#"("a\"" = 'b') AND 'c''d' <> ''"#, r#"("a\"" = 'b') AND 'c''d' <> ''"#),
            (r"IN ('\', ');--')", r"IN (E'\\', ');--')"),
            (r"'a''\''b' || '\\'", r"E'a''\\''b' || E'\\\\'"),
            (r#""it's" || '\"'"#, r#""it's" || E'\\"'"#),
        ] {
            assert_eq!(portable(deparsed), expected);
        }
    }
}
