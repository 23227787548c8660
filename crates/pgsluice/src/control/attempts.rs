//! State that one attempt at a load passes on to the next.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pgsluice_core::catalog::Relation;

/// Whether a load can reject rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Rejecting {
    /// It cannot.
    #[default]
    Never,
    /// It can, but was not asked to. The field is the suffix for the names of reject files.
    IfAsked(&'static str),
    /// It does, up to a limit.
    Does,
}

/// A partition that the load has created.
#[derive(Clone, Debug)]
pub(crate) struct CreatedPartition {
    pub(crate) relation: Relation,
    pub(crate) parent: Relation,
    /// The state of its tables in the catalogue after it was created.
    pub(crate) state: String,
}

/// State of a load that outlives the current attempt.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// The number of rows that earlier attempts have committed.
    rows_before: AtomicU64,
    /// The number of attempts.
    count: AtomicU64,
    names: Mutex<AttemptNames>,
}

#[derive(Debug, Default)]
struct AttemptNames {
    /// The id by which the load can be resumed, once it can.
    resume: Option<String>,
    /// Whether other participants load other rows of the same load.
    is_share: bool,
    /// Whether the load can reject rows.
    rejecting: Rejecting,
    /// Whether the next attempt must send each row to its leaf by name.
    leaf_by_leaf: bool,
    /// Whether the next attempt must update existing rows before it inserts others.
    updates_first: bool,
    /// The partitions that were created, in an order with parents first.
    created: Vec<CreatedPartition>,
}

impl Attempts {
    /// Returns the number of rows that earlier attempts have committed.
    pub(super) fn rows_before(&self) -> u64 {
        self.rows_before.load(Relaxed)
    }

    pub(super) fn set_rows_before(&self, rows: u64) {
        self.rows_before.store(rows, Relaxed);
    }

    /// Counts another attempt. Returns its number, from 1.
    pub(crate) fn count(&self) -> u64 {
        self.count.fetch_add(1, Relaxed) + 1
    }

    /// Returns the id that resumes the load, if there is one.
    pub(crate) fn resume(&self) -> Option<String> {
        self.names().resume.clone()
    }

    /// Records the id by which the load can be resumed.
    pub(crate) fn set_resume(&self, id: &str) {
        self.names().resume.get_or_insert_with(|| id.to_owned());
    }

    /// Whether the rows are only a share of the load.
    pub(crate) fn is_share(&self) -> bool {
        self.names().is_share
    }

    /// Records whether the rows are only a share of the load.
    pub(crate) fn set_share(&self, is_share: bool) {
        self.names().is_share = is_share;
    }

    /// Returns whether the load can reject rows.
    pub(crate) fn rejecting(&self) -> Rejecting {
        self.names().rejecting
    }

    /// Records whether the load can reject rows.
    pub(crate) fn set_rejecting(&self, rejecting: Rejecting) {
        self.names().rejecting = rejecting;
    }

    /// Whether each row must be sent to its leaf by name.
    pub(crate) fn is_leaf_by_leaf(&self) -> bool {
        self.names().leaf_by_leaf
    }

    /// Makes all further attempts send each row to its leaf by name.
    pub(crate) fn go_leaf_by_leaf(&self) {
        self.names().leaf_by_leaf = true;
    }

    /// Whether existing rows must be updated before others are inserted.
    pub(crate) fn updates_first(&self) -> bool {
        self.names().updates_first
    }

    /// Makes all further attempts update existing rows before they insert others.
    pub(crate) fn update_first(&self) {
        self.names().updates_first = true;
    }

    /// Returns the number of methods that earlier attempts have ruled out. If it has grown, another attempt
    /// uses another method.
    pub(crate) fn closed_ways(&self) -> usize {
        let names = self.names();
        usize::from(names.leaf_by_leaf) + usize::from(names.updates_first)
    }

    /// Adds partitions that were created.
    pub(crate) fn add_created(&self, created: Vec<CreatedPartition>) {
        self.names().created.extend(created);
    }

    /// Returns the partitions that were created, and forgets them.
    pub(crate) fn take_created(&self) -> Vec<CreatedPartition> {
        std::mem::take(&mut self.names().created)
    }

    /// Resets the state for another load.
    pub(super) fn reset(&self) {
        self.set_rows_before(0);
        self.count.store(0, Relaxed);
        *self.names() = AttemptNames::default();
    }

    fn names(&self) -> MutexGuard<'_, AttemptNames> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
