//! Entries that the transactions of a load's rows write to the ledger: receipts, blocks and rejects.

use std::sync::Arc;

use futures_util::future::try_join3;
use pgsluice_core::bucket::{Claim, Payload};
use pgsluice_core::catalog::NodeId;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

use super::Ledger;
use super::blocks::StreamBlock;
use super::claimed::StoredReceipt;
use super::receipts::ReceiptEntries;
use super::row_counts;
use crate::error::Error;
use crate::ledger::sql;
use crate::pg::lost;
use crate::row_counts::RowCounts;
use crate::source::splits::Splits;
use pgsluice_core::origin::Origin;

/// The prepared statements that write the entries.
pub(crate) struct ReceiptStatements {
    receipts: Statement,
    gone: Statement,
    blocks: Statement,
}

/// The entries that one transaction writes.
pub(crate) struct Writing {
    entries: ReceiptEntries,
    blocks: Vec<StreamBlock>,
}

impl Writing {
    /// Adds the row counts of each node, if rows were not simply inserted.
    pub(crate) fn with_counts(
        mut self,
        row_counts: impl Iterator<Item = (NodeId, RowCounts)>,
    ) -> Self {
        for (node, counts) in row_counts {
            let counts = RowCounts { read: 0, rejected: 0, dropped: 0, ..counts };
            if counts == (RowCounts { inserted: counts.inserted, ..RowCounts::default() }) {
                continue;
            }
            let mut receipts = self.entries.receipts.iter_mut();
            if let Some(receipt) = receipts.find(|receipt| receipt.node == node) {
                receipt.counts.add(counts);
            }
        }
        self
    }
}

impl Ledger {
    /// Prepares the statement for [`Self::reject`].
    pub(crate) async fn prepare_rejecting(
        &self,
        client: &Client,
    ) -> Result<Statement, tokio_postgres::Error> {
        client.prepare(&self.named.sql(sql::REJECT)).await
    }

    /// Writes rejected rows to the ledger, in the transaction that `client` is in.
    pub(crate) async fn reject(
        &self,
        client: &Client,
        statement: &Statement,
        rows: &[Origin],
    ) -> Result<(), tokio_postgres::Error> {
        let (sources, starts): (Vec<i32>, Vec<i64>) =
            rows.iter().map(|row| (row.input as i32, row.at as i64)).unzip();
        client.execute(statement, &[&self.named.id, &sources, &starts]).await?;
        Ok(())
    }

    /// Returns the entries to write with the rows of payloads.
    pub(crate) fn writing(&self, splits: &Splits, payloads: &[Arc<Payload>]) -> Writing {
        let claims = || payloads.iter().flat_map(|payload| payload.claims());
        let entries = self.receipts.entries(splits, self.tree, claims());
        let last = claims().map(last_split).max().unwrap_or(0);
        Writing { entries, blocks: self.blocks.blocks_to_write(last) }
    }

    /// Returns the entries to write when all rows of `nodes` become visible.
    pub(crate) fn writing_all(
        &self,
        splits: &Splits,
        nodes: impl Iterator<Item = (NodeId, u64)>,
    ) -> Writing {
        let upto = splits.end();
        let receipts = nodes.map(|(node, rows)| StoredReceipt {
            number: 0,
            tree: self.tree,
            node,
            upto,
            ranges: Vec::new(),
            rows,
            counts: RowCounts::default(),
        });
        let mut entries = ReceiptEntries { receipts: receipts.collect(), gone: Vec::new() };
        self.receipts.number(&mut entries);
        Writing { entries, blocks: self.blocks.blocks_to_write(u32::MAX) }
    }

    /// Prepares the statements for [`Self::write`].
    pub(crate) async fn prepare(
        &self,
        client: &Client,
    ) -> Result<ReceiptStatements, tokio_postgres::Error> {
        let [write, replace, see] =
            [sql::WRITE, sql::REPLACE, sql::SEE].map(|statement| self.named.sql(statement));
        let (receipts, gone, blocks) =
            try_join3(client.prepare(&write), client.prepare(&replace), client.prepare(&see))
                .await?;
        Ok(ReceiptStatements { receipts, gone, blocks })
    }

    /// Writes the entries in the transaction that `client` is in. The first poll sends everything.
    pub(crate) async fn write(
        &self,
        client: &Client,
        statements: &ReceiptStatements,
        Writing { entries, blocks }: &Writing,
    ) -> Result<(), tokio_postgres::Error> {
        let receipts = async {
            if entries.receipts.is_empty() {
                return Ok(0);
            }
            self.write_receipts(client, &statements.receipts, &entries.receipts).await
        };
        // Most transactions have no such entries, and an empty statement costs as much as any other.
        let gone = async {
            if entries.gone.is_empty() {
                return Ok(0);
            }
            client.execute(&statements.gone, &[&self.named.id, &entries.gone]).await
        };
        let seen = async {
            if blocks.is_empty() {
                return Ok(0);
            }
            self.write_blocks(client, &statements.blocks, blocks).await
        };
        try_join3(receipts, gone, seen).await.map(|_| ())
    }

    async fn write_receipts(
        &self,
        client: &Client,
        statement: &Statement,
        receipts: &[StoredReceipt],
    ) -> Result<u64, tokio_postgres::Error> {
        let numbers: Vec<i64> = receipts.iter().map(|receipt| receipt.number).collect();
        let nodes: Vec<i32> = receipts.iter().map(|receipt| receipt.node as i32).collect();
        let sources: Vec<i32> = receipts.iter().map(|receipt| receipt.upto.input as i32).collect();
        let uptos: Vec<i64> = receipts.iter().map(|receipt| receipt.upto.at as i64).collect();
        let rows: Vec<i64> = receipts.iter().map(|receipt| receipt.rows as i64).collect();
        let row_counts: Vec<Option<String>> =
            receipts.iter().map(|receipt| row_counts::written(receipt.counts)).collect();
        let list = |part: fn(&(u32, u64, u64)) -> u64| -> Vec<String> {
            let list = |receipt: &StoredReceipt| {
                let parts: Vec<String> =
                    receipt.ranges.iter().map(|range| part(range).to_string()).collect();
                format!("{{{}}}", parts.join(","))
            };
            receipts.iter().map(list).collect()
        };
        let ranges =
            [list(|range| u64::from(range.0)), list(|range| range.1), list(|range| range.2)];
        let parameters: [&(dyn ToSql + Sync); 12] = [
            &self.named.id,
            &self.attempt,
            &self.tree,
            &numbers,
            &nodes,
            &sources,
            &uptos,
            &ranges[0],
            &ranges[1],
            &ranges[2],
            &rows,
            &row_counts,
        ];
        client.execute(statement, &parameters).await
    }

    async fn write_blocks(
        &self,
        client: &Client,
        statement: &Statement,
        blocks: &[StreamBlock],
    ) -> Result<u64, tokio_postgres::Error> {
        let sources: Vec<i32> = blocks.iter().map(|block| block.source as i32).collect();
        let starts: Vec<i64> = blocks.iter().map(|block| block.start as i64).collect();
        let stops: Vec<i64> = blocks.iter().map(|block| block.stop as i64).collect();
        let hashes: Vec<i64> = blocks.iter().map(|block| block.hash).collect();
        client.execute(statement, &[&self.named.id, &sources, &starts, &stops, &hashes]).await
    }

    /// Returns the error for a failure of [`Self::write`].
    pub(crate) fn failed(&self, error: &tokio_postgres::Error) -> Error {
        match error.as_db_error() {
            // The load is no longer at this attempt.
            Some(error) if *error.code() == SqlState::NOT_NULL_VIOLATION => self.overtaken(),
            Some(error) => {
                Error::from(error).with_detail("The server rejected a row of the ledger.")
            }
            None => lost(Some(error)),
        }
    }

    /// Marks `writing` as committed.
    pub(crate) fn mark_committed(&self, writing: &Writing) {
        self.receipts.mark_committed(&writing.entries);
        self.blocks.mark_written(&writing.blocks);
    }
}

/// Returns the last split that a claim covers.
fn last_split(claim: &Claim) -> u32 {
    claim.ranges.iter().map(|range| range.last.split).chain([claim.upto.split]).max().unwrap_or(0)
}
