//! How a transaction of the copy sink ends: with receipts for its rows.

use std::sync::Arc;

use futures_util::future::{try_join, try_join4};
use pgsluice_core::bucket::Payload;

use super::copy::Connection;
use super::failure::Failure;
use super::settled::Settled;
use super::statements::Sink;
use crate::counts::reconcile::misplaced;
use crate::pg::sql;
use crate::rejects::Reject;
use crate::testing::failpoint::failpoint;

impl Connection<'_> {
    /// Commits a transaction with receipts for the rows of `payloads`. The last payload goes by `sink`; if it is `last`,
    /// its rows must be in their leaves. Returns the number of rows that it stored, or `None` if the load was stopped:
    /// then not all rows were sent, and dropping the COPY aborts it.
    pub(super) async fn commit(
        &self,
        mut sink: Sink,
        payloads: &[Arc<Payload>],
        last: Option<(&Payload, &[i64])>,
    ) -> Result<Option<u64>, Failure> {
        if self.flow.control.stop.is_stopped() {
            return Ok(None);
        }
        let proving = async {
            match last {
                Some((last, before)) => self.prove(last, Some(before)).await,
                None => Ok(()),
            }
        };
        if self.flow.is_atomic {
            let copied = async { Ok(sink.as_mut().finish().await?) };
            let (stored, ()) = try_join(copied, proving).await?;
            self.keep_part().await?;
            return Ok(Some(stored));
        }
        let client = &self.link.client;
        let writer = self.writer.as_ref().filter(|_| !payloads.is_empty());
        let writing =
            writer.map(|writer| (writer, writer.ledger.writing(&self.flow.splits, payloads)));
        let receipts = async {
            let Some((writer, writing)) = &writing else { return Ok(()) };
            writer.write(client, writing).await.map_err(Failure::Receipts)?;
            failpoint("receipts::written");
            Ok(())
        };
        let in_doubt = self.in_doubt(payloads.iter().map(|payload| payload.rows() as u64).sum());
        // The end of COPY is not the end of the transaction: constraints may be deferred to that.
        let copied = async {
            let stored = sink.as_mut().finish().await.map_err(Failure::Rows)?;
            self.copying.set(None);
            // A probe has no rows.
            if stored > 0 {
                failpoint("payload::copied");
            }
            Ok(stored)
        };
        let committed = async { client.batch_execute(sql::COMMIT).await.map_err(Failure::Rows) };
        let outcome = try_join4(copied, proving, receipts, committed).await;
        in_doubt.settle(&outcome);
        let (stored, ..) = outcome?;
        writing.iter().for_each(|(writer, writing)| writer.ledger.committed(writing));
        Ok(Some(stored))
    }

    /// Commits a transaction of whose rows it is known what became of them, with receipts that say so.
    pub(super) async fn commit_settled(
        &self,
        payloads: &[Arc<Payload>],
        settled: &[Settled],
        rejected: &[Reject],
    ) -> Result<(), Failure> {
        if let Some((node, rows)) = self.misplaced.get() {
            return Err(Failure::Misrouted(misplaced(self.flow.plan, node, rows)));
        }
        if self.flow.is_atomic {
            return self.keep_part().await;
        }
        let client = &self.link.client;
        let fates = settled.iter().map(|settled| (settled.node, settled.fate));
        let writing = self.writer.as_ref().map(|writer| {
            let writing = writer.ledger.writing(&self.flow.splits, payloads);
            (writer, writing.with_fates(fates))
        });
        let receipts = async {
            let Some((writer, writing)) = &writing else { return Ok(()) };
            let rejected = rejected.iter().map(|reject| reject.origin).collect::<Vec<_>>();
            let rejecting = writer.reject(client, &rejected);
            let writing = writer.write(client, writing);
            try_join(rejecting, writing).await.map_err(Failure::Receipts)?;
            failpoint("stage::settled");
            Ok(())
        };
        let rows: u64 = settled.iter().map(|settled| settled.rows).sum();
        let in_doubt = self.in_doubt(rows - rejected.len() as u64);
        let committed = async { client.batch_execute(sql::COMMIT).await.map_err(Failure::Rows) };
        let outcome = try_join(receipts, committed).await;
        in_doubt.settle(&outcome);
        outcome?;
        writing.iter().for_each(|(writer, writing)| writer.ledger.committed(writing));
        Ok(())
    }
}
