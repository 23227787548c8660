//! What the threads of a load and its caller share: its progress, the wish to stop, and what one
//! attempt leaves to the next.

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

/// A handle on a load: watch and stop it from any thread. The next load with it begins afresh.
#[derive(Debug, Default)]
pub struct Control {
    /// How far the load is.
    pub progress: Progress,
    /// The wish to end it.
    pub stop: Stop,
    pub(crate) attempts: Attempts,
    /// Sessions that the server is to answer.
    pub(crate) busy: Busy,
    /// Whether no payload is to begin, because replicas are behind.
    pub(crate) is_paused: AtomicBool,
}

impl Control {
    /// Begins a load. The wish to stop is left as it is: it may have come before.
    pub(crate) fn begin(&self) {
        self.progress.reset();
        self.attempts.reset();
        self.is_paused.store(false, Relaxed);
    }

    /// Ends a load: what has stopped it stops no other.
    pub(crate) fn end(&self) {
        self.stop.reset();
    }

    /// Forgets how an attempt has failed, so that another can be made; false if the user has asked to
    /// stop.
    pub(crate) fn begin_again(&self) -> bool {
        self.attempts.set_rows_before(self.rows_in());
        self.progress.restart();
        self.stop.forgive()
    }

    /// Sets how many rows earlier runs of the load have committed: none of them is in doubt any more.
    pub(crate) fn set_rows_before(&self, rows: u64) {
        self.progress.rows_in_doubt.store(0, Relaxed);
        self.attempts.set_rows_before(rows);
    }

    /// Whether rows of the load are in the table, or may be.
    pub(crate) fn may_have_rows(&self) -> bool {
        self.rows_in() > 0 || self.progress.rows_in_doubt.load(Relaxed) > 0
    }

    /// Rows that this run of the load and those before it have committed.
    pub(crate) fn rows_in(&self) -> u64 {
        self.attempts.rows_before() + self.progress.rows_loaded.load(Relaxed)
    }

    /// Ends when payloads may begin, or the load is stopped.
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
