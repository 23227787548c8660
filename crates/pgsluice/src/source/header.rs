//! The meaning of an input's first rows.

/// COPY's `HEADER` option.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Header {
    /// The first row is data.
    #[default]
    Absent,
    /// The first row is a header and is skipped. If it names columns, it must name them in the order of the
    /// fields. All inputs must have the same header.
    Present,
    /// This number of rows is skipped, at least one, whatever they contain. In PostgreSQL 19, this is `HEADER
    /// n`.
    Skip(u32),
    /// The first row must name the columns in order.
    Match,
    /// The first row names the columns in any order. Each field goes to the column with its name.
    Map,
}

impl Header {
    /// Whether the header of each input is compared.
    pub(crate) fn is_compared(self) -> bool {
        matches!(self, Self::Present | Self::Match | Self::Map)
    }

    /// Returns how many rows at the beginning of an input are not data.
    pub fn rows(self) -> usize {
        match self {
            Self::Absent => 0,
            Self::Skip(rows) => rows as usize,
            Self::Present | Self::Match | Self::Map => 1,
        }
    }
}
