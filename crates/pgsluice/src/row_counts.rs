//! What became of rows, from the server's answers to the summary.

use serde::Serialize;

/// The numbers of what became of the rows of a load, or of some of them. Each row counts once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RowCounts {
    /// Rows of the inputs.
    #[serde(skip)]
    pub read: u64,
    /// Rows that were stored as new ones.
    pub inserted: u64,
    /// Rows that have changed one that was there.
    pub updated: u64,
    /// Rows whose key was there, and is there no more.
    pub deleted: u64,
    /// Rows that would have changed nothing.
    pub unchanged: u64,
    /// Rows that are not newer than the one that was there.
    pub not_newer: u64,
    /// Rows whose key was not there, where only those that are there are changed.
    pub not_found: u64,
    /// Rows that do not count, because another row of the input has their key.
    pub duplicate: u64,
    /// Rows that were left out, because their key was there.
    pub skipped: u64,
    /// Rows that a trigger kept out of the table.
    pub dropped: u64,
    /// Rows that were refused and left out.
    pub rejected: u64,
}

impl RowCounts {
    /// Returns the counts for a COPY of `read` rows that stored `inserted` of them and refused none.
    pub(crate) fn of_copy(read: u64, inserted: u64) -> Self {
        let dropped = read.saturating_sub(inserted);
        Self { read, inserted, dropped, ..Self::default() }
    }

    /// The rows that have changed the table.
    pub(crate) fn written(&self) -> u64 {
        self.inserted + self.updated + self.deleted
    }

    /// The rows of which it is known what became of them.
    pub(crate) fn rows(&self) -> u64 {
        self.by_name().into_iter().map(|(_, rows)| rows).sum()
    }

    /// Each number, with its name in the ledger behind `rows_`.
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
    pub(crate) fn of(read: u64, numbers: [u64; 10]) -> Self {
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

    /// Adds other rows.
    pub(crate) fn add(&mut self, other: Self) {
        let (own, others) = (self.by_name(), other.by_name());
        let sums = std::array::from_fn(|place| own[place].1 + others[place].1);
        *self = Self::of(self.read + other.read, sums);
    }

    /// Returns the rows that were added to `before`.
    ///
    /// # Errors
    ///
    /// Fails with the number of missing rows if a number is less than before.
    pub(crate) fn since(&self, before: &Self) -> Result<Self, u64> {
        let (own, others) = (self.by_name(), before.by_name());
        let missing =
            own.iter().zip(others).filter_map(|((_, now), (_, then))| then.checked_sub(*now));
        let missing = missing.chain(before.read.checked_sub(self.read)).max();
        match missing.filter(|rows| *rows > 0) {
            Some(rows) => Err(rows),
            None => {
                let rest = std::array::from_fn(|place| own[place].1 - others[place].1);
                Ok(Self::of(self.read - before.read, rest))
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
