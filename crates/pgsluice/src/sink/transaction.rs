//! A transaction: parts are stored one after the other and committed together.
//!
//! ```text
//!     round trip 1    BEGIN, locks, fence, recheck -> COPY of the first part begins
//!                     rows
//!     each part more  end of COPY
//!                     recheck -> the next COPY begins
//!                     rows
//!     round trip 2    end of COPY, receipts, COMMIT
//! ```
//!
//! Rows of a stage are taken from there in the round trip that ends COPY.

use std::mem;
use std::sync::Arc;

use futures_util::SinkExt;
use futures_util::future::{join3, try_join, try_join3};
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::NodeId;
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error as PgError};

use super::channel::Channel;
use super::failure::{Failure, InDoubt};
use super::fence::Fence;
use super::merge::Merge;
use super::part::{Landing, Part, Rows};
use super::recheck::Changed;
use super::stage_merge::{MergeOutcome, merge_stage};
use super::statements::CopySink;
use crate::bucket::message::Message;
use crate::counts::first_row::Opening;
use crate::pg::sql;
use crate::plan::Plan;
use crate::sink::sql::stage::empty_stage;
use crate::testing::failpoint::failpoint;

/// The time at which a transaction is committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Commit {
    /// By itself, after the first transaction of the load.
    Each,
    /// Before all others of the load.
    First,
    /// Together with all others of the load. Each is a part of one transaction; if it `divides`, with a
    /// savepoint before each part.
    Once { divides: bool },
    /// By the caller of a writer.
    Caller,
}

/// A transaction, whose rows the server stores completely or not at all.
pub(crate) struct Transaction<'t> {
    pub(super) channel: Channel<'t>,
    commit: Commit,
    /// The statements that begin it.
    begin: String,
    fence: Fence<'t>,
    has_begun: bool,
    parts: usize,
    /// The last part, whose COPY has not ended.
    last: Option<OpenCopy<'t>>,
    stored: Vec<Stored>,
}

/// A part that is being copied.
struct OpenCopy<'t> {
    part: Part<'t>,
    number: usize,
    sink: CopySink,
    /// The number of rows that the session had stored in each leaf before, if the proof compares them.
    before: Option<Vec<i64>>,
}

/// The outcome of a part.
pub(crate) struct Stored {
    /// The number of rows that COPY has stored.
    pub(crate) rows: u64,
    /// The changes that they have made, if they went through the stage.
    pub(crate) merged: Option<MergeOutcome>,
    /// Whether the server's counts have shown them in their leaves.
    pub(crate) is_proven: bool,
}

/// Returns the statements that begin a transaction which writes to these tables. The locks come before the
/// fence.
pub(crate) fn begin(
    plan: &Plan,
    commit: Commit,
    into: impl Iterator<Item = (NodeId, Wire)>,
) -> String {
    let begin = match commit {
        Commit::Once { divides: true } => sql::PART,
        Commit::Once { divides: false } => "",
        Commit::Each | Commit::First | Commit::Caller => sql::BEGIN,
    };
    [begin, &locks(plan, into)].join("; ")
}

/// Returns the statements that lock the tables on which the rows rely.
pub(super) fn locks(plan: &Plan, into: impl Iterator<Item = (NodeId, Wire)>) -> String {
    let mut locks: Vec<String> = into.filter_map(|(node, wire)| plan.lock(node, wire)).collect();
    locks.dedup();
    locks.join("; ")
}

impl<'t> Transaction<'t> {
    /// Creates a transaction that begins with its first part, by the statements `begin`.
    pub(crate) fn new(
        channel: Channel<'t>,
        commit: Commit,
        begin: String,
        fence: Fence<'t>,
    ) -> Self {
        let (has_begun, parts, last, stored) = (false, 0, None, Vec::new());
        Self { channel, commit, begin, fence, has_begun, parts, last, stored }
    }

    /// Returns the client of its session.
    pub(crate) fn client(&self) -> &'t Client {
        &self.channel.link.client
    }

    /// Begins the transaction in the round trip of `action`, and returns the result of `action`.
    pub(crate) async fn begin_with<T>(
        &mut self,
        action: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        self.has_begun = true;
        let Self { channel: Channel { link, .. }, fence, .. } = &*self;
        let client = &link.client;
        let begin = format!("{}; {}", self.begin, fence.sql(link));
        let beginning = client.simple_query(&begin);
        let (answers, overtaken, acted) = join3(beginning, fence.advance(client), action).await;
        let answers = answers.map_err(Failure::Begin)?;
        if let Err(error) = fence.check_session(link, &answers) {
            drop(acted);
            let _ = client.batch_execute(sql::ROLLBACK).await;
            return Err(Failure::Ledger(error));
        }
        let overtaken = overtaken.map_err(Failure::Begin)?;
        let acted = acted?;
        if overtaken.is_none() && fence.is_held(&answers) {
            return Ok(acted);
        }
        // A COPY that has begun must end before the next query.
        drop(acted);
        Err(Failure::Ledger(fence.explain(client, overtaken).await))
    }

    /// Sends the rows of a part. Its COPY stays open until [`Self::store`], [`Self::end`] or [`Self::commit`].
    pub(crate) async fn store(&mut self, part: Part<'t>) -> Result<(), Failure> {
        self.channel.check_running()?;
        let number = self.parts;
        self.parts += 1;
        let (channel, last) = (self.channel, self.last.take());
        let (mut sink, before) = match self.has_begun {
            false => {
                let begun = self.begin_with(open(channel, &part)).await;
                begun.map_err(|failure| moved(channel.plan, &part, failure))?
            }
            true => {
                // A COPY that cannot begin spoils its connection (`Statements::has_refused`), so it waits for
                // the end of the last one.
                if let Some(last) = last {
                    let stored = self.end_copy(last, true).await?;
                    self.stored.push(stored);
                }
                open(channel, &part).await?
            }
        };
        // A probe has no rows.
        if !part.is_empty() {
            failpoint("payload::begun");
            channel.opening.into_iter().for_each(Opening::row_sent);
        }
        match &part.rows {
            Rows::All(payload) => send(channel, &mut sink, payload).await,
            Rows::Some(wire, rows) => {
                let rows = rows.iter().map(|(_, row)| *row);
                Message::feed(sink.as_mut(), *wire, rows).await.map_err(Failure::from)
            }
        }
        .map_err(|failure| failure.with_part(number))?;
        self.last = Some(OpenCopy { part, number, sink, before });
        self.channel.check_running()
    }

    /// Sends more rows in the COPY of the last part.
    pub(super) async fn send_more(&mut self, payload: &Arc<Payload>) -> Result<(), Failure> {
        match &mut self.last {
            Some(OpenCopy { sink, .. }) => {
                self.channel.opening.into_iter().for_each(Opening::row_sent);
                send(self.channel, sink, payload).await
            }
            None => Ok(()),
        }
    }

    /// Ends the last part, and returns the outcome of all parts.
    pub(crate) async fn end(&mut self) -> Result<Vec<Stored>, Failure> {
        self.channel.check_running()?;
        if let Some(last) = self.last.take() {
            let goes_on = matches!(self.commit, Commit::Once { .. });
            let stored = self.end_copy(last, goes_on).await?;
            self.stored.push(stored);
        }
        Ok(mem::take(&mut self.stored))
    }

    /// Writes the `receipts`, commits the transaction, and returns the outcome of the parts that have not
    /// been returned before. `rows` rows are in doubt until the server has answered.
    pub(crate) async fn commit(
        &mut self,
        rows: u64,
        receipts: impl Future<Output = Result<(), Failure>>,
    ) -> Result<Vec<Stored>, Failure> {
        if let Commit::Once { divides } = self.commit {
            let stored = self.end().await?;
            if divides {
                self.channel.link.client.batch_execute(sql::RELEASE_PART).await?;
            }
            return Ok(stored);
        }
        self.channel.check_running()?;
        let client = &self.channel.link.client;
        let last = self.last.take();
        let ending = async {
            match last {
                Some(last) => self.end_copy(last, false).await.map(Some),
                None => Ok(None),
            }
        };
        let committing = async { Ok(client.batch_execute(sql::COMMIT).await?) };
        let asked = if client.is_closed() { 0 } else { rows };
        let in_doubt = InDoubt::new(&self.channel.control.progress.rows_in_doubt, asked);
        // The end of COPY is not the end of the transaction: constraints may be deferred until then.
        let outcome = try_join3(ending, receipts, committing).await;
        in_doubt.settle(&outcome);
        self.stored.extend(outcome?.0);
        Ok(mem::take(&mut self.stored))
    }

    /// Ends the COPY of a part. If the transaction `goes_on`, empties the stage for the next part.
    async fn end_copy(&self, open: OpenCopy<'t>, goes_on: bool) -> Result<Stored, Failure> {
        let OpenCopy { part, number, mut sink, before } = open;
        let client = &self.channel.link.client;
        let finishing = async {
            let rows = sink.as_mut().finish().await?;
            // A probe has no rows.
            if rows > 0 && !goes_on {
                failpoint("payload::copied");
            }
            Ok(rows)
        };
        let ended = match part.landing {
            Landing::Stage(node, merge) => {
                let merging = async { self.merge_stage(node, merge).await.map(Some) };
                let emptying = async {
                    let empty = goes_on.then(empty_stage);
                    client.batch_execute(&empty.unwrap_or_default()).await
                };
                let ended = try_join3(finishing, merging, emptying).await;
                let ended =
                    ended.map(|(rows, merged, ())| Stored { rows, merged, is_proven: false });
                ended.map_err(Failure::from)
            }
            _ => {
                let finishing = async { finishing.await.map_err(Failure::from) };
                let ended = try_join(finishing, self.prove(&part, before.as_deref())).await;
                let is_proven = before.is_some();
                ended.map(|(rows, ())| Stored { rows, merged: None, is_proven })
            }
        };
        ended.map_err(|failure| failure.with_part(number))
    }

    /// Fails unless the rows of a part are in their leaves, whose counts were `before`.
    async fn prove(&self, part: &Part<'_>, before: Option<&[i64]>) -> Result<(), Failure> {
        let Channel { link, plan, prepared, .. } = self.channel;
        match (&prepared.proof, part.payload_to_prove(), before) {
            (Some(proof), Some(payload), Some(before)) => {
                proof.check(&link.client, plan, payload, before).await
            }
            _ => Ok(()),
        }
    }

    /// Merges the rows of the stage into `node`.
    pub(super) async fn merge_stage(
        &self,
        node: NodeId,
        merge: Merge,
    ) -> Result<MergeOutcome, PgError> {
        let Channel { link, plan, .. } = self.channel;
        let is_leaf = plan.tree.nodes[node].key.is_none();
        let updates_first = match merge {
            Merge::Absent => is_leaf,
            merge => merge == Merge::UpdateFirst,
        };
        match &plan.changes {
            Some(changes) => merge_stage(&link.client, plan, changes, updates_first, node).await,
            None => Ok(MergeOutcome::default()),
        }
    }
}

/// Begins the COPY of a part, under the locks of its transaction.
async fn open(
    channel: Channel<'_>,
    part: &Part<'_>,
) -> Result<(CopySink, Option<Vec<i64>>), Failure> {
    let Channel { link, plan, prepared, .. } = channel;
    let (client, node) = (&link.client, part.landing.node());
    let (wire, is_shadow) = (part.wire(), part.landing.is_shadow());
    let asking = prepared.recheck.find_change(plan, client, node, wire, is_shadow);
    let proving = async {
        match (&prepared.proof, part.payload_to_prove()) {
            (Some(proof), Some(payload)) => proof.count(client, plan, payload).await.map(Some),
            _ => Ok(None),
        }
    };
    let copy = part.copy_statement(plan);
    let copying = prepared.statements.begin(client, &copy);
    let (changed, before, sink) = join3(asking, proving, copying).await;
    // A change explains why COPY was refused.
    match changed.map_err(Failure::Begin)? {
        Some(changed) => Err(Failure::Changed(node, changed)),
        None => Ok((sink.map_err(Failure::Begin)?, before.map_err(Failure::Begin)?)),
    }
}

/// Sends all rows of a payload.
async fn send(
    channel: Channel<'_>,
    sink: &mut CopySink,
    payload: &Arc<Payload>,
) -> Result<(), Failure> {
    for message in Message::all(payload) {
        channel.check_running()?;
        sink.feed(message).await?;
    }
    failpoint("payload::sent");
    Ok(())
}

/// Reports a missing schema as a node that has moved, if the part names the node.
fn moved(plan: &Plan, part: &Part<'_>, failure: Failure) -> Failure {
    let node = part.landing.node();
    match failure {
        Failure::Begin(error)
            if error.code() == Some(&SqlState::INVALID_SCHEMA_NAME) && plan.is_direct(node) =>
        {
            Failure::Changed(node, Changed::Moved)
        }
        failure => failure,
    }
}
