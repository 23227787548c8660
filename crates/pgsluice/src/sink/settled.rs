//! The rows that a transaction has stored: their number, node and outcome.

use pgsluice_core::catalog::NodeId;

use super::merge::Merge;
use crate::exchange::Destination;
use crate::plan::landing::Evidence;
use crate::row_counts::RowCounts;

/// The outcome of the rows of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    pub(super) node: NodeId,
    pub(super) rows: u64,
    pub(super) counts: RowCounts,
}

/// The outcome of the rows of a transaction.
pub(super) struct Loaded {
    pub(super) settled: Vec<Settled>,
    /// The shadow that they are in, if their leaf is exchanged.
    pub(super) destination: Option<Destination>,
    /// The evidence for the leaves of rows that were sent together.
    pub(super) evidence: Evidence,
    /// The method of merging, if they passed through the stage.
    pub(super) merge: Option<Merge>,
}
