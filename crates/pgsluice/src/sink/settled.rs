//! The rows that a transaction has stored: their number, their node, and their outcome.

use std::sync::Arc;

use pgsluice_core::bucket::Payload;
use pgsluice_core::catalog::NodeId;

use crate::exchange::Destination;
use crate::fate::Fate;
use crate::plan::landing::Evidence;

/// The outcome of the rows of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    pub(super) node: NodeId,
    pub(super) rows: u64,
    pub(super) fate: Fate,
}

/// The outcome of the rows of a transaction.
pub(super) struct Loaded {
    pub(super) settled: Vec<Settled>,
    /// Where they are, if not where the plan says.
    pub(super) destination: Option<Destination>,
    /// Evidence for rows of several leaves.
    pub(super) evidence: Evidence,
}

/// A payload that was copied, and whether the server has shown where its rows are.
pub(super) struct Copied {
    pub(super) payload: Arc<Payload>,
    pub(super) stored: u64,
    pub(super) is_proven: bool,
}

impl Loaded {
    /// Says what has become of rows that were copied, and where the server has shown them to be.
    pub(super) fn of(copied: &[Copied], destination: Option<Destination>) -> Self {
        let is_shown = |it: &Copied| it.is_proven || it.payload.nodes().len() == 1;
        let evidence = match copied.iter().all(is_shown) {
            true => Evidence::Counts,
            false => Evidence::Server,
        };
        Self { settled: copied.iter().flat_map(Copied::settled).collect(), destination, evidence }
    }
}

impl Copied {
    /// Says what has become of the rows, node by node if it is known where they are.
    pub(super) fn settled(&self) -> Vec<Settled> {
        let Self { payload, stored, is_proven } = self;
        let of_new = |inserted| Fate { inserted, ..Fate::default() };
        if !is_proven {
            let (node, rows) = (payload.node(), payload.rows() as u64);
            return vec![Settled { node, rows, fate: of_new(*stored) }];
        }
        let by_node = payload.rows_by_node().map(|(node, rows)| (node, rows as u64));
        by_node.map(|(node, rows)| Settled { node, rows, fate: of_new(rows) }).collect()
    }
}
