//! What the threads of a load have done, added up, and whether it agrees.

use std::collections::BTreeMap;

use pgsluice_core::catalog::NodeId;
use pgsluice_core::route::Cause;

use crate::error::{Error, Result};
use crate::kind::Kind;

/// Where the rows of one thread went.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// Rows by the leaf that was found for them.
    pub leaves: BTreeMap<NodeId, u64>,
    /// Rows by the node that they stopped at, and why.
    pub stops: BTreeMap<(NodeId, Cause), u64>,
}

/// What one connection has committed.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Committed {
    /// Rows that were sent.
    pub sent: u64,
    /// Rows of these that the server says it has stored.
    pub stored: u64,
}

/// What all threads together have done.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Where all rows went.
    pub routed: Tally,
    /// What all connections have committed.
    pub committed: Committed,
    /// Bytes after an end-of-data marker, by input.
    pub ignored: Vec<(String, u64)>,
}

impl Outcome {
    pub(crate) fn add_routed(&mut self, tally: Tally) {
        for (leaf, rows) in tally.leaves {
            *self.routed.leaves.entry(leaf).or_default() += rows;
        }
        for (stop, rows) in tally.stops {
            *self.routed.stops.entry(stop).or_default() += rows;
        }
    }

    pub(crate) fn add_committed(&mut self, other: Committed) {
        self.committed.sent += other.sent;
        self.committed.stored += other.stored;
    }

    /// Rows of the inputs.
    pub(crate) fn read(&self) -> u64 {
        self.routed.leaves.values().sum::<u64>() + self.routed.stops.values().sum::<u64>()
    }

    /// Every row that was read must have been sent, and no row can be stored twice.
    pub(crate) fn check(&self) -> Result<()> {
        let Committed { sent, stored } = self.committed;
        let read = self.read();
        if sent == read && stored <= sent {
            return Ok(());
        }
        let message = format!("{read} rows were read, {sent} sent and {stored} stored");
        Err(Error::new(Kind::Server, message)
            .sqlstate("XX000")
            .hint("This is a bug in pgsluice. Do not trust the table's content; please report it."))
    }
}
