//! The outcome of rows, from the server's answers to the summary.

use serde::Serialize;

/// Counts of the rows of a load, or of some of them, by outcome. Each row counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowCounts {
    /// Rows of the inputs.
    #[serde(skip)]
    pub read: u64,
    /// Rows that were inserted.
    pub inserted: u64,
    /// Rows that have updated an existing row.
    pub updated: u64,
    /// Rows that have deleted an existing row.
    pub deleted: u64,
    /// Rows that would not have changed the existing row.
    pub unchanged: u64,
    /// Rows that are not newer than the existing row.
    pub not_newer: u64,
    /// Rows whose key did not exist, if only existing rows are changed.
    pub not_found: u64,
    /// Rows that lose to another row of the input with their key.
    pub duplicate: u64,
    /// Rows that were skipped because their key existed.
    pub skipped: u64,
    /// Rows that a trigger has dropped.
    pub dropped: u64,
    /// Rows that were rejected.
    pub rejected: u64,
}

impl RowCounts {
    /// Returns the counts for a COPY of `read` rows that stored `inserted` of them and refused none.
    pub(crate) fn from_copy(read: u64, inserted: u64) -> Self {
        let dropped = read.saturating_sub(inserted);
        Self { read, inserted, dropped, ..Self::default() }
    }

    /// Returns the number of rows that have changed the table.
    pub(crate) fn rows_changed(&self) -> u64 {
        self.inserted + self.updated + self.deleted
    }

    /// Returns the number of rows with a known outcome.
    pub fn rows(&self) -> u64 {
        self.by_name().into_iter().map(|(_, rows)| rows).sum()
    }

    /// Returns each count with its name, which is `rows_` and this name in the ledger.
    pub fn by_name(&self) -> [(&'static str, u64); 10] {
        [
            ("inserted", self.inserted),
            ("updated", self.updated),
            ("deleted", self.deleted),
            ("unchanged", self.unchanged),
            ("not_newer", self.not_newer),
            ("not_found", self.not_found),
            ("duplicate", self.duplicate),
            ("skipped", self.skipped),
            ("dropped", self.dropped),
            ("rejected", self.rejected),
        ]
    }

    /// Returns the counts with the numbers of [`Self::by_name`] in their order.
    pub(crate) fn from_numbers(read: u64, numbers: [u64; 10]) -> Self {
        let [
            inserted,
            updated,
            deleted,
            unchanged,
            not_newer,
            not_found,
            duplicate,
            skipped,
            dropped,
            rejected,
        ] = numbers;
        Self {
            read,
            inserted,
            updated,
            deleted,
            unchanged,
            not_newer,
            not_found,
            duplicate,
            skipped,
            dropped,
            rejected,
        }
    }

    /// Adds the counts of `other`.
    pub(crate) fn add(&mut self, other: Self) {
        let (own, others) = (self.by_name(), other.by_name());
        let sums = std::array::from_fn(|place| own[place].1 + others[place].1);
        *self = Self::from_numbers(self.read + other.read, sums);
    }

    /// Returns the counts of the rows that were added since `before`.
    ///
    /// # Errors
    ///
    /// Fails with the number of missing rows if a count is lower than before.
    pub(crate) fn since(&self, before: &Self) -> Result<Self, u64> {
        let (own, others) = (self.by_name(), before.by_name());
        let missing =
            own.iter().zip(others).filter_map(|((_, now), (_, then))| then.checked_sub(*now));
        let missing = missing.chain(before.read.checked_sub(self.read)).max();
        match missing.filter(|rows| *rows > 0) {
            Some(rows) => Err(rows),
            None => {
                let rest = std::array::from_fn(|place| own[place].1 - others[place].1);
                Ok(Self::from_numbers(self.read - before.read, rest))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_shrinks_is_no_increase() {
        let before = RowCounts { read: 10, inserted: 7, updated: 3, ..RowCounts::default() };
        let now = RowCounts { read: 12, inserted: 9, ..before };
        let added = RowCounts { read: 2, inserted: 2, ..RowCounts::default() };
        assert_eq!(now.since(&before), Ok(added));
        assert_eq!(before.since(&before), Ok(RowCounts::default()));
        assert_eq!(before.since(&now), Err(2));
        let contradiction =
            RowCounts { read: 12, updated: 0, inserted: 12, ..RowCounts::default() };
        assert_eq!(contradiction.since(&before), Err(3));
    }
}
