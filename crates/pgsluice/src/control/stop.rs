//! The request to end a load, and its reason.

use std::future::Future;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};

/// Maximum time until a waiting task notices that the load was stopped.
pub(super) const STOP_POLL: Duration = Duration::from_millis(50);

/// Whether a load should end, and why.
#[derive(Debug, Default)]
pub struct Stop {
    is_stopped: AtomicBool,
    is_interrupted: AtomicBool,
    failure: Mutex<Option<Error>>,
}

impl Stop {
    /// Asks the load to end as soon as possible, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.is_interrupted.store(true, Relaxed);
        self.fail(Error::interrupted());
    }

    /// Whether the load should end before its work is done.
    pub fn is_stopped(&self) -> bool {
        self.is_stopped.load(Relaxed)
    }

    /// Waits until the load is stopped.
    pub(crate) async fn until_stopped(&self) {
        while !self.is_stopped() {
            tokio::time::sleep(STOP_POLL).await;
        }
    }

    /// Blocks this thread for `time`, or until the load is stopped.
    pub(crate) fn pause(&self, time: Duration) {
        let end = Instant::now() + time;
        while !self.is_stopped() && Instant::now() < end {
            thread::sleep(STOP_POLL.min(end.saturating_duration_since(Instant::now())));
        }
    }

    /// Returns the outcome of `work`, or the failure that stopped the load if that comes first. `work` may be
    /// dropped at any point.
    pub(crate) async fn unless_stopped<T>(
        &self,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        tokio::select! {
            outcome = work => outcome,
            () = self.until_stopped() => Err(self.failure().unwrap_or_else(Error::interrupted)),
        }
    }

    /// Records why the load ends. The first reason counts; for errors about rows, the row that is first in
    /// the input.
    pub(crate) fn fail(&self, error: Error) {
        let mut failure = self.reason();
        match &mut *failure {
            Some(known) if error.is_earlier_than(known) => *known = error,
            known => _ = known.get_or_insert(error),
        }
        self.is_stopped.store(true, Relaxed);
    }

    /// Returns the reason why the load ends, if it does.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.reason().clone()
    }

    /// Forgets the failure of an attempt. Returns `false` if the user has asked to stop.
    pub(crate) fn forgive(&self) -> bool {
        let mut reason = self.reason();
        let goes_on = !self.is_interrupted.load(Relaxed);
        if goes_on {
            *reason = None;
            self.is_stopped.store(false, Relaxed);
        }
        goes_on
    }

    /// Forgets the failure and the user's request.
    pub(super) fn reset(&self) {
        self.is_interrupted.store(false, Relaxed);
        self.forgive();
    }

    fn reason(&self) -> MutexGuard<'_, Option<Error>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
