//! Split: a range of an input, and the rows in it.

use pgsluice_core::encode::NotEncodable;
use pgsluice_core::hash::bytes_extended;
use pgsluice_core::position::Position;
use pgsluice_core::route::Cause;
use pgsluice_core::split::Row;
use twox_hash::XxHash3_64;

use super::batches::Batch;
use super::rewrite::Rewrite;
use super::rewritten::{Rewritten, RowRefusal};

/// A range of one input that begins and ends at row ends, and its rows.
#[derive(Debug)]
pub struct Split {
    /// Its number in the order of the inputs.
    pub number: u32,
    /// The number of its first row, of all rows of the inputs.
    pub first_row: u64,
    /// The place of the first byte.
    pub start: Position,
    /// The bytes; those after the last row belong to the next split.
    pub bytes: Vec<u8>,
    /// The rows within `bytes`.
    pub rows: Vec<Row>,
    /// Bytes of the input's text that this split stands for.
    pub length: usize,
    /// Bytes of the input as it stands that were read for it.
    pub taken: u64,
    /// The rows, where they do not stand in `bytes`.
    pub(super) batch: Option<Batch>,
    /// What became of the rows, if they are not taken as they stand.
    pub(super) rewritten: Option<Rewritten>,
}

/// The memory of a split that is no longer needed.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) bytes: Vec<u8>,
    pub(super) rows: Vec<Row>,
    pub(super) rewritten: Option<Rewritten>,
}

impl Split {
    /// Where the row at the place `index` begins.
    pub(crate) fn position(&self, index: usize) -> Option<Position> {
        let row = self.rows.get(index)?;
        let origin = self.start.origin.plus(row.start.into());
        Some(Position { origin, line: self.start.line + u64::from(row.line) })
    }

    /// The text of the row at the place `index`, as COPY takes it.
    #[inline]
    pub fn text(&self, index: usize) -> &[u8] {
        match &self.rewritten {
            None => self.rows[index].of(&self.bytes),
            Some(rewritten) => rewritten.row(index),
        }
    }

    /// The row at the place `index` in COPY BINARY, or why it is not; None if the rows are to be encoded.
    #[inline]
    pub(crate) fn encoded(&self, index: usize) -> Option<Result<&[u8], NotEncodable>> {
        self.rewritten.as_ref()?.encoded(index)
    }

    /// The row at the place `index` in COPY BINARY, if its keys are to be read from there and not from its
    /// text.
    #[inline]
    pub(crate) fn binary(&self, index: usize) -> Option<&[u8]> {
        self.rewritten.as_ref()?.binary(index)
    }

    /// The row at the place `index` in the form that has its keys.
    #[inline]
    pub(crate) fn keyed(&self, index: usize) -> &[u8] {
        self.binary(index).unwrap_or_else(|| self.text(index))
    }

    /// What is wrong with the row at the place `index`, if no row can be made of it.
    pub(crate) fn refusal(&self, index: usize) -> Option<&RowRefusal> {
        self.rewritten.as_ref()?.refusal(index)
    }

    /// Why the row at the place `index` has no keys to route it by, if it has none.
    #[inline]
    pub(crate) fn keyless(&self, index: usize) -> Option<Cause> {
        self.rewritten.as_ref()?.keyless(index)
    }

    /// Its bytes: those of the input's text, or of the rows of a batch as they are sent.
    pub(crate) fn size(&self) -> usize {
        match (&self.batch, &self.rewritten) {
            (Some(_), Some(rewritten)) => rewritten.size(),
            _ => self.length,
        }
    }

    /// The hash of what it has: of its bytes, or of its rows as they are sent.
    pub(crate) fn hash(&self) -> u64 {
        match (&self.batch, &self.rewritten) {
            (Some(_), Some(rewritten)) => rewritten.hash(),
            _ => bytes_extended(&self.bytes[..self.length], 0),
        }
    }

    /// Returns the sum of the hashes of the bytes that are sent for each row. It depends neither on the order of the rows
    /// nor on where splits begin.
    pub(crate) fn rows_hash(&self) -> u64 {
        let row = |index| match self.encoded(index) {
            Some(Ok(row)) => row,
            Some(Err(_)) | None => self.text(index),
        };
        let hashes = (0..self.rows.len()).map(|index| XxHash3_64::oneshot(row(index)));
        hashes.fold(0, u64::wrapping_add)
    }

    /// Makes rows of COPY's formats of what stands in the input.
    pub(super) fn rewrite(mut self, rewrite: Option<&Rewrite>) -> Self {
        if let Some(rewrite) = rewrite {
            let rewritten = self.rewritten.get_or_insert_default();
            rewrite.write(&self.rows, &self.bytes, self.batch.as_mut(), rewritten);
        }
        self
    }

    /// The memory, emptied; a buffer that a very long row has grown is not kept.
    pub(super) fn into_buffers(self, most: usize) -> Buffers {
        let Self { mut bytes, mut rows, mut rewritten, .. } = self;
        bytes.clear();
        bytes.shrink_to(most);
        rows.clear();
        if let Some(rewritten) = &mut rewritten {
            rewritten.clear(most);
        }
        Buffers { bytes, rows, rewritten }
    }
}
