//! Source and splitting on a separate thread, which reads the inputs and finds the rows for the threads that
//! receive whole splits.
//!
//! It must be one thread, because the end of a row depends on everything before it.

use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::source::interruptible::STOP_POLL;
use crate::source::rewrite::Rewrite;
use crate::source::{Reader, Split};

/// A thread that reads the inputs.
pub(crate) struct Reading {
    splits: Mutex<Receiver<Split>>,
    used: Sender<Split>,
    thread: JoinHandle<Vec<(String, String)>>,
    rewrite: Option<Rewrite>,
}

impl Reading {
    /// Begins to read for `takers` threads, until `takes` returns false for a split. The thread is not
    /// scoped, because it may still wait for its input when all other threads have ended.
    pub(crate) fn begin(
        reader: Reader,
        control: &Arc<Control>,
        takers: usize,
        takes: impl FnMut(&Split) -> bool + Send + 'static,
    ) -> Self {
        let (full, splits) = sync_channel(takers);
        let (used, empty) = channel();
        let control = Arc::clone(control);
        let rewrite = reader.rewriting();
        let thread = thread::spawn(move || read(reader, &control, takes, &full, &empty));
        Self { splits: Mutex::new(splits), used, thread, rewrite }
    }

    /// Returns the next split; `None` at the end or if the load was stopped.
    pub(crate) fn next(&self, control: &Control) -> Option<Split> {
        while !control.stop.is_stopped() {
            let splits = self.splits.lock().unwrap_or_else(PoisonError::into_inner);
            let received = splits.recv_timeout(STOP_POLL);
            drop(splits);
            match received {
                Ok(split) => return Some(split.rewrite(self.rewrite.as_ref())),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        None
    }

    /// Returns a split that is no longer needed, so that its memory can be reused.
    pub(crate) fn give_back(&self, split: Split) {
        // This fails at the end of the input, when no more splits are needed.
        let _ = self.used.send(split);
    }

    /// Runs `look` in this number of threads and returns the results. The first failure stops all threads and
    /// is returned, since the results are incomplete without the rest of the input.
    pub(crate) fn look_through<T: Send>(
        self,
        threads: usize,
        control: &Control,
        look: impl Fn(&Self) -> Result<T> + Sync,
    ) -> Result<Vec<T>> {
        let looking = || {
            let found = look(&self);
            if let Err(error) = &found {
                control.stop.fail(error.clone());
            }
            found
        };
        let outcomes: Vec<thread::Result<Result<T>>> = thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|_| scope.spawn(looking)).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        let ended = self.end();
        control.stop.failure().map_or(Ok(()), Err)?;
        let lost = || {
            Error::new(Kind::Server, "internal error: a thread of the load ended unexpectedly")
                .with_sqlstate("XX000")
        };
        let found = outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|_| Err(lost())));
        let found = found.collect::<Result<Vec<T>>>()?;
        ended.map(|_| found).map_err(|_| lost())
    }

    /// Stops the thread and waits for it. Returns the bytes that were not data, as pairs of the input's name
    /// and a description.
    pub(crate) fn end(self) -> thread::Result<Vec<(String, String)>> {
        drop((self.splits, self.used));
        self.thread.join()
    }
}

fn read(
    mut reader: Reader,
    control: &Control,
    mut takes: impl FnMut(&Split) -> bool,
    full: &SyncSender<Split>,
    empty: &Receiver<Split>,
) -> Vec<(String, String)> {
    while !control.stop.is_stopped() {
        match reader.cut(empty.try_recv().ok()) {
            Ok(Some(split)) => {
                if !takes(&split) || full.send(split).is_err() {
                    break;
                }
            }
            Ok(None) => break,
            Err(error) => control.stop.fail(error),
        }
    }
    reader.ignored
}
