//! The audit of a load that has changed existing rows: checks whether the table matches the input rows that
//! win.
//!
//! The earlier contents of the table are not known. So each input row is looked up by its key. If rows were
//! skipped, the key must exist. If they were updated, the row must have the values that were set, or be
//! newer. If they were deleted, the key must not exist. The server determines again which of several rows
//! with one key wins.

use super::{Audit, AuditComparison, count};
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::inspect::sql::audit::{ChangedRows, ExpectedRow};
use crate::job::OnConflict;
use crate::plan::changes::Changes;
use pgsluice_core::duplicates::Rule;

impl AuditComparison<'_> {
    /// Compares the table with rows that have changed it according to `changes`.
    pub(super) async fn run_changed(&mut self, changes: &Changes) -> Result<Audit> {
        if changes.key.columns.is_empty() {
            let message = "cannot verify rows that any constraint may have skipped";
            let error = Error::new(Kind::Usage, message).with_sqlstate("0A000");
            return Err(error.with_hint(
                "If a single key decided which rows were skipped, name it with "
                    + option("key")
                    + ".",
            ));
        }
        if !changes.key.is_of_root {
            let message = "cannot verify rows by a key that is unique only within each leaf";
            return Err(Error::new(Kind::Usage, message).with_sqlstate("0A000"));
        }
        let mut audit = self.sums(&changes.columns).await?;
        let expected = match changes.on_conflict {
            OnConflict::Error | OnConflict::Skip => ExpectedRow::There,
            OnConflict::Update => ExpectedRow::As { set: &changes.set, inserted: changes.inserts },
            OnConflict::Delete => ExpectedRow::Gone,
        };
        let changed = ChangedRows {
            table: &self.table,
            key: &changes.key.compared,
            newer: changes.newer_column.as_deref(),
            delete_when: changes.delete_when.as_ref().map(|flag| (&*flag.column, flag.is_boolean)),
            last_counts: changes.rule == Rule::Last,
            expected,
        };
        let row = self.transaction.query_one(&changed.query(), &[]).await?;
        audit.on_conflict = changes.on_conflict.name();
        audit.subset = true;
        (audit.rows_missing, audit.rows_surplus) = (count(row.get(0)), count(row.get(1)));
        audit.missing_unlocated = audit.rows_missing;
        audit.rows_unkeyed = count(row.get(2));
        audit.leaves = std::mem::take(&mut self.leaves).into_values().collect();
        audit.rows_misplaced = audit.leaves.iter().map(|leaf| leaf.misplaced).sum();
        audit.equal = audit.rows_missing + audit.rows_surplus + audit.rows_misplaced == 0;
        Ok(audit)
    }
}
