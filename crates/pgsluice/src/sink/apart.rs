//! Apart: rows of several leaves that could travel together, sent to each leaf by its name in one transaction.
//!
//! That takes longer. It is done where the server's counts do not show where rows went ([`super::proof`]), because a
//! leaf checks each of its rows, and where rows that are there are updated before others are inserted
//! ([`super::stage`]).

use std::sync::Arc;

use pgsluice_core::bucket::{Payload, RowAt, Wire};
use pgsluice_core::catalog::{NodeId, ROOT};
use tokio_postgres::Error as PgError;
use tokio_postgres::error::SqlState;

use super::copy::Connection;
use super::failure::{Doubt, Failure};
use super::settled::{Loaded, Settled};

use super::way::Way;
use crate::bucket::message::Message;
use crate::counts::reconcile;
use crate::error::{Error, Result};
use crate::fate::Fate;
use crate::pg::connect::open;
use crate::pg::introspect::Catalogue;
use crate::pg::ledger::is_held;
use crate::plan::landing::Evidence;

/// Rows of one leaf, with the place of each in the input.
type Rows<'r> = Vec<(RowAt, &'r [u8])>;

impl Connection<'_> {
    /// Whether the rows of `payloads` go leaf by leaf.
    pub(super) fn goes_apart(&self, payloads: &[Arc<Payload>]) -> bool {
        let is_joined = payloads.iter().any(|payload| payload.nodes().len() > 1);
        let evidence = self.queue.evidence();
        let is_by_way = self.way.get() == Way::UpdateFirst && evidence != Evidence::Server;
        is_joined && (evidence == Evidence::Leaves || is_by_way)
    }

    /// Stores all rows of a transaction leaf by leaf; `None` if the load was stopped.
    pub(super) async fn load_apart(
        &self,
        payloads: &[Arc<Payload>],
    ) -> Result<Option<Loaded>, Failure> {
        self.copying.set(None);
        self.begin_apart(payloads).await?;
        self.flow.opening.row_sent();
        let mut settled = Vec::new();
        for payload in payloads {
            for (node, rows) in payload.apart() {
                if self.flow.control.stop.is_stopped() {
                    return Ok(None);
                }
                settled.push(self.store_in(node, payload.wire(), &rows).await?);
            }
        }
        if !self.may_commit().await? {
            return Ok(None);
        }
        self.commit_settled(payloads, &settled, &[]).await?;
        let evidence = self.queue.evidence();
        Ok(Some(Loaded { settled, destination: None, evidence }))
    }

    async fn begin_apart(&self, payloads: &[Arc<Payload>]) -> Result<(), Failure> {
        let into = payloads
            .iter()
            .flat_map(|payload| payload.nodes().iter().map(|node| (*node, payload.wire())));
        let begin = match self.flow.is_atomic {
            // Each leaf is locked before its rows are sent.
            true => self.begin_part((ROOT, Wire::Text)),
            false => self.begin_all(into),
        };
        self.begin_with(&begin).await
    }

    /// Begins a transaction, or a part of one, in the session that the load has begun with.
    pub(super) async fn begin_with(&self, begin: &str) -> Result<(), Failure> {
        let begin = format!("{begin}; {}", self.link.asks_session());
        let answers = self.link.client.simple_query(&begin).await.map_err(Failure::Begin)?;
        self.check_session(&answers, ()).await?;
        match &self.writer {
            Some(writer) if !self.flow.is_atomic && !is_held(&answers) => {
                Err(Failure::Ledger(writer.ledger.lost_attempt(&self.link.client).await))
            }
            _ => Ok(()),
        }
    }

    /// Stores rows in their leaf.
    async fn store_in(
        &self,
        node: NodeId,
        wire: Wire,
        rows: &Rows<'_>,
    ) -> Result<Settled, Failure> {
        let (client, plan) = (&self.link.client, self.flow.plan);
        if let Some(lock) = plan.lock(node, wire).filter(|_| self.flow.is_atomic) {
            client.batch_execute(&lock).await.map_err(Failure::Begin)?;
        }
        let changed = self.recheck.changed(plan, client, node, wire, false).await?;
        if let Some(changed) = changed {
            return Err(Failure::Changed(node, changed));
        }
        let count = rows.len() as u64;
        let refused = |error: PgError| match error.code() {
            _ if is_by_bounds(&error) && plan.is_direct(node) => {
                Failure::Unproven(Doubt::Bounds(node, count))
            }
            Some(&SqlState::FOREIGN_KEY_VIOLATION) if !self.flow.is_atomic => {
                Failure::Unproven(Doubt::References)
            }
            _ => Failure::Rows(error),
        };
        let copy = self.copy_statement(node, wire);
        let mut sink = self.statements.begin(client, &copy).await.map_err(Failure::Begin)?;
        let stored = Message::send(sink.as_mut(), wire, rows.iter().map(|(_, row)| *row)).await;
        let stored = stored.map_err(refused)?;
        let fate = match self.staged() {
            Some(changes) => self.take_some(changes, node, count).await.map_err(refused)?,
            None => Fate { inserted: stored, ..Fate::default() },
        };
        Ok(Settled { node, rows: count, fate })
    }

    /// Chooses how to send rows again whose leaves are not known. It is an error if a leaf rejects them although the
    /// partitions have not changed.
    pub(super) async fn resolve(&self, doubt: Doubt) -> Result<(), Failure> {
        let plan = self.flow.plan;
        let is_of_server = match doubt {
            // One statement checks references when all of its rows are there.
            Doubt::References => true,
            _ => self.has_changed().await.map_err(Failure::Unmade)?,
        };
        match (is_of_server, doubt) {
            (false, Doubt::Bounds(node, rows)) => {
                return Err(Failure::Misrouted(reconcile::refused(plan, node, rows)));
            }
            (true, _) => self.queue.rely_on(Evidence::Server),
            (false, _) => self.queue.rely_on(Evidence::Leaves),
        }
        Ok(())
    }

    /// Whether partitions have come, gone or changed since the plan was made.
    async fn has_changed(&self) -> Result<bool> {
        let plan = self.flow.plan;
        let mut link = self.flow.control.stop.unless_stopped(open(self.target)).await?;
        let root = plan.tree.nodes[ROOT].relation.to_string();
        let columns =
            Some(&plan.catalogue.columns[..]).filter(|_| plan.catalogue.besides.is_none());
        let now =
            Catalogue::read(&mut link.client, &root, columns).await.map_err(Error::permanent)?;
        let layout = |catalogue: &Catalogue| -> Vec<(u32, Option<usize>, Option<String>)> {
            let nodes = catalogue.facts.iter().zip(&catalogue.tree.nodes);
            nodes.map(|(facts, node)| (facts.oid, node.parent, facts.bound.clone())).collect()
        };
        Ok(layout(&now) != layout(&plan.catalogue))
    }
}

/// Whether a partition refuses a row by its bounds: a CHECK constraint has a name.
fn is_by_bounds(error: &PgError) -> bool {
    let db = error.as_db_error();
    db.is_some_and(|db| *db.code() == SqlState::CHECK_VIOLATION && db.constraint().is_none())
}
