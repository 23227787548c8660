//! What the first rows of an input are.

/// COPY's `HEADER` option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// The first row is data.
    #[default]
    Absent,
    /// The first row is a header, and dropped. One that names columns must name them in the order of the fields, and
    /// all inputs have the same.
    Present,
    /// So many rows are dropped, at least one, whatever they have. PostgreSQL 19 has it as `HEADER n`.
    Skip(u32),
    /// The first row must name the columns in order.
    Match,
    /// The first row names the columns, in any order: each field goes to the column of its name.
    Map,
}

impl Header {
    /// Whether the header of each input is looked at.
    pub(crate) fn is_compared(self) -> bool {
        matches!(self, Self::Present | Self::Match | Self::Map)
    }

    /// How many rows of an input are no data.
    pub fn rows(self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Skip(rows) => rows as usize,
            Self::Present | Self::Match | Self::Map => 1,
        }
    }
}
