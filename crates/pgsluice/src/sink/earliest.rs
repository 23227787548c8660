//! The bad row that comes first in the input, of the rows of one transaction. Its payloads go one after the other, and
//! rows of several leaves take turns, so that the server may refuse a later row first.

use std::iter::once;
use std::pin::pin;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::SinkExt;
use pgsluice_core::bucket::{Payload, RowAt, Wire};
use pgsluice_core::catalog::NodeId;

use super::copy::Connection;
use super::failure::Failure;
use super::lines;
use super::original::at_row;
use super::pieces::{Piece, pieces};
use super::refusal::{Sent, blame, refusal};
use crate::error::{Error, Location};
use crate::pg::sql;

/// Rows, each with its place.
type Rows<'p> = Vec<(RowAt, &'p [u8])>;

impl Connection<'_> {
    /// Names the first bad row of a transaction that the server has refused with `error`. Each table is sent its rows
    /// in front of the known one again, in the order of the input, and nothing is committed.
    pub(super) async fn first_refused(
        &self,
        payloads: &[Arc<Payload>],
        error: tokio_postgres::Error,
    ) -> Failure {
        let index = self.copying.get().unwrap_or(payloads.len().saturating_sub(1));
        let sent = payloads
            .get(index)
            .map(|payload| Sent { lines_before: 0, payload: Arc::clone(payload) });
        let mut first = refusal(self.flow, &error, sent.as_slice());
        for piece in payloads.iter().flat_map(|payload| pieces(payload)) {
            let Some(place) = first.place().cloned() else { return Failure::Rows(error) };
            match self.refused_before(&place, piece).await {
                Ok(earlier) => first = earlier.unwrap_or(first),
                // The row that is known counts.
                Err(_) => break,
            }
        }
        Failure::Row(first)
    }

    /// The first row of a piece that the server refuses, of those in front of a place.
    async fn refused_before(
        &self,
        place: &Location,
        (node, wire, mut rows): Piece<'_>,
    ) -> Result<Option<Error>, tokio_postgres::Error> {
        let order = |place: &Location| (place.input, place.offset);
        let place_of = |at: RowAt| self.flow.place_of(at).as_ref().map(order);
        rows.retain(|(at, _)| place_of(*at).is_some_and(|at| at < order(place)));
        if rows.is_empty() {
            return Ok(None);
        }
        rows.sort_unstable_by_key(|(at, _)| (at.split, at.offset));
        let begin = [sql::ROLLBACK, &self.begin_all(once((node, wire)))].join("; ");
        self.link.client.batch_execute(&begin).await?;
        let refused = self.try_rows((node, wire), &rows).await.err();
        Ok(refused.and_then(|error| self.refused_row(&error, (node, wire), &rows)))
    }

    /// Sends rows in one COPY.
    async fn try_rows(
        &self,
        (node, wire): (NodeId, Wire),
        rows: &Rows<'_>,
    ) -> Result<u64, tokio_postgres::Error> {
        let copy = self.copy_statement(node, wire);
        let mut sink = pin!(self.link.client.copy_in::<_, Bytes>(&copy).await?);
        sink.feed(Bytes::from_static(wire.header())).await?;
        for (_, row) in rows {
            sink.feed(BytesMut::from(*row).freeze()).await?;
        }
        sink.feed(Bytes::from_static(wire.trailer())).await?;
        sink.finish().await
    }

    /// The error at the row that the server means, if it says which.
    fn refused_row(
        &self,
        error: &tokio_postgres::Error,
        (node, wire): (NodeId, Wire),
        rows: &Rows<'_>,
    ) -> Option<Error> {
        let blame = blame(self.flow, error, node)?;
        let line = blame.context.certain()?.line;
        let format = &self.flow.plan.shape.format;
        let mut lines = lines::of_rows(rows.iter().copied(), wire, format, true);
        let at = lines::at_line(&mut lines, line)?;
        let (_, bytes) = rows.iter().find(|(row, _)| *row == at)?;
        Some(at_row(self.flow, at, blame.of_row(self.flow, bytes, wire).report))
    }
}
