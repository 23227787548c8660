//! The origin of a row in its input, used by rejects, receipts and error messages.

/// The first byte of a row, ordered as the inputs are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Origin {
    /// Index of the input, in the order given.
    pub input: u32,
    /// Byte offset in the input, from 0.
    pub at: u64,
}

impl Origin {
    /// Returns the origin `bytes` bytes after this one.
    #[must_use]
    pub fn plus(self, bytes: u64) -> Self {
        Self { at: self.at + bytes, ..self }
    }
}
