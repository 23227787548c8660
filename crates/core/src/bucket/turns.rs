//! Turns: the order in which the rows of several leaves go through the root in one COPY.
//!
//! ```text
//!     a leaf at a time      AAAAAAAA BBBBBBBB CCCCCCCC     1000 slots for each leaf
//!     in turns              AA BB CC AA BB CC AA BB CC     125 slots for each, of 8 in turn
//! ```
//!
//! COPY buffers up to [`BUFFERED_ROWS`] rows over all partitions. Each row occupies a slot of its partition,
//! which COPY creates once and keeps. Each slot pins the descriptor of the table, and to release a pin the
//! server searches all of them. So the time grows with the square of the largest number of slots that a leaf
//! needs (`CopyMultiInsertInfo` in `src/backend/commands/copyfrom.c`, `ResourceOwnerForget` in
//! `src/backend/utils/resowner/resowner.c`, PostgreSQL 13 to 18; measured in docs/copy-slots.md). Rows that take
//! turns are flushed before any leaf has many.

use super::block::{Block, Slice};

/// Number of rows that COPY buffers before it stores them: `MAX_BUFFERED_TUPLES`.
const BUFFERED_ROWS: usize = 1000;

/// Number of leaves that take turns. More gain nothing, and the server keeps at most 32 buffers.
pub const TOGETHER: usize = 8;

/// Number of leaves that take turns in a COPY with more leaves than this. The server keeps the buffers of leaves
/// that have ended, and with shorter turns these have fewer slots.
const TOGETHER_OF_MANY: usize = 16;

/// The rows of one leaf, in order.
pub(super) struct Leaf {
    pub(super) slices: Vec<Slice>,
    /// Whether each slice is one row.
    pub(super) is_by_row: bool,
}

/// The remaining rows of a leaf.
struct RemainingRows {
    slices: std::vec::IntoIter<Slice>,
    is_by_row: bool,
    /// Part of a slice that the last turn left.
    cut: Option<Slice>,
}

/// Returns the slices of several leaves in turns. When a leaf has no more rows, the next one takes its place.
pub(super) fn in_turns(blocks: &[Block], leaves: Vec<Leaf>) -> Vec<Slice> {
    let together = if leaves.len() > TOGETHER_OF_MANY { TOGETHER_OF_MANY } else { TOGETHER };
    let turn = BUFFERED_ROWS / leaves.len().clamp(1, together);
    let mut leaves = leaves.into_iter().map(|Leaf { slices, is_by_row }| RemainingRows {
        slices: slices.into_iter(),
        is_by_row,
        cut: None,
    });
    let mut active: Vec<RemainingRows> = leaves.by_ref().take(together).collect();
    let mut slices = Vec::new();
    while !active.is_empty() {
        active.retain_mut(|rest| {
            rest.take_turn(blocks, turn, &mut slices)
                || leaves.next().is_some_and(|next| {
                    *rest = next;
                    true
                })
        });
    }
    slices
}

impl RemainingRows {
    /// Moves some rows to `slices`; returns whether any are left.
    fn take_turn(&mut self, blocks: &[Block], mut turn: usize, slices: &mut Vec<Slice>) -> bool {
        if self.is_by_row {
            slices.extend(self.slices.by_ref().take(turn));
            return !self.slices.as_slice().is_empty();
        }
        while let Some(slice) = self.cut.take().or_else(|| self.slices.next()) {
            let (end, rows) = blocks[slice.block as usize].end_of(slice.start, slice.end, turn);
            slices.push(Slice { end, ..slice });
            turn -= rows;
            self.cut = (end < slice.end).then_some(Slice { start: end, ..slice });
            if turn == 0 {
                return self.cut.is_some() || !self.slices.as_slice().is_empty();
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::super::{BlockRow, Order, Payload, SendOrder, SortColumn, Wire};
    use super::*;

    /// Returns a payload of leaves with the given numbers of rows, in blocks of seven.
    fn payload(leaves: &[usize]) -> Payload {
        let payloads = leaves.iter().enumerate().map(|(leaf, &rows)| {
            let blocks = (0..rows).step_by(7).map(|begin| {
                let mut block = Block::new(1000);
                for row in begin..rows.min(begin + 7) {
                    let at = BlockRow::new(row as u32 / 10, row as u32, 0);
                    let pushed = block.push(at, |block| {
                        block.push(leaf as u8);
                        Ok::<(), ()>(())
                    });
                    assert_eq!(pushed, Ok(()));
                }
                block
            });
            Payload::new(leaf, Wire::Binary, blocks.collect())
        });
        let mut payloads = payloads.collect::<Vec<_>>();
        let first = payloads.remove(0);
        let mut payload = first.with(payloads);
        payload.arrange(|_| &SendOrder::Input);
        payload
    }

    /// Returns the successive leaves, and the number of rows of each.
    fn runs(payload: &Payload) -> Vec<(u8, usize)> {
        let leaves: Vec<u8> = payload.in_order().map(|(_, row)| row[0]).collect();
        leaves.chunk_by(u8::eq).map(|run| (run[0], run.len())).collect()
    }

    #[test]
    fn leaves_take_turns_of_what_the_server_buffers() {
        assert_eq!(
            runs(&payload(&[1100, 600])),
            [(0, 500), (1, 500), (0, 500), (1, 100), (0, 100)]
        );
        let eight = runs(&payload(&[250; 8]));
        assert_eq!(eight[..8], (0..8).map(|leaf| (leaf, 125)).collect::<Vec<_>>());
        assert_eq!(eight.len(), 16);
        let many = runs(&payload(&[124; TOGETHER_OF_MANY + 1]));
        let all_but_one: Vec<_> = (0..TOGETHER_OF_MANY as u8).map(|leaf| (leaf, 62)).collect();
        assert_eq!(many[..TOGETHER_OF_MANY], all_but_one);
        assert_eq!(many[TOGETHER_OF_MANY], (0, 62));
    }

    #[test]
    fn rows_that_are_sorted_take_the_same_turns() {
        let columns = [SortColumn { field: 0, order: Order::Bytes, descending: false }];
        let order = SendOrder::Key(columns.into());
        for leaves in [&[1100, 600][..], &[10, 130, 130, 20, 3], &[125; 9], &[1]] {
            let mut sorted = payload(leaves);
            // No row has this field, so the rows keep their order.
            sorted.arrange(|_| &order);
            assert!(sorted.is_sorted());
            assert_eq!(runs(&sorted), runs(&payload(leaves)));
        }
    }

    #[test]
    fn the_next_leaf_takes_the_place_of_one_that_has_ended() {
        let runs = runs(&payload(&[10, 130, 130, 130, 130, 130, 130, 130, 20, 3]));
        let leaves: Vec<u8> = runs.iter().map(|(leaf, _)| *leaf).collect();
        assert_eq!(leaves, [0, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 9]);
    }

    #[test]
    fn each_leaf_keeps_the_order_of_its_rows() {
        for leaves in [&[300, 1, 40][..], &[1; 20], &[999, 1001]] {
            let payload = payload(leaves);
            for (leaf, rows) in payload.apart() {
                assert_eq!(rows.len(), leaves[leaf]);
                assert!(rows.iter().map(|(at, _)| at.start.offset).is_sorted());
                assert!(rows.iter().all(|(_, row)| usize::from(row[0]) == leaf));
            }
        }
    }
}
