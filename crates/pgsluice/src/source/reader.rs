//! Read and split: the bytes of all inputs, one after the other, cut into splits at row ends.

use std::io::Read;
use std::sync::{Arc, OnceLock};

use pgsluice_core::position::{Origin, Position};
use pgsluice_core::split::{Malformed, OpenQuote, Row, Splitter};

use super::ahead::Ahead;
use super::rewrite::Rewrite;
use super::split::Buffers;
use super::stamp::Stamp;
use super::starts::{BYTE_ORDER_MARK, check_start};
use super::stream::Stream;
use super::typed::Batches;
use super::{Input, Inputs, Shape, Split};
use crate::error::kind::Kind;
use crate::error::{Error, Location, Result};

/// Bytes of a split, unless one row is longer.
const SPLIT_BYTES: usize = 1 << 20;

/// The longest row: `MaxAllocSize` of `src/include/utils/memutils.h`, at which `enlargeStringInfo` refuses
/// a line, without the byte that ends it in memory.
pub(super) const LONGEST_ROW: usize = 0x3fff_ffff - 1;

/// PostgreSQL 18's words for a string buffer that is too long.
const TOO_LONG: &str = "row exceeds maximum allowed length (1073741823 bytes)";

/// The longest row that is held before it is known that it can end.
const LONG_ROW: usize = 32 << 20;

/// Reads inputs one after the other and hands out their splits.
pub struct Reader {
    inputs: Inputs,
    shape: Shape,
    next: usize,
    open: Option<Open>,
    /// What the input is that is read, if it is a file.
    stamp: Option<Stamp>,
    /// What comes of an input whose rows are in batches, and the number of its next row.
    batches: Option<(Batches, u64)>,
    splits: u32,
    rows: u64,
    /// Bytes that were read and belong to no split yet.
    taken_before: u64,
    /// The first header that was read.
    pub header_row: Arc<OnceLock<Vec<u8>>>,
    /// Bytes of an input that are not data: its name, and what they were.
    pub ignored: Vec<(String, String)>,
    /// Leaves out what can be read only once.
    pub(crate) skips_streams: bool,
    /// About the length of a split.
    pub(crate) split_bytes: usize,
}

struct Open {
    stream: Stream,
    /// Bytes that were read of it and counted.
    taken: u64,
    splitter: Splitter,
    start: Position,
    rest: Vec<u8>,
    /// The rows that are no data: how many are still to come, and the text of those before.
    header_left: usize,
    header_text: Vec<u8>,
    /// Whether it is known that the row in `rest` may end.
    looked: bool,
}

impl Reader {
    /// What becomes of the rows that it cuts.
    pub(super) fn rewriting(&self) -> Option<Rewrite> {
        self.shape.rewrite.clone()
    }

    /// A reader of `inputs`, whose rows are of this shape.
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
            taken_before: 0,
            header_row: Arc::default(),
            ignored: Vec::new(),
            skips_streams: false,
            split_bytes: SPLIT_BYTES,
        }
    }

    /// The next split, in order; None at the end of the last input. `used` is a split that is no
    /// longer needed, so that its memory is used again.
    pub fn next(&mut self, used: Option<Split>) -> Result<Option<Split>> {
        let split = self.cut(used)?;
        Ok(split.map(|split| split.rewrite(self.shape.rewrite.as_ref())))
    }

    /// The same, its rows as they stand in the input.
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
            if open.start.origin.at == 0 {
                input.keep_opening(&bytes);
                check_start(&bytes, input, &self.shape)?;
            }
            if open.start.origin.at == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
                open.start.origin.at += BYTE_ORDER_MARK.len() as u64;
                let what = "the byte order mark at its beginning was skipped";
                self.ignored.push((input.name.clone(), what.to_owned()));
            }
            let scan = open.splitter.scan(&bytes, last, &mut rows);
            let scan = scan.map_err(|malformed| open.malformed(malformed, input))?;
            let start = open.start;
            open.keep(&mut bytes, scan.consumed);
            let taken = self.taken_before + open.take(scan.consumed);
            self.taken_before = 0;
            open.start.origin.at += scan.consumed as u64;
            open.start.line += u64::from(scan.lines);
            if open.header_left > 0 && !rows.is_empty() {
                let text = open.take_header(&mut rows, &bytes);
                if text.contains(&0) {
                    return Err(not_text().at(open.place(start, input)));
                }
                if self.shape.header.is_compared() {
                    let number = self.next as u32 - 1;
                    self.shape.check_header(&text, (input, number))?;
                }
                if open.header_left == 0 {
                    self.header_row.get_or_init(|| self.shape.rewritten(text));
                }
            }
            if scan.ended {
                let ignored = open.drain(input)?;
                if ignored > 0 {
                    let what =
                        format!("{ignored} bytes after the end-of-data marker \\. were not read");
                    self.ignored.push((input.name.clone(), what));
                }
            }
            if last || scan.ended {
                if open.header_left > 0 {
                    self.shape.check_no_header((input, self.next as u32 - 1))?;
                }
                self.open = None;
                self.check_stamp()?;
            }
            let (number, first_row, length) = (self.splits, self.rows, scan.consumed);
            let split = Split {
                number,
                first_row,
                start,
                bytes,
                rows,
                length,
                taken,
                batch: None,
                rewritten,
            };
            if !split.rows.is_empty() {
                self.splits += 1;
                self.rows += split.rows.len() as u64;
                return Ok(Some(split));
            }
            self.taken_before = split.taken;
            used = Some(split);
        }
    }
}

impl Reader {
    /// Opens the next input; false if there is none.
    fn begin(&mut self) -> Result<bool> {
        loop {
            let Some(input) = self.inputs.get(self.next) else { return Ok(false) };
            self.next += 1;
            if self.skips_streams && !input.is_rereadable() {
                continue;
            }
            self.stamp = Stamp::of(input);
            match self.shape.typed() {
                Some(typed) => self.batches = Some((typed.open(input)?, 0)),
                None => self.open = Some(Open::new(input, &self.shape, self.next - 1)?),
            }
            return Ok(true);
        }
    }

    /// Refuses an input that is not what it was when it was opened.
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

    /// The next split of an input whose rows are in batches; None if there is none, or no more of it.
    fn batch(&mut self, used: &mut Option<Split>) -> Result<Option<Split>> {
        let Some((batches, row)) = &mut self.batches else { return Ok(None) };
        let Some((batch, taken)) = batches.next()? else {
            self.batches = None;
            self.check_stamp()?;
            return Ok(None);
        };
        let used = used.take().map(|used| used.into_buffers(2 * SPLIT_BYTES));
        let Buffers { bytes, mut rows, rewritten } = used.unwrap_or_default();
        let count = batch.count() as u32;
        // A row has a number in place of bytes: its line is that of a file in which each row is one.
        rows.extend((0..count).map(|row| Row { start: row, end: row, line: row }));
        let input = self.next as u32 - 1;
        let start = Position { origin: Origin { input, at: *row }, line: *row + 1 };
        *row += u64::from(count);
        let split = Split {
            number: self.splits,
            first_row: self.rows,
            start,
            bytes,
            rows,
            length: count as usize,
            taken: taken + std::mem::take(&mut self.taken_before),
            batch: Some(batch),
            rewritten,
        };
        self.splits += 1;
        self.rows += u64::from(count);
        Ok(Some(split))
    }
}

impl Open {
    fn new(input: &Input, shape: &Shape, source: usize) -> Result<Self> {
        Ok(Self {
            stream: input.open()?,
            taken: 0,
            splitter: shape.splitter(),
            start: Position { origin: Origin { input: source as u32, at: 0 }, line: 1 },
            rest: Vec::new(),
            header_left: shape.header.rows(),
            header_text: Vec::new(),
            looked: false,
        })
    }

    /// Fills `bytes` with the rest of the split before and what follows it; true at the end of the
    /// input.
    fn fill(&mut self, bytes: &mut Vec<u8>, length: usize, input: &Input) -> Result<bool> {
        // What is left is less than one row: a long one is neither copied nor held twice.
        match self.rest.len() > length {
            true => std::mem::swap(bytes, &mut self.rest),
            false => bytes.append(&mut self.rest),
        }
        self.check_row(bytes, input)?;
        // When it is long, look much further at once.
        let room = length.max(2 * bytes.len()).min(LONGEST_ROW + length);
        let want = room - bytes.len();
        bytes.reserve_exact(want);
        let got = (&mut self.stream).take(want as u64).read_to_end(bytes);
        match got {
            Ok(got) => Ok(got < want),
            Err(error) if input.is_seekable() => Err(input.cannot_read(&error)),
            // The place is not to be seen from outside.
            Err(error) => Err(input.cannot_read(&error).at(self.place(self.start, input))),
        }
    }

    /// How many bytes of the input, as it stands, were read for the next `consumed` of its text.
    fn take(&mut self, consumed: usize) -> u64 {
        let Some(taken) = self.stream.taken() else { return consumed as u64 };
        let before = std::mem::replace(&mut self.taken, taken);
        taken - before
    }

    /// Takes the rows that are no data out of `rows`; the text of all of them so far.
    fn take_header(&mut self, rows: &mut Vec<Row>, bytes: &[u8]) -> Vec<u8> {
        let here = self.header_left.min(rows.len());
        for row in rows.drain(..here) {
            if !self.header_text.is_empty() {
                self.header_text.push(b'\n');
            }
            self.header_text.extend_from_slice(row.of(bytes));
        }
        self.header_left -= here;
        match self.header_left {
            0 => std::mem::take(&mut self.header_text),
            _ => Vec::new(),
        }
    }

    /// Keeps what a scan has not consumed.
    fn keep(&mut self, bytes: &mut Vec<u8>, consumed: usize) {
        match consumed {
            0 => std::mem::swap(bytes, &mut self.rest),
            _ => {
                self.rest.extend_from_slice(&bytes[consumed..]);
                self.looked = false;
            }
        }
    }

    /// Refuses a row that is too long, or that will be, or whose quote is not closed, if it is known by
    /// now.
    fn check_row(&mut self, row: &[u8], input: &Input) -> Result<()> {
        if row.len() < LONG_ROW || self.looked && row.len() <= LONGEST_ROW {
            return Ok(());
        }
        self.looked = true;
        let quote = self.splitter.open_quote(row);
        let most = LONGEST_ROW.saturating_sub(row.len()) as u64;
        let enders = self.splitter.enders(quote.is_some());
        let ahead = input.ahead(self.start.origin.at + row.len() as u64, most, enders)?;
        let (message, sqlstate) = match ahead {
            _ if row.len() > LONGEST_ROW => (TOO_LONG, "54000"),
            Ahead::Nothing => (TOO_LONG, "54000"),
            Ahead::End if quote.is_some() => ("unterminated CSV quoted field", "22P04"),
            Ahead::Found | Ahead::End => return Ok(()),
        };
        let error = Error::new(Kind::Data, message).with_sqlstate(sqlstate).permanent();
        Err(self.with_quote(error, self.start, quote, input).at(self.place(self.start, input)))
    }

    /// Reads what follows an end-of-data marker, up to the end; its length.
    fn drain(&mut self, input: &Input) -> Result<u64> {
        let left = self.rest.len() as u64;
        let read = std::io::copy(&mut self.stream, &mut std::io::sink());
        Ok(left + read.map_err(|error| input.cannot_read(&error))?)
    }

    fn malformed(&self, malformed: Malformed, input: &Input) -> Error {
        let Malformed { message, hint, start, line, quote } = malformed;
        let mut at = self.start;
        at.origin.at += u64::from(start);
        at.line += u64::from(line);
        let error =
            Error::new(Kind::Data, message).with_sqlstate("22P04").at(self.place(at, input));
        // Where the next row begins is not known, so none can be left out.
        let error = error.permanent();
        let error = self.with_quote(error, at, quote, input);
        match hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    /// Adds to `error` where a quote of the row at `at` was opened.
    fn with_quote(
        &self,
        error: Error,
        at: Position,
        quote: Option<OpenQuote>,
        input: &Input,
    ) -> Error {
        let Some(OpenQuote { offset, lines }) = quote else { return error };
        let (origin, line) = (at.origin.plus(offset.into()), at.line + u64::from(lines));
        let opened = self.place(Position { origin, line }, input);
        let byte = opened.offset;
        let detail = format!("The unclosed quote is at {opened}, byte {byte}.");
        error.with_detail(detail).with_hint(
            "An unbalanced quote turns everything after it into one field: close it, or double it.",
        )
    }

    fn place(&self, at: Position, input: &Input) -> Location {
        input.locate(at)
    }
}

/// Refuses a header that is not text, as the server does. A binary file may have no line end, and be all header.
fn not_text() -> Error {
    let message = "invalid byte sequence for encoding \"UTF8\": 0x00";
    Error::new(Kind::Data, message)
        .with_sqlstate("22021")
        .with_detail("Text cannot contain this byte: the input may be a file in another format.")
        .permanent()
}

#[cfg(test)]
mod tests;
