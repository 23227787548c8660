//! Alternatives to sending rows to their own leaves: together with rows of other leaves through the root.

use super::Plan;
use super::changes::Changes;
use crate::job::{Job, Sink};
use crate::pg::introspect::Facts;

/// Evidence that rows that were sent together have reached their leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Evidence {
    /// The server counts the rows that it stores in each leaf.
    #[default]
    Counts,
    /// These counts are unreliable because other activity changes them. The rows are sent leaf by leaf, and
    /// each leaf checks its own rows.
    Leaves,
    /// No evidence: the partitions have changed since the load was planned, or the server does not count. The
    /// server routes the rows.
    Server,
}

impl Plan {
    /// Whether a load of this plan begins with one transaction through the root, before which nothing is
    /// committed.
    pub(crate) fn has_first(&self, job: &Job) -> bool {
        let is_foreign = |facts: &Facts| facts.kind == 'f';
        job.target.sink == Sink::Copy
            && !job.safety.atomic
            && self.exchange.is_none()
            && self.one_statement.is_none()
            && !self.catalogue.facts.iter().any(is_foreign)
    }

    /// Whether rows of several leaves may go through the root together: the server then counts how many it
    /// has stored in each leaf, and no other statement can have changed these counts.
    pub(crate) fn joins_leaves(&self) -> bool {
        !self.leaf_by_leaf && self.counts_leaves()
    }

    /// Returns the evidence for rows of several leaves that are sent together.
    pub(crate) fn evidence(&self) -> Evidence {
        match self.joins_leaves() {
            true => Evidence::Counts,
            false if self.leaf_by_leaf => Evidence::Leaves,
            false => Evidence::Server,
        }
    }

    /// Whether rows of several leaves could be counted, ignoring a setting of the server and earlier
    /// attempts.
    pub(crate) fn is_counted_on(&self) -> bool {
        !self.catalogue.several.are_counted || self.counts_leaves()
    }

    fn counts_leaves(&self) -> bool {
        let is_plain = |facts: &Facts| facts.kind != 'f' && !facts.row_triggers;
        self.exchange.is_none()
            && self.changes.as_ref().is_none_or(Changes::may_join_leaves)
            && self.one_statement.is_none()
            && self.tree.leaves().nth(1).is_some()
            && self.catalogue.several.are_counted
            && self.catalogue.facts.iter().all(is_plain)
            && self.detours.iter().all(Option::is_none)
    }
}
