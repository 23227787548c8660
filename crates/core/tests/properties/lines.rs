//! The splitter's naive twin, which reads byte by byte, after `CopyReadLineText` in
//! `src/backend/commands/copyfromparse.c` (PostgreSQL 18; for `\.` in CSV, 17).

use pgsluice_core::format::{Format, Syntax};

/// The offsets of the lines of an input, without line ends.
#[derive(Debug, Default)]
pub struct Lines {
    /// The offsets of the first byte, and of the byte after the last.
    pub lines: Vec<(usize, usize)>,
    /// The reason for the end.
    pub end: End,
}

/// The reason why there are no more lines.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The end of the input.
    #[default]
    Input,
    /// The end of the input inside quotes.
    Unterminated,
    /// A line that begins like the marker `\.`, and may be a marker or an error.
    Marker,
    /// A line end that differs from the first one.
    Stray(u8),
}

enum Step {
    Line(usize, usize),
    End(End),
}

/// Reads all lines of `input`.
pub fn read(format: &Format, input: &[u8]) -> Lines {
    let mut lines = Lines::default();
    let mut line_end: Option<&'static [u8]> = None;
    let mut start = 0;
    while start < input.len() {
        let step = match format.syntax {
            Syntax::Text => text_line(input, start, &mut line_end),
            Syntax::Csv { quote, escape, end_marker } => {
                if end_marker && is_marker(&input[start..]) {
                    lines.end = End::Marker;
                    return lines;
                }
                csv_line(input, start, &mut line_end, quote, escape)
            }
        };
        match step {
            Step::Line(end, next) => {
                lines.lines.push((start, end));
                start = next;
            }
            Step::End(end) => {
                lines.end = end;
                return lines;
            }
        }
    }
    lines
}

fn text_line(input: &[u8], start: usize, line_end: &mut Option<&'static [u8]>) -> Step {
    let mut at = start;
    while at < input.len() {
        match input[at] {
            b'\\' if input.get(at + 1) == Some(&b'.') => return Step::End(End::Marker),
            b'\\' => at += 2,
            b'\n' | b'\r' => return at_line_end(input, at, line_end),
            _ => at += 1,
        }
    }
    Step::Line(input.len(), input.len())
}

fn csv_line(
    input: &[u8],
    start: usize,
    line_end: &mut Option<&'static [u8]>,
    quote: u8,
    escape: u8,
) -> Step {
    let escape = (escape != quote).then_some(escape);
    let mut in_quote = false;
    let mut last_was_escape = false;
    for at in start..input.len() {
        let byte = input[at];
        if in_quote && Some(byte) == escape {
            last_was_escape = !last_was_escape;
        }
        if byte == quote && !last_was_escape {
            in_quote = !in_quote;
        }
        if Some(byte) != escape {
            last_was_escape = false;
        }
        if !in_quote && matches!(byte, b'\n' | b'\r') {
            return at_line_end(input, at, line_end);
        }
    }
    if in_quote { Step::End(End::Unterminated) } else { Step::Line(input.len(), input.len()) }
}

fn at_line_end(input: &[u8], at: usize, line_end: &mut Option<&'static [u8]>) -> Step {
    let rest = &input[at..];
    let found: &'static [u8] = match rest {
        [b'\n', ..] => b"\n",
        // If lines end with a lone carriage return, a newline after it is a stray one in the next line.
        [b'\r', b'\n', ..] if *line_end != Some(b"\r") => b"\r\n",
        _ => b"\r",
    };
    if *line_end.get_or_insert(found) != found {
        return Step::End(End::Stray(rest[0]));
    }
    Step::Line(at, at + found.len())
}

/// Whether a CSV line consists only of the marker.
fn is_marker(rest: &[u8]) -> bool {
    rest.strip_prefix(b"\\.").is_some_and(|rest| matches!(rest, [] | [b'\n' | b'\r', ..]))
}
