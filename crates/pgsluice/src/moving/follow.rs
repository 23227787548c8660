//! Following: what was changed in the table since it was copied is changed in the tree.

use std::time::Duration;

use tokio_postgres::error::SqlState;

use super::log::Watched;
use super::sql::follow::{AS_BEFORE, BEGIN, BY_INDEX};
use super::sql::log::{CAP, Log};
use super::survey::Survey;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::pg::connect::Link;
use crate::pg::sql::{COMMIT, IMMEDIATE, ROLLBACK};

/// The number of entries that one transaction takes.
const BATCH: i64 = 20_000;

/// The number of entries that are few enough to be taken under the lock of the swap.
pub(super) const FEW: i64 = 500;

/// Applies the changes of a table to the tree.
pub(super) struct Follower<'a> {
    pub(super) log: &'a Log,
    survey: &'a Survey,
    link: &'a Link,
    /// The facts that must not have changed since logging began.
    pub(super) watched: Watched,
}

impl<'a> Follower<'a> {
    /// Begins to log the changes of the table.
    pub(super) async fn begin(
        log: &'a Log,
        survey: &'a Survey,
        link: &'a Link,
        max_lock: Duration,
        control: &Control,
    ) -> Result<Self> {
        link.client.batch_execute(&log.batch()).await?;
        let watched = log.begin(link, &survey.table, max_lock, control).await?;
        Ok(Self { log, survey, link, watched })
    }

    /// Goes on with a log that was begun by another session.
    pub(super) async fn go_on(
        log: &'a Log,
        survey: &'a Survey,
        link: &'a Link,
        watched: Watched,
    ) -> Result<Self> {
        link.client.batch_execute(&log.batch()).await?;
        Ok(Self { log, survey, link, watched })
    }

    /// Refuses to go on if a change may not have been logged. Returns the number of the last entry.
    pub(super) async fn check(&self) -> Result<i64> {
        self.log.check(&self.link.client, self.survey.table.oid, &self.watched).await
    }

    /// Returns the number of the entry behind the first `size` entries; `None` if there are fewer.
    pub(super) async fn bound(&self, size: i64) -> Result<Option<i64>> {
        let row = self.link.client.query_opt(&self.log.bound(), &[&size]).await?;
        Ok(row.map(|row| row.get(0)))
    }

    /// Follows until little is left. Returns the number of changed rows.
    pub(super) async fn catch_up(&self, control: &Control) -> Result<u64> {
        let (mut changed, mut size) = (0, BATCH);
        let mut cap = CAP;
        loop {
            let passing = self.transaction(size, &mut cap);
            match self.link.canceller.unless_stopped(control, passing).await {
                Ok(pass) => {
                    changed += pass.rows;
                    if pass.is_last {
                        return Ok(changed);
                    }
                    size = BATCH;
                }
                // Two rows that exchanged a unique value must be looked at together.
                Err(error) if is(&error, &SqlState::UNIQUE_VIOLATION) && size < CAP => {
                    self.link.client.batch_execute(ROLLBACK).await?;
                    size = size.saturating_mul(8);
                }
                Err(error) => {
                    let label = self.survey.table.relation.label();
                    return Err(explain(error).with_detail(format!(
                        "pgsluice was following the changes of table {label}."
                    )));
                }
            }
        }
    }

    /// One transaction, which takes some `size` entries.
    async fn transaction(&self, size: i64, cap: &mut i64) -> Result<Pass> {
        let client = &self.link.client;
        client.batch_execute(BEGIN).await?;
        let last = self.check().await?;
        let bound = self.bound(size).await?;
        let rows = self.pass(bound).await?;
        if last > *cap - CAP / 2 {
            *cap = last + CAP;
            client.batch_execute(&self.log.raise(*cap)).await?;
        }
        client.batch_execute(COMMIT).await?;
        Ok(Pass { rows, is_last: bound.is_none() && rows <= FEW as u64 })
    }

    /// Follows the entries before number `bound`, or all. Returns the number of rows in the batch.
    pub(super) async fn pass(&self, bound: Option<i64>) -> Result<u64> {
        let Self { log, survey, .. } = self;
        let client = &self.link.client;
        let rows = client.execute(&log.take(bound), &[]).await?;
        if rows == 0 {
            return Ok(0);
        }
        let tree = survey.root.to_string();
        let mut statements = vec![BY_INDEX.to_owned()];
        statements.extend(log.delete(&tree));
        statements.push(log.insert(&tree));
        statements.extend([AS_BEFORE, IMMEDIATE].map(str::to_owned));
        client.batch_execute(&statements.join("; ")).await?;
        Ok(rows)
    }
}

/// Adds to the error about a row that no partition takes a hint that fits a move.
pub(super) fn explain(error: Error) -> Error {
    if !is(&error, &SqlState::CHECK_VIOLATION) {
        return error;
    }
    let hint = "If no partition takes the row, use a larger ".to_owned();
    let hint = Words::from(hint) + option("ahead") + ", or " + option("default-partition") + ".";
    error.of_kind(Kind::Data).only_hint(hint)
}

fn is(error: &Error, state: &SqlState) -> bool {
    error.sqlstate() == Some(state.code())
}

/// The outcome of one transaction.
struct Pass {
    rows: u64,
    is_last: bool,
}
