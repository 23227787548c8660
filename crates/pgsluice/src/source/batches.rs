//! Inputs whose rows come in batches.

use pgsluice_core::split::Row;

use super::parallel::{Counted, ParallelReader};
use super::relation::CopiedRows;
use super::typed;
use crate::error::Result;

/// The batches of one input.
pub(crate) enum Batches {
    /// Rows of typed columns.
    Typed(ParallelReader<typed::Batch>),
    /// Rows that a server copies out.
    Copied(ParallelReader<CopiedRows>),
}

impl Batches {
    /// Returns the next batch and the number of input bytes that it covers; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(Batch, u64)>> {
        Ok(match self {
            Self::Typed(reader) => {
                reader.next()?.map(|(batch, raw_bytes)| (Batch::Typed(batch), raw_bytes))
            }
            Self::Copied(reader) => {
                reader.next()?.map(|(rows, raw_bytes)| (Batch::Copied(rows), raw_bytes))
            }
        })
    }
}

/// Consecutive rows of an input.
#[derive(Debug)]
pub(crate) enum Batch {
    /// Rows of typed columns.
    Typed(typed::Batch),
    /// Rows that a server has copied out.
    Copied(CopiedRows),
}

/// The range of an input that a batch covers.
pub(super) struct InputRange {
    /// The place of the first row.
    pub(super) start: u64,
    /// The distance from there to the end of the last row.
    pub(super) length: usize,
}

impl Batch {
    /// Returns the number of rows.
    pub(super) fn count(&self) -> usize {
        match self {
            Self::Typed(batch) => batch.count(),
            Self::Copied(rows) => rows.count(),
        }
    }

    /// Appends the rows to `rows`, with places relative to the start of the returned range. The place of a row
    /// of typed columns is its number in the input, which is `number` for the first one; the place of a row of
    /// a table is its ctid.
    pub(super) fn place(&self, number: u64, rows: &mut Vec<Row>) -> InputRange {
        let row = |place: u32, line: usize| Row { start: place, end: place, line: line as u32 };
        match self {
            Self::Copied(copied) => {
                let first = copied.places.first().copied().unwrap_or(0);
                // A batch ends before its places are too far apart.
                let places = copied.places.iter().map(|place| (place - first) as u32);
                rows.extend(places.enumerate().map(|(line, place)| row(place, line)));
                let last = rows.last().map_or(0, |row| row.start);
                InputRange { start: first, length: last as usize + 1 }
            }
            Self::Typed(_) => {
                rows.extend((0..self.count()).map(|line| row(line as u32, line)));
                InputRange { start: number, length: self.count() }
            }
        }
    }
}

/// Writes the keys of rows of a batch as text.
pub(crate) enum KeyText<'b> {
    /// Keys of typed columns, converted on request.
    Typed(typed::KeyText<'b>),
    /// Keys of a table's rows, sent as text by its server.
    Copied(&'b CopiedRows),
}

impl KeyText<'_> {
    /// Returns the row with this number as COPY text that contains only its keys; `None` if a key has no text.
    pub(crate) fn get_row(&mut self, row: usize) -> Option<&[u8]> {
        match self {
            Self::Typed(keys) => keys.get(row),
            Self::Copied(rows) => rows.key_text(row),
        }
    }
}
