//! A thread that fills the buckets.

use parking_lot::MutexGuard;
use pgsluice_core::bucket::{Block, BlockRow, Shard, SplitOffset};

use super::first::First;
use super::queue::Queue;
use super::waiting::Waiting;
use super::write::RowBuffer;
use crate::control::waits::InputWait;

/// Number of rows that are written before the shard is lent to a waiting thread.
const ROWS_AT_ONCE: usize = 128;

/// A thread that fills the buckets.
pub(crate) struct Filling<'q, 'c> {
    queue: &'q Queue<'c>,
    number: usize,
}

impl<'q, 'c> Filling<'q, 'c> {
    /// Marks the thread with this number as filling until the value is dropped.
    pub(crate) fn new(queue: &'q Queue<'c>, number: usize) -> Self {
        Self { queue, number }
    }

    /// Begins to add rows.
    pub(crate) fn open(&self) -> Filler<'q, 'c> {
        let shard = self.queue.shards[self.number].lock();
        Filler { queue: self.queue, shard, rows: 0, urgent: Vec::new() }
    }

    /// Marks a split of `bytes` bytes as complete: all of its rows were added.
    pub(crate) fn complete(&self, split: u32, bytes: usize) {
        self.queue.shards[self.number].lock().set_pending(None);
        let mut state = self.queue.state.lock();
        state.scheduler.complete(split);
        if let First::Collecting(_, routed) = &mut state.first {
            routed.add(split, bytes);
            self.queue.work.notify_all();
        }
    }

    /// Counts the thread as waiting for input until the returned values are dropped.
    pub(crate) fn begin_input_wait(&self) -> (Waiting<'q>, InputWait<'q>) {
        let fillers = self.queue.state.lock().fillers;
        (
            Waiting::new(&self.queue.waiting_for_input),
            self.queue.control.waits.begin_input_wait(fillers),
        )
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
    /// Records the offset in the split from which rows before the next ones may still come.
    #[inline]
    pub(crate) fn set_pending(&mut self, first: Option<SplitOffset>) {
        self.shard.set_pending(first);
    }

    /// Requests that the rows of a bucket are sent soon, even if they are few.
    pub(crate) fn flush_soon(&mut self, bucket: usize) {
        self.urgent.push(bucket);
    }

    /// Releases the shard and wakes the connections.
    pub(crate) fn close(self) {
        let Self { queue, shard, urgent, .. } = self;
        drop(shard);
        queue.state.lock().urgent.extend(urgent);
        queue.work.notify_all();
    }
}

impl RowBuffer for Filler<'_, '_> {
    #[inline]
    fn shard(&mut self) -> &mut Shard {
        &mut self.shard
    }

    /// Waits for memory. Returns `None` if the load has failed and nothing more is sent.
    fn block(&mut self, bytes: usize, at: BlockRow) -> Option<Block> {
        let Self { queue, shard, .. } = self;
        // A connection that takes rows from the shard in the meantime must not claim this row.
        let pending = shard.add_pending(at);
        let block = MutexGuard::unlocked(shard, || queue.block(bytes))?;
        shard.set_pending(pending);
        Some(block)
    }

    #[inline]
    fn account(&mut self, grown: usize, unused: Option<Block>) {
        let Self { queue, shard, rows, .. } = self;
        if grown > 0 {
            queue.pool.lock().grow(grown);
        }
        if let Some(block) = unused {
            queue.pool.lock().give_back(block);
        }
        *rows += 1;
        if rows.is_multiple_of(ROWS_AT_ONCE) {
            MutexGuard::bump(shard);
        }
    }
}
