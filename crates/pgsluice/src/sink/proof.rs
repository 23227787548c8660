//! Proof: rows of several leaves that went through the root are where they were meant to go.
//!
//! By a leaf's own name a wrong row is an error of the server. The root takes any row. So the server is asked how
//! many rows it has stored in each leaf before the COPY, and fails the transaction behind it unless each leaf has got
//! as many as were meant for it. Others can move these counts: a default that writes to the table, or a
//! `track_counts` that is switched off. Nothing is committed then, and the rows go leaf by leaf
//! ([`super::store`]).

use pgsluice_core::bucket::Payload;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error as PgError, Statement};

use super::failure::{Doubt, Failure};
use crate::pg::sql;
use crate::pg::template::fill;
use crate::plan::Plan;

/// The statements that ask, on one connection.
pub(super) struct Proof {
    counting: Statement,
    checking: Statement,
}

impl Proof {
    /// Plans the statements; returns `None` if the server does not count, or others may add to its counts.
    pub(super) async fn prepare(client: &Client, plan: &Plan) -> Result<Option<Self>, PgError> {
        if !plan.joins_leaves() {
            return Ok(None);
        }
        let counting = client.prepare(sql::STORED_BY_LEAF).await?;
        let checking = client.prepare(&fill(sql::CHECK_STORED, &[])).await?;
        Ok(Some(Self { counting, checking }))
    }

    /// Returns how many rows the session has stored in each leaf of `payload`.
    pub(super) async fn count(
        &self,
        client: &Client,
        plan: &Plan,
        payload: &Payload,
    ) -> Result<Vec<i64>, PgError> {
        Ok(client.query_one(&self.counting, &[&oids(plan, payload)]).await?.get(0))
    }

    /// Fails the transaction unless each leaf has got its rows of `payload` since it had `before`.
    pub(super) async fn check(
        &self,
        client: &Client,
        plan: &Plan,
        payload: &Payload,
        before: &[i64],
    ) -> Result<(), Failure> {
        let meant = payload.rows_by_node().map(|(_, rows)| rows as i64);
        let expected: Vec<i64> = before.iter().zip(meant).map(|(one, rows)| one + rows).collect();
        let checked = client.query_one(&self.checking, &[&oids(plan, payload), &expected]).await;
        checked.map(|_| ()).map_err(|error| match error.code() {
            Some(&SqlState::DIVISION_BY_ZERO) => Failure::Unproven(Doubt::Counts),
            _ => error.into(),
        })
    }
}

fn oids(plan: &Plan, payload: &Payload) -> Vec<u32> {
    let facts = &plan.catalogue.facts;
    payload.nodes().iter().map(|node| facts[*node].oid).collect()
}
