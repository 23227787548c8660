//! Rows of a table as COPY sends them, stored as COPY accepts them.

use pgsluice_core::parse::{Value, text_row};

use super::heap::{numbered, place_of};
use crate::source::key_form::KeyForm;
use crate::source::parallel::{BATCH_BYTES, Counted, MAX_ROWS};
use crate::source::rewritten::Rewritten;
use crate::source::row_form::RowForm;

/// The signature of COPY BINARY: `BinarySignature` in `src/backend/commands/copyto.c` (PostgreSQL 18).
const SIGNATURE: &[u8] = b"PGCOPY\n\xff\r\n\0";

/// The length of a COPY BINARY header without an extension: the signature, and 8 bytes of flags and length.
const HEADER: usize = SIGNATURE.len() + 8;

/// Rows of a table, one batch of them.
#[derive(Debug, Default)]
pub(crate) struct CopiedRows {
    count: usize,
    /// The number of the next row, which is its place if it has no ctid.
    number: u64,
    /// The place of each row.
    pub(in crate::source) places: Vec<u64>,
    /// The rows in COPY BINARY, concatenated.
    encoded: Vec<u8>,
    /// The end of each row in `encoded`.
    encoded_ends: Vec<usize>,
    /// The rows in COPY text, or only their keys if the rows are in `encoded`.
    text: Vec<u8>,
    ends: Vec<usize>,
}

/// The error for bytes that are not a row of COPY.
#[derive(Debug)]
pub(super) struct MalformedRow;

/// The layout of the rows that a statement copies out.
#[derive(Clone, Debug)]
pub(super) struct RowLayout {
    /// The number of the heap.
    pub(super) heap: usize,
    /// Whether each row begins with its ctid.
    pub(super) has_ctid: bool,
    /// The number of columns that follow it.
    pub(super) columns: usize,
    /// The columns whose text follows these columns, if rows are in binary.
    pub(super) texts: Vec<usize>,
}

impl Counted for CopiedRows {
    fn count(&self) -> usize {
        self.count
    }
}

impl CopiedRows {
    /// Returns the rows, and leaves an empty batch for the next ones.
    pub(super) fn take(&mut self) -> Self {
        let next = Self { number: self.number, ..Self::default() };
        std::mem::replace(self, next)
    }

    /// Whether the batch is full.
    pub(super) fn are_enough(&self) -> bool {
        let is_far = || {
            let ends = self.places.first().zip(self.places.last());
            ends.is_some_and(|(first, last)| last - first >= u64::from(u32::MAX) / 2)
        };
        self.text.len() + self.encoded.len() >= BATCH_BYTES || self.count >= MAX_ROWS || is_far()
    }

    /// Appends a row of COPY text, which ends with a newline.
    pub(super) fn put_text(&mut self, line: &[u8], layout: &RowLayout) -> Result<(), MalformedRow> {
        let line = line.strip_suffix(b"\n").ok_or(MalformedRow)?;
        let (place, row) = match layout.has_ctid {
            false => (self.next_number(layout.heap), line),
            true => {
                let end = memchr::memchr(b'\t', line).ok_or(MalformedRow)?;
                let place = read_ctid(&line[..end], layout.heap).ok_or(MalformedRow)?;
                (place, &line[end + 1..])
            }
        };
        self.push_place(place)?;
        self.text.extend_from_slice(row);
        self.ends.push(self.text.len());
        self.count += 1;
        Ok(())
    }

    /// Appends a row of COPY BINARY.
    pub(super) fn put_binary(
        &mut self,
        row: &[u8],
        layout: &RowLayout,
    ) -> Result<(), MalformedRow> {
        let RowLayout { heap, has_ctid, columns, texts } = layout;
        let fields = usize::from(*has_ctid) + columns + texts.len();
        let (count, mut rest) = row.split_first_chunk().ok_or(MalformedRow)?;
        if usize::from(u16::from_be_bytes(*count)) != fields {
            return Err(MalformedRow);
        }
        let place = match has_ctid {
            false => self.next_number(*heap),
            true => {
                let (ctid, after) = take_field(rest).ok_or(MalformedRow)?;
                rest = after;
                receive_ctid(ctid.unwrap_or_default(), *heap).ok_or(MalformedRow)?
            }
        };
        let values = match texts.is_empty() {
            true => rest,
            false => {
                let mut after = rest;
                for _ in 0..*columns {
                    after = take_field(after).ok_or(MalformedRow)?.1;
                }
                self.put_keys(after, texts)?;
                &rest[..rest.len() - after.len()]
            }
        };
        // A table has at most 1,600 columns.
        self.encoded.extend_from_slice(&(*columns as u16).to_be_bytes());
        self.encoded.extend_from_slice(values);
        self.encoded_ends.push(self.encoded.len());
        self.push_place(place)?;
        self.count += 1;
        Ok(())
    }

    /// Records the place of a row. Places must ascend.
    fn push_place(&mut self, place: u64) -> Result<(), MalformedRow> {
        if self.places.last().is_some_and(|last| *last >= place) {
            return Err(MalformedRow);
        }
        self.places.push(place);
        Ok(())
    }

    /// Returns the place of the next row, if rows have no ctid.
    fn next_number(&mut self, heap: usize) -> u64 {
        self.number += 1;
        numbered(heap, self.number - 1)
    }

    /// Appends a row of COPY text with the values of `fields`, one for each column of `texts`.
    fn put_keys(&mut self, mut fields: &[u8], texts: &[usize]) -> Result<(), MalformedRow> {
        let mut values = Vec::with_capacity(texts.len());
        for column in texts {
            let (text, after) = take_field(fields).ok_or(MalformedRow)?;
            values.push((*column, text.map_or(Value::Null, Value::Text)));
            fields = after;
        }
        let mut row = Vec::new();
        text_row(values, &mut row);
        self.text.append(&mut row);
        self.ends.push(self.text.len());
        Ok(())
    }

    /// Returns the row at `index` as COPY text that contains only its keys; `None` if it has no text.
    pub(in crate::source) fn key_text(&self, index: usize) -> Option<&[u8]> {
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied());
        self.text.get(start?..*self.ends.get(index)?)
    }

    /// Moves the rows to `out`.
    pub(in crate::source) fn give(&mut self, form: &RowForm, out: &mut Rewritten) {
        out.has_binary_keys = matches!(form, RowForm::Encoded(_, KeyForm::Binary));
        std::mem::swap(&mut out.encoded, &mut self.encoded);
        out.encoded_ends.extend(self.encoded_ends.drain(..).map(Ok));
        match out.has_binary_keys {
            // The text stays here for `key_text`.
            true => out.ends.resize(self.count, 0),
            false => {
                // Rows without key columns have no text at all.
                self.ends.resize(self.count, self.text.len());
                std::mem::swap(&mut out.text, &mut self.text);
                std::mem::swap(&mut out.ends, &mut self.ends);
            }
        }
    }
}

/// Skips the header of COPY BINARY.
pub(super) fn skip_header(bytes: &[u8]) -> Result<&[u8], MalformedRow> {
    match bytes.starts_with(SIGNATURE) {
        true => bytes.get(HEADER..).ok_or(MalformedRow),
        false => Err(MalformedRow),
    }
}

/// Splits off the first field, which is `None` if it is NULL.
#[inline]
fn take_field(bytes: &[u8]) -> Option<(Option<&[u8]>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    match usize::try_from(i32::from_be_bytes(*length)) {
        Ok(length) => rest.split_at_checked(length).map(|(field, rest)| (Some(field), rest)),
        Err(_) => Some((None, rest)),
    }
}

/// Reads a ctid as `tidout` writes it (`src/backend/utils/adt/tid.c`): `(12,3)`.
fn read_ctid(text: &[u8], heap: usize) -> Option<u64> {
    let text = std::str::from_utf8(text).ok()?;
    let (page, number) = text.strip_prefix('(')?.strip_suffix(')')?.split_once(',')?;
    Some(place_of(heap, page.parse().ok()?, number.parse().ok()?))
}

/// Reads a ctid as `tidsend` writes it.
fn receive_ctid(bytes: &[u8], heap: usize) -> Option<u64> {
    let (page, number) = bytes.split_first_chunk()?;
    let number = number.try_into().ok()?;
    Some(place_of(heap, u32::from_be_bytes(*page), u16::from_be_bytes(number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(columns: usize, texts: &[usize]) -> RowLayout {
        RowLayout { heap: 1, has_ctid: true, columns, texts: texts.to_vec() }
    }

    fn row(fields: &[Option<&[u8]>]) -> Vec<u8> {
        let mut row = (fields.len() as u16).to_be_bytes().to_vec();
        for field in fields {
            row.extend(field.map_or(-1, |field| field.len() as i32).to_be_bytes());
            row.extend(field.unwrap_or_default());
        }
        row
    }

    #[test]
    fn a_row_in_binary_loses_its_ctid_and_keeps_its_fields() {
        let mut rows = CopiedRows::default();
        let copied = row(&[Some(&[0, 0, 0, 2, 0, 3]), Some(b"ab"), None, Some(b"x\ty")]);
        rows.put_binary(&copied, &layout(2, &[1])).expect("a row");
        assert_eq!(rows.places, [1 << 48 | 2 << 16 | 3]);
        assert_eq!(rows.encoded, row(&[Some(b"ab"), None]));
        assert_eq!(rows.key_text(0), Some(&b"\\N\tx\\\ty"[..]));
        assert_eq!(rows.key_text(1), None);
        for broken in [&copied[..copied.len() - 1], &row(&[Some(b"ab")]), &[]] {
            assert!(rows.put_binary(broken, &layout(2, &[1])).is_err(), "{broken:?}");
        }
    }

    #[test]
    fn rows_without_key_columns_have_an_empty_text() {
        let (mut rows, mut out) = (CopiedRows::default(), Rewritten::default());
        let copied = row(&[Some(&[0, 0, 0, 2, 0, 3]), Some(b"ab")]);
        rows.put_binary(&copied, &layout(1, &[])).expect("a row");
        rows.give(&RowForm::encoded(1, &[], KeyForm::Text), &mut out);
        assert_eq!((out.row(0), out.encoded(0)), (&b""[..], Some(Ok(&row(&[Some(b"ab")])[..]))));
    }

    #[test]
    fn a_line_loses_its_ctid_and_keeps_its_fields() {
        let mut rows = CopiedRows::default();
        rows.put_text(b"(7,9)\ta\\tb\t\\N\n", &layout(2, &[])).expect("a row");
        assert_eq!(
            (&rows.text[..], &rows.places[..]),
            (&b"a\\tb\t\\N"[..], &[1 << 48 | 7 << 16 | 9][..])
        );
        // The last line has a place that is not after that of the first row.
        for broken in [&b"(7,9)\ta"[..], b"7,9\ta\n", b"(7,9)\n", b"(x,9)\ta\n", b"(7,8)\ta\n"] {
            assert!(rows.put_text(broken, &layout(1, &[])).is_err());
        }
    }
}
