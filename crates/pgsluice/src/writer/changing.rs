//! Rows that may exist already: few go as arrays in one INSERT with `ON CONFLICT`, many are copied into the
//! stage of the session and applied from there.
//!
//! As long as no row has conflicted with an existing one, rows go straight into the table. When the server
//! reports an existing key, that flush is sent again through the stage. The next flushes use `ON CONFLICT` or
//! the stage, until several have had no conflict. If rows may not go through the root together, the rows of
//! each leaf pass through the stage separately.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::TryStreamExt;
use pgsluice_core::bucket::Payload;
use pgsluice_core::catalog::{NodeId, ROOT};
use tokio_postgres::{Client, Row, Statement};

use super::batch::WriteBatch;
use super::failure::WriteFailure;
use super::parameters::encode_arrays;
use super::send_method::SendMethod;
use super::session::Planned;
use crate::counts::reconcile::misplaced;
use crate::error::Error;
use crate::error::kind::Kind;
use crate::plan::changes::Changes;
use crate::row_counts::RowCounts;
use crate::sink::failure::Failure;
use crate::sink::merge::Merge;
use crate::sink::part::{Landing, Part, Rows};
use crate::sink::sql::changes::Applied;
use crate::sink::stage_merge::{MergeOutcome, counts, in_node};
use crate::sink::transaction::Stored;

impl Planned {
    /// Sends all rows of a payload in one statement with `ON CONFLICT`.
    pub(super) async fn insert_or_change(
        &self,
        client: &Client,
        statement: &Statement,
        payload: &Payload,
    ) -> Result<MergeOutcome, Failure> {
        let arrays = encode_arrays(payload, &self.plan.catalogue.types);
        let inserted = client.query_raw(statement, arrays).await?.try_collect::<Vec<Row>>();
        Ok(MergeOutcome {
            applied: inserted.await?.iter().map(Applied::from_insert).collect(),
            misplaced: 0,
        })
    }

    /// Counts the outcome of the rows that [`Self::insert_or_change`] has sent.
    pub(super) fn count_inserted(
        &self,
        batch: &WriteBatch,
        changes: &Changes,
        payload: &Payload,
        merged: &MergeOutcome,
    ) -> Result<RowCounts, WriteFailure> {
        self.check_merged(payload, merged)?;
        let mut all = batch.unsent_counts();
        let applied = in_node(&self.plan, ROOT, &merged.applied);
        all.add(counts(changes, payload.rows() as u64, applied));
        self.record_conflicts(batch, &all);
        Ok(all)
    }

    /// Counts the outcome of all rows, whose COPYs have ended.
    pub(super) fn count(
        &self,
        batch: &WriteBatch,
        method: SendMethod,
        stored: Vec<Stored>,
    ) -> Result<RowCounts, WriteFailure> {
        let Some(changes) = self.plan.changes.as_ref().filter(|_| method != SendMethod::Copy)
        else {
            return Ok(batch.counts(stored.iter().map(|stored| stored.rows).sum()));
        };
        let mut all = batch.unsent_counts();
        let payloads = batch.payloads.iter();
        let targets =
            payloads.flat_map(|it| self.targets(it).into_iter().map(move |target| (it, target)));
        for ((payload, (node, rows)), Stored { merged, .. }) in targets.zip(stored) {
            let merged = merged.unwrap_or_default();
            self.check_merged(payload, &merged)?;
            all.add(counts(changes, rows, in_node(&self.plan, node, &merged.applied)));
        }
        self.record_conflicts(batch, &all);
        Ok(all)
    }

    /// Returns the tables into which the rows of a payload are merged from the stage, with the number of rows
    /// for each.
    pub(super) fn targets(&self, payload: &Payload) -> Vec<(NodeId, u64)> {
        if self.updates_first.get() {
            return payload.rows_by_node().map(|(node, rows)| (node, rows as u64)).collect();
        }
        // A leaf that is addressed by name does not accept rows that now belong to another one.
        let joins = self.plan.changes.as_ref().is_none_or(Changes::may_join_leaves);
        let node = if joins { ROOT } else { payload.node() };
        vec![(node, payload.rows() as u64)]
    }

    /// Returns the parts of a payload that pass through the stage in turn, one for each of its
    /// [`Self::targets`].
    pub(super) fn parts<'p>(&self, payload: &'p Arc<Payload>) -> Vec<Part<'p>> {
        if self.updates_first.get() {
            let apart = payload.apart().map(|(node, rows)| Part {
                rows: Rows::Some(payload.wire(), rows),
                landing: Landing::Stage(node, Merge::UpdateFirst),
            });
            return apart.collect();
        }
        let parts = self.targets(payload).into_iter().map(|(node, _)| Part {
            rows: Rows::All(payload),
            landing: Landing::Stage(node, Merge::Conflict),
        });
        parts.collect()
    }

    fn record_conflicts(&self, batch: &WriteBatch, counts: &RowCounts) {
        let has_conflicts = counts.inserted < batch.rows_sent();
        self.without_conflict.set(if has_conflicts {
            0
        } else {
            self.without_conflict.get().saturating_add(1)
        });
    }

    /// Fails if the leaf of the rows is unknown and they cannot go through the root.
    pub(super) fn check_node(
        &self,
        changes: &Changes,
        payload: &Payload,
    ) -> Result<(), WriteFailure> {
        let node = payload.node();
        if changes.through_root || self.is_leaf(node) {
            return Ok(());
        }
        let relation = self.plan.tree.nodes[node].relation.label();
        let message = format!("no partition of relation {relation} is known for the row");
        let error = Error::new(Kind::Data, message).with_sqlstate("23514");
        Err(WriteFailure::Changed(self.gatherer.at_first(error, payload)))
    }

    /// Requests a new plan if rows have gone into leaves that the plan does not know, because their outcome
    /// was not counted.
    fn check_merged(&self, payload: &Payload, merged: &MergeOutcome) -> Result<(), WriteFailure> {
        if merged.misplaced > 0 {
            let error = misplaced(&self.plan, payload.node(), merged.misplaced);
            return Err(WriteFailure::Changed(error));
        }
        let nodes = payload.nodes();
        let leaves: Vec<NodeId> = match nodes.iter().all(|node| self.is_leaf(*node)) {
            true => nodes.to_vec(),
            false => self.plan.tree.leaves().collect(),
        };
        let oids = leaves.into_iter().map(|leaf| self.plan.catalogue.facts[leaf].oid);
        // Statements that change rows of a single table do not report it.
        let known: HashSet<u32> = oids.chain([0]).collect();
        match merged.applied.iter().all(|applied| known.contains(&applied.leaf)) {
            true => Ok(()),
            false => Err(WriteFailure::Changed(self.plan.moved(ROOT))),
        }
    }

    fn is_leaf(&self, node: NodeId) -> bool {
        self.plan.tree.nodes[node].key.is_none()
    }
}
