//! The lines of a payload as the server numbers them in its messages.
//!
//! The number is `cur_lineno` of `CopyReadLineText` in `src/backend/commands/copyfromparse.c`
//! (PostgreSQL 13 to 18). In text format it counts rows. In CSV it counts the line ends inside
//! quotes as well; but while it reads the first row of a COPY it does not know yet what a line end
//! looks like, and counts carriage returns.

use memchr::memchr_iter;
use pgsluice_core::bucket::Payload;
use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::split::Splitter;

/// The number of lines of `payload`; `first` says that it is the first of its COPY.
pub(super) fn count(payload: &Payload, format: &Format, first: bool) -> u64 {
    of_rows(payload, format, first).iter().sum()
}

/// The index of the row that the server is at when it says `line`, counted from 1 for the first
/// line of `payload`.
pub(super) fn row(payload: &Payload, format: &Format, first: bool, line: u64) -> Option<usize> {
    let mut last = 0;
    of_rows(payload, format, first).into_iter().position(|lines| {
        last += lines;
        last >= line
    })
}

/// The lines of each row. Which rows span lines is known from their bytes only, so the rows are
/// found anew.
fn of_rows(payload: &Payload, format: &Format, first: bool) -> Vec<u64> {
    if format.syntax == Syntax::Text {
        return vec![1; payload.rows()];
    }
    let bytes = payload.blocks().concat();
    let mut rows = Vec::new();
    // It was well formed when it was read; if not, the rows before the fault are known.
    let _ = Splitter::new(format).scan(&bytes, true, &mut rows);
    let lines = rows.iter().enumerate().map(|(index, row)| {
        let line_end = if first && index == 0 { b'\r' } else { b'\n' };
        1 + memchr_iter(line_end, row.of(&bytes)).count() as u64
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsluice_core::bucket::Buckets;
    use pgsluice_core::position::Position;

    fn payload(rows: &[&[u8]]) -> Payload {
        let mut buckets = Buckets::new(1, 1 << 20);
        let start = Position { source: 0, offset: 0, line: 1 };
        buckets.append(start, rows.iter().map(|row| (0, 0, 0, *row)));
        buckets.take(1).expect("rows")
    }

    #[test]
    fn csv_counts_line_ends_in_quotes_except_in_the_first_row() {
        let payload = payload(&[b"\"a\nb\"", b"\"c\nd\"", b"e"]);
        let rows = |first| [1, 2, 3, 4].map(|line| row(&payload, &Format::csv(), first, line));
        assert_eq!(rows(true), [Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!(rows(false), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(count(&payload, &Format::csv(), false), 5);
    }

    #[test]
    fn text_counts_rows() {
        let payload = payload(&[b"a\\\nb", b"c"]);
        assert_eq!(row(&payload, &Format::text(), true, 2), Some(1));
        assert_eq!(row(&payload, &Format::text(), true, 3), None);
    }
}
