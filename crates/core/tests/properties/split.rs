//! For any input and any division into pieces, the splitter finds the lines that PostgreSQL finds, and
//! accounts for every byte.

use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::split::{Row, Splitter};

use crate::choices::Choices;
use crate::lines::{self, End};

/// The result of a splitter: each row's offsets and line, and the end.
#[derive(Debug, PartialEq, Eq)]
struct Found {
    rows: Vec<(usize, usize, u32)>,
    end: Outcome,
}

#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// All bytes were read.
    Input,
    /// The marker was found, with the offset after it.
    Marker(usize),
    /// The error message, and the row's offset and line.
    Malformed(&'static str, usize, u32),
}

/// Checks the property.
pub fn check(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let csv = choices.once_in(2);
    let format = if csv { choices.csv_format() } else { choices.text_format() };
    let mut cuts: Vec<usize> = (0..choices.below(4)).map(|_| choices.byte().into()).collect();
    let input = choices.input(&format);
    cuts.iter_mut().for_each(|cut| *cut %= input.len() + 1);
    cuts.sort_unstable();

    let whole = scan(&format, &input, &[]);
    assert_eq!(scan(&format, &input, &cuts), whole, "{format:?}, cut at {cuts:?}");
    check_gaps(&format, &input, &whole);
    check_lines(&format, &input, &whole);
}

/// Scans the pieces between the cuts as the reader does: the remainder of a piece is scanned again.
fn scan(format: &Format, input: &[u8], cuts: &[usize]) -> Found {
    let mut splitter = Splitter::new(format);
    let mut found = Found { rows: Vec::new(), end: Outcome::Input };
    let (mut begin, mut line) = (0, 0);
    let pieces = cuts.iter().map(|&cut| (cut, false)).chain([(input.len(), true)]);
    for (cut, last) in pieces {
        let piece = &input[begin..cut.max(begin)];
        let mut rows: Vec<Row> = Vec::new();
        let result = splitter.scan(piece, last, &mut rows);
        found
            .rows
            .extend(rows.iter().map(|row| {
                (begin + row.start as usize, begin + row.end as usize, line + row.line)
            }));
        match result {
            Ok(scan) => {
                begin += scan.consumed;
                line += scan.lines;
                if scan.ended {
                    found.end = Outcome::Marker(begin);
                    return found;
                }
            }
            Err(bad) => {
                let start = begin + bad.start as usize;
                found.end = Outcome::Malformed(bad.message, start, line + bad.line);
                return found;
            }
        }
    }
    assert_eq!(begin, input.len(), "{format:?}");
    found
}

/// Checks that exactly one line end separates two rows, and that the last one is optional.
fn check_gaps(format: &Format, input: &[u8], found: &Found) {
    let starts = found.rows.iter().map(|&(start, ..)| start);
    let mut at = 0;
    for (&(start, end, _), next) in found.rows.iter().zip(starts.skip(1)) {
        assert!(start <= end);
        assert!(matches!(&input[end..next], b"\n" | b"\r" | b"\r\n"), "{format:?} {found:?}");
        at = next;
    }
    let Some(&(start, end, _)) = found.rows.last() else { return };
    assert!(start == at && start <= end);
    let end_of_line = match found.end {
        Outcome::Input => {
            let lone = format.syntax == Syntax::Text && &input[end..] == b"\\";
            assert!(lone || matches!(&input[end..], b"" | b"\n" | b"\r" | b"\r\n"), "{found:?}");
            return;
        }
        Outcome::Malformed(_, start, _) => &input[end..start],
        Outcome::Marker(after) => {
            let rest = &input[end..after];
            let marker = rest.windows(2).position(|two| two == b"\\.").expect("a marker");
            assert!(matches!(&rest[marker + 2..], b"" | b"\n" | b"\r" | b"\r\n"), "{found:?}");
            &rest[..marker]
        }
    };
    assert!(matches!(end_of_line, b"\n" | b"\r" | b"\r\n"), "{format:?} {found:?}");
}

fn check_lines(format: &Format, input: &[u8], found: &Found) {
    let expected = lines::read(format, input);
    let lone_backslash = |&(start, end): &(usize, usize)| {
        let backslashes = input[start..end].iter().rev().take_while(|&&byte| byte == b'\\');
        format.syntax == Syntax::Text && end == input.len() && backslashes.count() % 2 == 1
    };
    let rows: Vec<(usize, usize)> =
        found.rows.iter().map(|&(start, end, _)| (start, end)).collect();
    // A backslash before the end of the input has no meaning and does not belong to the row.
    let lines: Vec<(usize, usize)> = (expected.lines.iter())
        .map(|line| if lone_backslash(line) { (line.0, line.1 - 1) } else { *line })
        .collect();
    assert_eq!(rows, lines, "{format:?} {input:?}");
    match (&found.end, expected.end) {
        (Outcome::Input, End::Input) => {}
        (Outcome::Marker(_), End::Marker) => {}
        (Outcome::Malformed(message, ..), end) => {
            let word = match end {
                End::Unterminated => "unterminated CSV quoted field",
                End::Marker => "end-of-copy marker",
                End::Stray(b'\n') => "newline found in data",
                End::Stray(_) => "carriage return found in data",
                End::Input => panic!("{message}: {format:?} {input:?}"),
            };
            assert!(message.contains(word), "{message}: {format:?} {input:?}");
        }
        (found, expected) => panic!("{found:?}, not {expected:?}: {format:?} {input:?}"),
    }
}
