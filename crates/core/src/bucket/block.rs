//! Blocks of memory: rows of one bucket, and the starts of these rows in their splits.
//!
//! All blocks of a load have the same size, so that memory can be counted by the block and reused. A fresh page
//! costs more than the row that is written to it.

/// Rows that are shorter than this on average fill a block's list of rows before its bytes.
const BYTES_A_ROW: usize = 24;

/// An offset in a split, ordered as the splits are read. The origin of the split turns it into the origin of a
/// row; until then, rows are compared without the input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SplitOffset {
    /// Number of the split. The number after the last split stands for the end of the input.
    pub split: u32,
    /// Offset in the split.
    pub offset: u32,
}

impl SplitOffset {
    /// Returns the start of a split, which is the end of the previous one.
    pub fn start_of(split: u32) -> Self {
        Self { split, offset: 0 }
    }
}

/// A row of a block: where it begins in its split, and where it ends in the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRow {
    /// Start of the row.
    pub start: SplitOffset,
    /// Number of physical lines in the split before the row.
    pub line: u32,
    pub(super) end: u32,
}

impl BlockRow {
    /// Creates a row that has not been written yet.
    pub fn new(split: u32, offset: u32, line: u32) -> Self {
        Self { start: SplitOffset { split, offset }, line, end: 0 }
    }
}

/// Consecutive rows of a block that are sent together, as a range of its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) block: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// A buffer of consecutive rows.
#[derive(Debug, Default)]
pub struct Block {
    data: Vec<u8>,
    rows: Vec<BlockRow>,
}

impl Block {
    /// Creates an empty block with room for `bytes` bytes of rows.
    pub fn new(bytes: usize) -> Self {
        let rows = Vec::with_capacity((bytes / BYTES_A_ROW).max(1));
        Self { data: Vec::with_capacity(bytes), rows }
    }

    /// Returns the memory that a block for `bytes` bytes of rows uses.
    pub fn memory_for(bytes: usize) -> usize {
        bytes + (bytes / BYTES_A_ROW).max(1) * size_of::<BlockRow>()
    }

    /// Returns the memory that the block uses.
    pub fn memory(&self) -> usize {
        self.data.capacity() + self.rows.capacity() * size_of::<BlockRow>()
    }

    /// Removes all rows.
    pub fn clear(&mut self) {
        self.data.clear();
        self.rows.clear();
    }

    /// Returns the rows.
    pub fn rows(&self) -> &[BlockRow] {
        &self.rows
    }

    /// Returns the number of bytes of the rows.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// Returns the bytes from `start` to `end`.
    #[inline]
    pub(super) fn slice(&self, start: u32, end: u32) -> &[u8] {
        &self.data[start as usize..end as usize]
    }

    /// Returns the rows in a range of bytes, each with its start and end in the block.
    pub(super) fn rows_in(
        &self,
        start: u32,
        end: u32,
    ) -> impl Iterator<Item = (BlockRow, u32, u32)> {
        let first = self.rows.partition_point(|row| row.end <= start);
        let rows = self.rows[first..].iter().take_while(move |row| row.end <= end);
        rows.scan(start, |start, row| Some((*row, std::mem::replace(start, row.end), row.end)))
    }

    /// Returns the end of the first `max` rows in a range of bytes, and the number of these rows.
    pub(super) fn end_of(&self, start: u32, end: u32, max: usize) -> (u32, usize) {
        let first = self.rows.partition_point(|row| row.end <= start);
        let next = self.rows.partition_point(|row| row.end <= end).min(first + max);
        (self.rows[first..next].last().map_or(start, |row| row.end), next - first)
    }

    /// Whether a row of `bytes` bytes fits without growing the block.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.rows.len() < self.rows.capacity() && self.data.capacity() - self.data.len() >= bytes
    }

    /// Adds the row that `write` appends to the data. If `write` fails, the block does not change.
    #[inline]
    pub(super) fn push<E>(
        &mut self,
        at: BlockRow,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = self.data.len();
        if let Err(error) = write(&mut self.data) {
            self.data.truncate(begin);
            return Err(error);
        }
        // Splits are shorter than 4 GiB, and a block that contains rows accepts no long row.
        self.rows.push(BlockRow { end: self.data.len() as u32, ..at });
        Ok(())
    }
}
