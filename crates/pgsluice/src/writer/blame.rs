//! Blame: finds the row that the server refuses without naming it.
//!
//! 1. The refusal of a foreign key names the key. The rows with that key are to blame if the server does not
//!    say the same without them.
//! 2. Otherwise fewer and fewer of the rows are tried and rolled back, in the order in which they are sent.
//!    The last row of the smallest set that the server refuses is to blame, if the server says the same about
//!    that set as about all rows.
//! 3. If the server refuses even an empty set, no row is to blame. A trigger for the whole statement may
//!    cause that.

use std::collections::HashSet;

use super::batch::WriteBatch;
use super::failure::{WriteFailure, refused};
use super::send_method::SendMethod;
use super::session::Planned;
use crate::error::Error;
use crate::error::kind::Kind;
use crate::pg::sql;
use crate::plan::changes::Changes;
use crate::sink::channel::Channel;
use crate::sink::key::RowKey;

/// Maximum size of rows that are tried again.
const MAX_BYTES: usize = 1 << 30;

/// The SQLSTATE of a foreign key violation.
const FOREIGN_KEY: &str = "23503";

impl Planned {
    /// Whether the row to blame for `error` can be searched on the same connection.
    pub(super) fn can_blame(&self, error: &Error) -> bool {
        error.kind() == Kind::Data && !self.prepared.is_spoiled()
    }

    /// Returns `error`, with which the server has refused the rows, with the location of the row that is to
    /// blame if that can be proven.
    pub(super) async fn blame(
        &self,
        channel: Channel<'_>,
        batch: &WriteBatch,
        error: Error,
    ) -> Error {
        let is_known = error.kind() != Kind::Data || error.place().is_some();
        if is_known || batch.rows_sent() == 0 || batch.bytes() > MAX_BYTES {
            return error;
        }
        match self.find(channel, batch, &error).await {
            Some((row, refusal)) => self.gatherer.at_row(refusal, batch, row),
            None => error,
        }
    }

    /// Returns the index of the row in the order in which rows are sent, and the server's error about it.
    async fn find(
        &self,
        channel: Channel<'_>,
        batch: &WriteBatch,
        error: &Error,
    ) -> Option<(usize, Error)> {
        if error.sqlstate() == Some(FOREIGN_KEY) {
            let rows = self.with_key(batch, error);
            let others = batch.part(|row| !rows.contains(&row));
            let without = self.try_rows(channel, &others).await?;
            let is_same = without.is_some_and(|without| is_same_refusal(&without, error));
            let row = rows.into_iter().min().filter(|_| !is_same);
            return row.map(|row| (row, error.clone()));
        }
        let first = |rows: usize| batch.part(|row| row < rows);
        if self.try_rows(channel, &first(0)).await?.is_some() {
            return None;
        }
        let (mut good, mut bad) = (0, usize::try_from(batch.rows_sent()).ok()?);
        let mut refusal = self.try_rows(channel, &first(bad)).await??;
        while bad - good > 1 {
            let middle = usize::midpoint(good, bad);
            match self.try_rows(channel, &first(middle)).await? {
                Some(earlier) => (bad, refusal) = (middle, earlier),
                None => good = middle,
            }
        }
        // If rows go leaf by leaf, the server meets bad rows in another order and names another leaf.
        let is_same = refusal.sqlstate() == error.sqlstate()
            && (may_exist(error) || refusal.message() == error.message());
        is_same.then_some((good, refusal))
    }

    /// Returns the indexes of the rows that have the key which the server names.
    fn with_key(&self, batch: &WriteBatch, error: &Error) -> HashSet<usize> {
        let key = error.detail().and_then(RowKey::parse);
        let mut found = HashSet::new();
        let mut number = 0;
        for payload in &batch.payloads {
            let mut finder = key.as_ref().and_then(|key| key.finder(&self.plan, payload.wire()));
            for (_, row) in payload.in_order() {
                if finder.as_mut().is_some_and(|finder| finder.has_key(row)) {
                    found.insert(number);
                }
                number += 1;
            }
        }
        found
    }

    /// Stores rows as a flush would, checks all constraints, and rolls back. Returns the refusal, if the
    /// server refuses them, or `None` if the trial itself fails.
    pub(super) async fn try_rows(
        &self,
        channel: Channel<'_>,
        rows: &WriteBatch,
    ) -> Option<Option<Error>> {
        let before = self.updates_first.get();
        let tried = self.try_once(channel, rows).await;
        let may_exist = self.plan.changes.as_ref().is_some_and(Changes::may_update_first)
            && matches!(&tried, Some(Some(error)) if may_exist(error));
        if before || !may_exist {
            return tried;
        }
        // An update may accept rows that exist already.
        self.updates_first.set(true);
        let tried = self.try_once(channel, rows).await;
        self.updates_first.set(before);
        tried
    }

    async fn try_once(&self, channel: Channel<'_>, rows: &WriteBatch) -> Option<Option<Error>> {
        let method = if self.plan.changes.is_some() { SendMethod::Stage } else { SendMethod::Copy };
        let client = &channel.link.client;
        let trying = async {
            let mut transaction = self.transaction(channel, rows, method, None);
            self.send(&mut transaction, rows, method).await?;
            let ended = transaction.end().await;
            let ended = ended.map_err(|failure| self.explain_failure(failure, rows, method))?;
            self.count(rows, method, ended)?;
            client.batch_execute(sql::IMMEDIATE).await.map_err(refused)
        };
        let tried = trying.await;
        client.batch_execute(sql::ROLLBACK).await.ok()?;
        match tried {
            Ok(()) => Some(None),
            Err(WriteFailure::Refused(error)) if error.kind() == Kind::Data => Some(Some(error)),
            Err(_) => None,
        }
    }
}

/// Whether a NOT NULL or CHECK constraint has refused a row. Such a refusal depends on that row alone, and
/// INSERT may have refused it because of columns that an update does not set.
fn may_exist(error: &Error) -> bool {
    error.sqlstate().is_some_and(|code| ["23502", "23514"].contains(&code))
}

fn is_same_refusal(one: &Error, other: &Error) -> bool {
    (one.sqlstate(), one.message(), one.detail())
        == (other.sqlstate(), other.message(), other.detail())
}
