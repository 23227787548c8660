//! Between the threads that fill the buckets and the connections that empty them.
//!
//! One lock for a split and one for a payload, never one for a row. Whoever fills waits while the
//! memory is used up; whoever empties waits while no payload is worth a COPY.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pgsluice_core::bucket::{Buckets, Payload};
use pgsluice_core::catalog::NodeId;
use pgsluice_core::position::Position;

use crate::control::Control;

/// A payload of fewer bytes waits for more rows, unless memory or time runs out.
const WORTH_A_COPY: usize = 64 << 10;

/// How long a waiting thread may overlook that the load was stopped.
const PATIENCE: Duration = Duration::from_millis(100);

/// The buckets, shared.
pub(crate) struct Queue<'c> {
    control: &'c Control,
    state: Mutex<State>,
    room: Condvar,
    work: Condvar,
}

struct State {
    buckets: Buckets,
    /// Threads that still fill.
    fillers: usize,
    /// Threads that wait for memory.
    waiting: usize,
    /// Nodes with rows that the server will refuse: the sooner it says so the better.
    urgent: Vec<NodeId>,
}

/// The rows of one split that were routed, with the node of each.
pub(crate) struct Routed<'s> {
    pub start: Position,
    pub bytes: &'s [u8],
    pub rows: &'s [pgsluice_core::split::Row],
    pub nodes: &'s [u32],
    /// Nodes with rows that the server will refuse.
    pub urgent: &'s [NodeId],
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
    /// A queue that `fillers` threads fill.
    pub(crate) fn new(buckets: Buckets, fillers: usize, control: &'c Control) -> Self {
        let state = State { buckets, fillers, waiting: 0, urgent: Vec::new() };
        Self { control, state: Mutex::new(state), room: Condvar::new(), work: Condvar::new() }
    }

    /// Adds the rows of a split, when there is room for them.
    pub(crate) fn push(&self, routed: &Routed<'_>) {
        let mut state = self.lock();
        while !state.buckets.has_room(routed.bytes.len(), routed.rows.len())
            && !state.buckets.is_empty()
            && !self.control.is_stopped()
        {
            state.waiting += 1;
            self.work.notify_all();
            state = wait(&self.room, state);
            state.waiting -= 1;
        }
        let rows = routed
            .rows
            .iter()
            .zip(routed.nodes)
            .map(|(row, &node)| (node as NodeId, row.start, row.line, row.of(routed.bytes)));
        state.buckets.append(routed.start, rows);
        state.urgent.extend_from_slice(routed.urgent);
        drop(state);
        self.work.notify_all();
    }

    /// Marks one of the filling threads as filling until the mark is dropped, however it ends.
    pub(crate) fn filling(&self) -> Filling<'_, 'c> {
        Filling(self)
    }

    /// The next payload to send. Waits for it, but not for long, so that the caller can look at its
    /// connection now and then.
    pub(crate) fn pop(&self) -> Next {
        let mut state = self.lock();
        match self.look(&mut state) {
            Next::Nothing => self.look(&mut wait(&self.work, state)),
            found => found,
        }
    }

    fn look(&self, state: &mut State) -> Next {
        if self.control.is_stopped() {
            return Next::Done;
        }
        let State { buckets, fillers, waiting, urgent } = state;
        while let Some(node) = urgent.pop() {
            if let Some(payload) = buckets.take_node(node) {
                return Next::Payload(payload);
            }
        }
        let least = if *fillers == 0 || *waiting > 0 { 1 } else { WORTH_A_COPY };
        match buckets.take(least) {
            Some(payload) => Next::Payload(payload),
            None if *fillers == 0 => Next::Done,
            None => Next::Nothing,
        }
    }

    /// Gives back the memory of a payload that was sent.
    pub(crate) fn recycle(&self, payload: Payload) {
        self.lock().buckets.recycle(payload);
        self.room.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A thread that fills.
pub(crate) struct Filling<'q, 'c>(&'q Queue<'c>);

impl Drop for Filling<'_, '_> {
    fn drop(&mut self) {
        self.0.lock().fillers -= 1;
        self.0.work.notify_all();
    }
}

fn wait<'s>(condition: &Condvar, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
    condition.wait_timeout(state, PATIENCE).unwrap_or_else(PoisonError::into_inner).0
}
