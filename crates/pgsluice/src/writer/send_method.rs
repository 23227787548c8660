//! The statements that send the rows of a flush.

/// The method by which rows are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendMethod {
    /// One INSERT with an array for each column.
    Arrays,
    /// COPY through the root, the rows of several leaves in turns.
    Copy,
    /// One INSERT with an array for each column, and ON CONFLICT.
    Conflict,
    /// COPY into a temporary table, and a statement that applies the rows from there.
    Stage,
}
