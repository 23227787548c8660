//! Where a row begins in its source: what rejects, receipts and error messages all speak of.

/// The place of a row's first byte.
///
/// `source` is the input's index in the order of the command line. `offset` counts bytes from 0, and
/// `line` counts physical lines from 1, as an editor shows them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Position {
    /// Index of the input, in the order given.
    pub source: u32,
    /// Byte offset of the row's first byte, from 0.
    pub offset: u64,
    /// Physical line of the row's first byte, from 1.
    pub line: u64,
}
