//! The copy sink: one connection that takes payloads from the queue and commits them, one COPY
//! and one transaction for each.
//!
//! Where a statement trigger must fire once, all payloads are one COPY instead
//! ([`Connection::copy_as_one`]).

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use futures_util::SinkExt;
use futures_util::future::try_join3;
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::{NodeId, ROOT};
use tokio_postgres::CopyInSink;
use tokio_postgres::error::SqlState;

use super::chunk_size::ChunkSizes;
use super::failure::{Failure, InDoubt};
use super::lines;
use super::message::Message;
use super::recheck::{Changed, Recheck};
use super::refusal::{Sent, blame};
use super::writer::Writer;
use crate::atomic::{Atomic, Part};
use crate::bucket::queue::{Next, Queue};
use crate::control::Progress;
use crate::counts::outcome::Committed;
use crate::error::Result;
use crate::exchange::{Destination, Maker};
use crate::fate::Fate;
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::ledger::is_held;
use crate::pg::lost;
use crate::pg::sql;
use crate::sink::flow::Flow;
use crate::testing::failpoint::failpoint;

/// Bytes of payloads that are remembered while one COPY takes them all, to name a refused row.
const REMEMBERED_BYTES: usize = 16 << 20;

/// One connection, and what it works on.
pub(crate) struct Connection<'a> {
    pub(super) flow: &'a Flow<'a>,
    queue: &'a Queue<'a>,
    pub(super) link: Link,
    pub(super) recheck: Recheck<'a>,
    pub(super) writer: Option<Writer<'a>>,
    maker: Option<Maker<'a>>,
    pub(super) chunk_sizes: ChunkSizes,
    /// Its transaction, if the load is all or nothing.
    pub(super) held: Option<Part<'a>>,
}

/// What has become of the rows of a payload.
pub(super) struct Loaded {
    pub(super) stored: u64,
    pub(super) rejected: u64,
    /// Where they are, if not where the plan says.
    pub(super) destination: Option<Destination>,
}

pub(super) type Sink = Pin<Box<CopyInSink<Message>>>;

impl<'a> Connection<'a> {
    /// Connects.
    pub(crate) async fn open(
        flow: &'a Flow<'a>,
        queue: &'a Queue<'a>,
        target: &Target,
    ) -> Result<Self> {
        let held = flow.atomic.map(Atomic::enter);
        let opening = async {
            let link = connect::open(target).await?;
            link.client.batch_execute(&[sql::NO_LOCK_TIMEOUT, sql::ASYNCHRONOUS].join(";")).await?;
            let recheck = Recheck::prepare(&link.client, flow.plan).await?;
            let writer = match flow.ledger {
                Some(ledger) => Some(Writer::open(ledger, &link.client).await?),
                None => None,
            };
            Ok((link, recheck, writer))
        };
        let (link, recheck, writer) = flow.control.stop.unless_stopped(opening).await?;
        let maker = flow.exchange.map(Maker::new);
        Self { flow, queue, link, recheck, writer, maker, chunk_sizes: ChunkSizes::default(), held }
            .hold()
            .await
    }

    /// Sends payloads until there are no more, each in a transaction of its own.
    pub(crate) async fn copy(&self, committed: &mut Committed) -> Result<()> {
        let mut is_warm = false;
        while let Some(payload) = self.next().await? {
            let payload = Arc::new(payload);
            failpoint("payload::closed");
            let loading = async {
                let rejects = self.flow.rejects;
                if let Some(rejects) = rejects.filter(|_| self.chunk_sizes.is_expected_in(&payload))
                {
                    return self.salvage(&payload, rejects, false).await;
                }
                match (self.load(&payload, is_warm).await, rejects) {
                    (Err(Failure::Rows(error)), Some(rejects))
                        if blame(self.flow, &error, payload.node()).is_some() =>
                    {
                        self.salvage(&payload, rejects, true).await
                    }
                    (loaded, _) => loaded,
                }
            };
            let outcome = self.link.canceller.settle(self.flow.control, loading).await;
            let sent = [Sent { lines_before: 0, payload }];
            let Some(loaded) = self.judge(outcome, &sent)? else { break };
            failpoint("payload::committed");
            let [Sent { payload, .. }] = &sent;
            let (node, rows) = (payload.node(), payload.rows() as u64);
            committed.send(payload);
            committed.settle(node, rows, loaded.stored, loaded.rejected);
            self.count(node, loaded);
            sent.into_iter().for_each(|sent| self.give_back(sent));
            is_warm = true;
        }
        Ok(())
    }

    /// Stores a payload; None if the load was stopped.
    async fn load(&self, payload: &Arc<Payload>, is_warm: bool) -> Result<Option<Loaded>, Failure> {
        let node = payload.node();
        let destination = self.destination(node).await?;
        // The first COPY of a session takes much longer.
        if is_warm && destination.is_none() && self.queue.wants_probe() {
            self.probe(node).await?;
        }
        let mut sink = self.begin(node, payload.wire(), destination.as_ref()).await?;
        failpoint("payload::begun");
        self.send(&mut sink, payload).await?;
        failpoint("payload::committing");
        // What goes beside the table is not in it yet.
        let stored = match destination {
            Some(_) => self.commit(sink, 0, None).await?,
            None => self.commit(sink, payload.rows() as u64, Some(payload)).await?,
        };
        Ok(stored.map(|stored| Loaded { stored, rejected: 0, destination }))
    }

    /// Measures what a COPY into `node` costs before it has any row.
    async fn probe(&self, node: NodeId) -> Result<(), Failure> {
        let began = Instant::now();
        let sink = self.begin(node, Wire::Text, None).await?;
        self.commit(sink, 0, None).await?;
        self.queue.record_cost(began.elapsed());
        Ok(())
    }

    /// Sends all payloads in one COPY into the root.
    pub(crate) async fn copy_as_one(&self, committed: &mut Committed) -> Result<()> {
        let mut remembered: VecDeque<Sent> = VecDeque::new();
        let mut all = Committed::default();
        let copying = async {
            let mut sink = self.begin(ROOT, Wire::Text, None).await?;
            let (mut line, mut bytes) = (0, 0);
            // If the connection is lost while there is nothing to send, the commit reports it.
            while let Ok(Some(payload)) = self.next().await {
                let payload = Arc::new(payload);
                self.send(&mut sink, &payload).await?;
                all.send(&payload);
                bytes += payload.bytes();
                let lines_before = line;
                line += lines::count(&payload, &self.flow.plan.format, line == 0);
                remembered.push_back(Sent { lines_before, payload });
                while bytes > REMEMBERED_BYTES && remembered.len() > 1 {
                    if let Some(oldest) = remembered.pop_front() {
                        bytes -= oldest.payload.bytes();
                        self.give_back(oldest);
                    }
                }
            }
            self.commit_all(sink, all.rows_sent()).await
        };
        let outcome = self.link.canceller.settle(self.flow.control, copying).await;
        if let Some(stored) = self.judge(outcome, remembered.make_contiguous())? {
            self.count(ROOT, Loaded { stored, rejected: 0, destination: None });
            all.settle(ROOT, all.rows_sent(), stored, 0);
            *committed = all;
        }
        Ok(())
    }

    /// Waits for a payload; None when there will be no more. Notices when the connection is lost.
    async fn next(&self) -> Result<Option<Payload>> {
        loop {
            self.flow.control.unpaused().await;
            match self.queue.pop() {
                Next::Payload(mut payload) => {
                    self.queue.sort(&mut payload);
                    return Ok(Some(payload));
                }
                Next::Done => return Ok(None),
                Next::Nothing if self.link.is_closed().await => {
                    return Err(lost(self.link.ending()));
                }
                Next::Nothing => {}
            }
        }
    }

    /// Where the rows of `node` go if not as planned: to the shadow of a leaf that is exchanged.
    async fn destination(&self, node: NodeId) -> Result<Option<Destination>, Failure> {
        let Some(maker) = &self.maker else { return Ok(None) };
        let found = maker.destination(&self.link.client, self.flow.control, node).await;
        found.map_err(Failure::Unmade)
    }

    /// Begins a transaction and a COPY into `node`, in one round trip.
    async fn begin(
        &self,
        node: NodeId,
        wire: Wire,
        shadow: Option<&Destination>,
    ) -> Result<Sink, Failure> {
        let client = &self.link.client;
        let plan = self.flow.plan;
        let (begin, copy) = match shadow {
            Some(shadow) => (shadow.begin.clone(), plan.copy_into(&shadow.relation, wire)),
            None => (self.begin_here(node, wire), plan.copy_statement(node, wire)),
        };
        let begin = format!("{begin}; {}", self.link.asks_session());
        let beginning = client.simple_query(&begin);
        let asking = self.recheck.changed(client, node, wire, shadow.is_some());
        let begun = try_join3(beginning, asking, client.copy_in(&copy)).await;
        let (answers, changed, sink) = begun.map_err(|error| {
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
            None if shadow.is_some() || self.held.is_some() => Ok(Box::pin(sink)),
            None => match &self.writer {
                Some(writer) if !is_held(&answers) => {
                    drop(sink);
                    Err(Failure::Ledger(writer.ledger.lost_attempt(client).await))
                }
                _ => Ok(Box::pin(sink)),
            },
        }
    }

    /// Returns what begins a transaction of rows that go into the table itself, or their part of one
    /// that is held.
    pub(super) fn begin_here(&self, node: NodeId, wire: Wire) -> String {
        if self.held.is_some() {
            return self.begin_part(node, wire);
        }
        let begin = self.flow.plan.begin(node, wire);
        match &self.writer {
            Some(writer) => format!("{begin}; {}", writer.ledger.fence()),
            None => begin,
        }
    }

    async fn send(&self, sink: &mut Sink, payload: &Arc<Payload>) -> Result<(), Failure> {
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

    /// Commits `rows` rows that were sent into the table, with receipts for those of `payload`; the number
    /// of those that were stored. If the load was stopped, not all of them were sent: then the COPY
    /// is dropped, which aborts it.
    async fn commit(
        &self,
        mut sink: Sink,
        rows: u64,
        payload: Option<&Payload>,
    ) -> Result<Option<u64>, Failure> {
        if self.flow.control.stop.is_stopped() {
            return Ok(None);
        }
        if self.held.is_some() {
            return self.end_part(sink).await.map(Some);
        }
        let client = &self.link.client;
        let writer = self.writer.as_ref().zip(payload);
        let writing = writer
            .map(|(writer, payload)| (writer, writer.ledger.writing(&self.flow.splits, payload)));
        let receipts = async {
            let Some((writer, writing)) = &writing else { return Ok(()) };
            writer.write(client, writing).await.map_err(Failure::Receipts)?;
            failpoint("receipts::written");
            Ok(())
        };
        let in_doubt = self.in_doubt(rows);
        // The end of COPY is not the end of the transaction: constraints may be deferred to that.
        let copied = async {
            let stored = sink.as_mut().finish().await.map_err(Failure::Rows)?;
            // A probe has no rows.
            if stored > 0 {
                failpoint("payload::copied");
            }
            Ok(stored)
        };
        let committed = async { client.batch_execute(sql::COMMIT).await.map_err(Failure::Rows) };
        let outcome = try_join3(copied, receipts, committed).await;
        in_doubt.settle(&outcome);
        let (stored, ..) = outcome?;
        writing.iter().for_each(|(writer, writing)| writer.ledger.committed(writing));
        Ok(Some(stored))
    }

    /// Commits all `rows` rows of the load, which is over then: there is nothing in between.
    async fn commit_all(&self, mut sink: Sink, rows: u64) -> Result<Option<u64>, Failure> {
        let Some(writer) = &self.writer else { return self.commit(sink, rows, None).await };
        if self.flow.control.stop.is_stopped() {
            return Ok(None);
        }
        let client = &self.link.client;
        let stored = sink.as_mut().finish().await.map_err(Failure::Rows)?;
        let closing = writer.ledger.close(client, Fate::of_copy(rows, stored));
        closing.await.map_err(Failure::Ledger)?;
        let in_doubt = self.in_doubt(rows);
        let outcome = client.batch_execute(sql::COMMIT).await.map_err(Failure::Rows);
        in_doubt.settle(&outcome);
        outcome.map(|()| Some(stored))
    }

    /// Counts `rows` rows as in doubt: their commit is asked for.
    pub(super) fn in_doubt(&self, rows: u64) -> InDoubt<'_> {
        let asked = if self.link.client.is_closed() { 0 } else { rows };
        InDoubt::new(&self.flow.control.progress.rows_in_doubt, asked)
    }

    /// Counts rows that are committed.
    fn count(&self, node: NodeId, Loaded { stored, rejected, destination }: Loaded) {
        let Progress { rows_loaded, rows_rejected, rows_unseen, payloads, .. } =
            &self.flow.control.progress;
        payloads.fetch_add(1, Relaxed);
        rows_rejected.fetch_add(rejected, Relaxed);
        match (destination, &self.maker) {
            (Some(shadow), Some(maker)) => {
                rows_unseen.fetch_add(stored, Relaxed);
                maker.committed(node, shadow, stored);
            }
            _ if self.held.is_some() => _ = rows_unseen.fetch_add(stored, Relaxed),
            _ => _ = rows_loaded.fetch_add(stored, Relaxed),
        }
    }

    fn give_back(&self, sent: Sent) {
        // Once COPY is finished the connection holds no piece of it.
        if let Some(payload) = Arc::into_inner(sent.payload) {
            self.queue.recycle(payload);
        }
    }
}
