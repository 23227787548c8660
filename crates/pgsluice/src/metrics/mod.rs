//! Metrics of a run, as text that Prometheus reads.
//!
//! ```text
//!     Event -> Metrics -> text of the table -> FILE, renamed into place
//! ```
//!
//! Metrics have no label for the leaf. A table may have thousands, and each would be a separate time series.

mod file;
mod table;
mod text;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

pub use self::file::MetricsFile;
pub use self::table::page;
use crate::control::{Control, Event, Events, Level};

/// The name of rejected rows without an SQLSTATE: the program has rejected them itself.
const NO_SQLSTATE: &str = "none";

/// SQLSTATEs of rows that are often rejected. Their series begin at zero.
const COMMON_SQLSTATES: [&str; 9] =
    ["22001", "22003", "22007", "22P02", "22P04", "23502", "23503", "23505", "23514"];

/// The metrics of a run.
#[derive(Debug)]
pub struct Metrics(Mutex<Totals>);

/// The sums of the events.
#[derive(Clone, Debug)]
struct Totals {
    began: f64,
    last_progress: f64,
    /// The counts at the last progress.
    counts: [u64; COUNTS],
    last_commit: f64,
    transactions: u64,
    transaction_seconds: f64,
    rows_committed: u64,
    bytes_committed: u64,
    rejected: BTreeMap<String, u64>,
    attempts: u64,
    retries: u64,
    warnings: u64,
    phase: Option<String>,
    phases: u64,
    is_finished: bool,
    has_succeeded: bool,
}

/// The number of counts that show progress.
const COUNTS: usize = 7;

impl Default for Metrics {
    fn default() -> Self {
        let known = COMMON_SQLSTATES.iter().chain([&NO_SQLSTATE]);
        Self(Mutex::new(Totals {
            began: now(),
            last_progress: now(),
            counts: [0; COUNTS],
            last_commit: 0.0,
            transactions: 0,
            transaction_seconds: 0.0,
            rows_committed: 0,
            bytes_committed: 0,
            rejected: known.map(|&sqlstate| (sqlstate.to_owned(), 0)).collect(),
            attempts: 0,
            retries: 0,
            warnings: 0,
            phase: None,
            phases: 0,
            is_finished: false,
            has_succeeded: false,
        }))
    }
}

impl Metrics {
    /// Returns the text of all metrics. `control` has the counts that change with each block.
    pub fn text(&self, control: &Control) -> String {
        let mut totals = self.totals();
        let counts = totals.progress(control);
        if counts != totals.counts {
            totals.counts = counts;
            totals.last_progress = now();
        }
        let totals = totals.clone();
        text::text(&totals, control)
    }

    fn totals(&self) -> MutexGuard<'_, Totals> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Totals {
    /// Returns the counts that increase while the run makes progress.
    fn progress(&self, control: &Control) -> [u64; COUNTS] {
        let get = |count: &AtomicU64| count.load(Relaxed);
        let progress = &control.progress;
        [
            get(&progress.bytes_read_ever),
            get(&progress.rows_read_ever),
            get(&progress.rows_already),
            get(&progress.indexes_built),
            self.transactions,
            self.rows_committed,
            self.phases,
        ]
    }
}

impl Events for Metrics {
    fn event(&self, event: &Event<'_>) {
        let mut totals = self.totals();
        match *event {
            Event::Attempt { .. } => {
                totals.attempts += 1;
                (totals.is_finished, totals.has_succeeded) = (false, false);
            }
            Event::Committed { rows, bytes, seconds, is_visible, .. } => {
                totals.transactions += 1;
                totals.transaction_seconds += seconds;
                if is_visible {
                    totals.rows_committed += rows;
                    totals.bytes_committed += bytes;
                    totals.last_commit = now();
                }
            }
            Event::Rejected { sqlstate, rows } => {
                let sqlstate = if sqlstate.is_empty() { NO_SQLSTATE } else { sqlstate };
                *totals.rejected.entry(sqlstate.to_owned()).or_default() += rows;
            }
            Event::Retry { .. } => totals.retries += 1,
            Event::Phase { name } => {
                totals.phase = Some(name.to_owned());
                totals.phases += 1;
            }
            Event::Message { level: Level::Warning, .. } => totals.warnings += 1,
            Event::Finished { error, .. } => {
                totals.is_finished = true;
                totals.has_succeeded = error.is_none();
                // After a failure, the phase shows where the move has ended.
                totals.phase = totals.phase.take().filter(|_| error.is_some());
            }
            Event::Waiting { .. } | Event::Resumed { .. } | Event::Message { .. } => {}
        }
    }
}

/// Returns the time in seconds since 1970.
fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64())
}
