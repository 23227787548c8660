//! Why a COPY did not end well, and whether its rows may have been committed nevertheless.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pgsluice_core::catalog::NodeId;

use super::recheck::Changed;
use crate::error::Error;
use crate::pg::is_answer;
use crate::rejects::KeepError;

/// Why a COPY did not end well.
pub(crate) enum Failure {
    /// The load was stopped. Not all rows were sent.
    Stopped,
    /// The shadow of a leaf was not made.
    Unmade(Error),
    /// Taken back, because the first transaction of the load was long not in.
    Early,
    /// Before any row was sent.
    Begin(tokio_postgres::Error),
    /// When rows were stored, or committed if it is not known that it was `at` a part of the transaction.
    Rows { error: tokio_postgres::Error, at: Option<usize> },
    /// A row is refused that cannot be rejected, or a rejected row cannot be kept.
    Row(Error),
    /// The table is not what it was when the load began.
    Changed(NodeId, Changed),
    /// Refused by the ledger, by another run of the load, or because the session is another one than
    /// before.
    Ledger(Error),
    /// When its receipts were written.
    Receipts(tokio_postgres::Error),
    /// Rows were routed to the wrong table. The transaction is not committed.
    Misrouted(Error),
    /// The server's counts do not show the leaves of the rows, or a leaf rejects some of its rows. The transaction is
    /// not committed.
    Unproven(Doubt),
}

/// Why the leaves of rows are not known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doubt {
    /// The server has counted other rows.
    Counts,
    /// The leaf rejects at least one of these rows because of its bounds: the leaf, and the number of rows.
    Bounds(NodeId, u64),
    /// Rows of a leaf refer to rows that may be of another leaf, and are not there yet.
    References,
}

impl Failure {
    /// Whether the server has said so, and nothing is committed.
    pub(crate) fn is_answer(&self) -> bool {
        self.answer().is_none_or(is_answer)
    }

    /// Names the part whose rows have failed, if rows have.
    pub(super) fn of_part(self, part: usize) -> Self {
        match self {
            Self::Rows { error, .. } => Self::Rows { error, at: Some(part) },
            failure => failure,
        }
    }

    /// The failure as an error, without the place of its row.
    pub(crate) fn into_error(self) -> Error {
        match self {
            Self::Begin(error) | Self::Rows { error, .. } | Self::Receipts(error) => error.into(),
            Self::Unmade(error)
            | Self::Row(error)
            | Self::Ledger(error)
            | Self::Misrouted(error) => error,
            Self::Stopped | Self::Early | Self::Changed(..) | Self::Unproven(_) => {
                Error::interrupted()
            }
        }
    }

    /// How a statement ended, if it is about one.
    pub(super) fn answer(&self) -> Option<&tokio_postgres::Error> {
        match self {
            Self::Begin(error) | Self::Rows { error, .. } | Self::Receipts(error) => Some(error),
            Self::Stopped
            | Self::Early
            | Self::Unmade(_)
            | Self::Row(_)
            | Self::Changed(..)
            | Self::Ledger(_)
            | Self::Misrouted(_)
            | Self::Unproven(_) => None,
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Rows { error, at: None }
    }
}

impl From<KeepError> for Failure {
    fn from(error: KeepError) -> Self {
        match error {
            KeepError::Lost(error) => Self::Receipts(error),
            KeepError::Refused(error) => Self::Row(error),
        }
    }
}

/// Rows whose commit is asked for.
pub(super) struct InDoubt<'a> {
    all: &'a AtomicU64,
    asked: u64,
}

impl<'a> InDoubt<'a> {
    /// Counts them among `all`.
    pub(super) fn new(all: &'a AtomicU64, asked: u64) -> Self {
        all.fetch_add(asked, Relaxed);
        Self { all, asked }
    }

    /// Counts them no longer if the server has answered.
    pub(super) fn settle<T>(self, outcome: &Result<T, Failure>) {
        if outcome.as_ref().map_or_else(Failure::is_answer, |_| true) {
            self.all.fetch_sub(self.asked, Relaxed);
        }
    }
}
