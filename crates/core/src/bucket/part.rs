//! Part: rows of one bucket in one block of memory, each with its place in the input.
//!
//! All parts of a load have the same size, so that memory is counted by the part and used again: a
//! fresh page costs more than the row that is written to it.

/// Rows that are shorter than this on average fill a part's places before its block.
const BYTES_A_ROW: usize = 24;

/// Where a row stands in the input, and where it ends in its part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAt {
    /// The number of the split that it is of.
    pub split: u32,
    /// Its offset in the split.
    pub offset: u32,
    /// The physical lines of the split before it.
    pub line: u32,
    end: u32,
}

impl RowAt {
    /// A row that has not been written yet.
    pub fn new(split: u32, offset: u32, line: u32) -> Self {
        Self { split, offset, line, end: 0 }
    }
}

/// Rows one behind the other.
#[derive(Debug, Default)]
pub struct Part {
    block: Vec<u8>,
    rows: Vec<RowAt>,
}

impl Part {
    /// An empty one with room for so many bytes of rows.
    pub fn new(bytes: usize) -> Self {
        let rows = Vec::with_capacity((bytes / BYTES_A_ROW).max(1));
        Self { block: Vec::with_capacity(bytes), rows }
    }

    /// The memory that a part for so many bytes of rows takes.
    pub fn memory_for(bytes: usize) -> usize {
        bytes + (bytes / BYTES_A_ROW).max(1) * size_of::<RowAt>()
    }

    /// The memory that it takes.
    pub fn memory(&self) -> usize {
        self.block.capacity() + self.rows.capacity() * size_of::<RowAt>()
    }

    /// Forgets its rows.
    pub fn clear(&mut self) {
        self.block.clear();
        self.rows.clear();
    }

    /// Its rows.
    pub fn rows(&self) -> &[RowAt] {
        &self.rows
    }

    /// The bytes of its rows.
    pub fn bytes(&self) -> usize {
        self.block.len()
    }

    /// The bytes of the rows from `first` on and before `end`.
    pub(super) fn of(&self, first: usize, end: usize) -> &[u8] {
        &self.block[self.start(first)..self.start(end)]
    }

    /// Where row `index` begins, or the rows end.
    fn start(&self, index: usize) -> usize {
        index.checked_sub(1).map_or(0, |before| self.rows[before].end as usize)
    }

    /// Whether a row of `bytes` bytes fits in without growing it.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.rows.len() < self.rows.capacity() && self.block.capacity() - self.block.len() >= bytes
    }

    /// Adds a row that `write` appends to the block; if it cannot, it is as if nothing was.
    #[inline]
    pub(super) fn push<E>(
        &mut self,
        at: RowAt,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = self.block.len();
        if let Err(error) = write(&mut self.block) {
            self.block.truncate(begin);
            return Err(error);
        }
        // Splits are shorter than 4 GiB, and a block that is not empty takes no long row.
        self.rows.push(RowAt { end: self.block.len() as u32, ..at });
        Ok(())
    }
}
