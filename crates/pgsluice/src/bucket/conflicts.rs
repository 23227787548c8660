//! The leaves in which rows of a load conflict with existing rows: they have the same keys.
//!
//! Rows without conflicts are copied straight into the table. If rows of a leaf have conflicted with existing
//! ones, the following rows pass through a stage, until a payload has no conflicts there.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};

use pgsluice_core::catalog::NodeId;

/// The leaves with conflicts so far.
#[derive(Debug)]
pub(crate) struct Conflicts {
    /// Whether the latest rows of each node have conflicted with existing rows.
    nodes: Vec<AtomicBool>,
    /// The number of nodes for which that is true.
    count: AtomicUsize,
    /// Whether existing rows must be updated before others are inserted.
    updates_first: AtomicBool,
}

impl Conflicts {
    /// Starts with `nodes` nodes, without conflicts.
    pub(super) fn new(nodes: usize) -> Self {
        Self {
            nodes: (0..nodes).map(|_| AtomicBool::new(false)).collect(),
            count: AtomicUsize::new(0),
            updates_first: AtomicBool::new(false),
        }
    }

    /// Whether rows of one of `nodes` will probably conflict with existing rows.
    pub(crate) fn are_likely_in(&self, nodes: &[NodeId]) -> bool {
        nodes.iter().any(|node| self.nodes[*node].load(Relaxed))
    }

    /// Whether rows of any node will probably conflict with existing rows.
    pub(super) fn are_likely(&self) -> bool {
        self.count.load(Relaxed) > 0
    }

    /// Records whether the latest rows of `node` have conflicted with existing rows.
    pub(crate) fn record(&self, node: NodeId, has_conflicts: bool) {
        match (self.nodes[node].swap(has_conflicts, Relaxed), has_conflicts) {
            (false, true) => _ = self.count.fetch_add(1, Relaxed),
            (true, false) => _ = self.count.fetch_sub(1, Relaxed),
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

    /// Records that the first rows of the load have conflicts, so rows of all leaves probably will.
    pub(crate) fn record_everywhere(&self) {
        (0..self.nodes.len()).for_each(|node| self.record(node, true));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leaf_without_conflicts_is_copied_into_again() {
        let conflicts = Conflicts::new(3);
        assert!(!conflicts.are_likely() && !conflicts.are_likely_in(&[0, 1, 2]));
        conflicts.record_everywhere();
        assert!(conflicts.are_likely() && conflicts.are_likely_in(&[2]));
        for _ in 0..2 {
            conflicts.record(2, false);
            conflicts.record(1, false);
        }
        assert!(conflicts.are_likely() && !conflicts.are_likely_in(&[1, 2]));
        conflicts.record(0, false);
        assert!(!conflicts.are_likely());
    }
}
