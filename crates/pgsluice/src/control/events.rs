//! Events of a run, and the listeners that receive them: the progress, metrics, logs.
//!
//! An event describes an attempt, a transaction or a wait, never a single row. Counts that change with each
//! block of the input are numbers in [`super::Progress`] instead, because routers must not wait for listeners.

use std::fmt;
use std::sync::{Arc, PoisonError, RwLock};

use super::waits::WaitReason;
use crate::error::Error;

/// A listener to the events of a run.
pub trait Events: Send + Sync {
    /// Receives an event. The threads of the run call this between two transactions, so it must return soon.
    fn event(&self, event: &Event<'_>);
}

/// Something that has happened in a load, a move of a table, or a writer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum Event<'a> {
    /// An attempt at a load begins, or an attempt at a call of a writer.
    Attempt {
        /// The number of the attempt, from 1.
        number: u64,
    },
    /// The server has committed a transaction.
    Committed {
        /// The leaf, or the root if the rows belong to several leaves.
        table: &'a str,
        /// The rows, without rejected ones.
        rows: u64,
        /// Their bytes in the form in which they were sent.
        bytes: u64,
        /// The duration of the transaction.
        seconds: f64,
        /// Whether other sessions see the rows. Otherwise the load is atomic or exchanges the leaf, and
        /// another event follows when its rows become visible.
        is_visible: bool,
    },
    /// Rows were rejected.
    Rejected {
        /// The server's SQLSTATE; empty if the program has rejected the rows itself.
        sqlstate: &'a str,
        /// The number of rows.
        rows: u64,
    },
    /// An attempt has failed, and another one follows.
    Retry {
        /// The reason.
        error: &'a Error,
    },
    /// The run waits, or still waits.
    Waiting {
        /// The kind of wait.
        reason: WaitReason,
        /// A description of what the run waits for.
        text: &'a str,
        /// The time that it has waited so far.
        seconds: f64,
        /// Whether this is the first event about the wait. Further ones have a newer text.
        is_new: bool,
    },
    /// A wait has ended.
    Resumed {
        /// The kind of wait.
        reason: WaitReason,
        /// The duration of the wait.
        seconds: f64,
    },
    /// A move of a table has entered a phase.
    Phase {
        /// The name of the phase, one of [`PHASES`].
        name: &'a str,
    },
    /// A text for the user.
    Message {
        /// Its importance.
        level: Level,
        /// The text.
        text: &'a str,
    },
    /// The run has ended.
    Finished {
        /// The rows that this run and earlier runs of the load have committed.
        rows: u64,
        /// The error, if the run has failed or was stopped.
        error: Option<&'a Error>,
    },
}

/// The phases of a move of a table, in their order.
pub const PHASES: [&str; 6] = ["survey", "copy", "index", "follow", "verify", "swap"];

/// The importance of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// A fact about the input, for the summary.
    Note,
    /// A notice, which is shown when it occurs.
    Notice,
    /// A warning, which is shown and repeated in the summary.
    Warning,
}

/// The event in plain English, for logs. Texts of the server may contain control characters.
impl fmt::Display for Event<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Attempt { number } => write!(f, "attempt {number}"),
            Self::Committed { table, rows, bytes, seconds, is_visible } => {
                let done = if is_visible { "committed" } else { "stored, not visible yet:" };
                let rows = row_count(rows);
                write!(f, "{done} {rows} ({bytes} bytes) of {table} in {seconds:.3} s")
            }
            Self::Rejected { sqlstate: "", rows } => {
                write!(f, "the program rejected {}", row_count(rows))
            }
            Self::Rejected { sqlstate, rows } => {
                write!(f, "rejected {} (SQLSTATE {sqlstate})", row_count(rows))
            }
            Self::Retry { error } => write!(f, "trying again after an error: {}", error.message()),
            Self::Waiting { text, .. } => f.write_str(text),
            Self::Resumed { reason, seconds } => {
                write!(f, "continued after waiting {seconds:.3} s ({})", reason.name())
            }
            Self::Phase { name } => write!(f, "phase {name}"),
            Self::Message { text, .. } => f.write_str(text),
            Self::Finished { rows, error: None } => {
                write!(f, "finished with {} in the table", row_count(rows))
            }
            Self::Finished { error: Some(error), .. } => write!(f, "failed: {}", error.message()),
        }
    }
}

fn row_count(rows: u64) -> String {
    format!("{rows} {}", if rows == 1 { "row" } else { "rows" })
}

/// The listeners of a run, in addition to its progress.
#[derive(Default)]
pub(super) struct Listeners(RwLock<Vec<Arc<dyn Events>>>);

impl Listeners {
    pub(super) fn add(&self, listener: Arc<dyn Events>) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).push(listener);
    }

    /// Calls all listeners. They may emit events themselves.
    pub(super) fn event(&self, event: &Event<'_>) {
        let listeners = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        listeners.iter().for_each(|listener| listener.event(event));
    }
}

impl fmt::Debug for Listeners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listeners = self.0.read().unwrap_or_else(PoisonError::into_inner);
        write!(f, "{} listeners", listeners.len())
    }
}
