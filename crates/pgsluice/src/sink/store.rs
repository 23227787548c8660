//! Storing the rows of a transaction: chooses how they are sent, and tries another method if the server
//! refuses them for a reason that the method can avoid.

use std::sync::Arc;
use std::time::Duration;

use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::{NodeId, ROOT};
use tokio::time::timeout;
use tokio_postgres::error::SqlState;

use super::connection::Connection;
use super::failure::{Doubt, Failure};
use super::merge::{Merge, Method};
use super::part::{Landing, Part, Rows};
use super::refusal::blame;
use super::settled::{Loaded, Settled};
use super::stage::settle_node;
use super::transaction::{Commit, Stored};
use crate::exchange::Destination;
use crate::pg::sql;
use crate::plan::landing::Evidence;
use crate::row_counts::RowCounts;
use crate::testing::failpoint::failpoint;

/// The longest time that a transaction waits for the first one of the load before it is rolled back. The first
/// one may wait for a lock or a key of this one, which the server cannot detect as a deadlock.
const FIRST_IN: Duration = Duration::from_secs(5);

impl Connection<'_> {
    /// Returns how transactions other than the first are committed.
    pub(super) fn commit_of_each(&self) -> Commit {
        match self.flow.is_atomic {
            true => Commit::Once { divides: self.divides_parts() },
            false => Commit::Each,
        }
    }

    /// Stores the rows of a transaction, or as many as the server accepts.
    pub(super) async fn store(
        &self,
        commit: Commit,
        payloads: &[Arc<Payload>],
        is_warm: bool,
    ) -> Result<Loaded, Failure> {
        let mut merge = self.choose_merge(payloads);
        let is_expected = |payload: &Arc<Payload>| self.chunk_sizes.is_expected_in(payload);
        if self.flow.rejects.is_some() && payloads.iter().any(is_expected) {
            return self.salvage(commit, payloads, merge, false).await;
        }
        let mut meanwhile = 0;
        let (error, at, method) = loop {
            self.make_stage(merge).await?;
            let method = Method { merge, is_apart: self.goes_apart(payloads, merge) };
            match self.try_store(commit, payloads, method, is_warm).await {
                Ok(loaded) => return Ok(loaded),
                Err(Failure::Early) => {
                    self.roll_back().await?;
                    self.first_is_in().await?;
                }
                Err(Failure::Unproven(doubt)) if !self.flow.is_atomic => {
                    self.roll_back().await?;
                    self.resolve(doubt).await?;
                }
                Err(Failure::Rows { error, at }) => {
                    let next = self.next_merge(merge, &error, payloads, commit, &mut meanwhile);
                    merge = next.unwrap_or(merge);
                    // The transaction of an all-or-nothing load cannot begin again.
                    if next.is_none() || self.flow.is_atomic {
                        break (error, at, Method { merge, ..method });
                    }
                    self.roll_back().await?;
                }
                Err(failure) => return Err(failure),
            }
        };
        if let Some(moved) = self.find_moved(payloads, &error).await? {
            return Err(moved);
        }
        if blame(self.flow, &error, payloads[0].node()).is_none() {
            return Err(Failure::Rows { error, at });
        }
        if self.flow.rejects.is_some() || self.hides_row(&error, method) {
            return self.salvage(commit, payloads, merge, true).await;
        }
        match self.mixes_rows(payloads) {
            true => Err(self.first_refused(payloads, error, at).await),
            false => Err(Failure::Rows { error, at }),
        }
    }

    pub(super) async fn roll_back(&self) -> Result<(), Failure> {
        Ok(self.link.client.batch_execute(sql::ROLLBACK).await?)
    }

    /// Creates the stage before the first transaction that needs it.
    pub(super) async fn make_stage(&self, merge: Option<Merge>) -> Result<(), Failure> {
        if merge.is_none() {
            return Ok(());
        }
        let made = self.prepared.make_stage(&self.link.client, self.flow.plan).await;
        made.map_err(Failure::Begin)
    }

    /// Whether the rows of a transaction reach the table in another order than that of the input, in a load
    /// where an existing row is an error.
    fn mixes_rows(&self, payloads: &[Arc<Payload>]) -> bool {
        let is_held = self.flow.is_atomic || self.maker.is_some();
        let mixes = payloads.len() > 1 || payloads.iter().any(|payload| payload.nodes().len() > 1);
        mixes && !is_held && self.flow.plan.changes.is_none()
    }

    /// Whether the rows of `payloads` go leaf by leaf. They do if the server's counts do not show their
    /// leaves, or if existing rows are updated before others are inserted.
    fn goes_apart(&self, payloads: &[Arc<Payload>], merge: Option<Merge>) -> bool {
        let is_joined = payloads.iter().any(|payload| payload.nodes().len() > 1);
        let evidence = self.queue.evidence();
        let by_merge = merge == Some(Merge::UpdateFirst) && evidence != Evidence::Server;
        is_joined && (evidence == Evidence::Leaves || by_merge)
    }

    /// Stores all rows of a transaction.
    async fn try_store(
        &self,
        commit: Commit,
        payloads: &[Arc<Payload>],
        method: Method,
        is_warm: bool,
    ) -> Result<Loaded, Failure> {
        let excluded = payloads.iter().find_map(|it| self.flow.plan.refuse_excluded(it.nodes()));
        excluded.map_or(Ok(()), |error| Err(Failure::Unmade(error)))?;
        // If leaves are exchanged, no first transaction has several payloads.
        let [first, ..] = payloads else { return Err(Failure::Stopped) };
        let destination = self.destination(first.node()).await?;
        if destination.is_none()
            && let Some(refusal) = self.flow.plan.refuse_unrouted(first.node())
        {
            return Err(self.refuse_unrouted(first, refusal).await);
        }
        // The first COPY of a session takes much longer.
        let is_plain = destination.is_none() && method.merge.is_none();
        if is_warm && is_plain && !method.is_apart && self.queue.wants_probe() {
            self.probe(first.node()).await?;
        }
        let into = payloads.iter().flat_map(|payload| into(payload, method.is_apart));
        let parts = payloads.iter().flat_map(|it| self.parts(it, method, destination.as_ref()));
        let mut transaction = self.transaction(commit, into, destination.as_ref());
        let storing = async {
            for part in parts {
                transaction.store(part).await?;
            }
            self.may_commit(commit).await?;
            // Rows in a shadow are not in the table yet.
            let with_receipts = if destination.is_some() { &[] } else { payloads };
            if method.merge.is_none() {
                let stored = self.commit(&mut transaction, with_receipts, &[], &[]).await?;
                return self.settle(payloads, method, stored);
            }
            let stored = transaction.end().await?;
            let (settled, evidence) = self.settle(payloads, method, stored)?;
            failpoint("stage::taken");
            self.commit(&mut transaction, with_receipts, &settled, &[]).await?;
            Ok((settled, evidence))
        };
        match storing.await {
            Ok((settled, evidence)) => {
                Ok(Loaded { settled, destination, evidence, merge: method.merge })
            }
            Err(failure) if method.is_apart => Err(self.refused_by_leaf(payloads, failure)),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the parts in which the rows of a payload are sent.
    fn parts<'p>(
        &self,
        payload: &'p Arc<Payload>,
        Method { merge, is_apart }: Method,
        destination: Option<&'p Destination>,
    ) -> Vec<Part<'p>> {
        let proves = self.proves(payload);
        let landing = |node| match (merge, destination) {
            (Some(merge), _) => Landing::Stage(node, merge),
            (None, Some(shadow)) => Landing::Shadow(node, shadow),
            (None, None) if node == ROOT => Landing::Root { proves },
            (None, None) => Landing::Leaf(node),
        };
        if is_apart {
            let wire = payload.wire();
            let apart = payload
                .apart()
                .map(|(node, rows)| Part { rows: Rows::Some(wire, rows), landing: landing(node) });
            return apart.collect();
        }
        vec![Part { rows: Rows::All(payload), landing: landing(payload.node()) }]
    }

    /// Whether the server's counts must show the rows of `payload` in their leaves: they are of several
    /// leaves and go through the root.
    fn proves(&self, payload: &Payload) -> bool {
        let is_leaf = |node: &NodeId| self.flow.plan.tree.nodes[*node].key.is_none();
        let is_joined = payload.nodes().len() > 1 && payload.nodes().iter().all(is_leaf);
        is_joined && self.prepared.has_proof() && self.queue.evidence() == Evidence::Counts
    }

    /// Waits until a transaction whose rows are sent may be committed. Fails after [`FIRST_IN`].
    async fn may_commit(&self, commit: Commit) -> Result<(), Failure> {
        failpoint("payload::committing");
        match commit {
            Commit::First => Ok(()),
            _ => timeout(FIRST_IN, self.first_is_in()).await.map_err(|_| Failure::Early)?,
        }
    }

    /// Waits until the first transaction of the load is committed.
    async fn first_is_in(&self) -> Result<(), Failure> {
        let waiting = async {
            self.queue.first_in().await;
            Ok(())
        };
        self.flow.control.stop.unless_stopped(waiting).await.map_err(|_| Failure::Stopped)
    }

    /// Returns the counts of rows by node, and the evidence for payloads of several leaves.
    fn settle(
        &self,
        payloads: &[Arc<Payload>],
        Method { merge, is_apart }: Method,
        stored: Vec<Stored>,
    ) -> Result<(Vec<Settled>, Evidence), Failure> {
        let mut settled = Vec::new();
        if is_apart {
            let nodes = payloads.iter().flat_map(|payload| payload.rows_by_node());
            for ((node, rows), stored) in nodes.zip(stored) {
                settled.push(settle_node(self.flow.plan, node, rows as u64, &stored)?);
            }
            return Ok((settled, self.queue.evidence()));
        }
        let mut evidence = Evidence::Counts;
        for (payload, stored) in payloads.iter().zip(stored) {
            if !stored.is_proven && payload.nodes().len() > 1 {
                evidence = Evidence::Server;
            }
            settled.extend(self.settle_payload(payload, &stored)?);
        }
        Ok((settled, if merge.is_some() { self.queue.evidence() } else { evidence }))
    }

    fn settle_payload(&self, payload: &Payload, stored: &Stored) -> Result<Vec<Settled>, Failure> {
        if let (Some(changes), Some(merged)) = (&self.flow.plan.changes, &stored.merged) {
            return self.settle_merged(changes, payload, merged);
        }
        if !stored.is_proven {
            let rows = payload.rows() as u64;
            return Ok(vec![settle_node(self.flow.plan, payload.node(), rows, stored)?]);
        }
        let inserted = |(node, rows): (NodeId, usize)| {
            let rows = rows as u64;
            Settled { node, rows, counts: RowCounts { inserted: rows, ..RowCounts::default() } }
        };
        Ok(payload.rows_by_node().map(inserted).collect())
    }

    /// Looks for a leaf that no longer exists: the root only reports that no partition takes a row.
    async fn find_moved(
        &self,
        payloads: &[Arc<Payload>],
        error: &tokio_postgres::Error,
    ) -> Result<Option<Failure>, Failure> {
        let joined = payloads.iter().filter(|payload| payload.nodes().len() > 1);
        let is_about_bounds = error.code() == Some(&SqlState::CHECK_VIOLATION);
        if !is_about_bounds || self.flow.is_atomic || joined.clone().next().is_none() {
            return Ok(None);
        }
        self.roll_back().await?;
        for node in joined.flat_map(|payload| payload.nodes()) {
            let (client, plan) = (&self.link.client, self.flow.plan);
            let changed = self.prepared.recheck.find_change(plan, client, *node, Wire::Text, false);
            if let Some(changed) = changed.await.map_err(Failure::Begin)? {
                return Ok(Some(Failure::Changed(*node, changed)));
            }
        }
        Ok(None)
    }

    /// Returns the failure for rows that went leaf by leaf. If a leaf refuses a row because of its bounds,
    /// the leaves of the rows are not known. If a reference is missing, the rows must go in a single
    /// statement, which checks references after all of its rows are stored.
    fn refused_by_leaf(&self, payloads: &[Arc<Payload>], failure: Failure) -> Failure {
        let Failure::Rows { error, at: Some(part) } = failure else { return failure };
        let mut nodes = payloads.iter().flat_map(|payload| payload.rows_by_node());
        let Some((node, rows)) = nodes.nth(part) else { return error.into() };
        let by_bounds = error
            .as_db_error()
            .is_some_and(|db| *db.code() == SqlState::CHECK_VIOLATION && db.constraint().is_none());
        match error.code() {
            _ if by_bounds && self.flow.plan.is_direct(node) => {
                Failure::Unproven(Doubt::Bounds(node, rows as u64))
            }
            Some(&SqlState::FOREIGN_KEY_VIOLATION) if !self.flow.is_atomic => {
                Failure::Unproven(Doubt::References)
            }
            _ => error.into(),
        }
    }
}

/// Returns the tables that get the rows of a payload.
pub(super) fn into(payload: &Payload, is_apart: bool) -> Vec<(NodeId, Wire)> {
    let wire = payload.wire();
    match is_apart {
        true => payload.nodes().iter().map(|node| (*node, wire)).collect(),
        false => vec![(payload.node(), wire)],
    }
}
