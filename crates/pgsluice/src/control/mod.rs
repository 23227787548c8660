//! State that the threads of a load share with its caller: its progress, requests to stop, and the state that
//! one attempt passes on to the next.
//!
//! ```text
//!     load, writer, move -> emit(Event) -> Progress: the texts, for the progress display and the summary
//!                                       -> other listeners: metrics, logs
//! ```

mod attempts;
mod busy;
pub mod events;
mod progress;
mod stop;
pub(crate) mod waits;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use pgsluice_session::connect::{Caller, Pid};

use crate::error::Error;
use attempts::Attempts;
pub(crate) use attempts::{CreatedPartition, Rejecting};
use busy::Busy;
use events::Listeners;
pub use events::{Event, Events, Level};
pub use progress::Progress;
use stop::STOP_POLL;
pub use stop::Stop;
pub use waits::WaitReason;
use waits::Waits;

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
    pub(crate) waits: Waits,
    listeners: Listeners,
}

impl Control {
    /// Adds a listener to the events of all further loads.
    pub fn listen(&self, listener: Arc<dyn Events>) {
        self.listeners.add(listener);
    }

    /// Passes an event to the progress and to all listeners.
    pub(crate) fn emit(&self, event: &Event<'_>) {
        self.progress.event(event);
        self.listeners.event(event);
    }

    /// Begins a load. Keeps a request to stop, which may have come earlier.
    pub(crate) fn begin(&self) {
        self.end_waits();
        self.progress.reset();
        self.attempts.reset();
        self.is_paused.store(false, Relaxed);
    }

    /// Ends a load. Its request to stop does not affect the next one.
    pub(crate) fn end(&self) {
        self.end_waits();
        self.stop.reset();
    }

    /// Forgets the `error` of an attempt, so that another can be made. Returns `false` if the user has asked
    /// to stop.
    pub(crate) fn begin_again(&self, error: &Error) -> bool {
        let goes_on = self.stop.forgive();
        if goes_on {
            self.end_waits();
            self.emit(&Event::Retry { error });
            self.attempts.set_rows_before(self.rows_in());
            self.progress.restart();
        }
        goes_on
    }

    /// Reports the end of a run that has committed `rows` to all listeners, with its error if it has failed. A [`crate::Load`] and a
    /// [`crate::moving::Move`] call this themselves. The program that uses a [`crate::Writer`] knows when its
    /// run is over.
    pub fn finish(&self, rows: u64, error: Option<&Error>) {
        self.end_waits();
        self.emit(&Event::Finished { rows, error });
    }

    /// Shows a notice.
    pub(crate) fn notice(&self, text: &str) {
        self.emit(&Event::Message { level: Level::Notice, text });
    }

    /// Shows a warning, and keeps it for the summary. Further attempts may give it again.
    pub(crate) fn warn(&self, text: &str) {
        if !self.progress.has_warning(text) {
            self.emit(&Event::Message { level: Level::Warning, text });
        }
    }

    /// Keeps a fact about the input for the summary. Further attempts may find it again.
    pub(crate) fn note(&self, text: &str) {
        if !self.progress.has_note(text) {
            self.emit(&Event::Message { level: Level::Note, text });
        }
    }

    /// Reports that the run waits for what `text` describes, until [`Self::resume`].
    pub(crate) fn wait_for(&self, reason: WaitReason, text: &str) {
        self.has_waited(Duration::ZERO, reason, text);
    }

    /// Reports a wait that has lasted for `waited` before it was noticed.
    pub(crate) fn has_waited(&self, waited: Duration, reason: WaitReason, text: &str) {
        let (time, is_new) = self.waits.begin(reason, waited);
        self.emit(&Event::Waiting { reason, text, seconds: time.as_secs_f64(), is_new });
    }

    /// Reports the end of all waits, which an error may have left open.
    fn end_waits(&self) {
        self.waits.open().into_iter().for_each(|reason| self.resume(reason));
    }

    /// Reports the end of a wait, if there was one.
    pub(crate) fn resume(&self, reason: WaitReason) {
        if let Some(time) = self.waits.end(reason) {
            self.emit(&Event::Resumed { reason, seconds: time.as_secs_f64() });
        }
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

    /// Counts the rows of a load that needed one short transaction: the numbers of rows that were read and
    /// stored, and of bytes.
    pub(crate) fn loaded_at_once(&self, table: &str, numbers: [u64; 3], seconds: f64) {
        let [read, rows, bytes] = numbers;
        let Progress { rows_loaded, payloads, bytes_read_ever, rows_read_ever, .. } =
            &self.progress;
        rows_loaded.store(rows, Relaxed);
        payloads.store(1, Relaxed);
        bytes_read_ever.fetch_add(bytes, Relaxed);
        rows_read_ever.fetch_add(read, Relaxed);
        self.emit(&Event::Committed { table, rows, bytes, seconds, is_visible: true });
    }

    /// Returns the number of rows that this run of the load and earlier ones have committed.
    pub fn rows_in(&self) -> u64 {
        self.attempts.rows_before() + self.progress.rows_loaded.load(Relaxed)
    }

    /// Waits until payloads may begin, or the load is stopped.
    pub(crate) async fn until_unpaused(&self) {
        while self.is_paused.load(Relaxed) && !self.stop.is_stopped() {
            tokio::time::sleep(STOP_POLL).await;
        }
    }
}

impl Caller for Control {
    fn enter(&self, pid: &Pid) -> impl Sized {
        self.busy.enter(pid)
    }

    fn until_stopped(&self) -> impl Future<Output = ()> {
        self.stop.until_stopped()
    }

    fn failure(&self) -> Option<Error> {
        self.stop.failure()
    }
}
