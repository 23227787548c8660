//! Reasons why a COPY failed, and whether its rows may have been committed nevertheless.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use pgsluice_core::catalog::NodeId;

use super::recheck::Changed;
use crate::error::Error;
use crate::pg::is_answer;
use crate::rejects::RejectWriteError;

/// The reason why a COPY failed.
pub(crate) enum Failure {
    /// The load was stopped. Not all rows were sent.
    Stopped,
    /// The shadow of a leaf could not be made.
    Unmade(Error),
    /// The transaction was rolled back because the first transaction of the load took long to commit.
    Early,
    /// A statement failed before any row was sent.
    Begin(tokio_postgres::Error),
    /// A statement failed while rows were stored. If `at` is `None`, it may also have been the COMMIT;
    /// otherwise it was this part of the transaction.
    Rows { error: tokio_postgres::Error, at: Option<usize> },
    /// The server refused a row that cannot be rejected, or a rejected row cannot be written.
    Row(Error),
    /// The table has changed since the load began.
    Changed(NodeId, Changed),
    /// The ledger or another run of the load refused it, or the session is not the one that the load began
    /// with.
    Ledger(Error),
    /// A statement failed while the receipts were written.
    Receipts(tokio_postgres::Error),
    /// Rows were routed to the wrong table. The transaction is not committed.
    Misrouted(Error),
    /// The server's counts do not show the leaves of the rows, or a leaf rejects some of its rows. The
    /// transaction is not committed.
    Unproven(Doubt),
}

/// The reason why the leaves of rows are not known.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Doubt {
    /// The server's counts differ from the expected ones.
    Counts,
    /// The leaf rejects at least one of its rows because of its bounds. The fields are the leaf and the
    /// number of rows.
    Bounds(NodeId, u64),
    /// Rows of a leaf refer to rows that may be in another leaf and are not stored yet.
    References,
}

impl Failure {
    /// Whether the server reported this failure, so that nothing is committed.
    pub(crate) fn is_answer(&self) -> bool {
        self.answer().is_none_or(is_answer)
    }

    /// Records the part whose rows have failed.
    pub(super) fn with_part(self, part: usize) -> Self {
        match self {
            Self::Rows { error, .. } => Self::Rows { error, at: Some(part) },
            failure => failure,
        }
    }

    /// Converts the failure into an error, without the place of its row.
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

    /// Returns the error of the statement, if a statement failed.
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

impl From<RejectWriteError> for Failure {
    fn from(error: RejectWriteError) -> Self {
        match error {
            RejectWriteError::Lost(error) => Self::Receipts(error),
            RejectWriteError::Refused(error) => Self::Row(error),
        }
    }
}

/// Rows whose COMMIT was sent and not answered yet.
pub(super) struct InDoubt<'a> {
    all: &'a AtomicU64,
    asked: u64,
}

impl<'a> InDoubt<'a> {
    /// Adds `asked` rows to `all`.
    pub(super) fn new(all: &'a AtomicU64, asked: u64) -> Self {
        all.fetch_add(asked, Relaxed);
        Self { all, asked }
    }

    /// Subtracts the rows if the server has answered.
    pub(super) fn settle<T>(self, outcome: &Result<T, Failure>) {
        if outcome.as_ref().map_or_else(Failure::is_answer, |_| true) {
            self.all.fetch_sub(self.asked, Relaxed);
        }
    }
}
