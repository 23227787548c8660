//! Split: a range of an input, and the rows in it.

use pgsluice_core::parse::Projection;
use pgsluice_core::position::Position;
use pgsluice_core::split::Row;

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
    /// What of the rows is kept, if not all of them is.
    pub(super) kept: Option<KeptFields>,
}

/// The fields that are kept of all rows.
#[derive(Debug, Default)]
pub(super) struct KeptFields {
    text: Vec<u8>,
    /// Where each row ends in `text`.
    ends: Vec<usize>,
}

/// The memory of a split that is no longer needed.
#[derive(Default)]
pub(super) struct Buffers {
    pub(super) bytes: Vec<u8>,
    pub(super) rows: Vec<Row>,
    pub(super) kept: Option<KeptFields>,
}

impl Split {
    /// Where the row at the place `index` begins.
    pub(crate) fn position(&self, index: usize) -> Option<Position> {
        let row = self.rows.get(index)?;
        let origin = self.start.origin.plus(row.start.into());
        Some(Position { origin, line: self.start.line + u64::from(row.line) })
    }

    /// The text of the row at the place `index`: its fields that are kept.
    #[inline]
    pub fn text(&self, index: usize) -> &[u8] {
        match &self.kept {
            None => self.rows[index].of(&self.bytes),
            Some(KeptFields { text, ends }) => {
                let start = index.checked_sub(1).map_or(0, |before| ends[before]);
                &text[start..ends[index]]
            }
        }
    }

    /// The memory, emptied; a buffer that a very long row has grown is not kept.
    pub(super) fn into_buffers(self, most: usize) -> Buffers {
        let Self { mut bytes, mut rows, mut kept, .. } = self;
        let texts = kept.as_mut().map(|kept| {
            kept.ends.clear();
            &mut kept.text
        });
        for text in texts.into_iter().chain([&mut bytes]) {
            text.clear();
            text.shrink_to(most);
        }
        rows.clear();
        Buffers { bytes, rows, kept }
    }
}

impl KeptFields {
    /// Takes what `projection` keeps of `rows`.
    pub(super) fn take(&mut self, projection: &Projection, rows: &[Row], bytes: &[u8]) {
        let Self { text, ends } = self;
        for row in rows {
            projection.project(row.of(bytes), text);
            ends.push(text.len());
        }
    }
}
