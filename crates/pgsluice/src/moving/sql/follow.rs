//! Statements that apply changes of the table to a tree. One transaction, under one snapshot, removes entries
//! from the log, deletes the rows that they are about, and inserts the current rows of the table.

use std::ops::Range;

use pgsluice_core::catalog::quote_identifier;

use crate::moving::sql::log::{Log, LoggedColumn, same};
use crate::pg::sql::{COMMIT, literal};

/// The entries that are being processed.
const BATCH: &str = "pg_temp.pgsluice_batch";

/// Begins a transaction that sees one state of the log, of the table and of the tree.
const BEGIN: &str = "BEGIN ISOLATION LEVEL REPEATABLE READ";

/// Returns the statements that begin a transaction that sees one state of the log, of the table and of the
/// tree. Until it ends, no other table can get the name of the table.
pub(in crate::moving) fn begin_at(table: &str) -> String {
    format!("{BEGIN}; {}", lock_name(table))
}

/// Prevents other tables from getting the name of the table until the transaction ends.
pub(in crate::moving) fn lock_name(table: &str) -> String {
    format!("LOCK TABLE ONLY {table} IN ACCESS SHARE MODE")
}

/// Makes the planner look up each row of a batch by index; it has no statistics about the batch.
pub(in crate::moving) const BY_INDEX: &str = "
SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off;
SET LOCAL enable_material = off; SET LOCAL max_parallel_workers_per_gather = 0; SET LOCAL jit = off";

/// Ends [`BY_INDEX`].
pub(in crate::moving) const AS_BEFORE: &str = "
SET LOCAL enable_seqscan = on; SET LOCAL enable_hashjoin = on; SET LOCAL enable_mergejoin = on";

/// A query without a result.
pub(in crate::moving) const NOTHING: &str = "SELECT";

/// Returns the statements that empty one of the tables of entries, which is locked, and commit.
pub(in crate::moving) fn truncate(table: &str) -> String {
    format!("TRUNCATE ONLY {table}; {COMMIT}")
}

/// Exports the snapshot of the transaction.
pub(in crate::moving) const EXPORT: &str = "SELECT pg_export_snapshot()";

/// Returns the statements that begin a transaction under the snapshot of another one.
pub(in crate::moving) fn begin_with(snapshot: &str) -> String {
    format!("{BEGIN}; SET TRANSACTION SNAPSHOT {}", literal(snapshot.as_bytes()))
}

impl Log {
    /// Returns the statement that a session runs once, for its batches.
    pub(in crate::moving) fn batch(&self) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|column| format!("{} {}", column.logged, column.ty)).collect();
        format!(
            "CREATE TEMPORARY TABLE pgsluice_batch ({}) ON COMMIT DELETE ROWS",
            columns.join(", ")
        )
    }

    /// Returns the query for the number of the entry after the first `$1` ones from number `$2` on.
    pub(in crate::moving) fn bound(&self) -> String {
        let Self { name, number, .. } = self;
        format!(
            "SELECT {number} FROM {name} WHERE {number} >= $2 ORDER BY {number} OFFSET $1 LIMIT 1"
        )
    }

    /// Returns the statement that moves entries into the batch: those with these numbers, or all.
    pub(in crate::moving) fn take(&self, numbers: Option<&Range<i64>>) -> String {
        let Self { name, number, .. } = self;
        let only = numbers
            .map(|Range { start, end }| format!(" WHERE {number} >= {start} AND {number} < {end}"));
        let columns = logged(&self.columns.iter().collect::<Vec<_>>());
        format!(
            "WITH taken AS (DELETE FROM {name}{} RETURNING {columns})
             INSERT INTO {BATCH} SELECT DISTINCT {columns} FROM taken",
            only.unwrap_or_default()
        )
    }

    /// Returns the statements that lock one of the tables of entries, unless it is in use, and the query
    /// whether it is empty.
    pub(in crate::moving) fn claim(table: &str) -> [String; 2] {
        [
            format!("BEGIN; LOCK TABLE ONLY {table} IN ACCESS EXCLUSIVE MODE NOWAIT"),
            format!("SELECT NOT EXISTS (SELECT FROM ONLY {table})"),
        ]
    }

    /// Returns the statements that delete the rows of the batch from the partitioned table `tree`.
    pub(in crate::moving) fn delete(&self, tree: &str) -> Vec<String> {
        let (all, keys, nullable) =
            (self.columns.iter().collect::<Vec<_>>(), self.keys(), self.nullable());
        let is_null = |row: &str, name: &dyn Fn(&LoggedColumn) -> String| {
            let tests = nullable.iter().map(|column| format!("{row}{} IS NULL", name(column)));
            tests.collect::<Vec<_>>().join(" OR ")
        };
        let delete = |columns: &[&LoggedColumn], more: &str| {
            format!(
                "DELETE FROM {tree} AS t USING (SELECT DISTINCT {} FROM {BATCH}) AS b WHERE {}{more}",
                logged(columns),
                same(columns, "b", "t")
            )
        };
        let mut statements = vec![delete(&all, "")];
        if !nullable.is_empty() {
            // Such a row is found by its key alone, in any leaf.
            let null = is_null("t.", &LoggedColumn::quoted);
            statements.push(delete(&keys, &format!(" AND ({null})")));
        }
        statements
    }

    /// Returns the statement that inserts the table's current rows for the batch into the partitioned table
    /// `tree`.
    pub(in crate::moving) fn insert(&self, tree: &str) -> String {
        let keys = self.keys();
        let columns: Vec<String> = self.stored.iter().map(|name| quote_identifier(name)).collect();
        let columns = columns.join(", ");
        // OFFSET prevents the planner from merging the lookup of a row with the join, so that it uses the
        // index of the key.
        format!(
            "INSERT INTO {tree} ({columns}) OVERRIDING SYSTEM VALUE
             SELECT {columns} FROM (SELECT DISTINCT {} FROM {BATCH}) AS b
             CROSS JOIN LATERAL (SELECT {columns} FROM ONLY {} AS t WHERE {} OFFSET 0) AS r",
            logged(&keys),
            self.table,
            same(&keys, "b", "t")
        )
    }
}

fn logged(columns: &[&LoggedColumn]) -> String {
    let columns: Vec<&str> = columns.iter().map(|column| column.logged.as_str()).collect();
    columns.join(", ")
}
