//! Read and split: the bytes of all inputs, one after the other, cut into splits at row ends.

use std::io::Read;
use std::sync::{Arc, OnceLock};

use pgsluice_core::format::Format;
use pgsluice_core::position::{Origin, Position};
use pgsluice_core::split::{Malformed, OpenQuote, Row, Splitter};

use super::ahead::Ahead;
use super::starts::{BYTE_ORDER_MARK, check_header, check_magic};
use super::{Header, Input, Inputs};
use crate::error::kind::Kind;
use crate::error::{Error, Location, Result};

/// Bytes of a split, unless one row is longer.
const SPLIT_BYTES: usize = 1 << 20;

/// The longest row: `MaxAllocSize` of `src/include/utils/memutils.h`, at which `enlargeStringInfo` refuses
/// a line, without the byte that ends it in memory.
const LONGEST_ROW: usize = 0x3fff_ffff - 1;

/// PostgreSQL 18's words for a string buffer that is too long.
const TOO_LONG: &str = "row exceeds maximum allowed length (1073741823 bytes)";

/// The longest row that is held before it is known that it can end.
const LONG_ROW: usize = 32 << 20;

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
    /// Bytes of the input that this split stands for.
    pub length: usize,
}

impl Split {
    /// Where the row at the place `index` begins.
    pub(crate) fn position(&self, index: usize) -> Option<Position> {
        let row = self.rows.get(index)?;
        let origin = self.start.origin.plus(row.start.into());
        Some(Position { origin, line: self.start.line + u64::from(row.line) })
    }
}

/// Reads inputs one after the other and hands out their splits.
pub struct Reader {
    inputs: Inputs,
    format: Format,
    header: Header,
    columns: Vec<String>,
    next: usize,
    open: Option<Open>,
    splits: u32,
    rows: u64,
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
    stream: Box<dyn Read + Send>,
    splitter: Splitter,
    start: Position,
    rest: Vec<u8>,
    header: Header,
    /// The rows that are no data: how many are still to come, and the text of those before.
    header_left: usize,
    header_text: Vec<u8>,
    /// Whether it is known that the row in `rest` may end.
    looked: bool,
}

impl Reader {
    /// A reader of `inputs`, whose rows have the fields `columns`.
    pub fn new(inputs: Inputs, format: &Format, header: Header, columns: &[String]) -> Self {
        Self {
            inputs,
            format: format.clone(),
            header,
            columns: columns.to_vec(),
            next: 0,
            open: None,
            splits: 0,
            rows: 0,
            header_row: Arc::default(),
            ignored: Vec::new(),
            skips_streams: false,
            split_bytes: SPLIT_BYTES,
        }
    }

    /// The next split, in order; None at the end of the last input. `used` is a split that is no
    /// longer needed, so that its memory is used again.
    pub fn next(&mut self, mut used: Option<Split>) -> Result<Option<Split>> {
        loop {
            let open = match &mut self.open {
                Some(open) => open,
                None => {
                    let Some(input) = self.inputs.get(self.next) else { return Ok(None) };
                    self.next += 1;
                    if self.skips_streams && !input.is_rereadable() {
                        continue;
                    }
                    let open = Open::new(input, &self.format, self.header, self.next - 1)?;
                    self.open.insert(open)
                }
            };
            let input = &self.inputs[self.next - 1];
            let (mut bytes, mut rows) =
                used.take().map_or_else(Default::default, Split::into_buffers);
            let last = open.fill(&mut bytes, self.split_bytes, input)?;
            if open.start.origin.at == 0 {
                check_magic(&bytes, input)?;
            }
            if open.start.origin.at == 0 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
                open.start.origin.at += BYTE_ORDER_MARK.len() as u64;
                let what = "the byte order mark that it begins with is no data";
                self.ignored.push((input.name.clone(), what.to_owned()));
            }
            let scan = open.splitter.scan(&bytes, last, &mut rows);
            let scan = scan.map_err(|malformed| open.malformed(malformed, input))?;
            let start = open.start;
            open.keep(&mut bytes, scan.consumed);
            open.start.origin.at += scan.consumed as u64;
            open.start.line += u64::from(scan.lines);
            if open.header_left > 0 && !rows.is_empty() {
                let text = open.take_header(&mut rows, &bytes);
                if open.header == Header::Match {
                    let number = self.next as u32 - 1;
                    check_header(&self.format, &text, &self.columns, (input, number))?;
                }
                if open.header_left == 0 {
                    self.header_row.get_or_init(|| text);
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
                if open.header == Header::Match && open.header_left > 0 {
                    // The server compares the line that is not there.
                    let number = self.next as u32 - 1;
                    check_header(&self.format, b"", &self.columns, (input, number))?;
                }
                self.open = None;
            }
            if !rows.is_empty() {
                let (number, first_row) = (self.splits, self.rows);
                self.splits += 1;
                self.rows += rows.len() as u64;
                let length = scan.consumed;
                return Ok(Some(Split { number, first_row, start, bytes, rows, length }));
            }
            used = Some(Split { number: 0, first_row: 0, start, bytes, rows, length: 0 });
        }
    }
}

impl Split {
    fn into_buffers(self) -> (Vec<u8>, Vec<Row>) {
        let Self { mut bytes, mut rows, .. } = self;
        bytes.clear();
        // A buffer that a very long row has grown is not kept.
        bytes.shrink_to(2 * SPLIT_BYTES);
        rows.clear();
        (bytes, rows)
    }
}

impl Open {
    fn new(input: &Input, format: &Format, header: Header, source: usize) -> Result<Self> {
        Ok(Self {
            stream: input.open()?,
            splitter: Splitter::new(format),
            start: Position { origin: Origin { input: source as u32, at: 0 }, line: 1 },
            rest: Vec::new(),
            header,
            header_left: header.rows(),
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
        Ok(got.map_err(|error| input.cannot_read(&error))? < want)
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
        let detail = format!("The quote that is not closed is at {opened}, byte {byte}.");
        error.with_detail(detail).with_hint(
            "An unbalanced quote makes one field of all that follows: close it, or double it.",
        )
    }

    fn place(&self, at: Position, input: &Input) -> Location {
        let source = input.name.clone();
        Location { source, line: at.line, offset: at.origin.at, input: at.origin.input }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(content: &str, header: Header) -> Result<Vec<(u64, u64, String)>> {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("rows.csv");
        std::fs::write(&path, content).expect("a file");
        let inputs = super::super::Inputs::resolve([path.display().to_string()])?;
        let columns = ["a".to_owned(), "b".to_owned()];
        let mut reader = Reader::new(inputs, &Format::csv(), header, &columns);
        let mut rows = Vec::new();
        while let Some(split) = reader.next(None)? {
            rows.extend(split.rows.iter().map(|row| {
                let text = String::from_utf8_lossy(row.of(&split.bytes)).into_owned();
                let offset = split.start.origin.at + u64::from(row.start);
                (offset, split.start.line + u64::from(row.line), text)
            }));
        }
        Ok(rows)
    }

    #[test]
    fn rows_know_their_place() {
        let rows = read("a,b\n\"1\n\",2\n3,4", Header::Match).expect("rows");
        assert_eq!(rows, [(4, 2, "\"1\n\",2".to_owned()), (11, 4, "3,4".to_owned())]);
    }

    #[test]
    fn rows_longer_than_a_split_are_whole() {
        let long = "x".repeat(3 * SPLIT_BYTES);
        let rows = read(&format!("{long},1\nb,2\n"), Header::Absent).expect("rows");
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].2.len(), long.len() + 2);
        assert_eq!(rows[1], (long.len() as u64 + 3, 2, "b,2".to_owned()));
    }

    #[test]
    fn header_must_match() {
        let message = read("a,c\n1,2\n", Header::Match).expect_err("mismatch").to_string();
        assert!(message.contains("field 2: got \"c\", expected \"b\" (SQLSTATE 22P04)"));
        assert!(read("a\n", Header::Match).expect_err("one field").to_string().contains("got 1"));
        assert_eq!(read("x,y\n1,2\n", Header::Skip(1)).expect("skipped").len(), 1);
    }

    #[test]
    fn several_lines_may_be_no_data() {
        let rows =
            |lines| read("# by\n\"a\nb\",c\n1,2\n", Header::Skip(lines)).expect("rows").len();
        assert_eq!([1, 2, 3, 4].map(rows), [2, 1, 0, 0]);
        let long = format!("{}\n{}\n1,2\n", "x".repeat(SPLIT_BYTES), "y".repeat(SPLIT_BYTES));
        assert_eq!(read(&long, Header::Skip(2)).expect("rows").len(), 1);
    }

    #[test]
    fn a_byte_order_mark_is_no_data() {
        let rows = read("\u{feff}a,b\n1,2\n", Header::Match).expect("rows");
        assert_eq!(rows, [(7, 2, "1,2".to_owned())]);
        let rows = read("\u{feff}\u{feff}1,2", Header::Absent).expect("rows");
        assert_eq!(rows, [(3, 1, "\u{feff}1,2".to_owned())]);
    }

    #[test]
    fn a_header_that_is_not_there_does_not_match() {
        for content in ["", "\u{feff}"] {
            let error = read(content, Header::Match).expect_err("no header").to_string();
            assert!(error.contains("wrong number of fields in header line: got 1, expected 2"));
            assert_eq!(read(content, Header::Skip(1)).expect("no rows"), []);
        }
    }

    #[test]
    fn malformed_rows_have_a_place() {
        let error = read("1,2\n3,\"4\n", Header::Absent).expect_err("unterminated");
        assert_eq!(error.place().map(|place| (place.line, place.offset)), Some((2, 4)));
    }
}
