//! A transaction of the copy sink: begun with the COPY of its first payload, and ended with receipts.

use std::sync::Arc;
use std::time::Duration;

use futures_util::SinkExt;
use futures_util::future::{join4, try_join};
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::NodeId;
use tokio::time::timeout;
use tokio_postgres::error::SqlState;

use super::copy::Connection;
use super::failure::Failure;
use super::settled::{Copied, Loaded};

use super::recheck::Changed;
use super::statements::Sink;
use super::way::Way;
use crate::bucket::message::Message;
use crate::exchange::Destination;
use crate::pg::ledger::is_held;
use crate::pg::sql;
use crate::testing::failpoint::failpoint;

/// How long a transaction waits for the first one of the load before it is taken back: that one may wait for
/// a lock or a key of it, which the server does not see as a deadlock.
const FIRST_IN: Duration = Duration::from_secs(5);

/// A COPY that has begun, and what the session has stored before in the leaves of its payload, if that is
/// compared.
type Begun = (Sink, Option<Vec<i64>>);

impl Connection<'_> {
    /// Stores all rows of a transaction; None if the load was stopped.
    pub(super) async fn load(
        &self,
        payloads: &[Arc<Payload>],
        is_warm: bool,
    ) -> Result<Option<Loaded>, Failure> {
        self.choose_way(payloads);
        let loaded = loop {
            self.make_stage().await?;
            self.is_apart.set(self.goes_apart(payloads));
            let loaded = match self.is_apart.get() {
                true => self.load_apart(payloads).await,
                false => self.load_all(payloads, is_warm).await,
            };
            match &loaded {
                Err(Failure::Early) => {}
                Err(Failure::Unproven(_)) if !self.flow.is_atomic => {}
                Err(Failure::Rows(error)) if self.has_met(error, payloads) => {}
                _ => break loaded,
            }
            self.link.client.batch_execute(sql::ROLLBACK).await?;
            match loaded {
                Err(Failure::Early) if !self.first_is_in().await => return Ok(None),
                Err(Failure::Unproven(doubt)) => self.resolve(doubt).await?,
                _ => {}
            }
        };
        if loaded.is_ok() && self.way.get() == Way::UpdateFirst {
            self.queue.meeting.update_first();
        }
        match loaded {
            Err(Failure::Rows(error)) if error.code() == Some(&SqlState::CHECK_VIOLATION) => {
                Err(self.find_moved(payloads).await?.unwrap_or(Failure::Rows(error)))
            }
            loaded => loaded,
        }
    }

    /// Waits until a transaction whose rows are sent may be committed, but not for long; false if the load was stopped
    /// before.
    pub(super) async fn may_commit(&self) -> Result<bool, Failure> {
        failpoint("payload::committing");
        match self.is_first.get() {
            true => Ok(true),
            false => timeout(FIRST_IN, self.first_is_in()).await.map_err(|_| Failure::Early),
        }
    }

    /// Waits for the first transaction of the load; false if the load was stopped before.
    async fn first_is_in(&self) -> bool {
        let waiting = async {
            self.queue.first_in().await;
            Ok(())
        };
        self.flow.control.stop.unless_stopped(waiting).await.is_ok()
    }

    /// Looks for a leaf that is not there any more: the root says only that no partition takes a row.
    async fn find_moved(&self, payloads: &[Arc<Payload>]) -> Result<Option<Failure>, Failure> {
        let client = &self.link.client;
        let joined = payloads.iter().filter(|payload| payload.nodes().len() > 1);
        if self.flow.is_atomic || joined.clone().next().is_none() {
            return Ok(None);
        }
        client.batch_execute(sql::ROLLBACK).await?;
        for node in joined.flat_map(|payload| payload.nodes()) {
            let changed = self.recheck.changed(self.flow.plan, client, *node, Wire::Text, false);
            if let Some(changed) = changed.await.map_err(Failure::Begin)? {
                return Ok(Some(Failure::Changed(*node, changed)));
            }
        }
        Ok(None)
    }

    async fn load_all(
        &self,
        payloads: &[Arc<Payload>],
        is_warm: bool,
    ) -> Result<Option<Loaded>, Failure> {
        let Some((last, others)) = payloads.split_last() else { return Ok(None) };
        let kept = payloads.iter().find_map(|it| self.flow.plan.refuse_kept(it.nodes()));
        kept.map_or(Ok(()), |error| Err(Failure::Unmade(error)))?;
        // There is no first transaction with several payloads where leaves are exchanged.
        let destination = self.destination(last.node()).await?;
        if destination.is_none()
            && let Some(refusal) = self.flow.plan.refuse_unrouted(last.node())
        {
            return self.refuse_unrouted(last, refusal).await;
        }
        // The first COPY of a session takes much longer.
        let is_plain = destination.is_none() && self.staged().is_none();
        if is_warm && is_plain && self.queue.wants_probe() {
            self.probe(last.node()).await?;
        }
        let (mut copied, mut changed) = (Vec::new(), Vec::new());
        for (index, payload) in others.iter().enumerate() {
            self.copying.set(Some(index));
            let (mut sink, before) = self.begin_copy(payloads, index, None).await?;
            self.send(&mut sink, payload).await?;
            if self.flow.control.stop.is_stopped() {
                return Ok(None);
            }
            if let Some(changes) = self.staged() {
                changed.extend(self.apply_and_go_on(changes, sink, payload).await?);
                continue;
            }
            let finished = async { Ok(sink.as_mut().finish().await?) };
            let (stored, ()) = try_join(finished, self.prove(payload, before.as_deref())).await?;
            let is_proven = before.is_some();
            copied.push(Copied { payload: Arc::clone(payload), stored, is_proven });
        }
        self.copying.set(Some(others.len()));
        let (mut sink, before) =
            self.begin_copy(payloads, others.len(), destination.as_ref()).await?;
        failpoint("payload::begun");
        self.send(&mut sink, last).await?;
        if !self.may_commit().await? {
            return Ok(None);
        }
        if let Some(changes) = self.staged() {
            return self.end_staged(changes, sink, payloads, changed).await;
        }
        // Rows in a shadow are not in the table yet.
        let with_receipts = if destination.is_some() { &[] } else { payloads };
        let proving = before.as_deref().map(|before| (&**last, before));
        let Some(stored) = self.commit(sink, with_receipts, proving).await? else {
            return Ok(None);
        };
        let is_proven = before.is_some();
        copied.push(Copied { payload: Arc::clone(last), stored, is_proven });
        Ok(Some(Loaded::of(&copied, destination)))
    }

    /// Begins the COPY of a payload of a transaction, and the transaction with the first one.
    async fn begin_copy(
        &self,
        payloads: &[Arc<Payload>],
        index: usize,
        shadow: Option<&Destination>,
    ) -> Result<Begun, Failure> {
        let payload = &payloads[index];
        let (client, node, wire) = (&self.link.client, payload.node(), payload.wire());
        if index == 0 {
            return self.begin((node, wire), shadow, payloads).await;
        }
        let changed = self.recheck.changed(self.flow.plan, client, node, wire, false).await?;
        if let Some(changed) = changed {
            return Err(Failure::Changed(node, changed));
        }
        let before = self.ask_proof(payload).await?;
        let copy = self.copy_statement(node, wire);
        let sink = self.statements.begin(client, &copy).await.map_err(Failure::Begin)?;
        Ok((sink, before))
    }

    /// Begins a transaction and a COPY into `node`, in one round trip, or in two if it is the first
    /// there. If it is to take `payloads`, returns what the session has stored before in the leaves of the
    /// first of them.
    pub(super) async fn begin(
        &self,
        (node, wire): (NodeId, Wire),
        shadow: Option<&Destination>,
        payloads: &[Arc<Payload>],
    ) -> Result<Begun, Failure> {
        let client = &self.link.client;
        let plan = self.flow.plan;
        let (begin, copy) = match shadow {
            Some(shadow) => (shadow.begin.clone(), plan.copy_into(&shadow.relation, wire)),
            None => (self.begin_here((node, wire), payloads), self.copy_statement(node, wire)),
        };
        let begin = format!("{begin}; {}", self.link.asks_session());
        let beginning = client.simple_query(&begin);
        let asking = self.recheck.changed(self.flow.plan, client, node, wire, shadow.is_some());
        let proving = async {
            let proof = payloads.first().and_then(|it| Some((self.proof_of(it)?, it)));
            match proof {
                Some((proof, payload)) => proof.count(client, payload).await.map(Some),
                None => Ok(None),
            }
        };
        let copying = self.statements.begin(client, &copy);
        let begun = join4(beginning, asking, proving, copying).await;
        // Why COPY was refused, if so.
        if let (_, Ok(Some(changed)), _, Err(_)) = &begun {
            return Err(Failure::Changed(node, *changed));
        }
        let (answers, changed, before, sink) = begun;
        let begun = answers.and_then(|answers| Ok((answers, changed?, before?, sink?)));
        let (answers, changed, before, sink) = begun.map_err(|error| {
            // The server names the schema that is not there any more, but not the table.
            let schema = error.code() == Some(&SqlState::INVALID_SCHEMA_NAME);
            match plan.is_direct(node) && schema {
                true => Failure::Changed(node, Changed::Moved),
                false => Failure::Begin(error),
            }
        })?;
        let sink = self.check_session(&answers, sink).await?;
        match changed {
            Some(changed) => Err(Failure::Changed(node, changed)),
            None if shadow.is_some() || self.flow.is_atomic => Ok((sink, before)),
            None => match &self.writer {
                Some(writer) if !is_held(&answers) => {
                    drop(sink);
                    Err(Failure::Ledger(writer.ledger.lost_attempt(client).await))
                }
                _ => Ok((sink, before)),
            },
        }
    }

    /// Returns what begins a transaction of rows that go into the table itself, or their part of one
    /// that is held.
    fn begin_here(&self, into: (NodeId, Wire), payloads: &[Arc<Payload>]) -> String {
        if self.flow.is_atomic {
            return self.begin_part(into);
        }
        let others = payloads.iter().map(|payload| (payload.node(), payload.wire()));
        self.begin_all(std::iter::once(into).chain(others))
    }

    /// Returns what begins a transaction that writes to the table itself. It has its locks before it keeps
    /// other runs of the load from beginning.
    pub(super) fn begin_all(&self, into: impl Iterator<Item = (NodeId, Wire)>) -> String {
        let fence = self.writer.as_ref().map(|writer| writer.ledger.fence());
        let begin = std::iter::once(sql::BEGIN.to_owned()).chain(self.locks(into)).chain(fence);
        begin.collect::<Vec<_>>().join("; ")
    }

    /// Returns the statements that lock the tables on which rows rely.
    pub(super) fn locks(&self, into: impl Iterator<Item = (NodeId, Wire)>) -> Vec<String> {
        let mut locks: Vec<String> =
            into.filter_map(|(node, wire)| self.flow.plan.lock(node, wire)).collect();
        locks.dedup();
        locks
    }

    pub(super) async fn send(
        &self,
        sink: &mut Sink,
        payload: &Arc<Payload>,
    ) -> Result<(), Failure> {
        self.flow.opening.row_sent();
        for message in Message::all(payload) {
            if self.flow.control.stop.is_stopped() {
                break;
            }
            sink.feed(message).await?;
        }
        failpoint("payload::sent");
        Ok(())
    }
}
