//! The durability of a writer's rows, and the receipt for them.

use super::send_method::SendMethod;
use crate::row_counts::RowCounts;

/// The time at which rows are durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When [`super::Writer::write`] returns.
    #[default]
    Commit,
    /// When [`super::Writer::flush`] returns. A crash of the server may undo commits since the last flush,
    /// together with their position. The next call then fails, unless it can prove that no row was lost.
    Flush,
}

/// Confirmation that rows were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// The number of rows and their outcome. All are inserted, unless a trigger drops some or some exist
    /// already.
    pub counts: RowCounts,
    /// The method by which they were sent; `None` if an earlier call had committed them.
    pub method: Option<SendMethod>,
}
