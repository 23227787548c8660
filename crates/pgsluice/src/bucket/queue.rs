//! Queue: between the threads that fill the buckets and the connections that empty them.
//!
//! 1. Each thread that fills has a shard of its own behind a lock. It keeps the lock for many rows and
//!    lends it between them to a connection that takes a payload. No lock is taken for a row.
//! 2. Rows wait in blocks of one size, which count against `--memory` and are used again. Splits, buffers
//!    of connections and the program itself are outside of that, a few tens of MiB.
//! 3. A thread that fills waits while the memory is used up. It lends its shard meanwhile, so that every
//!    row that waits can be sent. A row longer than all of the memory goes when nothing else is there.
//! 4. A connection waits while no payload is worth a COPY.
//!
//! Locks are taken in this order: the scheduler, the shards by their numbers, the pool.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex, MutexGuard};
use pgsluice_core::bucket::{
    Block, FEW_ROWS, Mark, Payload, Pool, RowAt, SEALED_BYTES, Scheduler, Shard, Wire, Worth,
};
use pgsluice_core::catalog::NodeId;

use crate::control::Control;
use crate::job::Job;
use crate::plan::Plan;
use crate::testing::fault::fault;

/// While input comes slowly a payload of this many bytes is sent.
const WORTH_A_COPY: usize = 64 << 10;

/// While input comes fast a payload of fewer bytes waits for more rows, until the cost of a COPY is
/// known.
const WORTH_WAITING_FOR: usize = 512 << 10;

/// A payload that is sorted is no longer than this, however much memory there is.
const MOST_SORTED_BYTES: usize = 64 << 20;

/// How often the cost of a COPY is measured; the least counts.
const PROBES: usize = 3;

/// A payload is worth waiting for until its COPY costs an eighth of what its rows take, and one
/// connection takes some 200 MB/s.
const BYTES_A_MICROSECOND: usize = 8 * 200;

/// The bounds of how many rows travel together although they could have a COPY of their own. The server
/// routes about one in each microsecond that beginning a COPY costs. The bounds are for a probe that
/// was disturbed.
const FEW_ROWS_AT_LEAST: usize = FEW_ROWS / 3;
const FEW_ROWS_AT_MOST: usize = 100 * FEW_ROWS;

/// How long a waiting thread may overlook that the load was stopped.
const STOP_POLL: Duration = Duration::from_millis(100);

/// Rows that are written before the shard is lent to a thread that waits for it.
const ROWS_AT_ONCE: usize = 128;

/// Payloads that are sorted are as large as the memory allows. The more rows one has, the more of them
/// go to the same page of the index.
fn worth_sorting(memory: usize, share: usize) -> Worth {
    let most = (memory / 16).clamp(SEALED_BYTES, MOST_SORTED_BYTES);
    Worth { least: share.min(most), most }
}

/// The buckets, shared.
pub(crate) struct Queue<'c> {
    plan: &'c Plan,
    control: &'c Control,
    nodes: usize,
    state: Mutex<State>,
    shards: Vec<Mutex<Shard>>,
    pool: Mutex<Pool>,
    room: Condvar,
    work: Condvar,
    /// Threads that wait for memory.
    waiting: AtomicUsize,
    /// Threads that wait for input.
    starving: AtomicUsize,
    /// Measurements of what a COPY costs that are still to be made.
    probes: AtomicUsize,
    /// The bytes that a leaf may wait with while all others do.
    share: usize,
}

struct State {
    scheduler: Scheduler,
    /// Threads that still fill.
    fillers: usize,
    worth: Worth,
    /// What a COPY without rows costs, as far as it is known.
    cost: Duration,
    /// Buckets with rows that the server will probably refuse: the sooner it says so the better.
    urgent: Vec<usize>,
}

/// What the queue has for a connection.
pub(crate) enum Next {
    /// Something to send.
    Payload(Payload),
    /// Nothing yet.
    Nothing,
    /// All is sent, or the load was stopped.
    Done,
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
        // What goes through the root would not go beside its leaf.
        let few_rows = plan.exchange.as_ref().map(|_| 0).or(job.speed.few_rows);
        let scheduler = Scheduler::new(nodes, few_rows.unwrap_or(FEW_ROWS));
        let scheduler = if claiming { scheduler.claiming() } else { scheduler };
        let shard = || Mutex::new(Shard::new(Scheduler::count(nodes)));
        // No leaf is waited for until the memory is full of the others.
        let share = memory / 2 / plan.tree.leaves().count().max(1);
        let share = share.max(WORTH_A_COPY);
        let worth = match plan.sorts() {
            true => worth_sorting(memory, share),
            false => Worth { least: share.min(WORTH_WAITING_FOR), most: SEALED_BYTES },
        };
        Self {
            plan,
            control,
            nodes,
            state: Mutex::new(State {
                scheduler,
                fillers,
                worth,
                cost: Duration::MAX,
                urgent: Vec::new(),
            }),
            shards: (0..fillers).map(|_| shard()).collect(),
            pool: Mutex::new(Pool::new(memory, nodes * fillers)),
            room: Condvar::new(),
            work: Condvar::new(),
            waiting: AtomicUsize::new(0),
            starving: AtomicUsize::new(0),
            share,
            probes: AtomicUsize::new(if few_rows.is_none() { PROBES } else { 0 }),
        }
    }

    /// Marks a thread as filling, until the mark is dropped, however it ends; `number` is its own.
    pub(crate) fn filling(&self, number: usize) -> Filling<'_, 'c> {
        Filling { queue: self, number }
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
        let State { scheduler, fillers, urgent, worth, .. } = state;
        let mut shards: Vec<_> = self.shards.iter().map(Mutex::lock).collect();
        // Whoever found no room when the load was stopped has left its row out.
        if self.control.stop.is_stopped() {
            return Next::Done;
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
        match scheduler.take(Worth { least, ..*worth }, &mut shards) {
            Some(payload) => Next::Payload(payload),
            None if *fillers == 0 => Next::Done,
            None => Next::Nothing,
        }
    }

    /// A block for a row of `bytes` bytes, when there is room for it; None if the load was stopped.
    fn block(&self, bytes: usize) -> Option<Block> {
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
        if !self.plan.sorts() {
            let least = micros.saturating_mul(BYTES_A_MICROSECOND);
            state.worth.least = least.clamp(WORTH_A_COPY, self.share.min(state.worth.most));
        }
    }

    /// Sorts the rows of a payload by their node's index, if the plan says so.
    pub(crate) fn sort(&self, payload: &mut Payload) {
        let [node] = payload.nodes() else { return };
        let Some(columns) = self.plan.order(*node) else { return };
        if payload.wire() == Wire::Text {
            return;
        }
        let [needed, kept] = payload.sorting_memory();
        self.pool.lock().grow(needed);
        payload.sort(columns);
        let held = if payload.is_sorted() { kept } else { 0 };
        self.pool.lock().shrink(needed - held);
    }

    /// Gives back the memory of a payload that was sent.
    pub(crate) fn recycle(&self, payload: Payload) {
        self.state.lock().scheduler.release(&payload);
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

/// A thread that fills the buckets.
pub(crate) struct Filling<'q, 'c> {
    queue: &'q Queue<'c>,
    number: usize,
}

impl<'q, 'c> Filling<'q, 'c> {
    /// Begins to add rows.
    pub(crate) fn open(&self) -> Filler<'q, 'c> {
        let shard = self.queue.shards[self.number].lock();
        Filler { queue: self.queue, shard, rows: 0, urgent: Vec::new() }
    }

    /// Marks a split as complete: all of its rows were added.
    pub(crate) fn complete(&self, split: u32) {
        self.queue.state.lock().scheduler.complete(split);
    }

    /// Counts the thread as waiting for input until the returned value is dropped.
    pub(crate) fn starving(&self) -> Waiting<'q> {
        Waiting::new(&self.queue.starving)
    }
}

impl Drop for Filling<'_, '_> {
    fn drop(&mut self) {
        self.queue.state.lock().fillers -= 1;
        self.queue.work.notify_all();
    }
}

/// Adds rows to the shard of one thread.
pub(crate) struct Filler<'q, 'c> {
    queue: &'q Queue<'c>,
    shard: MutexGuard<'q, Shard>,
    rows: usize,
    urgent: Vec<usize>,
}

impl Filler<'_, '_> {
    /// Adds a row of `node` that `write` appends, some `bytes` bytes of it, or nothing if it fails.
    /// Waits for memory.
    #[inline]
    pub(crate) fn push<E>(
        &mut self,
        (node, wire): (NodeId, Wire),
        at: RowAt,
        bytes: usize,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { queue, shard, rows, .. } = self;
        let bucket = Scheduler::of(queue.nodes, node, wire);
        let room = match shard.room(bucket, bytes) {
            Ok(room) => room,
            Err(bytes) => {
                // Whoever takes from the shard meanwhile must not claim this row.
                let expected = shard.expect_also(at);
                let block = MutexGuard::unlocked(shard, || queue.block(bytes));
                // Without one the load has failed, and nothing more is sent.
                let Some(block) = block else { return Ok(()) };
                shard.expect(expected);
                shard.add_block(bucket, block)
            }
        };
        let pushed = room.push(at, write);
        let grown = shard.grown();
        if grown > 0 {
            queue.pool.lock().grow(grown);
        }
        if pushed.is_err()
            && let Some(block) = shard.take_empty(bucket)
        {
            queue.pool.lock().give_back(block);
        }
        *rows += 1;
        if rows.is_multiple_of(ROWS_AT_ONCE) {
            MutexGuard::bump(shard);
        }
        pushed
    }

    /// Records the place in the split from which earlier rows than those to be added may still come.
    #[inline]
    pub(crate) fn expect(&mut self, mark: Option<Mark>) {
        self.shard.expect(mark);
    }

    /// Has the rows of a node sent soon, however few.
    pub(crate) fn flush_soon(&mut self, (node, wire): (NodeId, Wire)) {
        self.urgent.push(Scheduler::of(self.queue.nodes, node, wire));
    }

    /// Ends adding rows, for a while.
    pub(crate) fn close(self) {
        let Self { queue, shard, urgent, .. } = self;
        drop(shard);
        queue.state.lock().urgent.extend(urgent);
        queue.work.notify_all();
    }
}

/// Counts a thread that waits, until it is dropped.
pub(crate) struct Waiting<'q>(&'q AtomicUsize);

impl<'q> Waiting<'q> {
    fn new(count: &'q AtomicUsize) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
