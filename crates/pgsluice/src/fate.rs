//! What became of rows, from the server's answers to the summary.

/// The numbers of what became of the rows of a load, or of some of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    /// Rows of the inputs.
    pub(crate) read: u64,
    /// Rows that the server has stored.
    pub(crate) inserted: u64,
    /// Rows that a trigger kept out of the table.
    pub(crate) dropped: u64,
    /// Rows that were refused and left out.
    pub(crate) rejected: u64,
}

impl Fate {
    /// Returns the fate of `read` rows of which COPY stored `inserted` and refused none.
    pub(crate) fn of_copy(read: u64, inserted: u64) -> Self {
        Self { read, inserted, dropped: read.saturating_sub(inserted), rejected: 0 }
    }
}
