//! Queue: between the threads that fill the buckets and the connections that empty them.
//!
//! 1. Each thread that fills has a shard of its own behind a lock. It keeps the lock for many rows and
//!    lends it between them to a connection that takes a payload. No lock is taken for a row.
//! 2. Rows wait in blocks of one size, which count against `--memory` and are used again. Splits, buffers
//!    of connections and the program itself are outside of that, a few tens of MiB.
//! 3. A thread that fills waits while the memory is used up. It lends its shard meanwhile, so that every
//!    row that waits can be sent. A row longer than all of the memory goes when nothing else is there.
//! 4. A connection waits while no payload is worth a COPY, and until the router is tested.
//! 5. The first transaction of a load takes about the first [`FIRST_BYTES`] of the input, or all of it. Other
//!    connections send meanwhile, but commit nothing before it: see `sink`.
//! 6. Rows of several leaves travel together while that is cheaper here: both ways are measured
//!    ([`LandingCosts`]).
//!
//! Locks are taken in this order: the scheduler, the shards by their numbers, the pool.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use pgsluice_core::bucket::{
    Block, FEW_ROWS, Payload, Pool, SEALED_BYTES, Scheduler, SendOrder, Shard, Worth,
};
use tokio::sync::watch;

use super::first::{FIRST_BYTES, FIRST_PATIENCE, First, Prefix};
use super::landing::LandingCosts;
use super::meeting::Meeting;
use super::relied::Relied;
use super::waiting::Waiting;
use super::worth::{WORTH_A_COPY, WORTH_WAITING_FOR, together, worth_of_cost, worth_sorting};
use crate::control::Control;
use crate::job::Job;
use crate::plan::Plan;
use crate::testing::fault::fault;

/// How often the cost of a COPY is measured; the least counts.
const PROBES: usize = 3;

/// The bounds of how many rows travel together although they could have a COPY of their own. The server
/// routes about one in each microsecond that beginning a COPY costs. The bounds are for a probe that
/// was disturbed.
const FEW_ROWS_AT_LEAST: usize = FEW_ROWS / 3;
const FEW_ROWS_AT_MOST: usize = 100 * FEW_ROWS;

/// How long a waiting thread may overlook that the load was stopped.
const STOP_POLL: Duration = Duration::from_millis(100);

/// The buckets, shared.
pub(crate) struct Queue<'c> {
    plan: &'c Plan,
    control: &'c Control,
    pub(super) state: Mutex<State>,
    pub(super) shards: Vec<Mutex<Shard>>,
    pub(super) pool: Mutex<Pool>,
    room: Condvar,
    pub(super) work: Condvar,
    /// Threads that wait for memory.
    waiting: AtomicUsize,
    /// Threads that wait for input.
    pub(super) starving: AtomicUsize,
    /// Measurements of what a COPY costs that are still to be made.
    probes: AtomicUsize,
    /// The bytes that all rows may take.
    memory: usize,
    /// The bytes that a leaf may wait with while all others do.
    share: usize,
    /// Whether nobody knows when more input comes.
    is_of_a_pipe: bool,
    /// Whether no other connection sends anything before the first transaction is committed.
    waits_for_first: bool,
    first_in: watch::Sender<bool>,
    pub(crate) meeting: Meeting,
    pub(super) relied: Relied,
}

pub(super) struct State {
    pub(super) scheduler: Scheduler,
    /// Threads that still fill.
    pub(super) fillers: usize,
    worth: Worth,
    /// What a COPY without rows costs, as far as it is known.
    cost: Duration,
    /// Buckets with rows that the server will probably refuse: the sooner it says so the better.
    pub(super) urgent: Vec<usize>,
    pub(super) first: First,
    pub(super) landing: LandingCosts,
    /// Whether rows may be sent.
    is_open: bool,
}

/// What the queue has for a connection.
pub(crate) enum Next {
    /// The first transaction.
    First(Vec<Payload>),
    /// Another one.
    Payload(Payload),
    /// Nothing yet.
    Nothing,
    /// All is sent, or the load was stopped.
    Done,
}

/// Makes the scheduler of a load, which computes claims if the ledger `claims` them.
fn scheduler(plan: &Plan, few_rows: usize, claims: bool) -> Scheduler {
    let is_leaf = plan.tree.nodes.iter().map(|node| node.key.is_none()).collect();
    let scheduler = Scheduler::new(is_leaf, few_rows);
    let scheduler = if claims { scheduler.claiming() } else { scheduler };
    if plan.is_in_order() { scheduler.in_order() } else { scheduler }
}

impl<'c> Queue<'c> {
    /// A queue for the rows of a load that `fillers` threads fill. `claiming` says that payloads are to
    /// claim their rows.
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
        let is_alone = plan.exchange.is_some() || plan.changes.is_some() && !joins;
        let few_rows = is_alone.then_some(0).or(job.speed.few_rows);
        let scheduler = scheduler(plan, few_rows.unwrap_or(FEW_ROWS), claiming);
        let shard = || Mutex::new(Shard::new(Scheduler::count(nodes)));
        // No leaf is waited for until the memory is full of the others.
        let share = memory / 2 / plan.tree.leaves().count().max(1);
        let share = share.max(WORTH_A_COPY);
        let worth = match plan.sorts() {
            true => worth_sorting(Duration::ZERO, memory, share, plan.estimated_leaf_bytes()),
            false => Worth { least: share.min(WORTH_WAITING_FOR), most: SEALED_BYTES, together: 1 },
        };
        let first = match plan.has_first(job) && job.speed.few_rows.is_none() {
            true => First::Gathering(None, Prefix::default()),
            false => First::Done,
        };
        let first_in = watch::Sender::new(matches!(first, First::Done));
        let landing = LandingCosts::new(joins);
        let meeting = Meeting::new(nodes);
        if control.attempts.updates_first() {
            meeting.update_first();
        }
        Self {
            plan,
            control,
            state: Mutex::new(State {
                scheduler,
                fillers,
                worth,
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
            waiting: AtomicUsize::new(0),
            starving: AtomicUsize::new(0),
            memory,
            share,
            is_of_a_pipe: false,
            waits_for_first: job.safety.rejects.is_some(),
            first_in,
            meeting,
            relied: Relied::on(plan.evidence()),
            probes: AtomicUsize::new(if few_rows.is_none() { PROBES } else { 0 }),
        }
    }

    /// Has the first transaction not wait for input that comes slowly.
    pub(crate) fn of_a_pipe(self) -> Self {
        Self { is_of_a_pipe: true, ..self }
    }

    /// Lets connections have rows: the router is tested.
    pub(crate) fn open(&self) {
        self.state.lock().is_open = true;
        self.work.notify_all();
    }

    /// The next payload to send. Waits for it, but not for long, so that the caller can look at its
    /// connection now and then.
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

    /// Returns what there is now; `patient` says that the caller would rather wait for a larger
    /// payload.
    fn look(&self, state: &mut State, patient: bool) -> Next {
        let State { scheduler, fillers, urgent, worth, first, landing, is_open, .. } = state;
        let mut shards: Vec<_> = self.shards.iter().map(Mutex::lock).collect();
        // A thread that found no room when the load was stopped has left its row out.
        if self.control.stop.is_stopped() {
            return Next::Done;
        }
        if !*is_open {
            return Next::Nothing;
        }
        match first {
            First::Gathering(since, routed) => {
                if !self.is_first_whole(*fillers, since, routed, &shards) {
                    return Next::Nothing;
                }
                // Rows that are encoded may be longer than they were, and an input that ends here goes as a whole.
                let most = if routed.bytes < FIRST_BYTES { usize::MAX } else { FIRST_BYTES };
                let nodes = self.plan.catalogue.several.most;
                let mut payloads =
                    scheduler.take_first(most, nodes, landing.is_open(), &mut shards);
                // With a key the same leaf's rows may wait for each other until they are taken back.
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
        let least = match () {
            () if *fillers == 0 || self.waiting.load(Relaxed) > 0 => 0,
            // While input comes fast, waiting costs nothing: it fills the memory in no time.
            () if patient || self.starving.load(Relaxed) < *fillers => worth.least,
            () => WORTH_A_COPY.min(worth.least),
        };
        let most = match first {
            // Whoever sends beside the first transaction waits for it, and so sends as much.
            First::Sent => worth.most.max(FIRST_BYTES),
            _ => worth.most,
        };
        // Through the root rows are neither sorted by key nor in one leaf when they meet others.
        let joins = !self.meeting.is_likely() && landing.joins();
        let together =
            if joins { together(worth.most).min(self.plan.catalogue.several.most) } else { 1 };
        let worth = Worth { least, most, together };
        if let Some(payload) = scheduler.take(worth, &mut shards) {
            landing.take(joins);
            return Next::Payload(payload);
        }
        // In input order some rows are left until the rows before them are in.
        let is_done = *fillers == 0 && shards.iter().all(|shard| shard.bytes() == 0);
        if is_done { Next::Done } else { Next::Nothing }
    }

    /// Whether the rows of the first transaction are there: all of the input, or enough of it, or as many
    /// as there is memory for, or what a slow input gives.
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
                && self.starving.load(Relaxed) == fillers
                && since.is_some_and(|since| since.elapsed() > FIRST_PATIENCE)
        };
        fillers == 0 || routed.bytes >= FIRST_BYTES || self.waiting.load(Relaxed) > 0 || is_slow()
    }

    /// Lets all connections commit: the first transaction is in.
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
        // The queue has the other end.
        let _ = self.first_in.subscribe().wait_for(|is_in| *is_in).await;
    }

    /// Records how long a payload took that was sent alone, or with those of other leaves.
    pub(crate) fn record_time(&self, payload: &Payload, time: Duration) {
        self.state.lock().landing.record(payload.nodes().len(), payload.bytes(), time);
    }

    /// A block for a row of `bytes` bytes, when there is room for it; None if the load was stopped.
    pub(super) fn block(&self, bytes: usize) -> Option<Block> {
        if let Some(block) = self.pool.lock().take(bytes) {
            return Some(block);
        }
        let _waiting = Waiting::new(&self.waiting);
        while !self.control.stop.is_stopped() {
            // So that no connection begins to wait for work just now.
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

    /// Whether the caller is to measure what a COPY without rows costs, and to [`Self::record_cost`] it.
    pub(crate) fn wants_probe(&self) -> bool {
        let take = |left: usize| left.checked_sub(1);
        self.probes.fetch_update(Relaxed, Relaxed, take).is_ok()
    }

    /// Chooses which payloads are worth a COPY by what one costs on this server, over this connection.
    pub(crate) fn record_cost(&self, cost: Duration) {
        let mut state = self.state.lock();
        state.cost = state.cost.min(cost);
        let micros = usize::try_from(state.cost.as_micros()).unwrap_or(usize::MAX);
        state.scheduler.gather_below(micros.clamp(FEW_ROWS_AT_LEAST, FEW_ROWS_AT_MOST));
        let Self { plan, memory, share, .. } = *self;
        state.worth = match plan.sorts() {
            true => worth_sorting(state.cost, memory, share, plan.estimated_leaf_bytes()),
            false => worth_of_cost(state.cost, memory, share),
        };
    }

    /// Puts the rows of a payload into the order in which they are sent, unless they are in input order already.
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

    /// Gives back the memory of a payload that was sent.
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
