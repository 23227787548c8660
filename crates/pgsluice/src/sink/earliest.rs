//! The first bad row in input order among the rows of one transaction. Its payloads are sent one after the
//! other, and rows of several leaves take turns, so the server may refuse a later row first.

use std::iter::once;
use std::sync::Arc;

use pgsluice_core::bucket::{BlockRow, Payload, Wire};
use pgsluice_core::catalog::NodeId;

use super::connection::Connection;
use super::failure::Failure;
use super::lines;
use super::original::at_row;
use super::part::{Landing, Part, Rows};
use super::pieces::{PartRows, pieces};
use super::refusal::{Sent, blame, refusal};
use super::transaction::Commit;
use crate::error::{Error, Location};

impl Connection<'_> {
    /// Finds the first bad row of a transaction that the server has refused with `error` at part `at`, or at
    /// its end. Sends the rows before the known bad row to each table again, in input order. Commits nothing.
    pub(super) async fn first_refused(
        &self,
        payloads: &[Arc<Payload>],
        error: tokio_postgres::Error,
        at: Option<usize>,
    ) -> Failure {
        let index = at.unwrap_or(payloads.len().saturating_sub(1));
        let sent = payloads.get(index).map(Sent::first);
        let mut first = refusal(self.flow, &error, sent.as_slice());
        for piece in payloads.iter().flat_map(|payload| pieces(payload)) {
            let Some(place) = first.place().cloned() else { return error.into() };
            match self.find_refused_before(&place, piece).await {
                Ok(earlier) => first = earlier.unwrap_or(first),
                // The bad row that is already known is reported.
                Err(_) => break,
            }
        }
        Failure::Row(first)
    }

    /// Returns the first row of a piece before `place` that the server refuses.
    async fn find_refused_before(
        &self,
        place: &Location,
        (node, wire, mut rows): PartRows<'_>,
    ) -> Result<Option<Error>, Failure> {
        let order = |place: &Location| (place.input, place.offset);
        let place_of = |at: BlockRow| self.flow.place_of(at).as_ref().map(order);
        rows.retain(|(at, _)| place_of(*at).is_some_and(|at| at < order(place)));
        if rows.is_empty() {
            return Ok(None);
        }
        rows.sort_unstable_by_key(|(row, _)| row.start);
        self.roll_back().await?;
        let mut transaction = self.transaction(Commit::Each, once((node, wire)), None);
        let part = Part { rows: Rows::Some(wire, rows.clone()), landing: Landing::Leaf(node) };
        let trying = async {
            transaction.store(part).await?;
            transaction.end().await
        };
        match trying.await {
            Ok(_) => Ok(None),
            Err(Failure::Rows { error, .. }) => Ok(self.refused_row(&error, node, wire, &rows)),
            Err(failure) => Err(failure),
        }
    }

    /// Returns the error with the place of the row that the server means, if it says which row.
    fn refused_row(
        &self,
        error: &tokio_postgres::Error,
        node: NodeId,
        wire: Wire,
        rows: &[(BlockRow, &[u8])],
    ) -> Option<Error> {
        let blame = blame(self.flow, error, node)?;
        let line = blame.context.certain()?.line;
        let format = &self.flow.plan.shape.format;
        let mut lines = lines::count_lines(rows.iter().copied(), wire, format, true);
        let at = lines::at_line(&mut lines, line)?;
        let (_, bytes) = rows.iter().find(|(row, _)| *row == at)?;
        Some(at_row(self.flow, at, blame.with_row(self.flow, bytes, wire).report))
    }
}
