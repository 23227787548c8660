//! The lines of a payload as the server numbers them in its messages.
//!
//! The number is `cur_lineno` of `CopyReadLineText` in `src/backend/commands/copyfromparse.c` (PostgreSQL 13
//! to 18). In text format it counts rows. In CSV it also counts the line ends inside quotes. While the server
//! reads the first row of a COPY, it does not know the style of line ends yet and counts carriage returns.

use memchr::memchr_iter;
use pgsluice_core::bucket::{BlockRow, Payload, Wire};
use pgsluice_core::format::{Format, Syntax};

/// Returns the number of lines of `payload`, which is the `first` of its COPY or not.
pub(super) fn count(payload: &Payload, format: &Format, first: bool) -> u64 {
    count_lines(payload.in_order(), payload.wire(), format, first).map(|(_, lines)| lines).sum()
}

/// Returns the row that the server means by `line`, counted from 1 at the start of `payload`.
pub(super) fn row(payload: &Payload, format: &Format, first: bool, line: u64) -> Option<BlockRow> {
    let mut rows = count_lines(payload.in_order(), payload.wire(), format, first);
    at_line(&mut rows, line)
}

/// Returns the row that contains the line `line`, counted from 1 at the first of `rows`.
pub(super) fn at_line(
    rows: &mut impl Iterator<Item = (BlockRow, u64)>,
    line: u64,
) -> Option<BlockRow> {
    let mut last = 0;
    rows.find_map(|(at, lines)| {
        last += lines;
        (last >= line).then_some(at)
    })
}

/// Returns each row with its number of lines. All line ends except the last of a row are inside quotes.
pub(super) fn count_lines<'r>(
    rows: impl Iterator<Item = (BlockRow, &'r [u8])>,
    wire: Wire,
    format: &Format,
    first: bool,
) -> impl Iterator<Item = (BlockRow, u64)> {
    let are_lines = wire == Wire::Binary || format.syntax == Syntax::Text;
    rows.enumerate().map(move |(index, (at, row))| match row.split_last() {
        Some((_, row)) if !are_lines => {
            let line_end = if first && index == 0 { b'\r' } else { b'\n' };
            (at, 1 + memchr_iter(line_end, row).count() as u64)
        }
        _ => (at, 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use pgsluice_core::bucket::{Block, PayloadSize, Scheduler, Shard};

    fn payload(rows: &[&[u8]]) -> Payload {
        let mut shard = Shard::new(Scheduler::count(1));
        for (line, row) in rows.iter().enumerate() {
            let row = [row, &b"\n"[..]].concat();
            let room = shard.add_block(0, Block::new(row.len()));
            let written: Result<(), ()> = room.push(BlockRow::new(0, 0, line as u32), |block| {
                block.extend_from_slice(&row);
                Ok(())
            });
            assert_eq!(written, Ok(()));
        }
        let size = PayloadSize { min: 0, max: usize::MAX, together: 1 };
        Scheduler::new(vec![true], 0).take(size, &mut [&mut shard]).expect("rows")
    }

    fn line(row: Option<BlockRow>) -> Option<u32> {
        row.map(|row| row.line)
    }

    #[test]
    fn csv_counts_line_ends_in_quotes_except_in_the_first_row() {
        let payload = payload(&[b"\"a\nb\"", b"\"c\nd\"", b"e"]);
        let rows = |first| [1, 2, 3, 4].map(|at| line(row(&payload, &Format::csv(), first, at)));
        assert_eq!(rows(true), [Some(0), Some(1), Some(1), Some(2)]);
        assert_eq!(rows(false), [Some(0), Some(0), Some(1), Some(1)]);
        assert_eq!(count(&payload, &Format::csv(), false), 5);
    }

    #[test]
    fn text_counts_rows() {
        let payload = payload(&[b"a\\\nb", b"c"]);
        assert_eq!(line(row(&payload, &Format::text(), true, 2)), Some(1));
        assert_eq!(line(row(&payload, &Format::text(), true, 3)), None);
    }
}
