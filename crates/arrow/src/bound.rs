//! The rows of one batch, written row by row.

use std::fmt;
use std::ops::Range;

use crate::source::{ArrowValue, Source};
use crate::writer::{ColumnWriter, ValueError};
use crate::{binary, json, scalar, text};

/// The rows of a batch, ready to be written.
pub struct BoundBatch<'b> {
    /// The number of columns, as in COPY BINARY.
    count: u16,
    columns: Vec<(&'b ColumnWriter, Source<'b>)>,
    rows: usize,
}

/// A value that its column cannot hold without loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnfitValue {
    /// The index of the column in the mapping.
    pub column: usize,
    /// The reason: `300 is out of range for smallint`.
    pub why: String,
    /// Whether [`Inexact::Round`](crate::Inexact::Round) would make it fit.
    pub can_round: bool,
}

/// The reason why a row cannot be written in COPY BINARY.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowError {
    /// A value does not fit: it cannot be written as text either.
    Unfit(UnfitValue),
    /// A string for the column at this index has a spelling that only the server can read. The row has to be
    /// sent as text.
    Spelling(usize),
}

impl fmt::Display for UnfitValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for UnfitValue {}

impl<'b> BoundBatch<'b> {
    pub(crate) fn new(
        count: u16,
        columns: Vec<(&'b ColumnWriter, Source<'b>)>,
        rows: usize,
    ) -> Self {
        Self { count, columns, rows }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Divides the rows into ranges. A range has at most `max` rows and takes about `bytes` bytes once written,
    /// unless a single row takes more.
    #[must_use]
    pub fn ranges(&self, bytes: usize, max: usize) -> Vec<Range<usize>> {
        let sources = || self.columns.iter().map(|(_, source)| source);
        let constant: usize = sources().filter_map(Source::constant_weight).sum();
        let others: Vec<_> = sources().filter(|it| it.constant_weight().is_none()).collect();
        let (mut ranges, mut start, mut weight) = (Vec::new(), 0, 0_usize);
        for row in 0..self.rows {
            let of_row = others.iter().map(|source| source.weight(row));
            let of_row = of_row.fold(constant, usize::saturating_add);
            weight = weight.saturating_add(of_row);
            if row > start && (weight > bytes || row - start == max) {
                ranges.push(start..row);
                (start, weight) = (row, of_row);
            }
        }
        if start < self.rows {
            ranges.push(start..self.rows);
        }
        ranges
    }

    /// Appends the row in COPY BINARY: the number of fields, then each field with its length. On an error
    /// nothing is appended.
    ///
    /// # Panics
    ///
    /// Panics if there is no such row.
    #[inline]
    pub fn put_binary(&self, row: usize, out: &mut Vec<u8>) -> Result<(), RowError> {
        let start = out.len();
        out.extend_from_slice(&self.count.to_be_bytes());
        for (column, (writer, source)) in self.columns.iter().enumerate() {
            if let Err(fail) = binary::field(writer, source, row, out) {
                out.truncate(start);
                return Err(row_error(column, fail));
            }
        }
        Ok(())
    }

    /// Appends the row in COPY text, without a line end: each value in a spelling that the input function of the
    /// column's type reads as exactly this value. On an error nothing is appended.
    ///
    /// # Panics
    ///
    /// Panics if there is no such row.
    pub fn put_text(&self, row: usize, out: &mut Vec<u8>) -> Result<(), UnfitValue> {
        self.put_fields(|_| true, b"", row, out)
    }

    /// Appends the row like [`Self::put_text`], with empty fields for the columns that are not `wanted` and that
    /// nothing reads.
    ///
    /// # Panics
    ///
    /// Panics if there is no such row.
    pub fn put_keys(
        &self,
        wanted: &[bool],
        row: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), UnfitValue> {
        self.put_fields(|column| wanted.get(column).copied().unwrap_or(false), b"", row, out)
    }

    /// Appends the row like [`Self::put_text`], with NULL for the values that do not fit. Returns their columns.
    ///
    /// # Panics
    ///
    /// Panics if there is no such row.
    pub fn put_fitting(&self, row: usize, out: &mut Vec<u8>) -> Vec<usize> {
        let mut unfit = Vec::new();
        while let Err(UnfitValue { column, .. }) =
            self.put_fields(|column| !unfit.contains(&column), b"\\N", row, out)
        {
            unfit.push(column);
        }
        unfit
    }

    /// Appends the value of a column as JSON, for people. A value that JSON cannot express becomes a string.
    ///
    /// # Panics
    ///
    /// Panics if there is no such row or column.
    pub fn put_json(&self, column: usize, row: usize, out: &mut Vec<u8>) {
        let start = out.len();
        let (_, source) = &self.columns[column];
        if json::put(source, row, out).is_err() {
            out.truncate(start);
            let mut spelled = Vec::new();
            let value = source.value(row);
            let text = match value {
                ArrowValue::Text(text) => text.into(),
                _ if scalar::put(&value, source.extension, &mut spelled).is_ok() => {
                    String::from_utf8_lossy(&spelled)
                }
                _ => "what has no text".into(),
            };
            // Writing a string to memory cannot fail.
            let _ = serde_json::to_writer(out, &text);
        }
    }

    #[inline]
    fn put_fields(
        &self,
        is_wanted: impl Fn(usize) -> bool,
        otherwise: &[u8],
        row: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), UnfitValue> {
        let start = out.len();
        for (column, (writer, source)) in self.columns.iter().enumerate() {
            if column > 0 {
                out.push(b'\t');
            }
            if !is_wanted(column) {
                out.extend_from_slice(otherwise);
            } else if let Err(fail) = text::field(writer, source, row, out) {
                out.truncate(start);
                return Err(unfit(column, fail));
            }
        }
        Ok(())
    }
}

#[cold]
fn row_error(column: usize, fail: ValueError) -> RowError {
    match fail {
        ValueError::Spelling => RowError::Spelling(column),
        fail => RowError::Unfit(unfit(column, fail)),
    }
}

#[cold]
fn unfit(column: usize, fail: ValueError) -> UnfitValue {
    match fail {
        ValueError::Unfit(why) => UnfitValue { column, why, can_round: false },
        ValueError::Inexact(why) => UnfitValue { column, why, can_round: true },
        // Only codecs leave a spelling to the server, and text has no codecs.
        ValueError::Spelling => {
            UnfitValue { column, why: "has no text form".to_owned(), can_round: false }
        }
    }
}
