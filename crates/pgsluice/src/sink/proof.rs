//! The proof that rows of several leaves that went through the root are in the intended leaves.
//!
//! If a COPY names the leaf, the server reports a misrouted row as an error. The root accepts any row. So the
//! server is asked before the COPY how many rows it has stored in each leaf. After the COPY, a second
//! statement fails the transaction unless each leaf has got as many rows as were meant for it. Other causes
//! can change these counts, such as a default that writes to the table, or `track_counts` being turned off.
//! Then nothing is committed, and the rows go leaf by leaf ([`super::store`]).

use pgsluice_core::bucket::Payload;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error as PgError, Statement};

use super::failure::{Doubt, Failure};
use crate::pg::sql;
use crate::pg::template::fill;
use crate::plan::Plan;

/// The prepared statements of the proof on one connection.
pub(super) struct Proof {
    counting: Statement,
    checking: Statement,
}

impl Proof {
    /// Prepares the statements. Returns `None` if the plan never sends rows of several leaves together.
    pub(super) async fn prepare(client: &Client, plan: &Plan) -> Result<Option<Self>, PgError> {
        if !plan.joins_leaves() {
            return Ok(None);
        }
        let counting = client.prepare(sql::STORED_BY_LEAF).await?;
        let checking = client.prepare(&fill(sql::CHECK_STORED, &[])).await?;
        Ok(Some(Self { counting, checking }))
    }

    /// Returns the number of rows that the session has stored in each leaf of `payload`.
    pub(super) async fn count(
        &self,
        client: &Client,
        plan: &Plan,
        payload: &Payload,
    ) -> Result<Vec<i64>, PgError> {
        Ok(client.query_one(&self.counting, &[&oids(plan, payload)]).await?.get(0))
    }

    /// Fails the transaction unless each leaf has got its rows of `payload` since its count was `before`.
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
