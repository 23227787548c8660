//! The wish to end a load, and why.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// How long a waiting task may overlook that the load was stopped.
pub(super) const STOP_POLL: Duration = Duration::from_millis(50);

/// Whether a load is to end, and why.
#[derive(Debug, Default)]
pub struct Stop {
    is_stopped: AtomicBool,
    is_interrupted: AtomicBool,
    failure: Mutex<Option<Error>>,
}

impl Stop {
    /// Asks the load to end as soon as it can, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.is_interrupted.store(true, Relaxed);
        self.fail(Error::interrupted());
    }

    /// Whether the load should end before its work is done.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    /// Ends when the load is stopped.
    pub(crate) async fn stopped(&self) {
        while !self.is_stopped() {
            tokio::time::sleep(STOP_POLL).await;
        }
    }

    /// Waits in this thread, but not on when the load is stopped.
    pub(crate) fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_stopped() && Instant::now() < end {
            thread::sleep(STOP_POLL.min(end.saturating_duration_since(Instant::now())));
        }
    }

    /// The outcome of `work`, which may be dropped at any point: the failure that stopped the load
    /// if that comes first.
    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::select! {
            outcome = work => outcome,
            () = self.stopped() => Err(self.failure().unwrap_or_else(Error::interrupted)),
        }
    }

    /// Records why the load ends; the first reason counts, of rows the one that comes first in the input.
    pub(crate) fn fail(&self, error: Error) {
        let mut failure = self.reason();
        match &mut *failure {
            Some(known) if error.is_earlier_than(known) => *known = error,
            known => _ = known.get_or_insert(error),
        }
        self.is_stopped.store(true, Relaxed);
    }

    /// The first failure, if there was one.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.reason().clone()
    }

    /// Forgets how an attempt has failed; false if the user has asked to stop.
    pub(crate) fn forgive(&self) -> bool {
        let mut reason = self.reason();
        let goes_on = !self.is_interrupted.load(Relaxed);
        if goes_on {
            *reason = None;
            self.is_stopped.store(false, Relaxed);
        }
        goes_on
    }

    /// Forgets all of it.
    pub(super) fn reset(&self) {
        self.is_interrupted.store(false, Relaxed);
        self.forgive();
    }

    fn reason(&self) -> MutexGuard<'_, Option<Error>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
