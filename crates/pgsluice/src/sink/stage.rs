//! Rows that are there already: a payload is copied into the stage of its session, and taken from there by
//! one statement, in the same transaction.
//!
//! ```text
//!     round trip 1    BEGIN, lock, fence, recheck -> COPY into the stage begins
//!                     rows
//!     round trip 2    end of COPY, the statement -> what became of the rows
//!     round trip 3    receipts with that, COMMIT
//! ```
//!
//! While rows meet no others they are copied straight in, as in any load. Once the server says that a key is there
//! already, the transaction begins again through the stage; rows of the same leaf go that way as long as some of them
//! meet others ([`Meeting`](crate::bucket::meeting::Meeting)). To insert the rows whose keys are not there takes half
//! the time of `ON CONFLICT`, but another session may insert one meanwhile: then comes `ON CONFLICT` ([`Way`]).
//!
//! `INSERT` refuses a NULL in a column that must have a value before it looks for the key, also of a row that is there
//! and keeps its own value. Such rows go leaf by leaf: those that are there are updated, and then the others inserted.

use std::sync::Arc;

use futures_util::future::try_join;
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::NodeId;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::copy::Connection;
use super::failure::{Doubt, Failure};
use super::settled::{Loaded, Settled};

use super::statements::Sink;
use super::taken::{fate, in_node, made, may_be_there, take};
use super::way::Way;
use crate::fate::Fate;
use crate::pg::changes::Applied;
use crate::pg::stage::{empty_stage, stage};
use crate::plan::changes::Changes;
use crate::plan::landing::Evidence;
use crate::testing::failpoint::failpoint;

/// How often rows are sent again because another session inserts their keys.
const MOST_MEANWHILE: u32 = 5;

impl<'a> Connection<'a> {
    /// How the rows of a transaction change others, if they are to pass the stage.
    pub(super) fn staged(&self) -> Option<&'a Changes> {
        self.flow.plan.changes.as_ref().filter(|_| self.way.get() != Way::Straight)
    }

    /// Decides how the rows of `payloads` meet others.
    pub(super) fn choose_way(&self, payloads: &[Arc<Payload>]) {
        let is_likely = |payload: &Arc<Payload>| self.queue.meeting.is_likely_in(payload.nodes());
        self.set_way(match &self.flow.plan.changes {
            None => Way::Straight,
            Some(_) if self.queue.meeting.updates_first() => Way::UpdateFirst,
            // A transaction that is held cannot begin again.
            Some(_) if self.flow.is_atomic => Way::Conflict,
            Some(changes) if changes.may_copy() && !payloads.iter().any(is_likely) => Way::Straight,
            Some(changes) => staged_way(changes),
        });
    }

    /// Has the rows of the transaction that begins meet others so.
    pub(super) fn set_way(&self, way: Way) {
        self.way.set(way);
        self.meanwhile.set(0);
        self.misplaced.set(None);
    }

    /// Whether there is a stage, or no need of one.
    pub(super) fn has_stage(&self) -> bool {
        self.stage_is_made.get() || self.staged().is_none()
    }

    /// Makes the stage before the first transaction that needs it.
    pub(super) async fn make_stage(&self) -> Result<(), Failure> {
        if !self.has_stage() {
            let made = made(self.flow.plan).unwrap_or_default();
            self.link.client.batch_execute(&made).await.map_err(Failure::Begin)?;
            self.stage_is_made.set(true);
        }
        Ok(())
    }

    /// Whether a transaction that has met other rows is to begin again on another way.
    pub(super) fn has_met(&self, error: &Error, payloads: &[Arc<Payload>]) -> bool {
        let Some(changes) = &self.flow.plan.changes else { return false };
        if self.turns_to_update(changes, error) {
            if self.flow.is_atomic {
                self.flow.control.attempts.update_first();
            }
            return !self.flow.is_atomic;
        }
        if !is_met(error) || self.flow.is_atomic {
            return false;
        }
        match (changes, self.way.get()) {
            (_, Way::Conflict) => return false,
            (_, Way::UpdateFirst) => return self.tries_again(),
            (_, Way::Absent) => self.way.set(Way::Conflict),
            (changes, Way::Straight) => {
                match self.is_first.get() {
                    true => self.queue.meeting.expect_everywhere(),
                    false => {
                        let nodes = payloads.iter().flat_map(|payload| payload.nodes());
                        nodes.for_each(|node| self.queue.meeting.record(*node, true));
                    }
                }
                self.way.set(staged_way(changes));
            }
        }
        true
    }

    /// Whether the rows of the transaction, which INSERT has refused, are to update others before it.
    pub(super) fn turns_to_update(&self, changes: &Changes, error: &Error) -> bool {
        let turns = self.way.get() != Way::UpdateFirst && may_be_there(changes, error);
        if turns {
            self.way.set(Way::UpdateFirst);
        }
        turns
    }

    /// Whether to send the rows again after another session has inserted one of their keys.
    pub(super) fn tries_again(&self) -> bool {
        let tried = self.meanwhile.get();
        self.meanwhile.set(tried + 1);
        tried < MOST_MEANWHILE
    }

    /// Whether the server cannot say at which row it was, because it was no COPY that it refused.
    pub(super) fn hides_row(&self, error: &Error) -> bool {
        let context = error.as_db_error().and_then(|error| error.where_()).unwrap_or_default();
        let is_hidden = self.staged().is_some() && !context.contains("COPY ");
        let is_apart = !self.flow.is_atomic && self.is_apart.get();
        is_apart || is_hidden && (!self.flow.is_atomic || self.divides_parts())
    }

    /// The COPY statement that takes the rows of `node`.
    pub(super) fn copy_statement(&self, node: NodeId, wire: Wire) -> String {
        let plan = self.flow.plan;
        match self.staged() {
            Some(_) => plan.copy_into(&stage(), wire),
            None => plan.copy_statement(node, wire),
        }
    }

    /// Ends the COPY of a payload into the stage, and takes its rows from there. Returns what became of
    /// them.
    pub(super) async fn apply(
        &self,
        changes: &Changes,
        mut sink: Sink,
        payload: &Payload,
    ) -> Result<Vec<Settled>, Failure> {
        let copied = async { sink.as_mut().finish().await.map_err(Failure::Rows) };
        let applied = async { self.take(changes, payload.node()).await.map_err(Failure::Rows) };
        let (_, applied) = try_join(copied, applied).await?;
        let plan = self.flow.plan;
        let is_leaf = |node: &NodeId| plan.tree.nodes[*node].key.is_none();
        let is_known = self.queue.evidence() != Evidence::Server;
        if payload.nodes().len() == 1 || is_known && payload.nodes().iter().all(is_leaf) {
            let settled = self.by_node(changes, payload, &applied)?;
            for Settled { node, rows, fate } in &settled {
                self.queue.meeting.record(*node, fate.inserted < *rows);
            }
            return Ok(settled);
        }
        let (node, rows) = (payload.node(), payload.rows() as u64);
        let fate = fate(changes, rows, in_node(plan, node, &applied));
        let has_met = fate.inserted < rows;
        payload.nodes().iter().for_each(|node| self.queue.meeting.record(*node, has_met));
        Ok(vec![Settled { node, rows, fate }])
    }

    /// Returns what became of the rows of each node. No node can have got more than were meant for it.
    fn by_node(
        &self,
        changes: &Changes,
        payload: &Payload,
        applied: &[Applied],
    ) -> Result<Vec<Settled>, Failure> {
        let plan = self.flow.plan;
        let (mut settled, mut written) = (Vec::new(), 0);
        let is_joined = payload.nodes().len() > 1;
        for (node, rows) in payload.rows_by_node() {
            let applied = in_node(plan, node, applied);
            if is_joined && applied.inserted + applied.updated > rows as i64 {
                return Err(Failure::Unproven(Doubt::Counts));
            }
            written += applied.inserted + applied.updated;
            let rows = rows as u64;
            settled.push(Settled { node, rows, fate: fate(changes, rows, applied) });
        }
        let all: i64 = applied.iter().map(|applied| applied.inserted + applied.updated).sum();
        match is_joined && written != all {
            true => Err(Failure::Unproven(Doubt::Counts)),
            false => Ok(settled),
        }
    }

    /// The same in a transaction that goes on.
    pub(super) async fn apply_and_go_on(
        &self,
        changes: &Changes,
        sink: Sink,
        payload: &Payload,
    ) -> Result<Vec<Settled>, Failure> {
        let settled = self.apply(changes, sink, payload).await?;
        self.link.client.batch_execute(&empty_stage()).await?;
        Ok(settled)
    }

    /// Ends the last COPY of a transaction into the stage, and commits, with what became of the rows of the
    /// payloads before it. None if the load was stopped.
    pub(super) async fn end_staged(
        &self,
        changes: &Changes,
        sink: Sink,
        payloads: &[Arc<Payload>],
        mut settled: Vec<Settled>,
    ) -> Result<Option<Loaded>, Failure> {
        // Not all rows were sent.
        let Some(last) = payloads.last().filter(|_| !self.flow.control.stop.is_stopped()) else {
            return Ok(None);
        };
        settled.extend(match self.flow.is_atomic {
            true => self.apply_and_go_on(changes, sink, last).await?,
            false => self.apply(changes, sink, last).await?,
        });
        failpoint("stage::taken");
        self.copying.set(None);
        self.commit_settled(payloads, &settled, &[]).await?;
        let evidence = self.queue.evidence();
        Ok(Some(Loaded { settled, destination: None, evidence }))
    }

    /// Takes `rows` rows from the stage into `node`, and empties it. Returns what became of them.
    pub(super) async fn take_some(
        &self,
        changes: &Changes,
        node: NodeId,
        rows: u64,
    ) -> Result<Fate, Error> {
        let empty = empty_stage();
        let emptied = self.link.client.batch_execute(&empty);
        let (applied, ()) = try_join(self.take(changes, node), emptied).await?;
        Ok(fate(changes, rows, in_node(self.flow.plan, node, &applied)))
    }

    async fn take(&self, changes: &Changes, node: NodeId) -> Result<Vec<Applied>, Error> {
        let is_leaf = self.flow.plan.tree.nodes[node].key.is_none();
        let is_alone = match self.way.get() {
            Way::Absent => is_leaf,
            way => way == Way::UpdateFirst,
        };
        let client = &self.link.client;
        let taken = take(client, self.flow.plan, (changes, is_alone), node).await?;
        if taken.misplaced > 0 {
            self.misplaced.set(Some((node, taken.misplaced)));
        }
        Ok(taken.applied)
    }
}

/// Whether the server says that a key is there.
pub(super) fn is_met(error: &Error) -> bool {
    let met = [&SqlState::UNIQUE_VIOLATION, &SqlState::EXCLUSION_VIOLATION];
    error.code().is_some_and(|code| met.contains(&code))
}

/// The way of rows that probably meet others.
fn staged_way(changes: &Changes) -> Way {
    // Where NULL is the same as NULL, keys are not found by the index.
    let is_fast = changes.inserts
        && changes.in_order.is_none()
        && !changes.key.joins_nulls
        && !changes.has_triggers;
    if is_fast { Way::Absent } else { Way::Conflict }
}
