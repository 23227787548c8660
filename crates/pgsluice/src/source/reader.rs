//! Reading and splitting: the bytes of all inputs, one after another, cut into splits at row ends.

use std::sync::{Arc, OnceLock};

use pgsluice_core::origin::Origin;
use pgsluice_core::split::Row;

use super::batches::Batches;
use super::open::Open;
use super::rewrite::Rewrite;
use super::split::Buffers;
use super::stamp::Stamp;
use super::starts::check_start;
use super::{Input, Inputs, Shape, Split};
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// The number of bytes in a split, unless one row is longer.
const SPLIT_BYTES: usize = 1 << 20;

/// The number of inputs after the current one whose beginnings are requested ahead.
const PREPARED: usize = 8;

/// Reads inputs one after another and returns their splits.
pub struct Reader {
    inputs: Inputs,
    shape: Shape,
    next: usize,
    open: Option<Open>,
    /// The state of the current input when it was opened, if it is a file.
    stamp: Option<Stamp>,
    /// The batches of an input whose rows come in batches, and the number of its next row.
    batches: Option<(Batches, u64)>,
    splits: u32,
    rows: u64,
    /// Bytes that were read but do not belong to a split yet.
    raw_before: u64,
    /// The first header that was read.
    pub header_row: Arc<OnceLock<Vec<u8>>>,
    /// Bytes that are not data, as pairs of the input's name and a description.
    pub ignored: Vec<(String, String)>,
    /// Whether inputs that can be read only once are skipped.
    pub(crate) skips_streams: bool,
    /// The approximate length of a split in bytes.
    pub(crate) split_bytes: usize,
}

impl Reader {
    /// Returns how the rows of the splits are rewritten.
    pub(super) fn rewriting(&self) -> Option<Rewrite> {
        self.shape.rewrite.clone()
    }

    /// Creates a reader of `inputs`, whose rows have this shape.
    pub fn new(inputs: Inputs, shape: &Shape) -> Self {
        Self {
            inputs,
            shape: shape.clone(),
            next: 0,
            open: None,
            stamp: None,
            batches: None,
            splits: 0,
            rows: 0,
            raw_before: 0,
            header_row: Arc::default(),
            ignored: Vec::new(),
            skips_streams: false,
            split_bytes: SPLIT_BYTES,
        }
    }

    /// Returns the next split, in order; `None` at the end of the last input. The memory of `used`, a split
    /// that is no longer needed, is reused.
    pub fn next(&mut self, used: Option<Split>) -> Result<Option<Split>> {
        let split = self.cut(used)?;
        Ok(split.map(|split| split.rewrite(self.shape.rewrite.as_ref())))
    }

    /// Returns the next split like [`Self::next`], but with its rows not yet rewritten.
    pub(super) fn cut(&mut self, mut used: Option<Split>) -> Result<Option<Split>> {
        loop {
            if let Some(split) = self.batch(&mut used)? {
                return Ok(Some(split));
            }
            if self.open.is_none() && !self.begin()? {
                return Ok(None);
            }
            let Some(open) = &mut self.open else { continue };
            let input = &self.inputs[self.next - 1];
            let used_buffers = used.take().map(|used| used.into_buffers(2 * SPLIT_BYTES));
            let Buffers { mut bytes, mut rows, rewritten } = used_buffers.unwrap_or_default();
            let last = open.fill(&mut bytes, self.split_bytes, input)?;
            if open.start.at == 0 {
                input.save_opening(&bytes);
                check_start(&bytes, input, &self.shape)?;
                if open.skip_byte_order_mark(&mut bytes) {
                    let what = "the byte order mark at its beginning was skipped";
                    self.ignored.push((input.name.clone(), what.to_owned()));
                }
            }
            let scan = open.splitter.scan(&bytes, last, &mut rows);
            let scan = scan.map_err(|malformed| open.malformed(malformed, input))?;
            let (start, line) = (open.start, open.line);
            open.save_rest(&mut bytes, scan.consumed);
            let raw_bytes = self.raw_before + open.take(scan.consumed);
            self.raw_before = 0;
            open.start.at += scan.consumed as u64;
            open.line += u64::from(scan.lines);
            self.take_header(&mut rows, &bytes, (start, line))?;
            if last || scan.ended {
                self.end_input(scan.ended)?;
            }
            let (number, first_row, length) = (self.splits, self.rows, scan.consumed);
            let split = Split {
                number,
                first_row,
                start,
                line,
                bytes,
                rows,
                length,
                raw_bytes,
                batch: None,
                rewritten,
            };
            if !split.rows.is_empty() {
                self.splits += 1;
                self.rows += split.rows.len() as u64;
                return Ok(Some(split));
            }
            self.raw_before = split.raw_bytes;
            used = Some(split);
        }
    }

    /// Removes the rows of an incomplete header from `rows`, which begin at `start`.
    fn take_header(
        &mut self,
        rows: &mut Vec<Row>,
        bytes: &[u8],
        (start, line): (Origin, u64),
    ) -> Result<()> {
        let Some(open) = self.open.as_mut().filter(|open| open.header_left > 0) else {
            return Ok(());
        };
        if rows.is_empty() {
            return Ok(());
        }
        let input = &self.inputs[self.next - 1];
        let text = open.take_header(rows, bytes);
        if text.contains(&0) {
            return Err(not_text().at(input.locate(start, line)));
        }
        if self.shape.header.is_compared() {
            self.shape.check_header(&text, input, self.next as u32 - 1)?;
        }
        if open.header_left == 0 {
            self.header_row.get_or_init(|| self.shape.rewrite_row(text));
        }
        Ok(())
    }

    /// Closes an input at its end, or at COPY's end-of-data marker.
    fn end_input(&mut self, at_marker: bool) -> Result<()> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let input = &self.inputs[self.next - 1];
        if at_marker {
            let ignored = open.drain(input)?;
            if ignored > 0 {
                let what =
                    format!("{ignored} bytes after the end-of-data marker \\. were not read");
                self.ignored.push((input.name.clone(), what));
            }
        }
        if open.header_left > 0 {
            self.shape.check_no_header(input, self.next as u32 - 1)?;
        }
        self.open = None;
        self.check_stamp()
    }
}

impl Reader {
    /// Opens the next input; returns false after the last one.
    fn begin(&mut self) -> Result<bool> {
        loop {
            let Some(input) = self.inputs.get(self.next) else { return Ok(false) };
            self.next += 1;
            if self.skips_streams && !input.is_rereadable() {
                continue;
            }
            self.stamp = Stamp::read(input);
            match self.shape.open_batches(input) {
                Some(batches) => self.batches = Some((batches?, 0)),
                None => {
                    self.open = Some(Open::new(input, &self.shape, self.next - 1)?);
                    let next = self.inputs.iter().skip(self.next).take(PREPARED);
                    next.for_each(Input::prepare);
                }
            }
            return Ok(true);
        }
    }

    /// Rejects an input that has changed since it was opened.
    fn check_stamp(&mut self) -> Result<()> {
        let input = &self.inputs[self.next - 1];
        if let Some(stamp) = self.stamp.take()
            && let Some(bytes) = stamp.check(input)?
        {
            let what = format!("it grew by {bytes} bytes while it was being read");
            self.ignored.push((input.name.clone(), what));
        }
        Ok(())
    }

    /// Returns the next split of an input whose rows come in batches; `None` if it does not, or at its end.
    fn batch(&mut self, used: &mut Option<Split>) -> Result<Option<Split>> {
        let Some((batches, row)) = &mut self.batches else { return Ok(None) };
        let Some((batch, raw_bytes)) = batches.next()? else {
            self.batches = None;
            self.check_stamp()?;
            return Ok(None);
        };
        let used = used.take().map(|used| used.into_buffers(2 * SPLIT_BYTES));
        let Buffers { bytes, mut rows, rewritten } = used.unwrap_or_default();
        // Rows of a batch have places instead of byte offsets, and each counts as one line.
        let range = batch.place(*row, &mut rows);
        let (count, input) = (rows.len() as u64, self.next as u32 - 1);
        let (start, line) = (Origin { input, at: range.start }, *row + 1);
        *row += count;
        let split = Split {
            number: self.splits,
            first_row: self.rows,
            start,
            line,
            bytes,
            rows,
            length: range.length,
            raw_bytes: raw_bytes + std::mem::take(&mut self.raw_before),
            batch: Some(batch),
            rewritten,
        };
        self.splits += 1;
        self.rows += count;
        Ok(Some(split))
    }
}

/// Returns the error for a header that is not text, like the server's. A binary file may have no line end,
/// and then consists of the header alone.
fn not_text() -> Error {
    let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
    Error::new(Kind::Data, message)
        .with_sqlstate("22021")
        .with_detail("Text cannot contain this byte: the input may be a file in another format.")
        .permanent()
}

#[cfg(test)]
mod tests;
