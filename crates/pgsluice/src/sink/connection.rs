//! The copy sink: a connection that takes payloads from the queue and commits them, usually one per
//! transaction.
//!
//! If a statement trigger must fire once, all payloads go into a single COPY instead
//! ([`Connection::copy_as_one`]).

use std::cell::Cell;
use std::collections::VecDeque;
use std::future::ready;
use std::iter::once;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use futures_util::future::try_join;
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::{NodeId, ROOT};

use super::channel::{Channel, Prepared};
use super::chunk_size::ChunkSizes;
use super::failure::Failure;
use super::fence::Fence;
use super::lines;
use super::merge::Merge;
use super::part::Part;
use super::refusal::Sent;
use super::settled::{Loaded, Settled};
use super::transaction::{Commit, Transaction, begin};
use super::writer::ReceiptWriter;
use crate::bucket::queue::{Next, Queue};
use crate::control::{Event, Progress};
use crate::counts::outcome::Committed;
use crate::error::Result;
use crate::exchange::{Destination, Maker};
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::lost;
use crate::pg::sql;
use crate::plan::landing::Evidence;
use crate::row_counts::RowCounts;
use crate::sink::flow::Flow;
use crate::testing::failpoint::failpoint;

/// Bytes of payloads that are remembered during a COPY of all payloads, in order to name a refused row.
const REMEMBERED_BYTES: usize = 16 << 20;

/// A connection and the parts of the load that it works with.
pub(crate) struct Connection<'a> {
    pub(super) flow: &'a Flow<'a>,
    pub(super) queue: &'a Queue<'a>,
    pub(super) link: Link,
    pub(super) prepared: Prepared,
    pub(super) writer: Option<ReceiptWriter<'a>>,
    pub(super) target: &'a Target,
    pub(super) maker: Option<Maker<'a>>,
    pub(super) chunk_sizes: ChunkSizes,
}

impl<'a> Connection<'a> {
    /// Connects, prepares the statements, and begins the transaction of an all-or-nothing load.
    pub(crate) async fn open(
        flow: &'a Flow<'a>,
        queue: &'a Queue<'a>,
        target: &'a Target,
    ) -> Result<Self> {
        let opening = async {
            let link = connect::open(target).await?;
            link.client.batch_execute(&[sql::NO_LOCK_TIMEOUT, sql::ASYNCHRONOUS].join(";")).await?;
            let client = &link.client;
            let preparing = async { Ok(Prepared::new(client, flow.plan, true).await?) };
            let writer = async {
                let Some(ledger) = flow.ledger else { return Ok(None) };
                ReceiptWriter::open(ledger, client).await.map(Some)
            };
            let (prepared, writer) = try_join(preparing, writer).await?;
            if flow.is_atomic {
                // If it were created later, it would be part of the transaction.
                prepared.make_stage(client, flow.plan).await?;
            }
            Ok((link, prepared, writer))
        };
        let (link, prepared, writer) = flow.control.stop.unless_stopped(opening).await?;
        let (maker, chunk_sizes) = (flow.exchange.map(Maker::new), ChunkSizes::default());
        let connection = Self { flow, queue, link, prepared, writer, target, maker, chunk_sizes };
        if flow.is_atomic {
            connection.hold().await?;
        }
        Ok(connection)
    }

    /// Sends payloads until none are left, one transaction after the other.
    pub(crate) async fn copy(&self, committed: &mut Committed) -> Result<()> {
        let mut is_warm = false;
        while let Some((commit, payloads)) = self.next().await? {
            let payloads: Vec<_> = payloads.into_iter().map(Arc::new).collect();
            failpoint("payload::closed");
            // Otherwise the time includes waiting for the first transaction.
            let is_timed = self.queue.is_first_in();
            let bytes = payloads.iter().map(|payload| payload.bytes() as u64).sum();
            let began = Instant::now();
            let storing = self.store(commit, &payloads, is_warm);
            let outcome = self.link.canceller.settle(self.flow.control, storing).await;
            let sent = payloads.iter().map(Sent::first).collect::<Vec<_>>();
            let Some(loaded) = self.judge(outcome, &sent)? else { break };
            let time = began.elapsed();
            drop(sent);
            failpoint("payload::committed");
            payloads.iter().for_each(|payload| committed.send(payload));
            self.count_joined(committed, &payloads, loaded.evidence);
            if loaded.merge == Some(Merge::UpdateFirst) {
                self.queue.conflicts.update_first();
                committed.updated_first += payloads.iter().map(|it| it.rows() as u64).sum::<u64>();
            }
            if let [payload] = &payloads[..]
                && is_timed
                && loaded.merge.is_none()
            {
                self.queue.record_time(payload, time);
            }
            self.count(committed, loaded, bytes, time);
            payloads.into_iter().for_each(|payload| self.give_back(payload));
            if commit == Commit::First {
                self.queue.first_is_in();
            }
            is_warm = true;
        }
        Ok(())
    }

    /// Returns the channel of its transactions.
    pub(super) fn channel(&self) -> Channel<'_> {
        let Self { flow, link, prepared, .. } = self;
        let (plan, control, opening) = (flow.plan, flow.control, Some(flow.opening));
        Channel { link, plan, prepared, control, opening }
    }

    /// Returns a transaction for rows that go into these tables, or into `shadow`, which is built to replace
    /// a leaf.
    pub(super) fn transaction<'t>(
        &'t self,
        commit: Commit,
        into: impl Iterator<Item = (NodeId, Wire)>,
        shadow: Option<&Destination>,
    ) -> Transaction<'t> {
        let begin = match shadow {
            Some(shadow) => shadow.begin.clone(),
            None => begin(self.flow.plan, commit, into),
        };
        // Rows of a shadow are not in the table yet.
        let fence = if shadow.is_some() { Fence::Session } else { self.fence() };
        Transaction::new(self.channel(), commit, begin, fence)
    }

    /// Returns the fence of transactions that write to the table. The transaction of an all-or-nothing load
    /// has its own.
    pub(super) fn fence(&self) -> Fence<'_> {
        match &self.writer {
            Some(writer) if !self.flow.is_atomic => Fence::Run(writer.ledger),
            _ => Fence::Session,
        }
    }

    /// Measures the cost of an empty COPY into `node`.
    pub(super) async fn probe(&self, node: NodeId) -> Result<(), Failure> {
        let began = Instant::now();
        let mut transaction =
            self.transaction(self.commit_of_each(), once((node, Wire::Text)), None);
        transaction.store(Part::empty(node)).await?;
        transaction.commit(0, ready(Ok(()))).await?;
        self.queue.record_cost(began.elapsed());
        Ok(())
    }

    /// Sends all payloads in a single COPY into the root.
    pub(crate) async fn copy_as_one(&self, committed: &mut Committed) -> Result<()> {
        let mut remembered: VecDeque<Sent> = VecDeque::new();
        let mut all = Committed::default();
        let (began, sent) = (Instant::now(), Cell::new(0));
        let copying = async {
            let mut transaction = self.transaction(Commit::Each, once((ROOT, Wire::Text)), None);
            transaction.store(Part::empty(ROOT)).await?;
            let (mut line, mut bytes) = (0, 0);
            // If the connection is lost while there is nothing to send, the commit reports it.
            while let Ok(Some((_, payloads))) = self.next().await {
                // There is no first transaction here, so there is one payload at a time.
                let Some(payload) = payloads.into_iter().next().map(Arc::new) else { continue };
                transaction.send_more(&payload).await?;
                all.send(&payload);
                bytes += payload.bytes();
                sent.set(sent.get() + payload.bytes() as u64);
                let lines_before = line;
                line += lines::count(&payload, &self.flow.plan.shape.format, line == 0);
                remembered.push_back(Sent { lines_before, payload });
                while bytes > REMEMBERED_BYTES && remembered.len() > 1 {
                    if let Some(oldest) = remembered.pop_front() {
                        bytes -= oldest.payload.bytes();
                        self.give_back(oldest.payload);
                    }
                }
            }
            self.commit_all(transaction, all.rows_sent()).await
        };
        let outcome = self.link.canceller.settle(self.flow.control, copying).await;
        if let Some(stored) = self.judge(outcome, remembered.make_contiguous())? {
            let rows = all.rows_sent();
            let settled = Settled {
                node: ROOT,
                rows,
                counts: RowCounts { inserted: stored, ..RowCounts::default() },
            };
            *committed = all;
            let (settled, evidence) = (vec![settled], Evidence::default());
            let loaded = Loaded { settled, destination: None, evidence, merge: None };
            self.count(committed, loaded, sent.get(), began.elapsed());
        }
        Ok(())
    }

    /// Waits for the payloads of the next transaction. Returns `None` if there will be no more. Fails if the
    /// connection is lost.
    async fn next(&self) -> Result<Option<(Commit, Vec<Payload>)>> {
        let (commit, mut payloads) = loop {
            if !self.flow.is_share() {
                self.flow.control.until_unpaused().await;
            }
            match self.queue.pop() {
                Next::First(payloads) => break (Commit::First, payloads),
                Next::Payload(payload) => break (self.commit_of_each(), vec![payload]),
                Next::Done => return Ok(None),
                Next::Nothing if self.link.is_closed().await => {
                    return Err(lost(self.link.ending()));
                }
                Next::Nothing => {}
            }
        };
        payloads.iter_mut().for_each(|payload| self.queue.arrange(payload));
        Ok(Some((commit, payloads)))
    }

    /// Returns the shadow for the rows of `node`, if its leaf is exchanged.
    pub(super) async fn destination(&self, node: NodeId) -> Result<Option<Destination>, Failure> {
        let Some(maker) = &self.maker else { return Ok(None) };
        let found = maker.destination(&self.link.client, self.flow.control, node).await;
        found.map_err(Failure::Unmade)
    }

    /// Commits all `rows` rows of the load and marks it as finished, in one transaction. Returns the number
    /// of rows that the server has stored.
    async fn commit_all(
        &self,
        mut transaction: Transaction<'_>,
        rows: u64,
    ) -> Result<u64, Failure> {
        let stored = transaction.end().await?.iter().map(|stored| stored.rows).sum();
        if let Some(writer) = &self.writer {
            let closing =
                writer.ledger.close(&self.link.client, RowCounts::from_copy(rows, stored));
            closing.await.map_err(Failure::Ledger)?;
        }
        transaction.commit(rows, ready(Ok(()))).await?;
        Ok(stored)
    }

    /// Counts rows of several leaves by the evidence for their leaves, if it is weaker than planned.
    fn count_joined(
        &self,
        committed: &mut Committed,
        payloads: &[Arc<Payload>],
        evidence: Evidence,
    ) {
        let plan = self.flow.plan;
        if evidence > Evidence::Counts && plan.is_counted_on() {
            let joined = payloads.iter().filter(|payload| payload.nodes().len() > 1);
            let rows: usize = joined.map(|payload| payload.rows()).sum();
            *committed.unproven.entry(evidence).or_default() += rows as u64;
        }
    }

    /// Counts rows that are committed, and their `bytes`. `time` is the duration of their transaction.
    fn count(&self, committed: &mut Committed, loaded: Loaded, bytes: u64, time: Duration) {
        let Loaded { settled, destination, .. } = loaded;
        let Progress { rows_loaded, rows_rejected, rows_unseen, bytes_unseen, payloads, .. } =
            &self.flow.control.progress;
        payloads.fetch_add(1, Relaxed);
        let is_visible = destination.is_none() && !self.flow.is_atomic;
        let mut stored = 0;
        for Settled { node, rows, counts } in &settled {
            committed.settle(*node, *rows, *counts);
            rows_rejected.fetch_add(counts.rejected, Relaxed);
            let done = counts.rows() - counts.rejected;
            let count = if is_visible { rows_loaded } else { rows_unseen };
            count.fetch_add(done, Relaxed);
            stored += done;
        }
        bytes_unseen.fetch_add(if is_visible { 0 } else { bytes }, Relaxed);
        let nodes = &self.flow.plan.tree.nodes;
        let table = match &settled[..] {
            [first, rest @ ..] if rest.iter().all(|it| it.node == first.node) => first.node,
            _ => ROOT,
        };
        self.flow.control.emit(&Event::Committed {
            table: &nodes[table].relation.label(),
            rows: stored,
            bytes,
            seconds: time.as_secs_f64(),
            is_visible,
        });
        if let (Some(shadow), Some(maker), [only]) = (destination, &self.maker, &settled[..]) {
            maker.record_committed(only.node, shadow, only.counts.inserted);
        }
    }

    fn give_back(&self, payload: Arc<Payload>) {
        // Once COPY is finished, the connection holds no reference to it.
        if let Some(payload) = Arc::into_inner(payload) {
            self.queue.recycle(payload);
        }
    }
}
