//! The queue between the threads that fill the buckets and the connections that empty them.
//!
//! 1. Each filling thread has its own shard behind a lock. It keeps the lock for many rows and lends it in
//!    between to a connection that takes a payload. No lock is taken for a single row.
//! 2. Rows wait in blocks of one size, which count against `--memory` and are reused. Splits, buffers of
//!    connections and the program itself, a few tens of MiB, do not count.
//! 3. A filling thread waits while the memory is used up. It lends its shard in the meantime, so that every
//!    waiting row can be sent. A row that is longer than the whole memory goes when nothing else is waiting.
//! 4. A connection waits while no payload is worth a COPY, and until the router is tested.
//! 5. The first transaction of a load takes about the first [`FIRST_BYTES`] of the input, or all of it. Other
//!    connections send rows in the meantime, but commit nothing before it: see `sink`.
//! 6. Rows of several leaves go together while that is cheaper for this load: both methods are measured
//!    ([`LandingCosts`]).
//!
//! Locks are taken in this order: the scheduler, the shards by their numbers, the pool.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use pgsluice_core::bucket::{
    Block, MIN_COPY_ROWS, Payload, PayloadSize, Pool, Scheduler, SendOrder, Shard,
};
use tokio::sync::watch;

use super::conflicts::Conflicts;
use super::first::{FIRST_BYTES, FIRST_PATIENCE, First, Prefix};
use super::landing::LandingCosts;
use super::payload_size::{MIN_BYTES, size_for, together};
use super::shared_evidence::SharedEvidence;
use super::waiting::Waiting;
use crate::control::Control;
use crate::job::Job;
use crate::plan::Plan;
use crate::testing::fault::fault;

/// Number of times that the cost of a COPY is measured; the lowest counts.
const PROBES: usize = 3;

/// The bounds of the number of rows that go together with others although they could have their own COPY. The
/// server routes about one row in each microsecond that beginning a COPY costs. The bounds limit the effect
/// of a disturbed measurement.
const LOWER_COPY_ROWS: usize = MIN_COPY_ROWS / 3;
const UPPER_COPY_ROWS: usize = 100 * MIN_COPY_ROWS;

/// Maximum time until a waiting thread notices that the load was stopped.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The buckets, shared between threads.
pub(crate) struct Queue<'c> {
    plan: &'c Plan,
    pub(super) control: &'c Control,
    pub(super) state: Mutex<State>,
    pub(super) shards: Vec<Mutex<Shard>>,
    pub(super) pool: Mutex<Pool>,
    room: Condvar,
    pub(super) work: Condvar,
    /// The number of threads that wait for memory.
    waiting_for_memory: AtomicUsize,
    /// The number of threads that wait for input.
    pub(super) waiting_for_input: AtomicUsize,
    /// The remaining measurements of the cost of a COPY.
    probes: AtomicUsize,
    /// The maximum number of bytes for all rows.
    memory: usize,
    /// The number of bytes that a leaf may keep waiting while all others do the same.
    share: usize,
    /// Whether it is unknown when more input will come.
    is_of_a_pipe: bool,
    /// Whether other connections send nothing before the first transaction is committed.
    waits_for_first: bool,
    first_in: watch::Sender<bool>,
    pub(crate) conflicts: Conflicts,
    pub(super) evidence: SharedEvidence,
}

pub(super) struct State {
    pub(super) scheduler: Scheduler,
    /// The number of threads that still fill.
    pub(super) fillers: usize,
    size: PayloadSize,
    /// The lowest measured cost of an empty COPY.
    cost: Duration,
    /// Buckets with rows that the server will probably refuse. The sooner it does so, the better.
    pub(super) urgent: Vec<usize>,
    pub(super) first: First,
    pub(super) landing: LandingCosts,
    /// Whether rows may be sent.
    is_open: bool,
}

/// The next task of a connection.
pub(crate) enum Next {
    /// The first transaction.
    First(Vec<Payload>),
    /// Another payload.
    Payload(Payload),
    /// Nothing yet.
    Nothing,
    /// Everything is sent, or the load was stopped.
    Done,
}

/// Creates the scheduler of a load. If the ledger `claims` rows, it computes the claims of payloads.
fn scheduler(plan: &Plan, min_copy_rows: usize, claims: bool) -> Scheduler {
    let is_leaf = plan.tree.nodes.iter().map(|node| node.key.is_none()).collect();
    let scheduler = Scheduler::new(is_leaf, min_copy_rows);
    let scheduler = if claims { scheduler.claiming() } else { scheduler };
    if plan.is_in_order() { scheduler.in_order() } else { scheduler }
}

impl<'c> Queue<'c> {
    /// Creates a queue for the rows of a load that `fillers` threads fill. If `claiming`, payloads claim
    /// their rows.
    pub(crate) fn new(
        plan: &'c Plan,
        job: &Job,
        fillers: usize,
        control: &'c Control,
        claiming: bool,
    ) -> Self {
        let (nodes, memory) = (plan.tree.nodes.len(), job.speed.memory);
        // Rows that go through the root would miss the shadow of their leaf.
        let joins = plan.joins_leaves() && job.speed.few_rows.is_none();
        let keeps_apart = plan.exchange.is_some() || plan.changes.is_some() && !joins;
        let min_copy_rows = keeps_apart.then_some(0).or(job.speed.few_rows);
        let scheduler = scheduler(plan, min_copy_rows.unwrap_or(MIN_COPY_ROWS), claiming);
        let shard = || Mutex::new(Shard::new(Scheduler::count(nodes)));
        // No leaf waits so long that the others fill the memory.
        let share = memory / 2 / plan.tree.leaves().count().max(1);
        let share = share.max(MIN_BYTES);
        let size = size_for(plan, None, memory, share);
        let first = match plan.has_first(job) && job.speed.few_rows.is_none() {
            true => First::Collecting(None, Prefix::default()),
            false => First::Done,
        };
        let first_in = watch::Sender::new(matches!(first, First::Done));
        let landing = LandingCosts::new(joins);
        let conflicts = Conflicts::new(nodes);
        if control.attempts.updates_first() {
            conflicts.update_first();
        }
        Self {
            plan,
            control,
            state: Mutex::new(State {
                scheduler,
                fillers,
                size,
                cost: Duration::MAX,
                urgent: Vec::new(),
                first,
                landing,
                is_open: false,
            }),
            shards: (0..fillers).map(|_| shard()).collect(),
            pool: Mutex::new(Pool::new(memory, nodes * fillers)),
            room: Condvar::new(),
            work: Condvar::new(),
            waiting_for_memory: AtomicUsize::new(0),
            waiting_for_input: AtomicUsize::new(0),
            memory,
            share,
            is_of_a_pipe: false,
            waits_for_first: job.safety.rejects.is_some(),
            first_in,
            conflicts,
            evidence: SharedEvidence::new(plan.evidence()),
            probes: AtomicUsize::new(if min_copy_rows.is_none() { PROBES } else { 0 }),
        }
    }

    /// Prevents the first transaction from waiting for slow input.
    pub(crate) fn for_pipe(self) -> Self {
        Self { is_of_a_pipe: true, ..self }
    }

    /// Opens the queue to connections after the router is tested.
    pub(crate) fn open(&self) {
        self.state.lock().is_open = true;
        self.work.notify_all();
    }

    /// Returns the next payload to send. Waits for it only briefly, so that the caller can check its
    /// connection in between.
    pub(crate) fn pop(&self) -> Next {
        let end = Instant::now() + STOP_POLL;
        let mut state = self.state.lock();
        loop {
            match self.look(&mut state, true) {
                Next::Nothing if !self.work.wait_until(&mut state, end).timed_out() => {}
                Next::Nothing => return self.look(&mut state, false),
                Next::First(payloads) if fault("payload::lost") => {
                    drop(state);
                    payloads.into_iter().for_each(|payload| self.recycle(payload));
                    self.first_is_in();
                    return Next::Nothing;
                }
                Next::Payload(payload) if fault("payload::lost") => {
                    drop(state);
                    self.recycle(payload);
                    return Next::Nothing;
                }
                found => return found,
            }
        }
    }

    /// Returns the next task available now. A `patient` caller would rather wait for a larger payload.
    fn look(&self, state: &mut State, patient: bool) -> Next {
        let State { scheduler, fillers, urgent, size, first, landing, is_open, .. } = state;
        let mut shards: Vec<_> = self.shards.iter().map(Mutex::lock).collect();
        // If a thread found no room when the load was stopped, its row is missing.
        if self.control.stop.is_stopped() {
            return Next::Done;
        }
        if !*is_open {
            return Next::Nothing;
        }
        match first {
            First::Collecting(since, routed) => {
                if !self.is_first_whole(*fillers, since, routed, &shards) {
                    return Next::Nothing;
                }
                // Encoded rows may be longer than the input, and an input that ends here goes as a whole.
                let max = if routed.bytes < FIRST_BYTES { usize::MAX } else { FIRST_BYTES };
                let nodes = self.plan.catalogue.several.max;
                let mut payloads = scheduler.take_first(max, nodes, landing.is_open(), &mut shards);
                // With a key, rows of the same leaf may wait for each other until one transaction is rolled
                // back.
                if !self.plan.sorts() {
                    payloads.iter_mut().for_each(|payload| scheduler.share(payload));
                }
                if !payloads.is_empty() {
                    *first = First::Sent;
                    return Next::First(payloads);
                }
                *first = First::Done;
                self.first_in.send_replace(true);
            }
            First::Sent if self.waits_for_first => return Next::Nothing,
            First::Sent | First::Done => {}
        }
        while let Some(bucket) = urgent.pop() {
            if let Some(payload) = scheduler.take_bucket(bucket, &mut shards) {
                return Next::Payload(payload);
            }
        }
        let min = match () {
            () if *fillers == 0 || self.waiting_for_memory.load(Relaxed) > 0 => 0,
            // While input comes fast, waiting costs nothing, because the memory fills quickly.
            () if patient || self.waiting_for_input.load(Relaxed) < *fillers => size.min,
            () => MIN_BYTES.min(size.min),
        };
        let max = match first {
            // A connection that sends beside the first transaction has to wait for it anyway, so its payload
            // may be as long.
            First::Sent => size.max.max(FIRST_BYTES),
            _ => size.max,
        };
        // If rows that conflict with existing ones go through the root, they are neither sorted by key nor in one
        // leaf.
        let joins = !self.conflicts.are_likely() && landing.joins();
        let together =
            if joins { together(size.max).min(self.plan.catalogue.several.max) } else { 1 };
        let size = PayloadSize { min, max, together };
        if let Some(payload) = scheduler.take(size, &mut shards) {
            landing.take(joins);
            return Next::Payload(payload);
        }
        // In input order, some rows are kept until the rows before them are committed.
        let is_done = *fillers == 0 && shards.iter().all(|shard| shard.bytes() == 0);
        if is_done { Next::Done } else { Next::Nothing }
    }

    /// Whether the rows of the first transaction are complete: the whole input, enough of it, as much as fits
    /// into memory, or as much as a slow input delivers.
    fn is_first_whole(
        &self,
        fillers: usize,
        since: &mut Option<Instant>,
        routed: &Prefix,
        shards: &[MutexGuard<'_, Shard>],
    ) -> bool {
        if since.is_none() && shards.iter().any(|shard| shard.bytes() > 0) {
            *since = Some(Instant::now());
        }
        let is_slow = || {
            self.is_of_a_pipe
                && self.waiting_for_input.load(Relaxed) == fillers
                && since.is_some_and(|since| since.elapsed() > FIRST_PATIENCE)
        };
        fillers == 0
            || routed.bytes >= FIRST_BYTES
            || self.waiting_for_memory.load(Relaxed) > 0
            || is_slow()
    }

    /// Lets all connections commit, after the first transaction is committed.
    pub(crate) fn first_is_in(&self) {
        self.state.lock().first = First::Done;
        self.first_in.send_replace(true);
        self.work.notify_all();
    }

    /// Whether the first transaction is committed.
    pub(crate) fn is_first_in(&self) -> bool {
        *self.first_in.borrow()
    }

    /// Waits until the first transaction is committed.
    pub(crate) async fn first_in(&self) {
        // The queue owns the sender, so this cannot fail.
        let _ = self.first_in.subscribe().wait_for(|is_in| *is_in).await;
    }

    /// Records the time of a payload that was sent alone or together with rows of other leaves.
    pub(crate) fn record_time(&self, payload: &Payload, time: Duration) {
        self.state.lock().landing.record(payload.nodes().len(), payload.bytes(), time);
    }

    /// Returns a block for a row of `bytes` bytes when there is room for it, or `None` if the load was
    /// stopped.
    pub(super) fn block(&self, bytes: usize) -> Option<Block> {
        if let Some(block) = self.pool.lock().take(bytes) {
            return Some(block);
        }
        let _waiting = Waiting::new(&self.waiting_for_memory);
        while !self.control.stop.is_stopped() {
            // This ensures that no connection is just about to wait for work.
            drop(self.state.lock());
            self.work.notify_all();
            let mut pool = self.pool.lock();
            if let Some(block) = pool.take(bytes) {
                return Some(block);
            }
            self.room.wait_for(&mut pool, STOP_POLL);
        }
        None
    }

    /// Whether the caller should measure the cost of an empty COPY and pass it to [`Self::record_cost`].
    pub(crate) fn wants_probe(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        self.probes.fetch_update(Relaxed, Relaxed, take).is_ok()
    }

    /// Chooses the minimum size of payloads by the cost of a COPY on this server and connection.
    pub(crate) fn record_cost(&self, cost: Duration) {
        let mut state = self.state.lock();
        state.cost = state.cost.min(cost);
        let micros = usize::try_from(state.cost.as_micros()).unwrap_or(usize::MAX);
        state.scheduler.set_min_copy_rows(micros.clamp(LOWER_COPY_ROWS, UPPER_COPY_ROWS));
        let Self { plan, memory, share, .. } = *self;
        state.size = size_for(plan, Some(state.cost), memory, share);
    }

    /// Sorts the rows of a payload into the order in which they are sent, unless that is the input order.
    pub(crate) fn arrange(&self, payload: &mut Payload) {
        if self.plan.is_in_order() {
            return;
        }
        let [mut needed, mut kept] = [0; 2];
        if payload.nodes().iter().any(|node| *self.plan.order(*node) != SendOrder::Input) {
            [needed, kept] = payload.sorting_memory();
        }
        self.pool.lock().grow(needed);
        payload.arrange(|node| self.plan.order(node));
        if !payload.is_sorted() {
            kept = 0;
        }
        self.pool.lock().shrink(needed - kept);
    }

    /// Releases the memory of a payload that was sent.
    pub(crate) fn recycle(&self, payload: Payload) {
        self.state.lock().scheduler.release(&payload);
        if self.plan.is_in_order() {
            self.work.notify_all();
        }
        let mut pool = self.pool.lock();
        if payload.is_sorted() {
            let [_, kept] = payload.sorting_memory();
            pool.shrink(kept);
        }
        payload.into_blocks().into_iter().for_each(|block| pool.give_back(block));
        if pool.is_roomy() || pool.is_unused() {
            self.room.notify_all();
        }
    }
}
