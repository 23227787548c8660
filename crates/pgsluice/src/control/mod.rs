//! State that the threads of a load share with its caller: its progress, requests to stop, and the state that
//! one attempt passes on to the next.

mod attempts;
mod busy;
mod progress;
mod stop;

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use pgsluice_session::connect::{Caller, Pid};

use crate::error::Error;
use attempts::Attempts;
pub(crate) use attempts::{MadePartition, Rejecting};
use busy::Busy;
pub use progress::Progress;
use stop::STOP_POLL;
pub use stop::Stop;

/// A handle on a load: watch and stop it from any thread. It can be reused for the next load.
#[derive(Debug, Default)]
pub struct Control {
    /// The progress of the load.
    pub progress: Progress,
    /// The request to end it.
    pub stop: Stop,
    pub(crate) attempts: Attempts,
    /// Sessions that wait for an answer of the server.
    pub(crate) busy: Busy,
    /// Whether new payloads must wait, because replicas lag behind.
    pub(crate) is_paused: AtomicBool,
}

impl Control {
    /// Begins a load. Keeps a request to stop, which may have come earlier.
    pub(crate) fn begin(&self) {
        self.progress.reset();
        self.attempts.reset();
        self.is_paused.store(false, Relaxed);
    }

    /// Ends a load. Its request to stop does not affect the next one.
    pub(crate) fn end(&self) {
        self.stop.reset();
    }

    /// Forgets the failure of an attempt, so that another can be made. Returns `false` if the user has asked
    /// to stop.
    pub(crate) fn begin_again(&self) -> bool {
        self.attempts.set_rows_before(self.rows_in());
        self.progress.restart();
        self.stop.forgive()
    }

    /// Sets the number of rows that earlier runs of the load have committed. No rows are in doubt after that.
    pub(crate) fn set_rows_before(&self, rows: u64) {
        self.progress.rows_in_doubt.store(0, Relaxed);
        self.attempts.set_rows_before(rows);
    }

    /// Whether rows of the load are in the table, or may be.
    pub(crate) fn may_have_rows(&self) -> bool {
        self.rows_in() > 0 || self.progress.rows_in_doubt.load(Relaxed) > 0
    }

    /// Returns the number of rows that this run of the load and earlier ones have committed.
    pub(crate) fn rows_in(&self) -> u64 {
        self.attempts.rows_before() + self.progress.rows_loaded.load(Relaxed)
    }

    /// Waits until payloads may begin, or the load is stopped.
    pub(crate) async fn unpaused(&self) {
        while self.is_paused.load(Relaxed) && !self.stop.is_stopped() {
            tokio::time::sleep(STOP_POLL).await;
        }
    }
}

impl Caller for Control {
    fn enter(&self, pid: &Pid) -> impl Sized {
        self.busy.enter(pid)
    }

    fn stopped(&self) -> impl Future<Output = ()> {
        self.stop.stopped()
    }

    fn failure(&self) -> Option<Error> {
        self.stop.failure()
    }
}
