//! The statements of a load. Identifiers are always quoted, literals always escaped.

use std::time::Duration;

use pgsluice_core::catalog::{Relation, quoted};
use pgsluice_core::format::{Format, Syntax};

use crate::job::FieldOptions;
pub(crate) use pgsluice_session::connect::PG_CATALOG_ONLY;

/// Ends [`ASYNCHRONOUS`]: the session commits as its role does, and durably even if that does not.
macro_rules! durable {
    () => {
        "
RESET synchronous_commit;
SELECT pg_catalog.set_config('synchronous_commit', 'on', false)
WHERE pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) 'off'"
    };
}

/// Settings of a session that loads: it waits for locks, whatever a role has set. No other time-out ends any
/// session; see [`super::connect`].
pub(crate) const NO_LOCK_TIMEOUT: &str = "SET lock_timeout = 0";

/// Spares a flush for each payload, because [`FLUSH`] ends what a connection sends.
pub(crate) const ASYNCHRONOUS: &str = "SET synchronous_commit = off";

/// Settings of a session that evaluates keys, besides [`NO_LOCK_TIMEOUT`]. Each statement is planned
/// once, and not compiled for the number of rows that the server guesses.
pub(crate) const ASKING_SESSION: &str = "
SET plan_cache_mode = force_generic_plan;
SET jit = off";

/// How the server writes what is read back here, whatever the user likes to see. It does not change how
/// values are read.
pub(crate) const EXACT_OUTPUT: &str = "
SET extra_float_digits = 3;
SET bytea_output = 'hex'";

/// Ends [`EXACT_OUTPUT`].
pub(crate) const OWN_OUTPUT: &str = "
RESET extra_float_digits;
RESET bytea_output";

/// Settings under which what the server deparses reads back as exactly what it was; it begins with
/// [`PG_CATALOG_ONLY`].
pub(crate) const DEPARSE_SETTINGS: &str = "
SET search_path = pg_catalog, pg_temp;
SET datestyle = 'ISO';
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
SET extra_float_digits = 3;
SET standard_conforming_strings = on";

/// Ends [`PG_CATALOG_ONLY`] and [`DEPARSE_SETTINGS`]: the settings that the session began with. From
/// here on every name must be qualified, because others may own what a bare name finds: see
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

/// One synchronous commit: it makes all commits before it durable. The message is WAL without
/// meaning to anybody, since a transaction that writes none is not flushed.
pub(crate) const FLUSH: &str =
    concat!(durable!(), "; SELECT pg_catalog.pg_logical_emit_message(true, 'pgsluice', '')");

/// Begins a transaction. Whatever isolation a role has set, COPY must see the partitions as they
/// are.
pub(crate) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

pub(crate) const COMMIT: &str = "COMMIT";

pub(crate) const ROLLBACK: &str = "ROLLBACK";

/// The server's process of a session.
pub(crate) const PID: &str = "SELECT pg_catalog.pg_backend_pid()";

/// Where a session looks names up, and how it looks them up elsewhere.
pub(crate) const SEARCH_PATH: &str = "SELECT pg_catalog.current_setting('search_path')";
pub(crate) const SET_SEARCH_PATH: &str = "SELECT pg_catalog.set_config('search_path', $1, false)";

/// The table that a name stands for.
pub(crate) const OID: &str = "SELECT pg_catalog.to_regclass($1)::pg_catalog.oid";

/// The bytes of tables, with their indexes.
pub(crate) const SIZES: &str = "
SELECT oid, pg_catalog.pg_total_relation_size(oid)
FROM pg_catalog.pg_class WHERE oid {any} ($1)";

/// Names mean what they mean in every other session of this user.
pub(crate) const RESET_SEARCH_PATH: &str = "RESET search_path";

/// Checks all constraints now, and from now on behind each statement.
pub(crate) const IMMEDIATE: &str = "SET CONSTRAINTS ALL IMMEDIATE";

/// Behind [`BEGIN`] and [`IMMEDIATE`], where rows are stored a few at a time: these can be taken back.
pub(crate) const SALVAGE: &str = "SAVEPOINT pgsluice";

/// Ends [`SALVAGE`], and keeps what is behind it.
pub(crate) const NO_SAVEPOINT: &str = "RELEASE SAVEPOINT pgsluice";

/// Begins a part of a transaction that can be rolled back.
pub(crate) const PART: &str = "SAVEPOINT pgsluice_part";

/// Rolls the part back, to begin it again.
pub(crate) const BACK_TO_PART: &str = "ROLLBACK TO SAVEPOINT pgsluice_part";

/// Keeps it.
pub(crate) const KEEP_PART: &str = "RELEASE SAVEPOINT pgsluice_part";

/// Commits durably, whatever [`ASYNCHRONOUS`] has said.
pub(crate) const COMMIT_DURABLY: &str = concat!(durable!(), "; COMMIT");

/// Takes back the last few, which were refused.
pub(crate) const BACK_TO_SAVEPOINT: &str = "ROLLBACK TO SAVEPOINT pgsluice";

/// Keeps the rows since the last savepoint, if the transaction is committed.
pub(crate) const NEXT_SAVEPOINT: &str = "RELEASE SAVEPOINT pgsluice; SAVEPOINT pgsluice";

/// How long a transaction waits for a lock.
pub(crate) fn lock_timeout(wait: Duration) -> String {
    format!("SET LOCAL lock_timeout = {}", wait.as_millis().max(1))
}

/// Keeps all others from the tables, but not from what inherits from them.
pub(crate) fn lock_exclusively<'r>(tables: impl Iterator<Item = &'r Relation>) -> String {
    let tables: Vec<String> = tables.map(Relation::to_string).collect();
    format!("LOCK TABLE ONLY {} IN ACCESS EXCLUSIVE MODE", tables.join(", ONLY "))
}

/// Keeps all others from writing to a table, but not to what inherits from it.
pub(crate) fn lock_shared(table: &Relation) -> String {
    format!("LOCK TABLE ONLY {table} IN SHARE MODE")
}

/// Makes a partition; `by` is its own key, if it has one.
pub(crate) fn create_partition(
    relation: &Relation,
    parent: &Relation,
    bound: &str,
    by: Option<&str>,
) -> String {
    let by = by.map(|key| format!(" PARTITION BY {key}")).unwrap_or_default();
    format!("CREATE TABLE {relation} PARTITION OF {parent} {bound}{by}")
}

/// Locks that hold the tables `path` as they are until the rows are committed.
///
/// The path leads from the root to a leaf. All are locked, in this order, because DETACH locks the
/// parent first and the leaf's own check of its rows looks at the parent. In the other order the two
/// would wait for each other.
pub(crate) fn lock(path: &[&Relation]) -> String {
    let names: Vec<String> = path.iter().map(ToString::to_string).collect();
    format!("LOCK TABLE ONLY {} IN ROW EXCLUSIVE MODE", names.join(", ONLY "))
}

/// Whether under these locks all is as it was planned, or [`MOVED`] or [`RETYPED`].
///
/// $1 is the name of a leaf or the root, or NULL: it must still be the table with the oid $2, the root $3 or below
/// it. COPY would take the rows even if it were detached, or another table had its name. $5 are the types of the
/// root's columns $4, by name, or NULL. In binary, COPY would take the bytes of one type for those of
/// another.
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

/// The rows that the session has stored in each of the tables $1, as far as they are not reported yet: all of this
/// transaction, even those that a savepoint has undone, and some of those before it.
pub(crate) const STORED_BY_LEAF: &str = "
SELECT pg_catalog.array_agg(pg_catalog.pg_stat_get_xact_tuples_inserted(oid) ORDER BY place)
FROM pg_catalog.unnest($1::pg_catalog.oid[]) WITH ORDINALITY AS u (oid, place)";

/// Fails, and with it the transaction, unless the session has stored $2 rows in each of the tables $1: it divides by
/// zero. No answer need be waited for before COMMIT.
pub(crate) const CHECK_STORED: &str = "
SELECT 1 OPERATOR(pg_catalog./)
       CASE WHEN pg_catalog.bool_and(pg_catalog.pg_stat_get_xact_tuples_inserted(oid)
                                     {eq} expected) THEN 1 ELSE 0 END
FROM ROWS FROM (pg_catalog.unnest($1::pg_catalog.oid[]), pg_catalog.unnest($2::pg_catalog.int8[]))
     AS u (oid, expected)";

/// The answer of [`RECHECK`] if a table is not where it was.
pub(crate) const MOVED: &str = "moved";

/// The answer of [`RECHECK`] if the columns have other types.
pub(crate) const RETYPED: &str = "retyped";

/// `COPY relation (columns) FROM STDIN` in the input's own format, or in binary if there is none.
pub(crate) fn copy_in(relation: &Relation, columns: &[String], format: Option<&Format>) -> String {
    let columns: Vec<String> = columns.iter().map(|column| quoted(column)).collect();
    let options = format.map_or_else(|| "FORMAT binary".to_owned(), text_options);
    // A table without columns is copied without a list of them.
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

/// COPY's options about single fields, behind those of [`copy_in`].
pub(crate) fn with_fields(copy: String, fields: &FieldOptions, columns: &[String]) -> String {
    let Some(copy) = copy.strip_suffix(')').filter(|_| !fields.is_empty()) else { return copy };
    let mut options = String::new();
    for (name, some) in
        [("FORCE_NULL", &fields.force_null), ("FORCE_NOT_NULL", &fields.force_not_null)]
    {
        let names: Vec<String> = some.among(columns).iter().map(|name| quoted(name)).collect();
        if !names.is_empty() {
            options.push_str(&format!(", {name} ({})", names.join(", ")));
        }
    }
    if let Some(default) = &fields.default {
        options.push_str(&format!(", DEFAULT {}", literal(default)));
    }
    format!("{copy}{options})")
}

/// A string literal, whatever standard_conforming_strings says.
pub(crate) fn literal(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace('\\', "\\\\").replace('\'', "''");
    format!("E'{text}'")
}

/// Makes what the server has deparsed under [`DEPARSE_SETTINGS`] read the same in every session: a
/// literal with a backslash becomes E'...'. `simple_quote_literal` in
/// `src/backend/utils/adt/ruleutils.c`, PostgreSQL 13 to 18, leaves it to standard_conforming_strings.
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

/// The length of the literal or identifier that `text` begins with, which has its quotes doubled.
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

/// Returns the statement by which a user may change a column; the names are quoted where they must be.
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
    fn what_is_deparsed_reads_the_same_in_every_session() {
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
