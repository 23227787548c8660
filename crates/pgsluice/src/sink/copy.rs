//! The copy sink: one connection that takes payloads from the queue and commits them. Each is one COPY, and
//! mostly a transaction of its own.
//!
//! Where a statement trigger must fire once, all payloads are one COPY instead
//! ([`Connection::copy_as_one`]).

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

use futures_util::future::try_join3;
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::{NodeId, ROOT};

use super::chunk_size::ChunkSizes;
use super::failure::{Failure, InDoubt};
use super::lines;
use super::proof::Proof;
use super::recheck::Recheck;
use super::refusal::{Sent, blame};
use super::settled::{Loaded, Settled};
use super::statements::{Sink, Statements};
use super::taken::made;
use super::way::Way;
use super::writer::Writer;
use crate::bucket::queue::{Next, Queue};
use crate::control::Progress;
use crate::counts::outcome::Committed;
use crate::error::Result;
use crate::exchange::{Destination, Maker};
use crate::fate::Fate;
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::lost;
use crate::pg::sql;
use crate::plan::landing::Evidence;
use crate::sink::flow::Flow;
use crate::testing::failpoint::failpoint;

/// Bytes of payloads that are remembered while one COPY takes them all, to name a refused row.
const REMEMBERED_BYTES: usize = 16 << 20;

/// One connection, and what it works on.
pub(crate) struct Connection<'a> {
    pub(super) flow: &'a Flow<'a>,
    pub(super) queue: &'a Queue<'a>,
    pub(super) link: Link,
    pub(super) recheck: Recheck,
    pub(super) proof: Option<Proof<'a>>,
    pub(super) writer: Option<Writer<'a>>,
    pub(super) target: &'a Target,
    /// Whether its transaction is the first of the load.
    pub(super) is_first: Cell<bool>,
    /// Which payload of its transaction is being copied; none while that ends.
    pub(super) copying: Cell<Option<usize>>,
    /// Whether its session has a stage.
    pub(super) stage_is_made: Cell<bool>,
    /// How the rows of its transaction meet others.
    pub(super) way: Cell<Way>,
    /// Whether its transaction sends rows leaf by leaf that could travel together.
    pub(super) is_apart: Cell<bool>,
    /// Retries of its transaction after another session had inserted a key.
    pub(super) meanwhile: Cell<u32>,
    /// Rows of its transaction that do not belong where they were looked for: the node, and how many.
    pub(super) misplaced: Cell<Option<(NodeId, u64)>>,
    pub(super) statements: Statements,
    maker: Option<Maker<'a>>,
    pub(super) chunk_sizes: ChunkSizes,
}

impl<'a> Connection<'a> {
    /// Connects.
    pub(crate) async fn open(
        flow: &'a Flow<'a>,
        queue: &'a Queue<'a>,
        target: &'a Target,
    ) -> Result<Self> {
        let opening = async {
            let link = connect::open(target).await?;
            link.client.batch_execute(&[sql::NO_LOCK_TIMEOUT, sql::ASYNCHRONOUS].join(";")).await?;
            let client = &link.client;
            let recheck = async { Ok(Recheck::prepare(client, flow.plan).await?) };
            let proof = async { Ok(Proof::prepare(client, flow.plan).await?) };
            let writer = async {
                let Some(ledger) = flow.ledger else { return Ok(None) };
                Writer::open(ledger, client).await.map(Some)
            };
            let (recheck, proof, writer) = try_join3(recheck, proof, writer).await?;
            // Later it would be a part of the transaction.
            let stage = made(flow.plan).filter(|_| flow.is_atomic);
            client.batch_execute(&stage.unwrap_or_default()).await?;
            Ok((link, recheck, proof, writer))
        };
        let (link, recheck, proof, writer) = flow.control.stop.unless_stopped(opening).await?;
        let maker = flow.exchange.map(Maker::new);
        let (copying, chunk_sizes) = (Cell::new(None), ChunkSizes::default());
        let connection = Self {
            flow,
            queue,
            link,
            recheck,
            proof,
            writer,
            target,
            is_first: Cell::new(false),
            copying,
            stage_is_made: Cell::new(flow.is_atomic),
            way: Cell::new(Way::Straight),
            is_apart: Cell::new(false),
            meanwhile: Cell::new(0),
            misplaced: Cell::new(None),
            statements: Statements::default(),
            maker,
            chunk_sizes,
        };
        if flow.is_atomic {
            connection.hold().await?;
        }
        Ok(connection)
    }

    /// Sends payloads until there are no more, each transaction of them behind the other.
    pub(crate) async fn copy(&self, committed: &mut Committed) -> Result<()> {
        let mut is_warm = false;
        while let Some(payloads) = self.next().await? {
            let payloads: Vec<_> = payloads.into_iter().map(Arc::new).collect();
            failpoint("payload::closed");
            // Otherwise the time is that of a wait for the first transaction.
            let is_timed = self.queue.is_first_in();
            let began = Instant::now();
            let outcome =
                self.link.canceller.settle(self.flow.control, self.store(&payloads, is_warm));
            let outcome = outcome.await;
            let sent =
                |payload: &Arc<Payload>| Sent { lines_before: 0, payload: Arc::clone(payload) };
            let sent: Vec<Sent> = match self.copying.get() {
                Some(index) => payloads.get(index).into_iter().map(sent).collect(),
                None => payloads.iter().map(sent).collect(),
            };
            let Some(loaded) = self.judge(outcome, &sent)? else { break };
            drop(sent);
            failpoint("payload::committed");
            payloads.iter().for_each(|payload| committed.send(payload));
            self.count_joined(committed, &payloads, loaded.evidence);
            self.count(committed, loaded);
            if self.way.get() == Way::UpdateFirst {
                committed.updated_first += payloads.iter().map(|it| it.rows() as u64).sum::<u64>();
            }
            if let [payload] = &payloads[..]
                && is_timed
                && self.staged().is_none()
            {
                self.queue.record_time(payload, began.elapsed());
            }
            payloads.into_iter().for_each(|payload| self.give_back(payload));
            if self.is_first.get() {
                self.queue.first_is_in();
            }
            is_warm = true;
        }
        Ok(())
    }

    /// Stores a transaction's rows, or what of them the server takes. None if the load was stopped.
    async fn store(
        &self,
        payloads: &[Arc<Payload>],
        is_warm: bool,
    ) -> Result<Option<Loaded>, Failure> {
        let rejects = self.flow.rejects;
        let is_expected = |payload| self.chunk_sizes.is_expected_in(payload);
        if rejects.is_some() && payloads.iter().map(|it| &**it).any(is_expected) {
            return self.salvage(payloads, rejects, false).await;
        }
        match self.load(payloads, is_warm).await {
            Err(Failure::Rows(error))
                if (rejects.is_some() || self.hides_row(&error))
                    && blame(self.flow, &error, payloads[0].node()).is_some() =>
            {
                self.salvage(payloads, rejects, true).await
            }
            Err(Failure::Rows(error))
                if self.mixes_rows(payloads)
                    && blame(self.flow, &error, payloads[0].node()).is_some() =>
            {
                Err(self.first_refused(payloads, error).await)
            }
            loaded => loaded,
        }
    }

    /// Whether the rows of a transaction go to the table in another order than that of the input, and one that the
    /// table already has is an error.
    fn mixes_rows(&self, payloads: &[Arc<Payload>]) -> bool {
        let is_held = self.flow.is_atomic || self.maker.is_some();
        let mixes = payloads.len() > 1 || payloads.iter().any(|payload| payload.nodes().len() > 1);
        mixes && !is_held && self.flow.plan.changes.is_none()
    }

    /// Measures what a COPY into `node` costs before it has any row.
    pub(super) async fn probe(&self, node: NodeId) -> Result<(), Failure> {
        let began = Instant::now();
        let (sink, _) = self.begin((node, Wire::Text), None, &[]).await?;
        self.commit(sink, &[], None).await?;
        self.queue.record_cost(began.elapsed());
        Ok(())
    }

    /// Sends all payloads in one COPY into the root.
    pub(crate) async fn copy_as_one(&self, committed: &mut Committed) -> Result<()> {
        let mut remembered: VecDeque<Sent> = VecDeque::new();
        let mut all = Committed::default();
        let copying = async {
            let (mut sink, _) = self.begin((ROOT, Wire::Text), None, &[]).await?;
            let (mut line, mut bytes) = (0, 0);
            // If the connection is lost while there is nothing to send, the commit reports it.
            while let Ok(Some(payloads)) = self.next().await {
                // There is no first transaction here, and so one payload at a time.
                let Some(payload) = payloads.into_iter().next().map(Arc::new) else { continue };
                self.send(&mut sink, &payload).await?;
                all.send(&payload);
                bytes += payload.bytes();
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
            self.commit_all(sink, all.rows_sent()).await
        };
        let outcome = self.link.canceller.settle(self.flow.control, copying).await;
        if let Some(stored) = self.judge(outcome, remembered.make_contiguous())? {
            let rows = all.rows_sent();
            let settled =
                Settled { node: ROOT, rows, fate: Fate { inserted: stored, ..Fate::default() } };
            *committed = all;
            let evidence = Evidence::default();
            self.count(committed, Loaded { settled: vec![settled], destination: None, evidence });
        }
        Ok(())
    }

    /// Waits for what goes in the next transaction; None when there will be no more. Notices when the
    /// connection is lost.
    async fn next(&self) -> Result<Option<Vec<Payload>>> {
        loop {
            self.flow.control.unpaused().await;
            match self.queue.pop() {
                Next::First(payloads) => return Ok(Some(self.arranged(payloads, true))),
                Next::Payload(payload) => return Ok(Some(self.arranged(vec![payload], false))),
                Next::Done => return Ok(None),
                Next::Nothing if self.link.is_closed().await => {
                    return Err(lost(self.link.ending()));
                }
                Next::Nothing => {}
            }
        }
    }

    /// Puts the rows of a transaction, the first of the load or not, into their order.
    fn arranged(&self, mut payloads: Vec<Payload>, is_first: bool) -> Vec<Payload> {
        self.is_first.set(is_first);
        payloads.iter_mut().for_each(|payload| self.queue.arrange(payload));
        payloads
    }

    /// Where the rows of `node` go if not as planned: to the shadow of a leaf that is exchanged.
    pub(super) async fn destination(&self, node: NodeId) -> Result<Option<Destination>, Failure> {
        let Some(maker) = &self.maker else { return Ok(None) };
        let found = maker.destination(&self.link.client, self.flow.control, node).await;
        found.map_err(Failure::Unmade)
    }

    /// Commits all `rows` rows of the load, which is over then: there is nothing in between.
    async fn commit_all(&self, mut sink: Sink, rows: u64) -> Result<Option<u64>, Failure> {
        if self.flow.control.stop.is_stopped() {
            return Ok(None);
        }
        let client = &self.link.client;
        let stored = sink.as_mut().finish().await.map_err(Failure::Rows)?;
        if let Some(writer) = &self.writer {
            let closing = writer.ledger.close(client, Fate::of_copy(rows, stored));
            closing.await.map_err(Failure::Ledger)?;
        }
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

    /// Counts rows of several leaves by what shows where they are, if that is less than was planned.
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

    /// Counts rows that are committed.
    fn count(&self, committed: &mut Committed, loaded: Loaded) {
        let Loaded { settled, destination, .. } = loaded;
        let Progress { rows_loaded, rows_rejected, rows_unseen, payloads, .. } =
            &self.flow.control.progress;
        payloads.fetch_add(1, Relaxed);
        for Settled { node, rows, fate } in &settled {
            committed.settle(*node, *rows, *fate);
            rows_rejected.fetch_add(fate.rejected, Relaxed);
            let done = fate.rows() - fate.rejected;
            if destination.is_some() || self.flow.is_atomic {
                rows_unseen.fetch_add(done, Relaxed);
            } else {
                rows_loaded.fetch_add(done, Relaxed);
            }
        }
        if let (Some(shadow), Some(maker), [only]) = (destination, &self.maker, &settled[..]) {
            maker.committed(only.node, shadow, only.fate.inserted);
        }
    }

    fn give_back(&self, payload: Arc<Payload>) {
        // Once COPY is finished the connection holds nothing of it.
        if let Some(payload) = Arc::into_inner(payload) {
            self.queue.recycle(payload);
        }
    }
}
