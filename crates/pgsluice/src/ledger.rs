//! The ledger: which rows of a load are in the table, kept in the target by the transactions that put
//! them there. So a load that has ended in any way is taken up where it was.
//!
//! ```text
//!     begin         the load and its tree, or what earlier attempts have claimed
//!     entries       a payload's claims as receipts, in its own transaction
//!     is_in         whether a row is claimed: then it is not sent again
//!     finish        the last commit
//! ```

mod begin;
mod blocks;
mod claimed;
mod key;
mod layout;
pub mod lookup;
mod past;
mod receipts;
mod seen;
pub(crate) mod settle;

use std::collections::{BTreeMap, HashSet};

use futures_util::future::try_join;
use pgsluice_core::bucket::{Claim, Payload};
use pgsluice_core::catalog::NodeId;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Statement};

pub(crate) use self::begin::{Begun, begin, new_handful, refuse};
use self::blocks::{Block, Blocks};
pub(crate) use self::claimed::Place;
use self::claimed::{Claimed, Receipt};
use self::past::Past;
use self::receipts::{Entries, Receipts};
pub(crate) use self::seen::Claimant;
use crate::error::{Error, Result};
use crate::failpoint::failpoint;
use crate::kind::Kind;
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::ledger as sql;
use crate::pg::lost;
use crate::pg::sql::{BEGIN, PATIENT};
use crate::source::{Input, Split};
use crate::splits::Splits;

/// One attempt of a load, as the ledger knows it.
pub(crate) struct Ledger {
    id: String,
    attempt: i32,
    /// The number of the tree by which rows are routed.
    tree: i32,
    /// What earlier attempts have claimed by this tree, and by others.
    claimed: Claimed,
    past: Vec<Past>,
    /// What they have rejected.
    rejected: HashSet<Place>,
    receipts: Receipts,
    blocks: Blocks,
}

/// What one transaction writes.
pub(crate) struct Writing {
    entries: Entries,
    blocks: Vec<Block>,
}

impl Ledger {
    /// What a transaction begins with, besides what it needs for its rows: [`Self::check`] must be
    /// told the answers.
    pub(crate) fn fence(&self) -> String {
        sql::fence(&self.id)
    }

    /// What a session that loads begins with.
    pub(crate) fn stay(&self) -> String {
        sql::stay(&self.id)
    }

    /// The error for a load that somebody else has begun again, or has forgotten.
    pub(crate) fn overtaken(&self) -> Error {
        let message = format!("load {} was taken over by another run, or forgotten", self.id);
        Error::new(Kind::Server, message).sqlstate("55006").detail(
            "Nothing that this run had under way is committed; what it committed before, the other \
             one knows.",
        )
    }

    /// Whether no run of the load was before this one.
    pub(crate) fn is_first(&self) -> bool {
        self.attempt == 1
    }

    /// What the transaction of one connection is called when it is prepared.
    pub(crate) fn name_of(&self, database: u32, lane: usize) -> String {
        sql::prepared::name(&self.id, database, self.attempt, lane)
    }

    /// The load.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether the load is marked as finished, which another attempt must not have done.
    pub(crate) async fn is_finished(&self, client: &Client) -> Result<bool> {
        match sql::find(client, &self.id).await?.filter(|found| found.is_finished) {
            Some(found) if found.attempt != self.attempt => Err(self.overtaken()),
            found => Ok(found.is_some()),
        }
    }

    /// Whether no transaction of the load is under way, not even one that is prepared.
    pub(crate) async fn is_over(&self, client: &Client) -> Result<bool> {
        Ok(sql::is_held(&client.simple_query(&sql::is_over(&self.id)).await?))
    }

    /// Those of this attempt that are prepared.
    pub(crate) async fn prepared(&self, client: &Client) -> Result<Vec<String>> {
        let prepared = sql::prepared::find(client, &self.id).await?;
        let own = prepared.into_iter().filter(|prepared| prepared.attempt == self.attempt);
        Ok(own.map(|prepared| prepared.name).collect())
    }

    /// Refuses, in a later statement than [`Self::fence`], a transaction of an attempt that is over.
    pub(crate) async fn check_current(&self, client: &Client) -> Result<()> {
        match client.query_one(sql::IS_CURRENT, &[&self.id, &self.attempt]).await?.get(0) {
            true => Ok(()),
            false => Err(self.overtaken()),
        }
    }

    /// Whether earlier attempts have loaded rows.
    pub(crate) fn is_resumed(&self) -> bool {
        !self.claimed.is_empty() || !self.past.is_empty()
    }

    /// The rows that earlier attempts have rejected.
    pub(crate) fn rejected(&self) -> &HashSet<Place> {
        &self.rejected
    }

    /// Has the statement planned that [`Self::reject`] runs.
    pub(crate) async fn prepare_rejecting(
        &self,
        client: &Client,
    ) -> Result<Statement, tokio_postgres::Error> {
        client.prepare(sql::REJECT).await
    }

    /// Notes rows that are rejected, in the transaction that `client` is in.
    pub(crate) async fn reject(
        &self,
        client: &Client,
        statement: &Statement,
        rows: &[Place],
    ) -> Result<(), tokio_postgres::Error> {
        let (sources, starts): (Vec<i32>, Vec<i64>) =
            rows.iter().map(|&(source, start)| (source as i32, start as i64)).unzip();
        client.execute(statement, &[&self.id, &sources, &starts]).await?;
        Ok(())
    }

    /// Notes a split before its rows are routed. One of a stream must be what it was.
    pub(crate) fn meet(&self, split: &Split, inputs: &[Input]) -> Result<()> {
        self.blocks.meet(split, inputs).map_err(|error| refuse(error, &self.id))
    }

    /// The same for a load that is finished: nothing may be new.
    pub(crate) fn meet_again(&self, split: &Split, inputs: &[Input]) -> Result<()> {
        self.blocks.meet_again(split, inputs)
    }

    /// Refuses streams that have ended before what earlier attempts have read of them.
    pub(crate) fn check_end(&self, inputs: &[Input]) -> Result<()> {
        self.blocks.check_end(inputs)
    }

    /// The same, with the way out.
    pub(crate) fn check_whole(&self, inputs: &[Input]) -> Result<()> {
        self.check_end(inputs).map_err(|error| refuse(error, &self.id))
    }

    /// The error for a load that is to be all or nothing, and was not.
    pub(crate) fn begun_otherwise(&self) -> Error {
        let message =
            format!("load {} was begun without --atomic, and has rows in the table", self.id);
        Error::new(Kind::Usage, message).hint("Resume it without --atomic.")
    }

    /// What is to be written with a payload's rows.
    pub(crate) fn writing(&self, splits: &Splits, payload: &Payload) -> Writing {
        let claims = payload.claims();
        let entries = self.receipts.entries(splits, self.tree, claims);
        let last = claims.iter().map(last_split).max().unwrap_or(0);
        Writing { entries, blocks: self.blocks.unwritten(last) }
    }

    /// What is to be written when all rows of `nodes` become visible, as many as they have.
    pub(crate) fn writing_all(
        &self,
        splits: &Splits,
        nodes: impl Iterator<Item = (NodeId, u64)>,
    ) -> Writing {
        let upto = splits.end();
        let receipts = nodes.map(|(node, rows)| Receipt {
            number: 0,
            tree: self.tree,
            node,
            upto,
            ranges: Vec::new(),
            rows,
        });
        let mut entries = Entries { receipts: receipts.collect(), gone: Vec::new() };
        self.receipts.number(&mut entries);
        Writing { entries, blocks: self.blocks.unwritten(u32::MAX) }
    }

    /// Has the statement planned that [`Self::write`] runs.
    pub(crate) async fn prepare(
        &self,
        client: &Client,
    ) -> Result<Statement, tokio_postgres::Error> {
        client.prepare(sql::WRITE).await
    }

    /// Writes, in the transaction that `client` is in.
    pub(crate) async fn write(
        &self,
        client: &Client,
        statement: &Statement,
        Writing { entries, blocks }: &Writing,
    ) -> Result<(), tokio_postgres::Error> {
        let receipts = &entries.receipts;
        let numbers: Vec<i64> = receipts.iter().map(|receipt| receipt.number).collect();
        let nodes: Vec<i32> = receipts.iter().map(|receipt| receipt.node as i32).collect();
        let sources: Vec<i32> = receipts.iter().map(|receipt| receipt.upto.0 as i32).collect();
        let uptos: Vec<i64> = receipts.iter().map(|receipt| receipt.upto.1 as i64).collect();
        let rows: Vec<i64> = receipts.iter().map(|receipt| receipt.rows as i64).collect();
        let list = |part: fn(&(u32, u64, u64)) -> u64| -> Vec<String> {
            let list = |receipt: &Receipt| {
                let parts: Vec<String> =
                    receipt.ranges.iter().map(|range| part(range).to_string()).collect();
                format!("{{{}}}", parts.join(","))
            };
            receipts.iter().map(list).collect()
        };
        let ranges =
            [list(|range| u64::from(range.0)), list(|range| range.1), list(|range| range.2)];
        let block_sources: Vec<i32> = blocks.iter().map(|block| block.source as i32).collect();
        let block_starts: Vec<i64> = blocks.iter().map(|block| block.start as i64).collect();
        let block_stops: Vec<i64> = blocks.iter().map(|block| block.stop as i64).collect();
        let hashes: Vec<i64> = blocks.iter().map(|block| block.hash).collect();
        client
            .execute(
                statement,
                &[
                    &self.id,
                    &self.attempt,
                    &entries.gone,
                    &block_sources,
                    &block_starts,
                    &block_stops,
                    &hashes,
                    &self.tree,
                    &numbers,
                    &nodes,
                    &sources,
                    &uptos,
                    &ranges[0],
                    &ranges[1],
                    &ranges[2],
                    &rows,
                ],
            )
            .await?;
        Ok(())
    }

    /// The error for what [`Self::write`] has failed with.
    pub(crate) fn failed(&self, error: &tokio_postgres::Error) -> Error {
        match error.as_db_error() {
            // There is no load of this attempt any more.
            Some(error) if *error.code() == SqlState::NOT_NULL_VIOLATION => self.overtaken(),
            Some(error) => Error::from(error).detail("The server refused a row of the ledger."),
            None => lost(Some(error)),
        }
    }

    /// Notes that what was written is committed.
    pub(crate) fn committed(&self, writing: &Writing) {
        self.receipts.committed(&writing.entries);
        self.blocks.written(&writing.blocks);
    }

    /// Marks the load as finished, in the transaction that `client` is in: all rows are in when that is
    /// committed.
    pub(crate) async fn close(&self, client: &Client, rows: [u64; 4]) -> Result<()> {
        let [read, loaded, skipped, rejected] = rows.map(u64::cast_signed);
        let parameters: [&(dyn ToSql + Sync); 6] =
            [&self.id, &self.attempt, &read, &loaded, &skipped, &rejected];
        match client.execute(sql::FINISH, &parameters).await? {
            1 => Ok(()),
            _ => Err(self.overtaken()),
        }
    }

    /// The rows that receipts speak of, by node; and those of other trees than that of now, if there are
    /// any.
    async fn sums(&self, client: &Client) -> Result<(BTreeMap<NodeId, u64>, Option<u64>)> {
        let (mut by_node, mut others) = (BTreeMap::new(), None);
        for row in client.query(sql::SUMS, &[&self.id, &self.tree]).await? {
            let (node, rows) = (row.get::<_, i32>(1), row.get::<_, i64>(2).unsigned_abs());
            match row.get(0) {
                true => _ = by_node.insert(node.unsigned_abs() as usize, rows),
                false => *others.get_or_insert(0) += rows,
            }
        }
        Ok((by_node, others))
    }

    /// Ends the load, of so many rows read, loaded, skipped and rejected, with the synchronous commit that
    /// makes all before it durable; unless `check` says that what [`Self::sums`] tells cannot be.
    pub(crate) async fn finish(
        &self,
        inputs: &[Input],
        splits: &Splits,
        rows: [u64; 4],
        check: impl FnOnce(&BTreeMap<NodeId, u64>, Option<u64>) -> Result<()>,
        target: &Target,
    ) -> Result<()> {
        failpoint("load::closing");
        self.check_whole(inputs)?;
        let client = connect::connect(target).await?;
        let begin = format!("{PATIENT}; {BEGIN}; {}", self.fence());
        let (answers, statement) =
            try_join(client.simple_query(&begin), self.prepare(&client)).await?;
        if !sql::is_held(&answers) {
            return Err(self.overtaken());
        }
        let (by_node, others) = self.sums(&client).await?;
        check(&by_node, others)?;
        self.close_whole(&client, &statement, splits, rows).await?;
        client.batch_execute("COMMIT").await?;
        failpoint("load::closed");
        Ok(())
    }

    /// [`Self::close`], with what is not written yet of the streams that were read; `statement` is that
    /// of [`Self::prepare`].
    pub(crate) async fn close_whole(
        &self,
        client: &Client,
        statement: &Statement,
        splits: &Splits,
        rows: [u64; 4],
    ) -> Result<()> {
        let rest = self.writing_all(splits, std::iter::empty());
        let written = self.write(client, statement, &rest).await;
        written.map_err(|error| self.failed(&error))?;
        self.close(client, rows).await
    }
}

/// The last split that a claim speaks of.
fn last_split(claim: &Claim) -> u32 {
    claim.ranges.iter().map(|range| range.last.split).chain([claim.upto.split]).max().unwrap_or(0)
}
