//! The leaves in which the rows of a load have met existing rows with the same keys.
//!
//! Rows that meet none are copied straight into the table. If rows of a leaf have met existing ones, the
//! following rows pass through a stage, until a payload meets none there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use pgsluice_core::catalog::NodeId;

/// The leaves where rows have met existing ones so far.
#[derive(Debug)]
pub(crate) struct Meeting {
    /// Whether the latest rows of each node have met existing rows.
    nodes: Vec<AtomicBool>,
    /// The number of nodes for which that is true.
    met: AtomicUsize,
    /// Whether existing rows must be updated before others are inserted.
    updates_first: AtomicBool,
}

impl Meeting {
    /// Starts with `nodes` nodes, none of which has met existing rows.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            nodes: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            met: AtomicUsize::new(0),
            updates_first: AtomicBool::new(false),
        }
    }

    /// Whether rows of one of `nodes` will probably meet existing rows.
    pub(crate) fn is_likely_in(&self, nodes: &[NodeId]) -> bool {
        nodes.iter().any(|node| self.nodes[*node].load(Relaxed))
    }

    /// Whether rows of any node will probably meet existing rows.
    pub(super) fn is_likely(&self) -> bool {
        self.met.load(Relaxed) > 0
    }

    /// Records whether the latest rows of `node` have met existing rows.
    pub(crate) fn record(&self, node: NodeId, met: bool) {
        match (self.nodes[node].swap(met, Relaxed), met) {
            (false, true) => _ = self.met.fetch_add(1, Relaxed),
            (true, false) => _ = self.met.fetch_sub(1, Relaxed),
            _ => {}
        }
    }

    /// Whether existing rows must be updated before others are inserted.
    pub(crate) fn updates_first(&self) -> bool {
        self.updates_first.load(Relaxed)
    }

    /// Makes existing rows be updated before others are inserted, from now on.
    pub(crate) fn update_first(&self) {
        self.updates_first.store(true, Relaxed);
    }

    /// Records that the first rows of the load have met existing rows, so rows of all leaves probably will.
    pub(crate) fn expect_everywhere(&self) {
        (0..self.nodes.len()).for_each(|node| self.record(node, true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_that_meets_none_is_copied_into_again() {
        let meeting = Meeting::new(3);
        assert!(!meeting.is_likely() && !meeting.is_likely_in(&[0, 1, 2]));
        meeting.expect_everywhere();
        assert!(meeting.is_likely() && meeting.is_likely_in(&[2]));
        for _ in 0..2 {
            meeting.record(2, false);
            meeting.record(1, false);
        }
        assert!(meeting.is_likely() && !meeting.is_likely_in(&[1, 2]));
        meeting.record(0, false);
        assert!(!meeting.is_likely());
    }
}
