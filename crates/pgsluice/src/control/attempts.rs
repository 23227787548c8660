//! What one attempt at a load leaves to the next.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use pgsluice_core::catalog::Relation;

/// Whether a load can leave rows out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) enum Rejecting {
    /// It cannot.
    #[default]
    Never,
    /// It was not asked to; names of files with such rows end so.
    IfAsked(&'static str),
    /// It does, up to a limit.
    Does,
}

/// A partition that the load has made.
#[derive(Clone, Debug)]
pub(crate) struct MadePartition {
    pub(crate) relation: Relation,
    pub(crate) parent: Relation,
    /// The state of its tables in the catalogue when it was made.
    pub(crate) state: String,
}

/// What is known of a load besides the attempt that is being made.
#[derive(Debug, Default)]
pub(crate) struct Attempts {
    /// Rows that earlier attempts of the load had committed.
    rows_before: AtomicU64,
    names: Mutex<AttemptNames>,
}

#[derive(Debug, Default)]
struct AttemptNames {
    /// The id by which the load can be resumed, as soon as it can.
    resume: Option<String>,
    /// Whether other participants load other rows of it.
    is_share: bool,
    /// Whether rows can be left out of it.
    rejecting: Rejecting,
    /// Whether the next attempt must send each row to its leaf by name.
    leaf_by_leaf: bool,
    /// Whether the next attempt must update rows that are there before it inserts others.
    updates_first: bool,
    /// The partitions that were made, the upper ones first.
    made: Vec<MadePartition>,
}

impl Attempts {
    /// Rows that earlier attempts had committed.
    pub(super) fn rows_before(&self) -> u64 {
        self.rows_before.load(Relaxed)
    }

    pub(super) fn set_rows_before(&self, rows: u64) {
        self.rows_before.store(rows, Relaxed);
    }

    /// Returns the id by which the load can be resumed, if it can.
    pub(crate) fn resume(&self) -> Option<String> {
        self.names().resume.clone()
    }

    /// Records that the load can be resumed, and by which id.
    pub(crate) fn set_resume(&self, id: &str) {
        self.names().resume.get_or_insert_with(|| id.to_owned());
    }

    /// Whether the rows are only a share of the load's.
    pub(crate) fn is_share(&self) -> bool {
        self.names().is_share
    }

    /// Records whether the rows are only a share of the load's.
    pub(crate) fn set_share(&self, is_share: bool) {
        self.names().is_share = is_share;
    }

    /// Returns whether the load can leave rows out.
    pub(crate) fn rejecting(&self) -> Rejecting {
        self.names().rejecting
    }

    /// Records whether the load can leave rows out.
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

    /// Whether rows that are there must be updated before others are inserted.
    pub(crate) fn updates_first(&self) -> bool {
        self.names().updates_first
    }

    /// Makes all further attempts update rows that are there before they insert others.
    pub(crate) fn update_first(&self) {
        self.names().updates_first = true;
    }

    /// Counts the ways that the attempts so far have closed: another attempt goes another way if they are more than
    /// before.
    pub(crate) fn closed_ways(&self) -> usize {
        let names = self.names();
        usize::from(names.leaf_by_leaf) + usize::from(names.updates_first)
    }

    /// Adds the partitions that were made.
    pub(crate) fn add_made(&self, made: Vec<MadePartition>) {
        self.names().made.extend(made);
    }

    /// Returns the partitions that were made, once.
    pub(crate) fn take_made(&self) -> Vec<MadePartition> {
        std::mem::take(&mut self.names().made)
    }

    /// Begins with another load.
    pub(super) fn reset(&self) {
        self.set_rows_before(0);
        *self.names() = AttemptNames::default();
    }

    fn names(&self) -> MutexGuard<'_, AttemptNames> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
