//! Salvage of a transaction of the load: commits the good rows and writes the rejected ones.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::Arc;

use pgsluice_core::bucket::Payload;

use super::connection::Connection;
use super::failure::Failure;
use super::merge::Merge;
use super::pieces::tables;
use super::salvage::Salvaged;
use super::settled::Loaded;
use super::transaction::{Commit, Transaction, begin, locks};
use crate::control::Event;
use crate::pg::sql;
use crate::plan::landing::Evidence;
use crate::rejects::Reject;
use crate::testing::failpoint::failpoint;

impl Connection<'_> {
    /// Stores the good rows of a transaction. If it `was_tried`, the server has refused it; otherwise a
    /// refusal is expected.
    pub(super) async fn salvage(
        &self,
        commit: Commit,
        payloads: &[Arc<Payload>],
        merge: Option<Merge>,
        was_tried: bool,
    ) -> Result<Loaded, Failure> {
        let Self { flow, .. } = self;
        let merge = flow.plan.changes.as_ref().map(|_| match merge {
            Some(Merge::UpdateFirst) => Merge::UpdateFirst,
            _ => Merge::Conflict,
        });
        if !flow.is_atomic {
            // The transaction that has failed may not be over yet.
            self.roll_back().await?;
            self.make_stage(merge).await?;
        }
        let into = payloads.iter().flat_map(|payload| tables(payload));
        let begin = match (flow.is_atomic, was_tried) {
            (false, _) => [&begin(flow.plan, commit, into), sql::IMMEDIATE].join("; "),
            (true, true) => [sql::BACK_TO_PART, &locks(flow.plan, into)].join("; "),
            (true, false) => [sql::PART, &locks(flow.plan, into)].join("; "),
        };
        let mut transaction = Transaction::new(self.channel(), commit, begin, self.fence());
        transaction.begin_with(ready(Ok(()))).await?;
        let mut all = Salvaged::new(merge);
        let salvaging = async {
            transaction.salvage(flow, &self.chunk_sizes, payloads, &mut all).await?;
            self.commit_with_rejects(&mut transaction, payloads, &all).await
        };
        let outcome = salvaging.await;
        let Salvaged { merge, settled, rejected, .. } = all;
        if let (Some(rejects), Err(_)) = (flow.rejects, &outcome) {
            rejects.dismiss(rejected.len() as u64);
        }
        outcome.map(|()| Loaded {
            settled,
            destination: None,
            evidence: Evidence::default(),
            merge,
        })
    }

    /// Commits the stored rows and writes the rejected ones.
    async fn commit_with_rejects(
        &self,
        transaction: &mut Transaction<'_>,
        payloads: &[Arc<Payload>],
        Salvaged { settled, rejected, .. }: &Salvaged,
    ) -> Result<(), Failure> {
        let rejects = self.flow.rejects.filter(|_| !rejected.is_empty());
        let batch = match rejects {
            Some(writer) => writer.write(&self.link.client, rejected).await?,
            None => None,
        };
        failpoint("rejects::written");
        let outcome = self.commit(transaction, payloads, settled, rejected).await;
        if outcome.as_ref().is_err_and(Failure::is_answer) {
            rejects.zip(batch).into_iter().for_each(|(writer, batch)| writer.withdraw(batch));
        }
        outcome?;
        failpoint("rejects::committed");
        let mut states: BTreeMap<&str, u64> = BTreeMap::new();
        for Reject { reason, .. } in rejected {
            *states.entry(&reason.sqlstate).or_default() += 1;
        }
        for (sqlstate, rows) in states {
            self.flow.control.emit(&Event::Rejected { sqlstate, rows });
        }
        Ok(())
    }
}
