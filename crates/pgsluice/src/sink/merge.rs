//! How rows are sent, and how rows of the stage are merged with the rows of the table.

/// How rows of the stage are merged into their table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Merge {
    /// Inserts the rows whose keys the table does not have. It is an error if another session inserts one of them at
    /// the same time.
    Absent,
    /// Uses `ON CONFLICT`, or statements that insert nothing.
    Conflict,
    /// Updates existing rows leaf by leaf before it inserts the others.
    UpdateFirst,
}

/// How the rows of a transaction are sent.
#[derive(Clone, Copy)]
pub(super) struct Method {
    /// How they are merged with existing rows; `None` if they are copied straight into the table.
    pub(super) merge: Option<Merge>,
    /// Whether rows that could travel together go leaf by leaf. That takes longer, but each leaf checks its rows.
    pub(super) is_apart: bool,
}
