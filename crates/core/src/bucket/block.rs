//! A block of memory: rows of one bucket, each with its place in the input.
//!
//! All blocks of a load have the same size, so that memory is counted by the block and used again. A
//! fresh page costs more than the row that is written to it.

/// Rows that are shorter than this on average fill a block's list of places before its bytes.
const BYTES_A_ROW: usize = 24;

/// Where a row stands in the input, and where it ends in its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowAt {
    /// The number of the split that it is of.
    pub split: u32,
    /// Its offset in the split.
    pub offset: u32,
    /// The physical lines of the split before it.
    pub line: u32,
    pub(super) end: u32,
}

impl RowAt {
    /// A row that has not been written yet.
    pub fn new(split: u32, offset: u32, line: u32) -> Self {
        Self { split, offset, line, end: 0 }
    }
}

/// Rows of a block that are sent one behind the other: where they lie.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slice {
    pub(super) block: u32,
    pub(super) start: u32,
    pub(super) end: u32,
}

/// Rows one behind the other.
#[derive(Debug, Default)]
pub struct Block {
    data: Vec<u8>,
    rows: Vec<RowAt>,
}

impl Block {
    /// Makes an empty block with room for `bytes` bytes of rows.
    pub fn new(bytes: usize) -> Self {
        let rows = Vec::with_capacity((bytes / BYTES_A_ROW).max(1));
        Self { data: Vec::with_capacity(bytes), rows }
    }

    /// Returns the memory that a block for `bytes` bytes of rows takes.
    pub fn memory_for(bytes: usize) -> usize {
        bytes + (bytes / BYTES_A_ROW).max(1) * size_of::<RowAt>()
    }

    /// The memory that it takes.
    pub fn memory(&self) -> usize {
        self.data.capacity() + self.rows.capacity() * size_of::<RowAt>()
    }

    /// Forgets its rows.
    pub fn clear(&mut self) {
        self.data.clear();
        self.rows.clear();
    }

    /// Its rows.
    pub fn rows(&self) -> &[RowAt] {
        &self.rows
    }

    /// The bytes of its rows.
    pub fn bytes(&self) -> usize {
        self.data.len()
    }

    /// The bytes from `start` on and before `end`.
    #[inline]
    pub(super) fn of(&self, start: u32, end: u32) -> &[u8] {
        &self.data[start as usize..end as usize]
    }

    /// Returns the rows that lie in these bytes: the place of each in the input, and in the block.
    pub(super) fn rows_in(&self, start: u32, end: u32) -> impl Iterator<Item = (RowAt, u32, u32)> {
        let first = self.rows.partition_point(|row| row.end <= start);
        let rows = self.rows[first..].iter().take_while(move |row| row.end <= end);
        rows.scan(start, |start, row| Some((*row, std::mem::replace(start, row.end), row.end)))
    }

    /// Where the first `most` of the rows in these bytes end, and how many they are.
    pub(super) fn end_of(&self, start: u32, end: u32, most: usize) -> (u32, usize) {
        let first = self.rows.partition_point(|row| row.end <= start);
        let behind = self.rows.partition_point(|row| row.end <= end).min(first + most);
        (self.rows[first..behind].last().map_or(start, |row| row.end), behind - first)
    }

    /// Whether a row of `bytes` bytes fits in without growing it.
    pub(super) fn has_room(&self, bytes: usize) -> bool {
        self.rows.len() < self.rows.capacity() && self.data.capacity() - self.data.len() >= bytes
    }

    /// Adds a row that `write` appends to the data; if it cannot, it is as if nothing was.
    #[inline]
    pub(super) fn push<E>(
        &mut self,
        at: RowAt,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let begin = self.data.len();
        if let Err(error) = write(&mut self.data) {
            self.data.truncate(begin);
            return Err(error);
        }
        // Splits are shorter than 4 GiB, and a data that is not empty takes no long row.
        self.rows.push(RowAt { end: self.data.len() as u32, ..at });
        Ok(())
    }
}
