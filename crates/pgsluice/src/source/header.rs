//! What the first rows of an input are.

/// COPY's `HEADER` option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// The first row is data.
    #[default]
    Absent,
    /// So many rows are dropped, at least one. PostgreSQL 19 has it as `HEADER n`.
    Skip(u32),
    /// The first row must name the columns in order.
    Match,
}

impl Header {
    /// How many rows of an input are no data.
    pub fn rows(self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Skip(rows) => rows as usize,
            Self::Match => 1,
        }
    }
}
