//! What the threads of a load and whoever watches them share: progress, and the wish to stop.

pub(crate) mod busy;

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use crate::control::busy::Busy;
use crate::error::{Error, Result};

/// How long a waiting task may overlook that the load was stopped.
const STOP_POLL: Duration = Duration::from_millis(50);

/// Progress and cancellation of one load; read it from any thread.
#[derive(Debug, Default)]
pub struct Control {
    /// Bytes of the inputs, once known; 0 while or if unknown.
    pub bytes_total: AtomicU64,
    /// Bytes read from the inputs.
    pub bytes_read: AtomicU64,
    /// Rows found in the inputs.
    pub rows_read: AtomicU64,
    /// Rows that were refused and left out.
    pub rows_rejected: AtomicU64,
    /// Rows that are committed.
    pub rows_loaded: AtomicU64,
    /// Rows that earlier runs of the load had committed, as far as they were met again.
    pub rows_already: AtomicU64,
    /// Rows that nobody sees yet: committed in tables which are to be exchanged for their leaves, or in
    /// transactions that are held until all rows are there.
    pub rows_unseen: AtomicU64,
    /// Indexes that these tables need.
    pub indexes_total: AtomicU64,
    /// Indexes that they have.
    pub indexes_built: AtomicU64,
    /// Rows whose commit was asked for without an answer.
    pub rows_in_doubt: AtomicU64,
    /// Payloads that are committed.
    pub payloads: AtomicU64,
    /// Rows that earlier runs of the load had sent and committed.
    before: AtomicU64,
    /// By which name the load can be resumed, as soon as it can.
    resume: OnceLock<String>,
    /// Why the next attempt must make do with one connection.
    single_connection: OnceLock<String>,
    /// What the load waits for before it begins.
    waiting_for: Mutex<Option<String>>,
    /// What the user is to read as soon as may be.
    notices: Mutex<Vec<String>>,
    /// Sessions that the server is to answer.
    pub(crate) busy: Busy,
    /// Whether no payload is to begin, because replicas are behind.
    pub(crate) is_paused: AtomicBool,
    stopped: AtomicBool,
    is_interrupted: AtomicBool,
    failure: Mutex<Option<Error>>,
}

impl Control {
    /// Asks the load to end as soon as it can, as Ctrl-C does.
    pub fn interrupt(&self) {
        self.is_interrupted.store(true, Relaxed);
        self.fail(Error::interrupted());
    }

    /// Forgets how an attempt has failed, so that another can be made; false if the user has asked to
    /// stop.
    pub(crate) fn begin_again(&self) -> bool {
        self.before.fetch_add(self.rows_loaded.load(Relaxed), Relaxed);
        let counts = [
            &self.bytes_read,
            &self.rows_read,
            &self.rows_rejected,
            &self.rows_loaded,
            &self.rows_already,
            &self.rows_unseen,
            &self.indexes_total,
            &self.indexes_built,
        ];
        counts.into_iter().for_each(|count| count.store(0, Relaxed));
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let goes_on = !self.is_interrupted.load(Relaxed);
        if goes_on {
            *failure = None;
            self.stopped.store(false, Relaxed);
        }
        goes_on
    }

    /// The rows of all inputs, as far as it can be told from those that were read.
    pub(crate) fn rows_expected(&self) -> f64 {
        let [rows, read, total] = [&self.rows_read, &self.bytes_read, &self.bytes_total]
            .map(|number| number.load(Relaxed) as f64);
        if read > 0.0 { rows * (total / read).max(1.0) } else { rows }
    }

    /// What the load waits for, if it does so before it begins.
    pub fn waiting_for(&self) -> Option<String> {
        self.waiting_for.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn wait_for(&self, what: Option<String>) {
        *self.waiting_for.lock().unwrap_or_else(PoisonError::into_inner) = what;
    }

    /// What the user is to read, and has not been given yet.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices())
    }

    pub(crate) fn notice(&self, text: String) {
        self.notices().push(text);
    }

    fn notices(&self) -> MutexGuard<'_, Vec<String>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends when payloads may begin, or the load is stopped.
    pub(crate) async fn unpaused(&self) {
        while self.is_paused.load(Relaxed) && !self.is_stopped() {
            tokio::time::sleep(STOP_POLL).await;
        }
    }

    /// By which name the load can be resumed, if it can.
    pub(crate) fn resume(&self) -> Option<&str> {
        self.resume.get().map(String::as_str)
    }

    /// Counts the rows that were held as committed.
    pub(crate) fn show_held(&self) {
        self.rows_loaded.fetch_add(self.rows_unseen.swap(0, Relaxed), Relaxed);
    }

    /// Why the load must make do with one connection, if an attempt with several has failed for that.
    pub(crate) fn single_connection(&self) -> Option<&str> {
        self.single_connection.get().map(String::as_str)
    }

    /// Notes that several connections cannot do it.
    pub(crate) fn use_single_connection(&self, why: &str) {
        self.single_connection.get_or_init(|| why.to_owned());
    }

    pub(crate) fn set_resume(&self, id: &str) {
        self.resume.get_or_init(|| id.to_owned());
    }

    /// Notes how many rows earlier runs of the load have committed: nothing of them is in doubt any more.
    pub(crate) fn set_rows_before(&self, rows: u64) {
        self.rows_in_doubt.store(0, Relaxed);
        self.before.store(rows, Relaxed);
    }

    /// Whether rows of the load are in the table, or may be.
    pub(crate) fn may_have_rows(&self) -> bool {
        self.rows_in() > 0 || self.rows_in_doubt.load(Relaxed) > 0
    }

    /// Rows that this run of the load and those before it have committed.
    pub(crate) fn rows_in(&self) -> u64 {
        self.before.load(Relaxed) + self.rows_loaded.load(Relaxed)
    }

    /// Whether the load should end before its work is done.
    pub fn is_stopped(&self) -> bool {
        self.stopped.load(Relaxed)
    }

    /// Ends when the load is stopped.
    pub(crate) async fn stopped(&self) {
        while !self.is_stopped() {
            tokio::time::sleep(STOP_POLL).await;
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

    /// Records why the load ends; the first reason counts.
    pub(crate) fn fail(&self, error: Error) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.get_or_insert(error);
        self.stopped.store(true, Relaxed);
    }

    /// The first failure, if there was one.
    pub(crate) fn failure(&self) -> Option<Error> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
