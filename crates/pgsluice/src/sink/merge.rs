//! Methods of sending rows, and of merging rows of the stage with rows of the table.

/// The method of merging rows of the stage into their table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Inserts the rows whose keys the table does not have. Fails if another session inserts one of them at
    /// the same time.
    Absent,
    /// Uses `ON CONFLICT`, or statements that insert nothing.
    Conflict,
    /// Updates existing rows leaf by leaf before it inserts the others.
    UpdateFirst,
}

/// The method of sending the rows of a transaction.
#[derive(Clone, Copy)]
pub(super) struct Method {
    /// The method of merging them with existing rows; `None` if they are copied straight into the table.
    pub(super) merge: Option<Merge>,
    /// Whether rows that could go through the root together go leaf by leaf. That takes longer, but each leaf
    /// checks its rows.
    pub(super) is_apart: bool,
}
