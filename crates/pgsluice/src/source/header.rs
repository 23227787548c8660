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
    /// The first row names the columns, in any order: each field goes to the column of its name.
    Map,
}

impl Header {
    /// Whether the header of each input is compared with what it must say.
    pub(crate) fn is_compared(self) -> bool {
        matches!(self, Self::Match | Self::Map)
    }

    /// How many rows of an input are no data.
    pub fn rows(self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Skip(rows) => rows as usize,
            Self::Match | Self::Map => 1,
        }
    }
}
