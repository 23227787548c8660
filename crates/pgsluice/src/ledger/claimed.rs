//! The rows that earlier runs of a load have committed, according to their receipts.

use std::collections::HashMap;

use pgsluice_core::origin::Origin;

use crate::row_counts::RowCounts;

/// One receipt, as read from the ledger.
#[derive(Clone, Debug)]
pub(crate) struct StoredReceipt {
    pub(crate) number: i64,
    pub(crate) tree: i32,
    pub(crate) node: usize,
    /// All rows of the node that begin before this place are committed.
    pub(crate) upto: Origin,
    /// The rows that begin in these ranges are committed too: source, first byte, and the byte after the
    /// last.
    pub(crate) ranges: Vec<(u32, u64, u64)>,
    pub(crate) rows: u64,
    /// Their counts, if some were not simply inserted or rejected.
    pub(crate) counts: RowCounts,
}

impl StoredReceipt {
    /// Returns the place from which on the receipt covers no rows.
    pub(crate) fn end(&self) -> Origin {
        let stops = self.ranges.iter().map(|&(input, _, at)| Origin { input, at });
        stops.chain([self.upto]).max().unwrap_or(self.upto)
    }
}

/// The committed rows of one tree's nodes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claimed {
    nodes: HashMap<usize, ClaimedNode>,
    end: Origin,
}

#[derive(Clone, Debug, Default)]
struct ClaimedNode {
    upto: Origin,
    /// The ranges, sorted and disjoint.
    ranges: Vec<(u32, u64, u64)>,
    /// The number of rows according to the receipts.
    rows: u64,
}

impl Claimed {
    /// Combines `receipts`.
    pub(crate) fn from_receipts<'r>(receipts: impl Iterator<Item = &'r StoredReceipt>) -> Self {
        let mut claimed = Self::default();
        for receipt in receipts {
            let node = claimed.nodes.entry(receipt.node).or_default();
            node.upto = node.upto.max(receipt.upto);
            node.ranges.extend(&receipt.ranges);
            node.rows += receipt.rows;
            claimed.end = claimed.end.max(receipt.end());
        }
        claimed.nodes.values_mut().for_each(ClaimedNode::tidy);
        claimed
    }

    /// Whether no rows are committed.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Returns the place from which on no rows are committed.
    pub(crate) fn end(&self) -> Origin {
        self.end
    }

    /// Returns each node with the number of its committed rows.
    pub(crate) fn rows(&self) -> impl Iterator<Item = (usize, u64)> {
        self.nodes.iter().map(|(&node, of_node)| (node, of_node.rows))
    }

    /// Whether a row of `node` that begins at `at` is committed.
    #[inline]
    pub(crate) fn has(&self, node: usize, at: Origin) -> bool {
        self.nodes.get(&node).is_some_and(|node| node.has(at))
    }
}

impl ClaimedNode {
    fn tidy(&mut self) {
        let mut ranges = std::mem::take(&mut self.ranges);
        ranges.retain(|&(input, _, at)| Origin { input, at } > self.upto);
        ranges.sort_unstable();
        for range in ranges {
            match self.ranges.last_mut() {
                Some(last) if last.0 == range.0 && range.1 <= last.2 => {
                    last.2 = last.2.max(range.2)
                }
                _ => self.ranges.push(range),
            }
        }
    }

    fn has(&self, at: Origin) -> bool {
        if at < self.upto {
            return true;
        }
        let after =
            self.ranges.partition_point(|&(input, start, _)| Origin { input, at: start } <= at);
        let range = after.checked_sub(1).map(|index| self.ranges[index]);
        range.is_some_and(|(source, _, stop)| source == at.input && at.at < stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn origin((input, at): (u32, u64)) -> Origin {
        Origin { input, at }
    }

    fn receipt(node: usize, upto: (u32, u64), ranges: &[(u32, u64, u64)]) -> StoredReceipt {
        StoredReceipt {
            number: 0,
            tree: 0,
            node,
            upto: origin(upto),
            ranges: ranges.to_vec(),
            rows: 0,
            counts: RowCounts::default(),
        }
    }

    #[test]
    fn rows_are_in_that_any_receipt_claims() {
        let receipts = [
            receipt(1, (0, 10), &[(0, 30, 31), (1, 5, 9)]),
            receipt(1, (0, 20), &[(0, 12, 14), (0, 31, 40)]),
            receipt(2, (1, 0), &[]),
        ];
        let claimed = Claimed::from_receipts(receipts.iter());
        let within = [(0, 0), (0, 19), (0, 30), (0, 31), (0, 39), (1, 5), (1, 8)];
        assert!(within.iter().all(|&at| claimed.has(1, origin(at))));
        let beyond = [(0, 20), (0, 29), (0, 40), (1, 4), (1, 9), (2, 6)];
        assert!(!beyond.iter().any(|&at| claimed.has(1, origin(at))));
        assert!(
            claimed.has(2, origin((0, 999)))
                && !claimed.has(2, origin((1, 0)))
                && !claimed.has(3, origin((0, 0)))
        );
    }

    #[test]
    fn a_receipt_reaches_to_the_end_of_its_last_range() {
        assert_eq!(receipt(0, (0, 10), &[(0, 30, 31), (0, 12, 13)]).end(), origin((0, 31)));
        assert_eq!(receipt(0, (1, 0), &[(0, 30, 31)]).end(), origin((1, 0)));
    }
}
