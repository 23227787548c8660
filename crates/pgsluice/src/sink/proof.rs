//! Proof: rows of several leaves that went through the root are where they were meant to go.
//!
//! By a leaf's own name a wrong row is an error of the server. The root takes any row. So the server is asked how
//! many rows it has stored in each leaf before the COPY, and fails the transaction behind it unless each leaf has got
//! as many as were meant for it. Others can move these counts: a default that writes to the table, or a
//! `track_counts` that is switched off. Nothing is committed then, and the rows go leaf by leaf
//! ([`super::apart`]).

use std::sync::Arc;

use pgsluice_core::bucket::Payload;
use pgsluice_core::catalog::NodeId;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error as PgError, Statement};

use super::copy::Connection;
use super::failure::{Doubt, Failure};
use crate::fate::Fate;
use crate::pg::sql;
use crate::pg::template::fill;
use crate::plan::Plan;
use crate::plan::landing::Evidence;

/// The statements that ask, on one connection.
pub(super) struct Proof<'p> {
    plan: &'p Plan,
    counting: Statement,
    checking: Statement,
}

/// A payload that was copied, and whether the server has shown where its rows are.
pub(super) struct Copied {
    pub(super) payload: Arc<Payload>,
    pub(super) stored: u64,
    pub(super) is_proven: bool,
}

/// What has become of the rows of one node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    pub(super) node: NodeId,
    pub(super) rows: u64,
    pub(super) fate: Fate,
}

impl<'p> Proof<'p> {
    /// Plans the statements; returns `None` if the server does not count, or others may add to its counts.
    pub(super) async fn prepare(client: &Client, plan: &'p Plan) -> Result<Option<Self>, PgError> {
        if !plan.joins_leaves() {
            return Ok(None);
        }
        let counting = client.prepare(sql::STORED_BY_LEAF).await?;
        let checking = client.prepare(&fill(sql::CHECK_STORED, &[])).await?;
        Ok(Some(Self { plan, counting, checking }))
    }

    fn oids(&self, payload: &Payload) -> Vec<u32> {
        let facts = &self.plan.catalogue.facts;
        payload.nodes().iter().map(|node| facts[*node].oid).collect()
    }

    /// Returns how many rows the session has stored in each leaf of `payload`.
    pub(super) async fn count(
        &self,
        client: &Client,
        payload: &Payload,
    ) -> Result<Vec<i64>, PgError> {
        Ok(client.query_one(&self.counting, &[&self.oids(payload)]).await?.get(0))
    }

    /// Fails the transaction unless each leaf has got its rows of `payload` since it had `before`.
    async fn check(
        &self,
        client: &Client,
        payload: &Payload,
        before: &[i64],
    ) -> Result<(), Failure> {
        let meant = payload.rows_by_node().map(|(_, rows)| rows as i64);
        let expected: Vec<i64> = before.iter().zip(meant).map(|(one, rows)| one + rows).collect();
        let checked = client.query_one(&self.checking, &[&self.oids(payload), &expected]).await;
        checked.map(|_| ()).map_err(|error| match error.code() {
            Some(&SqlState::DIVISION_BY_ZERO) => Failure::Unproven(Doubt::Counts),
            _ => Failure::Rows(error),
        })
    }
}

impl Connection<'_> {
    /// The statements that prove where the rows of `payload` went, if they are to: those rows are of several leaves,
    /// and go through the root.
    pub(super) fn proof_of(&self, payload: &Payload) -> Option<&Proof<'_>> {
        let is_leaf = |node: &NodeId| self.flow.plan.tree.nodes[*node].key.is_none();
        let is_joined = payload.nodes().len() > 1 && payload.nodes().iter().all(is_leaf);
        self.proof.as_ref().filter(|_| is_joined && self.queue.evidence() == Evidence::Counts)
    }

    /// Returns how many rows the session has stored in the leaves of a payload, if that is to be compared.
    pub(super) async fn ask_proof(&self, payload: &Payload) -> Result<Option<Vec<i64>>, Failure> {
        match self.proof_of(payload) {
            Some(proof) => Ok(Some(proof.count(&self.link.client, payload).await?)),
            None => Ok(None),
        }
    }

    /// Fails the transaction unless the rows of `payload` are in their leaves, which had `before`.
    pub(super) async fn prove(
        &self,
        payload: &Payload,
        before: Option<&[i64]>,
    ) -> Result<(), Failure> {
        match self.proof.as_ref().zip(before) {
            Some((proof, before)) => proof.check(&self.link.client, payload, before).await,
            None => Ok(()),
        }
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
