//! Explanations of failed transactions of a writer.

use pgsluice_core::catalog::ROOT;
use tokio_postgres::error::SqlState;

use super::batch::WriteBatch;
use super::failure::{WriteFailure, refused};
use super::refused::refusal;
use super::send_method::SendMethod;
use super::session::Planned;
use crate::sink::failure::Failure;
use crate::sink::recheck::Changed;
use crate::sink::sql::stage::stage;

impl Planned {
    /// Explains why a transaction with rows sent by `method` failed. Nothing of it is committed.
    pub(super) fn explain_failure(
        &self,
        failure: Failure,
        batch: &WriteBatch,
        method: SendMethod,
    ) -> WriteFailure {
        let (error, at) = match failure {
            Failure::Changed(node, Changed::Moved) => {
                return WriteFailure::Changed(self.plan.moved(node));
            }
            Failure::Changed(_, Changed::Retyped) => {
                return WriteFailure::Changed(self.plan.retyped());
            }
            Failure::Misrouted(error) => return WriteFailure::Changed(error),
            Failure::Begin(error) | Failure::Receipts(error) => return refused(error),
            Failure::Rows { error, at } => (error, at),
            failure => return WriteFailure::Refused(failure.into_error()),
        };
        let is_staged = method == SendMethod::Stage;
        // A partition's constraint has no name. If it refuses a row, the table is not the one that was
        // planned for.
        let is_changed = is_staged
            && error.as_db_error().is_some_and(|db| {
                *db.code() == SqlState::CHECK_VIOLATION && db.constraint().is_none()
            });
        let table = if is_staged { stage() } else { self.plan.tree.nodes[ROOT].relation.clone() };
        let payload = at.filter(|_| !self.updates_first.get());
        let payload = payload.and_then(|part| batch.payloads.get(part));
        let refusal = match payload {
            Some(payload) => {
                let columns = &self.plan.catalogue.columns;
                self.gatherer.refused(error, payload, &table.name, columns)
            }
            None => refusal(error),
        };
        if is_changed { WriteFailure::Changed(refusal) } else { WriteFailure::Refused(refusal) }
    }
}
