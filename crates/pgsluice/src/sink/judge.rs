//! Conversion of failures into errors.

use super::connection::Connection;
use super::failure::Failure;
use super::recheck::Changed;
use super::refusal::{Sent, refusal, statement_error};
use crate::error::Result;
use crate::pg::lost;

impl Connection<'_> {
    /// Returns the result, or `None` if the load was stopped.
    ///
    /// # Errors
    ///
    /// Fails with the failure as an error for the user.
    pub(super) fn judge<T>(
        &self,
        outcome: Option<Result<T, Failure>>,
        sent: &[Sent],
    ) -> Result<Option<T>> {
        if let Some(Err(failure)) = &outcome
            && let Some(error) = failure.answer().and_then(|error| self.link.explain(error))
        {
            return Err(error);
        }
        match outcome {
            Some(Ok(committed)) => Ok(Some(committed)),
            Some(Err(Failure::Stopped | Failure::Early)) | None => Ok(None),
            Some(Err(
                Failure::Unmade(error)
                | Failure::Row(error)
                | Failure::Ledger(error)
                | Failure::Misrouted(error),
            )) => Err(error),
            // A single transaction of all rows cannot begin again in this attempt.
            Some(Err(Failure::Unproven(_))) => Err(self.leaf_by_leaf()),
            Some(Err(Failure::Receipts(error))) => Err(match &self.writer {
                Some(writer) => writer.ledger.failed(&error),
                None => statement_error(&error),
            }),
            // The connection knows why the server has ended the session.
            Some(Err(Failure::Begin(error) | Failure::Rows { error, .. }))
                if error.as_db_error().is_none() =>
            {
                Err(lost(self.link.ending().or(Some(&error))))
            }
            Some(Err(Failure::Begin(error))) => Err(statement_error(&error)),
            Some(Err(Failure::Rows { error, at })) => {
                let sent = at.and_then(|part| sent.get(part..=part)).unwrap_or(sent);
                Err(refusal(self.flow, &error, sent))
            }
            Some(Err(Failure::Changed(node, changed))) => Err(match changed {
                Changed::Moved => self.flow.plan.moved(node),
                Changed::Retyped => self.flow.plan.retyped(),
            }),
        }
    }
}
