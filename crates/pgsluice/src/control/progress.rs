//! The progress of a load: the first listener to its events, and counts that change with each block of the
//! input.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::events::{Event, Events, Level};
use super::waits::WaitReason;

/// The progress of a load, which can be read from any thread.
#[derive(Debug, Default)]
pub struct Progress {
    /// Bytes of the inputs; 0 if unknown.
    pub bytes_total: AtomicU64,
    /// Bytes read from the inputs.
    pub bytes_read: AtomicU64,
    /// Rows found in the inputs.
    pub rows_read: AtomicU64,
    /// Rows that were rejected.
    pub rows_rejected: AtomicU64,
    /// Rows that are committed.
    pub rows_loaded: AtomicU64,
    /// Rows that earlier runs of the load had committed, as far as this run has read them again.
    pub rows_already: AtomicU64,
    /// Rows that are not visible to other sessions yet: in tables that will be exchanged, or in transactions
    /// that wait for all rows.
    pub rows_unseen: AtomicU64,
    /// Indexes that these tables need.
    pub indexes_total: AtomicU64,
    /// Indexes of these tables that are built.
    pub indexes_built: AtomicU64,
    /// Bytes of these rows.
    pub(crate) bytes_unseen: AtomicU64,
    /// Bytes that all attempts have read from the inputs. It never decreases.
    pub(crate) bytes_read_ever: AtomicU64,
    /// Rows that all attempts have found in the inputs. It never decreases.
    pub(crate) rows_read_ever: AtomicU64,
    /// Rows whose COMMIT was sent and not answered.
    pub rows_in_doubt: AtomicU64,
    /// Messages of a stream that are not committed yet, as its reader reports them.
    pub messages_behind: AtomicU64,
    /// Payloads that are committed.
    pub payloads: AtomicU64,
    /// A description of the condition that the load waits for before it begins.
    waiting_for: Mutex<Option<String>>,
    /// Warnings for the summary.
    warnings: Mutex<Vec<String>>,
    /// Facts about the input for the summary.
    notes: Mutex<Vec<String>>,
    /// Notices for the user that were not shown yet.
    notices: Mutex<Vec<String>>,
}

impl Progress {
    /// Estimates the number of rows in all inputs from the rows that were read.
    pub(crate) fn rows_expected(&self) -> f64 {
        let [rows, read, total] = [&self.rows_read, &self.bytes_read, &self.bytes_total]
            .map(|number| number.load(Relaxed) as f64);
        if read > 0.0 { rows * (total / read).max(1.0) } else { rows }
    }

    /// Returns a description of the condition that the load waits for before it begins, if any.
    pub fn waiting_for(&self) -> Option<String> {
        self.waiting_for.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn wait_for(&self, what: Option<&str>) {
        *self.waiting_for.lock().unwrap_or_else(PoisonError::into_inner) = what.map(str::to_owned);
    }

    /// Counts rows of the input, and the bytes that they were read from.
    pub(crate) fn read(&self, rows: u64, bytes: u64) {
        for (counts, number) in [
            ([&self.rows_read, &self.rows_read_ever], rows),
            ([&self.bytes_read, &self.bytes_read_ever], bytes),
        ] {
            counts.into_iter().for_each(|count| _ = count.fetch_add(number, Relaxed));
        }
    }

    /// Returns the notices that were not shown yet, and forgets them.
    pub fn take_notices(&self) -> Vec<String> {
        std::mem::take(&mut *self.notices())
    }

    /// Whether the load has given this warning.
    pub(super) fn has_warning(&self, text: &str) -> bool {
        self.warnings().iter().any(|known| known == text)
    }

    /// Whether this fact about the input is known.
    pub(super) fn has_note(&self, text: &str) -> bool {
        self.notes().iter().any(|known| known == text)
    }

    /// Returns the facts about the input.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns all warnings of the load.
    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn notices(&self) -> MutexGuard<'_, Vec<String>> {
        self.notices.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts the rows of an all-or-nothing load as committed. Returns their number and their bytes.
    pub(crate) fn show_held(&self) -> [u64; 2] {
        let rows = self.rows_unseen.swap(0, Relaxed);
        self.rows_loaded.fetch_add(rows, Relaxed);
        [rows, self.bytes_unseen.swap(0, Relaxed)]
    }

    /// Resets the counts for another attempt.
    pub(super) fn restart(&self) {
        let counts = [
            &self.bytes_read,
            &self.rows_read,
            &self.rows_rejected,
            &self.rows_loaded,
            &self.rows_already,
            &self.rows_unseen,
            &self.bytes_unseen,
            &self.indexes_total,
            &self.indexes_built,
        ];
        counts.into_iter().for_each(|count| count.store(0, Relaxed));
    }

    /// Resets the progress for another load.
    pub(super) fn reset(&self) {
        self.restart();
        let of_load = [&self.bytes_total, &self.rows_in_doubt, &self.payloads];
        of_load.into_iter().for_each(|count| count.store(0, Relaxed));
        self.wait_for(None);
        self.notices().clear();
        for texts in [&self.warnings, &self.notes] {
            texts.lock().unwrap_or_else(PoisonError::into_inner).clear();
        }
    }
}

/// Keeps the texts until they are shown.
impl Events for Progress {
    fn event(&self, event: &Event<'_>) {
        match *event {
            // Notices describe locks, and the display goes on beside them.
            Event::Waiting { reason: WaitReason::Lock, .. }
            | Event::Resumed { reason: WaitReason::Lock, .. } => {}
            Event::Waiting { text, .. } => self.wait_for(Some(text)),
            Event::Resumed { .. } => self.wait_for(None),
            Event::Message { level, text } => {
                let texts = match level {
                    Level::Notice => return self.notices().push(text.to_owned()),
                    Level::Warning => {
                        self.notices().push(format!("warning: {text}"));
                        &self.warnings
                    }
                    Level::Note => &self.notes,
                };
                texts.lock().unwrap_or_else(PoisonError::into_inner).push(text.to_owned());
            }
            _ => {}
        }
    }
}
