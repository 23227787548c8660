//! The ways of rows to those that the table has already.

/// How the rows of a transaction meet others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Not at all: they are copied straight in.
    Straight,
    /// Through the stage, those whose keys are not there.
    Absent,
    /// Through the stage, by `ON CONFLICT` or statements that insert nothing.
    Conflict,
    /// Through the stage and leaf by leaf, by an update of those that are there before the others are inserted.
    UpdateFirst,
}
