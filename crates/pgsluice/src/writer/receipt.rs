//! The promise of a writer about its rows, and the receipt for them.

use super::send_method::SendMethod;
use crate::row_counts::RowCounts;

/// When rows are durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When [`super::Writer::write`] returns.
    #[default]
    Commit,
    /// When [`super::Writer::flush`] returns. A crash of the server may undo commits after it, and their position with them.
    /// The next call then fails, unless it is proven that no row was lost.
    Flush,
}

/// Rows that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// How many they are, and what became of them: all are inserted, unless a trigger drops some, or some may be there
    /// already.
    pub counts: RowCounts,
    /// How they were sent, if they were sent now.
    pub method: Option<SendMethod>,
}
