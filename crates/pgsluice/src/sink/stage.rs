//! Existing rows: chooses how the rows of a transaction are merged with rows of the table, and counts the
//! outcome.
//!
//! As long as rows do not conflict with existing ones, they are copied straight into the table, as in any load.
//! When the server reports an existing key, the transaction begins again through the stage. Rows of the same
//! leaf then take that path as long as some of them conflict with existing ones
//! ([`Conflicts`](crate::bucket::conflicts::Conflicts)). Inserting the rows whose keys are absent takes half
//! the time of `ON CONFLICT`, but fails if another session inserts one at the same time; the next attempt then
//! uses `ON CONFLICT` ([`Merge`]).
//!
//! `INSERT` refuses a NULL in a NOT NULL column before it looks for the key, even if the row exists and would
//! keep its own value. Such rows go leaf by leaf: existing rows are updated, and then the others are
//! inserted.

use std::sync::Arc;

use pgsluice_core::bucket::Payload;
use pgsluice_core::catalog::NodeId;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::connection::Connection;
use super::failure::{Doubt, Failure};
use super::merge::{Merge, Method};
use super::settled::Settled;
use super::stage_merge::{MergeOutcome, counts, in_node, may_exist};
use super::transaction::{Commit, Stored};
use crate::counts::reconcile::misplaced;
use crate::plan::Plan;
use crate::plan::changes::Changes;
use crate::plan::landing::Evidence;
use crate::row_counts::RowCounts;

/// The maximum number of times that rows are sent again because another session inserts their keys.
pub(super) const MAX_MEANWHILE: u32 = 5;

impl Connection<'_> {
    /// Chooses how the rows of `payloads` are merged with existing ones. Returns `None` if they are copied
    /// straight into the table.
    pub(super) fn choose_merge(&self, payloads: &[Arc<Payload>]) -> Option<Merge> {
        let changes = self.flow.plan.changes.as_ref()?;
        let is_likely =
            |payload: &Arc<Payload>| self.queue.conflicts.are_likely_in(payload.nodes());
        if self.queue.conflicts.updates_first() {
            return Some(Merge::UpdateFirst);
        }
        // The transaction of an all-or-nothing load cannot begin again.
        if self.flow.is_atomic {
            return Some(Merge::Conflict);
        }
        let is_straight = changes.may_copy() && !payloads.iter().any(is_likely);
        (!is_straight).then(|| merge_for_existing(changes))
    }

    /// Returns how to merge rows that the server has refused because of existing ones, or `None` if there is
    /// no other method to try. Counts in `meanwhile` how often another session has inserted a key.
    pub(super) fn next_merge(
        &self,
        merge: Option<Merge>,
        error: &Error,
        payloads: &[Arc<Payload>],
        commit: Commit,
        meanwhile: &mut u32,
    ) -> Option<Option<Merge>> {
        let changes = self.flow.plan.changes.as_ref()?;
        if merge != Some(Merge::UpdateFirst) && may_exist(changes, error) {
            if self.flow.is_atomic {
                self.flow.control.attempts.update_first();
            }
            return Some(Some(Merge::UpdateFirst));
        }
        if !is_conflict(error) || self.flow.is_atomic {
            return None;
        }
        match merge {
            Some(Merge::Conflict) => None,
            Some(Merge::UpdateFirst) => {
                *meanwhile += 1;
                (*meanwhile <= MAX_MEANWHILE).then_some(merge)
            }
            Some(Merge::Absent) => Some(Some(Merge::Conflict)),
            None => {
                match commit {
                    Commit::First => self.queue.conflicts.record_everywhere(),
                    _ => {
                        let nodes = payloads.iter().flat_map(|payload| payload.nodes());
                        nodes.for_each(|node| self.queue.conflicts.record(*node, true));
                    }
                }
                Some(Some(merge_for_existing(changes)))
            }
        }
    }

    /// Whether the server cannot say at which row it failed, because the failed statement was not a COPY.
    pub(super) fn hides_row(&self, error: &Error, Method { merge, is_apart }: Method) -> bool {
        let context = error.as_db_error().and_then(|error| error.where_()).unwrap_or_default();
        let is_hidden = merge.is_some() && !context.contains("COPY ");
        match self.flow.is_atomic {
            true => is_hidden && self.divides_parts(),
            false => is_hidden || is_apart,
        }
    }

    /// Counts the outcome of the rows of a payload that were merged from the stage.
    pub(super) fn settle_merged(
        &self,
        changes: &Changes,
        payload: &Payload,
        merged: &MergeOutcome,
    ) -> Result<Vec<Settled>, Failure> {
        let is_leaf = |node: &NodeId| self.flow.plan.tree.nodes[*node].key.is_none();
        let is_known = self.queue.evidence() != Evidence::Server;
        if payload.nodes().len() == 1 || is_known && payload.nodes().iter().all(is_leaf) {
            let settled = self.by_node(changes, payload, merged)?;
            for Settled { node, rows, counts } in &settled {
                self.queue.conflicts.record(*node, counts.inserted < *rows);
            }
            return Ok(settled);
        }
        let (node, rows) = (payload.node(), payload.rows() as u64);
        let counts = counts_of(self.flow.plan, changes, node, rows, merged)?;
        let has_conflicts = counts.inserted < rows;
        payload.nodes().iter().for_each(|node| self.queue.conflicts.record(*node, has_conflicts));
        Ok(vec![Settled { node, rows, counts }])
    }

    /// Returns the outcome of the rows of each node. Fails if a node got more rows than were meant for it.
    fn by_node(
        &self,
        changes: &Changes,
        payload: &Payload,
        merged: &MergeOutcome,
    ) -> Result<Vec<Settled>, Failure> {
        let (mut settled, mut written) = (Vec::new(), 0);
        let is_joined = payload.nodes().len() > 1;
        for (node, rows) in payload.rows_by_node() {
            let applied = in_node(self.flow.plan, node, &merged.applied);
            if is_joined && applied.inserted + applied.updated > rows as i64 {
                return Err(Failure::Unproven(Doubt::Counts));
            }
            written += applied.inserted + applied.updated;
            let rows = rows as u64;
            let counts = counts_of(self.flow.plan, changes, node, rows, merged)?;
            settled.push(Settled { node, rows, counts });
        }
        let all: i64 = merged.applied.iter().map(|it| it.inserted + it.updated).sum();
        match is_joined && written != all {
            true => Err(Failure::Unproven(Doubt::Counts)),
            false => Ok(settled),
        }
    }
}

/// Counts the outcome of rows of one node.
pub(super) fn settle_node(
    plan: &Plan,
    node: NodeId,
    rows: u64,
    stored: &Stored,
) -> Result<Settled, Failure> {
    let counts = match (&plan.changes, &stored.merged) {
        (Some(changes), Some(merged)) => counts_of(plan, changes, node, rows, merged)?,
        _ => RowCounts { inserted: stored.rows, ..RowCounts::default() },
    };
    Ok(Settled { node, rows, counts })
}

/// Counts the outcome of `rows` rows that were merged from the stage into `node`. Fails if one of them belongs
/// to another node.
fn counts_of(
    plan: &Plan,
    changes: &Changes,
    node: NodeId,
    rows: u64,
    merged: &MergeOutcome,
) -> Result<RowCounts, Failure> {
    match merged.misplaced {
        0 => Ok(counts(changes, rows, in_node(plan, node, &merged.applied))),
        misplaced_rows => Err(Failure::Misrouted(misplaced(plan, node, misplaced_rows))),
    }
}

/// Whether the server reports that a key exists.
pub(super) fn is_conflict(error: &Error) -> bool {
    let conflicts = [&SqlState::UNIQUE_VIOLATION, &SqlState::EXCLUSION_VIOLATION];
    error.code().is_some_and(|code| conflicts.contains(&code))
}

/// Returns how to merge rows that probably conflict with existing ones.
fn merge_for_existing(changes: &Changes) -> Merge {
    // If NULL equals NULL, keys are not found by the index.
    let is_fast = changes.inserts
        && changes.in_order.is_none()
        && !changes.key.joins_nulls
        && !changes.has_triggers;
    if is_fast { Merge::Absent } else { Merge::Conflict }
}
