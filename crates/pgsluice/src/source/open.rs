//! An input of text that is being read: the bytes read so far, and the start of the next split.

use std::io::Read;

use pgsluice_core::origin::Origin;
use pgsluice_core::split::{Malformed, OpenQuote, Row, Splitter};

use super::ahead::Ahead;
use super::starts::BYTE_ORDER_MARK;
use super::stream::Stream;
use super::{Input, Shape};
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// The longest row: `MaxAllocSize` of `src/include/utils/memutils.h`, at which `enlargeStringInfo` rejects a
/// line, minus the byte that ends the line in memory.
pub(super) const LONGEST_ROW: usize = 0x3fff_ffff - 1;

/// PostgreSQL 18's message for a string buffer that is too long.
const TOO_LONG: &str = "row exceeds maximum allowed length (1073741823 bytes)";

/// The longest row that is held in memory before a look ahead shows that it can end.
const LONG_ROW: usize = 32 << 20;

/// An input of text that is being read.
pub(super) struct Open {
    stream: Stream,
    /// Bytes of the input that were read and counted.
    raw_bytes: u64,
    pub(super) splitter: Splitter,
    /// The start of the next split.
    pub(super) start: Origin,
    /// The physical line of that byte, from 1.
    pub(super) line: u64,
    rest: Vec<u8>,
    /// Header rows that are still to come, and the text of the header rows so far.
    pub(super) header_left: usize,
    header_text: Vec<u8>,
    /// Whether a look ahead has shown that the row in `rest` can end.
    looked: bool,
}

impl Open {
    /// Opens the input with index `source`.
    pub(super) fn new(input: &Input, shape: &Shape, source: usize) -> Result<Self> {
        Ok(Self {
            stream: input.open()?,
            raw_bytes: 0,
            splitter: shape.splitter(),
            start: Origin { input: source as u32, at: 0 },
            line: 1,
            rest: Vec::new(),
            header_left: shape.header.rows(),
            header_text: Vec::new(),
            looked: false,
        })
    }

    /// Fills `bytes` with the rest of the previous split and the bytes that follow; returns true at the end
    /// of the input.
    pub(super) fn fill(
        &mut self,
        bytes: &mut Vec<u8>,
        length: usize,
        input: &Input,
    ) -> Result<bool> {
        // The rest is less than one row. A long rest is neither copied nor held twice.
        match self.rest.len() > length {
            true => std::mem::swap(bytes, &mut self.rest),
            false => bytes.append(&mut self.rest),
        }
        self.check_row(bytes, input)?;
        // For a long row, read much more at once.
        let room = length.max(2 * bytes.len()).min(LONGEST_ROW + length);
        let want = room - bytes.len();
        bytes.reserve_exact(want);
        let got = (&mut self.stream).take(want as u64).read_to_end(bytes);
        match got {
            Ok(got) => Ok(got < want),
            Err(error) if input.is_seekable() => Err(input.cannot_read(&error)),
            // The user cannot find the place otherwise.
            Err(error) => Err(input.cannot_read(&error).at(input.locate(self.start, self.line))),
        }
    }

    /// Returns the bytes of the input, compressed or not, that were read for the next `consumed` bytes of its
    /// text.
    pub(super) fn take(&mut self, consumed: usize) -> u64 {
        let Some(raw_bytes) = self.stream.raw_bytes() else { return consumed as u64 };
        let before = std::mem::replace(&mut self.raw_bytes, raw_bytes);
        raw_bytes - before
    }

    /// Takes header rows out of `rows`. Returns the text of the header once it is whole.
    pub(super) fn take_header(&mut self, rows: &mut Vec<Row>, bytes: &[u8]) -> Vec<u8> {
        let here = self.header_left.min(rows.len());
        for row in rows.drain(..here) {
            if !self.header_text.is_empty() {
                self.header_text.push(b'\n');
            }
            self.header_text.extend_from_slice(row.slice(bytes));
        }
        self.header_left -= here;
        match self.header_left {
            0 => std::mem::take(&mut self.header_text),
            _ => Vec::new(),
        }
    }

    /// Removes a byte order mark at the beginning of the input; returns false if it has no mark.
    pub(super) fn skip_byte_order_mark(&mut self, bytes: &mut Vec<u8>) -> bool {
        let is_there = bytes.starts_with(BYTE_ORDER_MARK);
        if is_there {
            bytes.drain(..BYTE_ORDER_MARK.len());
            self.start.at += BYTE_ORDER_MARK.len() as u64;
        }
        is_there
    }

    /// Saves the bytes that a scan has not consumed.
    pub(super) fn save_rest(&mut self, bytes: &mut Vec<u8>, consumed: usize) {
        match consumed {
            0 => std::mem::swap(bytes, &mut self.rest),
            _ => {
                self.rest.extend_from_slice(&bytes[consumed..]);
                self.looked = false;
            }
        }
    }

    /// Rejects a row that is known to be too long, now or later, or to have an unclosed quote.
    fn check_row(&mut self, row: &[u8], input: &Input) -> Result<()> {
        if row.len() < LONG_ROW || self.looked && row.len() <= LONGEST_ROW {
            return Ok(());
        }
        self.looked = true;
        let quote = self.splitter.open_quote(row);
        let max = LONGEST_ROW.saturating_sub(row.len()) as u64;
        let row_end_bytes = self.splitter.row_end_bytes(quote.is_some());
        let ahead = input.ahead(self.start.at + row.len() as u64, max, row_end_bytes)?;
        let (message, sqlstate) = match ahead {
            _ if row.len() > LONGEST_ROW => (TOO_LONG, "54000"),
            Ahead::Nothing => (TOO_LONG, "54000"),
            Ahead::End if quote.is_some() => ("unterminated CSV quoted field", "22P04"),
            Ahead::Found | Ahead::End => return Ok(()),
        };
        let error = Error::new(Kind::Data, message).with_sqlstate(sqlstate).permanent();
        Err(with_quote(error, (self.start, self.line), quote, input)
            .at(input.locate(self.start, self.line)))
    }

    /// Reads the bytes after an end-of-data marker up to the end, and returns their number.
    pub(super) fn drain(&mut self, input: &Input) -> Result<u64> {
        let left = self.rest.len() as u64;
        let read = std::io::copy(&mut self.stream, &mut std::io::sink());
        Ok(left + read.map_err(|error| input.cannot_read(&error))?)
    }

    /// Returns the error for a malformed row.
    pub(super) fn malformed(&self, malformed: Malformed, input: &Input) -> Error {
        let Malformed { message, hint, start, line, quote } = malformed;
        let (origin, line) = (self.start.plus(start.into()), self.line + u64::from(line));
        let error = Error::new(Kind::Data, message).with_sqlstate("22P04");
        let error = error.at(input.locate(origin, line));
        // The start of the next row is unknown, so the row cannot be skipped.
        let error = error.permanent();
        let error = with_quote(error, (origin, line), quote, input);
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }
}

/// Adds to `error` the place where a quote of the row that begins at `origin`, on this line, was opened.
fn with_quote(
    error: Error,
    (origin, line): (Origin, u64),
    quote: Option<OpenQuote>,
    input: &Input,
) -> Error {
    let Some(OpenQuote { offset, lines }) = quote else { return error };
    let opened = input.locate(origin.plus(offset.into()), line + u64::from(lines));
    let byte = opened.offset;
    let detail = format!("The unclosed quote is at {opened}, byte {byte}.");
    error.with_detail(detail).with_hint(
        "An unbalanced quote turns everything after it into one field: close it, or double it.",
    )
}
