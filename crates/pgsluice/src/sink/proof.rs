//! Proof: rows of several leaves that went through the root are where they were meant to go.
//!
//! By a leaf's own name a wrong row is an error of the server. The root takes any row. So the server is asked
//! how many rows it has stored in each leaf, before and after the COPY in the same transaction: leaf by leaf
//! these must be those that were meant for it.

use std::sync::Arc;

use pgsluice_core::bucket::Payload;
use pgsluice_core::catalog::{NodeId, ROOT};
use tokio_postgres::{Client, Error as PgError, Statement};

use crate::control::Control;
use crate::counts::reconcile;
use crate::error::{Error, Result};
use crate::fate::Fate;
use crate::pg::connect::open;
use crate::pg::conninfo::Target;
use crate::pg::introspect::Catalogue;
use crate::pg::sql;
use crate::plan::Plan;

/// The statement that asks, on one connection.
pub(super) struct Proof<'p> {
    plan: &'p Plan,
    statement: Statement,
}

/// A payload that was copied, and what the server had stored in each of its leaves before and since.
pub(super) struct Copied {
    pub(super) payload: Arc<Payload>,
    pub(super) stored: u64,
    pub(super) counts: Option<[Vec<i64>; 2]>,
}

/// What has become of the rows of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    pub(super) node: NodeId,
    pub(super) rows: u64,
    pub(super) fate: Fate,
}

impl<'p> Proof<'p> {
    /// Plans the statement; None if the server does not count, or others may add to its counts.
    pub(super) async fn prepare(client: &Client, plan: &'p Plan) -> Result<Option<Self>, PgError> {
        if !plan.joins_leaves() {
            return Ok(None);
        }
        let statement = client.prepare(sql::STORED_BY_LEAF).await?;
        Ok(Some(Self { plan, statement }))
    }

    /// Whether the rows of `payload` are counted: they are of several leaves, and go through the root.
    pub(super) fn is_about(&self, payload: &Payload) -> bool {
        payload.nodes().len() > 1
            && payload.nodes().iter().all(|node| self.plan.tree.nodes[*node].key.is_none())
    }

    /// Asks what the session has stored in each leaf of `payload`.
    pub(super) async fn ask(
        &self,
        client: &Client,
        payload: &Payload,
    ) -> Result<Vec<i64>, PgError> {
        let facts = &self.plan.catalogue.facts;
        let oids: Vec<u32> = payload.nodes().iter().map(|node| facts[*node].oid).collect();
        Ok(client.query_one(&self.statement, &[&oids]).await?.get(0))
    }
}

impl Copied {
    /// Says what has become of the rows, node by node. They are committed: if they are not where they were
    /// meant to be, the server has found another way for them, which is the right one.
    pub(super) async fn settled(
        self,
        plan: &Plan,
        target: &Target,
        control: &Control,
    ) -> Result<Vec<Settled>> {
        let Self { payload, stored, counts } = self;
        let of_new = |inserted| Fate { inserted, ..Fate::default() };
        let whole = |node, rows| Settled { node, rows, fate: of_new(stored) };
        let Some([before, after]) = counts else {
            return Ok(vec![whole(payload.node(), payload.rows() as u64)]);
        };
        let meant = payload.rows_by_node().map(|(node, rows)| (node, rows as u64));
        let counted = before.iter().zip(&after).map(|(before, after)| after - before);
        let found: Vec<(NodeId, u64, u64)> =
            meant.zip(counted).map(|((node, rows), count)| (node, rows, count as u64)).collect();
        let differ: Vec<_> = found.iter().filter(|(_, rows, count)| rows != count).collect();
        if !differ.is_empty() && !has_changed(plan, target, control).await? {
            return Err(reconcile::misrouted(plan, differ.into_iter().copied()));
        }
        if stored != payload.rows() as u64 {
            return Ok(vec![whole(ROOT, payload.rows() as u64)]);
        }
        let settled =
            found.into_iter().map(|(node, rows, _)| Settled { node, rows, fate: of_new(rows) });
        Ok(settled.collect())
    }
}

/// Whether partitions have come, gone or changed since the plan was made.
async fn has_changed(plan: &Plan, target: &Target, control: &Control) -> Result<bool> {
    let mut link = control.stop.unless_stopped(open(target)).await?;
    let root = plan.tree.nodes[ROOT].relation.to_string();
    let columns = Some(&plan.catalogue.columns[..]);
    let now = Catalogue::read(&mut link.client, &root, columns).await.map_err(Error::permanent)?;
    let layout = |catalogue: &Catalogue| -> Vec<(u32, Option<usize>, Option<String>)> {
        let nodes = catalogue.facts.iter().zip(&catalogue.tree.nodes);
        nodes.map(|(facts, node)| (facts.oid, node.parent, facts.bound.clone())).collect()
    };
    Ok(layout(&now) != layout(&plan.catalogue))
}
