//! The rows that a transaction has stored: their number, their node, and their outcome.

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
    /// Where they are, if not where the plan says.
    pub(super) destination: Option<Destination>,
    /// Evidence for rows of several leaves.
    pub(super) evidence: Evidence,
    /// How they were merged with existing rows, if they passed the stage.
    pub(super) merge: Option<Merge>,
}
