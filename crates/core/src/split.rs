//! Split: finds where rows begin and end, in one sequential pass over the bytes of an input.
//!
//! This is the line reader of COPY, `CopyReadLineText` in `src/backend/commands/copyfromparse.c` (PostgreSQL
//! 18). The first line determines how all lines end. Quotes hide line ends in CSV, a backslash hides them in
//! text, and `\.` ends the data. The splitter is separate from the parser because it must be sequential, while
//! its rows can be parsed in any order.

mod lines;
mod marker;
#[cfg(test)]
mod tests;

use memchr::{memchr, memchr_iter, memchr2};

use crate::format::{Format, Syntax};
use crate::marks::Marks;
use marker::{Marker, end_marker_at};

/// One row of a scanned buffer: its bytes without the line end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Offset in the buffer of the first byte.
    pub start: u32,
    /// Offset in the buffer after the last byte.
    pub end: u32,
    /// Physical lines between the start of the buffer and the start of the row.
    pub line: u32,
}

impl Row {
    /// Returns the row's bytes within the buffer that was scanned.
    pub fn slice<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[self.start as usize..self.end as usize]
    }
}

/// The part of a buffer that a scan has read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// Bytes of complete rows, including their line ends. The rest needs more input.
    pub consumed: usize,
    /// Physical lines in the bytes consumed.
    pub lines: u32,
    /// Whether the end-of-data marker was read. The rest is not data.
    pub ended: bool,
}

/// An error in bytes that form no row, in PostgreSQL's words. The SQLSTATE is always 22P04.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// Error message.
    pub message: &'static str,
    /// Suggestion for the user.
    pub hint: Option<&'static str>,
    /// Start of the row, like [`Row::start`].
    pub start: u32,
    /// Line of the row, like [`Row::line`].
    pub line: u32,
    /// The unclosed quote of the row, if that is the error.
    pub quote: Option<OpenQuote>,
}

/// An unclosed quote of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenQuote {
    /// Offset in the row.
    pub offset: u32,
    /// Physical lines between the start of the row and the quote.
    pub lines: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Newline,
    Return,
    ReturnNewline,
}

/// A splitter that finds the rows of one input, buffer by buffer.
///
/// Each buffer begins at the start of a row. The caller passes the bytes that a scan did not consume again,
/// followed by more bytes.
#[derive(Clone, Debug)]
pub struct Splitter {
    syntax: Syntax,
    line_end: Option<LineEnd>,
    /// Whether each line is a row, whatever it contains.
    by_line: bool,
}

/// The result of scanning one row.
enum Step {
    /// The row ends at the first offset, and the next one begins at the second. The flag says whether the row
    /// may contain line ends.
    Row(usize, usize, bool),
    /// The data ends at the marker `\.`; the offset is after it.
    End(usize),
    /// The bytes end within the row.
    More,
    /// The input ends within quotes.
    Unterminated,
    /// The bytes form no row.
    Bad(&'static str, Option<&'static str>),
}

impl Splitter {
    /// Creates a splitter for one input, whose first line end determines all others.
    pub fn new(format: &Format) -> Self {
        Self { syntax: format.syntax, line_end: None, by_line: false }
    }

    /// Creates a splitter for an input in which each line is a row, whatever it contains, as in NDJSON. Skips
    /// lines that contain only white space.
    pub fn by_line() -> Self {
        Self { syntax: Syntax::Text, line_end: None, by_line: true }
    }

    /// Appends the complete rows of `bytes` to `rows`; `last` says that no bytes follow.
    ///
    /// `bytes` must be shorter than 4 GiB. After an error, `rows` contains the rows before it.
    pub fn scan(
        &mut self,
        bytes: &[u8],
        last: bool,
        rows: &mut Vec<Row>,
    ) -> Result<Scan, Malformed> {
        if self.by_line {
            return Ok(lines::scan(bytes, last, rows));
        }
        let mut scan = Scan::default();
        let mut marks = self.marks(bytes);
        while scan.consumed < bytes.len() {
            let start = scan.consumed;
            let row = |end: usize| Row { start: start as u32, end: end as u32, line: scan.lines };
            match self.step(bytes, start, last, &mut marks) {
                Step::Row(end, next, hides) => {
                    rows.push(row(end));
                    scan.lines += 1;
                    if hides {
                        scan.lines += self.hidden_lines(&bytes[start..end]);
                    }
                    scan.consumed = next;
                }
                Step::End(consumed) => {
                    return Ok(Scan { consumed, lines: scan.lines + 1, ended: true });
                }
                Step::More if last => {
                    rows.push(row(bytes.len()));
                    scan.consumed = bytes.len();
                }
                Step::More => break,
                Step::Bad(message, hint) => {
                    let Row { start, line, .. } = row(start);
                    return Err(Malformed { message, hint, start, line, quote: None });
                }
                Step::Unterminated => {
                    let quote = self.open_quote(&bytes[start..]);
                    let Row { start, line, .. } = row(start);
                    let message = "unterminated CSV quoted field";
                    return Err(Malformed { message, hint: None, start, line, quote });
                }
            }
        }
        Ok(scan)
    }

    /// Returns the quote that is still open at the end of `row`.
    pub fn open_quote(&self, row: &[u8]) -> Option<OpenQuote> {
        let Syntax::Csv { quote, escape, .. } = self.syntax else { return None };
        let mut at = 0;
        loop {
            let opened = at + memchr(quote, &row[at..])?;
            at = opened + 1;
            loop {
                let Some(end) = quoted_end(row, at, quote, escape) else {
                    let lines = self.hidden_lines(&row[..opened]);
                    return Some(OpenQuote { offset: opened as u32, lines });
                };
                at = end;
                if escape != quote || row.get(end) != Some(&quote) {
                    break;
                }
                at += 1;
            }
        }
    }

    /// Returns two bytes. An unfinished row, which may be within quotes, cannot end before one of them follows,
    /// unless the input ends.
    pub fn row_end_bytes(&self, is_quoted: bool) -> [u8; 2] {
        match self.syntax {
            Syntax::Csv { quote, .. } if is_quoted => [quote; 2],
            _ => [b'\n', b'\r'],
        }
    }

    /// Searches for line ends, and for the bytes that may hide them.
    fn marks<'b>(&self, bytes: &'b [u8]) -> Marks<'b> {
        let hider = match self.syntax {
            Syntax::Text => b'\\',
            Syntax::Csv { quote, .. } => quote,
        };
        Marks::new(bytes, [b'\n', b'\r', hider])
    }

    fn step(&mut self, bytes: &[u8], start: usize, last: bool, marks: &mut Marks<'_>) -> Step {
        match self.syntax {
            Syntax::Text => self.step_text(bytes, start, last, marks),
            Syntax::Csv { quote, escape, end_marker } => {
                if end_marker && bytes[start] == b'\\' {
                    match end_marker_at(bytes, start, last, self.line_end) {
                        Marker::Ended(next) => return Step::End(next),
                        Marker::Unended => return unended_marker(),
                        Marker::Unknown => return Step::More,
                        // PostgreSQL treats the marker as data, and then fails at the line end.
                        Marker::Mismatched if self.line_end == Some(LineEnd::ReturnNewline) => {}
                        Marker::Mismatched => return mismatched_marker(),
                        Marker::No | Marker::Followed => {}
                    }
                }
                self.step_csv(bytes, start, last, quote, escape, marks)
            }
        }
    }

    fn step_text(&mut self, bytes: &[u8], start: usize, last: bool, marks: &mut Marks<'_>) -> Step {
        let mut at = start;
        let mut hides = false;
        while let Some(found) = marks.next(at) {
            at = found;
            if bytes[at] != b'\\' {
                return self.line_end(bytes, at, last, hides);
            }
            if last && at + 1 == bytes.len() {
                // The backslash stands for nothing, and would later hide the line end that follows the row.
                return Step::Row(at, bytes.len(), hides);
            }
            hides = true;
            match end_marker_at(bytes, at, last, self.line_end) {
                Marker::No => at = (at + 2).min(bytes.len()),
                Marker::Ended(next) if at == start => return Step::End(next),
                Marker::Mismatched if at == start => return mismatched_marker(),
                Marker::Ended(_) | Marker::Mismatched | Marker::Unended | Marker::Followed => {
                    return Step::Bad("end-of-copy marker is not alone on its line", None);
                }
                Marker::Unknown => return Step::More,
            }
        }
        Step::More
    }

    fn step_csv(
        &mut self,
        bytes: &[u8],
        start: usize,
        last: bool,
        quote: u8,
        escape: u8,
        marks: &mut Marks<'_>,
    ) -> Step {
        let mut at = start;
        let mut hides = false;
        let mut quoted = false;
        while let Some(found) = marks.next(at) {
            at = found + 1;
            if bytes[found] != quote {
                if !quoted {
                    return self.line_end(bytes, found, last, hides);
                }
                hides = true;
            } else if escape == quote {
                // A doubled quote closes and opens again, which makes no difference for line ends.
                quoted = !quoted;
            } else {
                let Some(end) = quoted_end(bytes, at, quote, escape) else {
                    quoted = true;
                    break;
                };
                hides |= memchr2(b'\n', b'\r', &bytes[at..end]).is_some();
                at = end;
            }
        }
        match quoted && last {
            true => Step::Unterminated,
            false => Step::More,
        }
    }

    /// Ends a row at the line end at `at`, which must match the earlier ones.
    fn line_end(&mut self, bytes: &[u8], at: usize, last: bool, hides: bool) -> Step {
        use LineEnd::{Newline, Return, ReturnNewline};
        let newline_follows = bytes.get(at + 1) == Some(&b'\n');
        let kind = match (bytes[at], self.line_end) {
            (b'\n', None | Some(Newline)) => Newline,
            (b'\n', Some(_)) => return self.stray_newline(),
            (_, Some(Newline)) => return self.stray_return(),
            (_, Some(Return)) => Return,
            (_, None | Some(ReturnNewline)) if at + 1 == bytes.len() && !last => return Step::More,
            (_, None | Some(ReturnNewline)) if newline_follows => ReturnNewline,
            (_, None) => Return,
            (_, Some(ReturnNewline)) => return self.stray_return(),
        };
        self.line_end = Some(kind);
        Step::Row(at, at + if kind == ReturnNewline { 2 } else { 1 }, hides)
    }

    fn stray_newline(&self) -> Step {
        match self.syntax {
            Syntax::Text => Step::Bad(
                "literal newline found in data",
                Some("Use \"\\n\" to represent newline."),
            ),
            Syntax::Csv { .. } => Step::Bad(
                "unquoted newline found in data",
                Some("Use quoted CSV field to represent newline."),
            ),
        }
    }

    fn stray_return(&self) -> Step {
        match self.syntax {
            Syntax::Text => Step::Bad(
                "literal carriage return found in data",
                Some("Use \"\\r\" to represent carriage return."),
            ),
            Syntax::Csv { .. } => Step::Bad(
                "unquoted carriage return found in data",
                Some("Use quoted CSV field to represent carriage return."),
            ),
        }
    }

    /// Counts the physical line ends inside a row: quoted ones in CSV, escaped ones in text.
    fn hidden_lines(&self, row: &[u8]) -> u32 {
        let newline = if self.line_end == Some(LineEnd::Return) { b'\r' } else { b'\n' };
        memchr_iter(newline, row).count() as u32
    }
}

/// Returns the offset after the closing quote of a quoted part that contains `at`.
pub(crate) fn quoted_end(bytes: &[u8], mut at: usize, quote: u8, escape: u8) -> Option<usize> {
    if escape == quote {
        // A doubled quote closes and opens again, which makes no difference for line ends.
        return memchr(quote, bytes.get(at..)?).map(|found| at + found + 1);
    }
    loop {
        at += memchr2(quote, escape, bytes.get(at..)?)?;
        if bytes[at] == quote {
            return Some(at + 1);
        }
        match bytes.get(at + 1) {
            Some(next) if *next == quote || *next == escape => at += 2,
            Some(_) => at += 1,
            None => return None,
        }
    }
}

fn mismatched_marker() -> Step {
    Step::Bad("end-of-copy marker does not match previous newline style", None)
}

/// Returns the error for a marker in CSV without a line end. PostgreSQL treats the marker as data, but pgsluice
/// sends every row with a line end.
fn unended_marker() -> Step {
    Step::Bad(
        "end-of-copy marker is not followed by a line end",
        Some("Add a line end after it, or put quotes around it if it is data."),
    )
}
