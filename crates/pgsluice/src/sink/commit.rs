//! The commit of a transaction of the load, with receipts for its rows.

use std::sync::Arc;

use futures_util::future::try_join;
use pgsluice_core::bucket::Payload;

use super::connection::Connection;
use super::failure::Failure;
use super::settled::Settled;
use super::transaction::{Stored, Transaction};
use crate::rejects::Reject;
use crate::testing::failpoint::failpoint;

impl Connection<'_> {
    /// Commits a transaction with receipts for the rows of `payloads`. If rows were merged or rejected, the
    /// receipts contain their counts (`settled`) and the `rejected` rows.
    pub(super) async fn commit(
        &self,
        transaction: &mut Transaction<'_>,
        payloads: &[Arc<Payload>],
        settled: &[Settled],
        rejected: &[Reject],
    ) -> Result<Vec<Stored>, Failure> {
        let client = &self.link.client;
        // An all-or-nothing load writes no receipts.
        let writer = self.writer.as_ref().filter(|_| !payloads.is_empty() && !self.flow.is_atomic);
        let writing = writer.map(|writer| {
            let writing = writer.ledger.writing(&self.flow.splits, payloads);
            let row_counts = settled.iter().map(|settled| (settled.node, settled.counts));
            (writer, writing.with_counts(row_counts))
        });
        let receipts = async {
            let Some((writer, writing)) = &writing else { return Ok(()) };
            let rejecting = async {
                let rows = rejected.iter().map(|reject| reject.origin).collect::<Vec<_>>();
                if rows.is_empty() { Ok(()) } else { writer.reject(client, &rows).await }
            };
            let writing = writer.write(client, writing);
            try_join(rejecting, writing).await.map_err(Failure::Receipts)?;
            match settled {
                [] => failpoint("receipts::written"),
                _ => failpoint("stage::settled"),
            }
            Ok(())
        };
        let rows = payloads.iter().map(|payload| payload.rows() as u64).sum::<u64>();
        let stored = transaction.commit(rows - rejected.len() as u64, receipts).await?;
        writing.iter().for_each(|(writer, writing)| writer.ledger.mark_committed(writing));
        Ok(stored)
    }
}
