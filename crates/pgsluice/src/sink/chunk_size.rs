//! Chunk sizes: the estimated number of good rows between two bad ones in a payload.
//!
//! This number of rows is sent together. In a larger chunk another bad row would be likely, and the rows before
//! it would be sent in vain. Smaller chunks would begin more COPYs. If half as many rows are good as before,
//! half as many are sent; if all are bad, one at a time. So if all rows are bad, each costs one COPY, and a
//! few bad rows cost little. A connection remembers the size, and sends a payload in chunks at once if it
//! expects a refusal.

use std::cell::Cell;

use pgsluice_core::bucket::{Payload, Wire};

/// Number of rows that are sent together at first, and at most.
const FIRST_ROWS: usize = 128;
const MAX_ROWS: usize = 8192;

/// The chunk sizes of one connection, by format.
#[derive(Debug, Default)]
pub(super) struct ChunkSizes {
    text: Cell<Option<ChunkSize>>,
    binary: Cell<Option<ChunkSize>>,
}

impl ChunkSizes {
    fn cell(&self, wire: Wire) -> &Cell<Option<ChunkSize>> {
        match wire {
            Wire::Text => &self.text,
            Wire::Binary => &self.binary,
        }
    }

    /// Whether a payload is so long that it probably contains a bad row.
    pub(super) fn is_expected_in(&self, payload: &Payload) -> bool {
        let chunk_size = self.cell(payload.wire()).get();
        chunk_size.is_some_and(|chunk_size| 2 * chunk_size.rows < payload.rows())
    }

    /// Returns the chunk size that a payload begins with.
    pub(super) fn begin(&self, wire: Wire) -> ChunkSize {
        let rows = self.cell(wire).get().map_or(FIRST_ROWS, |chunk_size| chunk_size.rows);
        ChunkSize { rows, since: 0 }
    }

    /// Remembers the chunk size that a payload ends with.
    pub(super) fn end(&self, wire: Wire, chunk_size: ChunkSize) {
        self.cell(wire).set(Some(chunk_size));
    }
}

/// The chunk size of one payload, whose rows are settled from the first to the last.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChunkSize {
    rows: usize,
    /// The row after the last bad one.
    since: usize,
}

impl ChunkSize {
    /// Returns the number of rows to send together.
    pub(super) fn rows(&self) -> usize {
        self.rows.clamp(1, MAX_ROWS)
    }

    /// Records that all rows before `row` are settled.
    pub(super) fn good_before(&mut self, row: usize) {
        self.rows = self.rows.max(row.saturating_sub(self.since));
    }

    /// Records that `row` is bad, and that the rows between the last bad one and it are good.
    pub(super) fn bad_at(&mut self, row: usize) {
        self.rows = usize::midpoint(self.rows(), row.saturating_sub(self.since));
        self.since = self.since.max(row + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of COPYs that settle `rows` rows, and the total number of rows in them.
    fn copies(rows: usize, is_bad: impl Fn(usize) -> bool) -> (usize, usize) {
        let mut chunk_size = ChunkSizes::default().begin(Wire::Text);
        let (mut from, mut settled) = (0, vec![false; rows]);
        let (mut copies, mut sent) = (0, 0);
        while from < rows {
            let to = rows.min(from + chunk_size.rows());
            let open = settled[from..to].iter().filter(|settled| !**settled).count();
            copies += usize::from(open > 0);
            sent += open;
            match (from..to).find(|&at| !settled[at] && is_bad(at)) {
                Some(bad) => {
                    settled[bad] = true;
                    chunk_size.bad_at(bad);
                }
                None => {
                    from = to;
                    chunk_size.good_before(to);
                }
            }
        }
        (copies, sent)
    }

    #[test]
    fn few_rows_are_sent_in_vain_whatever_the_number_of_bad_ones() {
        const ROWS: usize = 100_000;
        for one_in in [1, 2, 3, 10, 100, 1000, ROWS + 1] {
            let hash = |at: usize| (at as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 40;
            let scattered = |at: usize| hash(at) % (one_in as u64) == 0;
            let evenly = |at: usize| at % one_in == one_in - 1;
            let in_bursts = |at: usize| at % (10 * one_in) < 10;
            for is_bad in [&scattered as &dyn Fn(usize) -> bool, &evenly, &in_bursts] {
                let bad = (0..ROWS).filter(|&at| is_bad(at)).count();
                let (copies, sent) = copies(ROWS, is_bad);
                assert!(2 * copies <= 5 * bad + 50, "1 in {one_in}: {copies} for {bad}");
                assert!(sent <= 4 * ROWS, "1 in {one_in}: {sent} rows sent");
            }
        }
        assert!(copies(ROWS, |_| true).0 < ROWS + 10);
    }
}
