//! Split: a range of an input and the rows in it.

use pgsluice_core::encode::NotEncodable;
use pgsluice_core::hash::bytes_extended;
use pgsluice_core::origin::Origin;
use pgsluice_core::route::Cause;
use pgsluice_core::split::Row;
use twox_hash::XxHash3_64;

use super::batches::Batch;
use super::rewrite::Rewrite;
use super::rewritten::{Rewritten, RowRefusal};

/// A range of one input that begins and ends at row boundaries, and its rows.
#[derive(Debug)]
pub struct Split {
    /// Its number, counted over all inputs.
    pub number: u32,
    /// The number of its first row, counted over all inputs.
    pub first_row: u64,
    /// The origin of the first byte.
    pub start: Origin,
    /// The physical line of the first byte, from 1.
    pub line: u64,
    /// The bytes. Bytes after the last row belong to the next split.
    pub bytes: Vec<u8>,
    /// The rows within `bytes`.
    pub rows: Vec<Row>,
    /// Number of bytes of the input's text that it covers.
    pub length: usize,
    /// Number of bytes of the input, before decompression, that were read for it.
    pub raw_bytes: u64,
    /// The rows, if they are not in `bytes`.
    pub(super) batch: Option<Batch>,
    /// The converted rows, if they need conversion.
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
    /// Returns the origin of the row at `index`.
    pub(crate) fn origin(&self, index: usize) -> Origin {
        self.start.plus(self.rows[index].start.into())
    }

    /// Returns the text of the row at `index`, as COPY accepts it.
    #[inline]
    pub fn text(&self, index: usize) -> &[u8] {
        match &self.rewritten {
            None => self.rows[index].slice(&self.bytes),
            Some(rewritten) => rewritten.row(index),
        }
    }

    /// Returns the row at `index` in COPY BINARY, or the reason why it is not encoded; `None` if rows are
    /// text.
    #[inline]
    pub(crate) fn encoded(&self, index: usize) -> Option<Result<&[u8], NotEncodable>> {
        self.rewritten.as_ref()?.encoded(index)
    }

    /// Returns the row at `index` in COPY BINARY, if its keys are read from there instead of from its text.
    #[inline]
    pub(crate) fn binary(&self, index: usize) -> Option<&[u8]> {
        self.rewritten.as_ref()?.binary(index)
    }

    /// Returns the row at `index` in the form that contains its keys.
    #[inline]
    pub(crate) fn keyed_row(&self, index: usize) -> &[u8] {
        self.binary(index).unwrap_or_else(|| self.text(index))
    }

    /// Returns the reason why the row at `index` could not be converted, if it could not.
    pub(crate) fn refusal(&self, index: usize) -> Option<&RowRefusal> {
        self.rewritten.as_ref()?.refusal(index)
    }

    /// Returns the reason why the row at `index` has no keys for routing, if it has none.
    #[inline]
    pub(crate) fn no_keys_cause(&self, index: usize) -> Option<Cause> {
        self.rewritten.as_ref()?.no_keys_cause(index)
    }

    /// Returns its size in bytes: of the input's text, or of the converted rows of a batch.
    pub(crate) fn size(&self) -> usize {
        match (&self.batch, &self.rewritten) {
            (Some(_), Some(rewritten)) => rewritten.size(),
            _ => self.length,
        }
    }

    /// Returns a hash of its contents: of its bytes, or of the converted rows of a batch.
    pub(crate) fn hash(&self) -> u64 {
        match (&self.batch, &self.rewritten) {
            (Some(_), Some(rewritten)) => rewritten.hash(),
            _ => bytes_extended(&self.bytes[..self.length], 0),
        }
    }

    /// Returns the sum of the hashes of the bytes that are sent for each row. It depends neither on the order
    /// of the rows nor on the boundaries of splits.
    pub(crate) fn rows_hash(&self) -> u64 {
        let row = |index| match self.encoded(index) {
            Some(Ok(row)) => row,
            Some(Err(_)) | None => self.text(index),
        };
        let hashes = (0..self.rows.len()).map(|index| XxHash3_64::oneshot(row(index)));
        hashes.fold(0, u64::wrapping_add)
    }

    /// Converts the rows to COPY's formats.
    pub(super) fn rewrite(mut self, rewrite: Option<&Rewrite>) -> Self {
        if let Some(rewrite) = rewrite {
            let rewritten = self.rewritten.get_or_insert_default();
            rewrite.write(&self.rows, &self.bytes, self.batch.as_mut(), rewritten);
        }
        self
    }

    /// Returns the memory, emptied. At most `max` bytes of each buffer are kept, so that one very long row
    /// does not occupy memory forever.
    pub(super) fn into_buffers(self, max: usize) -> Buffers {
        let Self { mut bytes, mut rows, mut rewritten, .. } = self;
        bytes.clear();
        bytes.shrink_to(max);
        rows.clear();
        if let Some(rewritten) = &mut rewritten {
            rewritten.clear(max);
        }
        Buffers { bytes, rows, rewritten }
    }
}
