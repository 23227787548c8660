//! The ledger: which rows of a load are in the table, kept in the target by the transactions that store
//! them. So a load that ended in any way is resumed where it was.
//!
//! ```text
//!     begin ---------> payload --------------------> payload ... ------> finish
//!     the load,        BEGIN, fence, COPY,                               sums agree,
//!     its terms,       receipts, COMMIT                                  marked as finished
//!     its tree            ^
//!        |                | is this row claimed?  then it is not sent again
//!        '-> claims of earlier attempts: walked before the first row is sent
//! ```
//!
//! **Receipts.**
//!
//! 1. A claim speaks of one node. All its rows before a place of the input are in, and so are those in
//!    some ranges behind it. It never counts rows, so the next run may cut its payloads differently.
//! 2. `pgsluice_core::bucket` computes the claim when a payload is closed.
//! 3. The payload's transaction writes the claim as receipts and deletes the receipts that they cover, in
//!    the round trip that ends COPY.
//! 4. An exchange writes all of its receipts with the swap. A load of one statement, a small load and an
//!    atomic load write none: the mark that they are finished says all.
//!
//! **What makes a claim mean the same rows later.** "The rows of a node" are those that the recorded tree
//! leads there (`layout`). If the tree has changed, a resumed load keeps the old one as well and looks each
//! row up in all of them (`past`). The way of a row depends only on its bytes, the tree and the recorded
//! terms. With each key the layout keeps how it is read (`key`): types, defaults, collations, operator
//! classes, digests of functions. A tree whose keys are read differently now is refused. Rows stop at a key
//! that was opaque, whatever it is now. The version of the routing rules is kept by hand (`terms::RULES`).
//!
//! **Fencing.**
//!
//! 1. Each transaction takes the load's advisory lock, shared. A later statement checks that the load is
//!    still at the same attempt.
//! 2. A run that resumes takes the *alive lock* exclusively. The run before it holds that lock, shared,
//!    as long as it lives. Then the new run waits for 10 s and is refused (`others`), unless the ledger
//!    shows that the other run is itself.
//! 3. It takes the load's lock exclusively, which waits for all transactions, and begins the next attempt.
//!    From then on nothing of an earlier attempt is committed, from whichever client or session.
//! 4. Any role can take an advisory lock. A session that does not get one asks who holds it. A role
//!    that may not write to the ledger is named, and the load ends.
//!
//! **Tables.** `ledger::sql::tables` lists them. Before a session uses them, `ledger::sql::trust` checks that
//! nothing on them would run with its rights. When a load is finished, only its row in `load` is kept.

mod begin;
mod begin_share;
mod begun;
mod blocks;
mod claimed;
pub(crate) mod earlier;
pub mod finish;
mod key;
mod layout;
pub mod lookup;
mod members;
mod others;
mod past;
mod receipts;
mod row_counts;
mod run;
mod seen;
pub mod share;
pub(crate) mod sql;
pub(crate) mod terms;
mod withdraw;
mod writing;

use std::collections::{BTreeMap, HashSet};
use std::time::Duration;

use futures_util::future::try_join;
use pgsluice_core::catalog::NodeId;
use tokio_postgres::Client;

pub(crate) use self::begin::{begin, new_handful};
pub(crate) use self::begun::{Begun, refuse};
use self::blocks::Blocks;
use self::claimed::Claimed;
use self::past::Past;
use self::receipts::Receipts;
pub(crate) use self::run::LoadRun;
pub use self::run::Run;
pub(crate) use self::seen::Claimant;
use self::share::Share;
pub(crate) use self::withdraw::withdraw;
pub(crate) use self::writing::{ReceiptStatements, Writing};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::job::Job;
use crate::ledger::sql::{Access, Participant, Schema, trust};
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::sql::{BEGIN, COMMIT, DURABLE, NO_LOCK_TIMEOUT, ROLLBACK};
use crate::row_counts::RowCounts;
use crate::source::{Fingerprint, Input, Split};
use crate::testing::failpoint::failpoint;
use pgsluice_core::position::Origin;

/// Between two tries to take a lock that is held for a moment.
const PAUSE: Duration = Duration::from_millis(50);

/// The load `id` in the ledger, if one is kept.
pub(crate) fn named(job: &Job, id: &str) -> Option<Participant> {
    let schema = job.safety.ledger.as_deref().filter(|_| job.keeps_ledger())?;
    Some(Participant::new(&Schema::new(schema), id))
}

/// One attempt of a load, as the ledger knows it.
pub(crate) struct Ledger {
    named: Participant,
    /// The fingerprints of the inputs; if the load is finished, those that they had then.
    sources: Vec<Fingerprint>,
    attempt: i32,
    /// The number of the tree by which rows are routed.
    tree: i32,
    /// What earlier attempts have claimed by this tree, and by other trees.
    claimed: Claimed,
    past: Vec<Past>,
    /// The rows that they have rejected.
    rejected: HashSet<Origin>,
    receipts: Receipts,
    blocks: Blocks,
    /// What became of the rows that earlier attempts have committed.
    counts_before: RowCounts,
    /// The share of the load that this is, if it is not the whole load.
    share: Option<Share>,
}

impl Ledger {
    /// Returns what a transaction begins with, besides what it needs for its rows. [`sql::is_held`]
    /// tells from the answers whether it may go on, and [`Self::lost_attempt`] why not.
    pub(crate) fn fence(&self) -> String {
        self.named.fence()
    }

    /// Looks whether the session may use the ledger's tables, before it does for the first time.
    pub(crate) async fn trust(&self, client: &Client) -> Result<()> {
        trust::check(&self.named.schema, client, Access::Write).await
    }

    /// Marks the load as running, for the session.
    pub(crate) async fn hold_alive_lock(&self, client: &Client) -> Result<()> {
        while !sql::is_held(&client.simple_query(&self.named.hold_alive_lock()).await?) {
            // Another run may hold it alone, for a moment.
            if let Some(stranger) = self.named.stranger(client).await? {
                return Err(self.named.held_up(&stranger));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Marks the load as running, for the session, which has kept all others away until now if it `is_exclusive`.
    async fn let_in(&self, client: &Client, is_exclusive: bool) -> Result<()> {
        self.hold_alive_lock(client).await?;
        match is_exclusive {
            true => self.named.release_alive_lock(client).await,
            false => Ok(()),
        }
    }

    /// Returns why a transaction may not go on whose fence was not held, and rolls it back. A COPY must
    /// have ended.
    pub(crate) async fn lost_attempt(&self, client: &Client) -> Error {
        let _ = client.batch_execute(ROLLBACK).await;
        match self.named.stranger(client).await {
            Ok(Some(stranger)) => self.named.held_up(&stranger),
            _ => self.share.as_ref().map_or_else(|| self.overtaken(), Share::kept_out),
        }
    }

    /// Returns the error for a load that another run has begun again, or has forgotten.
    pub(crate) fn overtaken(&self) -> Error {
        let message = format!("load {} was taken over by another run, or forgotten", self.id());
        Error::new(Kind::Server, message).with_sqlstate("55006").with_detail(
            "Nothing this run had in flight was committed. The other run skips the rows that this \
             one committed.",
        )
    }

    /// What became of the rows that earlier attempts have committed.
    pub(crate) fn counts_before(&self) -> RowCounts {
        self.counts_before
    }

    /// The share of the load that this is, if it is not the whole load.
    pub(crate) fn share(&self) -> Option<&Share> {
        self.share.as_ref()
    }

    /// Whether no run of the load was before this one.
    pub(crate) fn is_first(&self) -> bool {
        self.attempt == 1
    }

    /// The load's name.
    pub(crate) fn id(&self) -> &str {
        &self.named.id
    }

    /// Opens, in a later statement than [`Self::fence`], the transaction of a load that is all or nothing: it must be of
    /// the current attempt, or the first to claim its share.
    pub(crate) async fn open(
        &self,
        client: &Client,
        target: &Target,
        control: &Control,
    ) -> Result<()> {
        match &self.share {
            Some(share) => share.claim(client, target, control).await,
            None => self.check_current(client).await,
        }
    }

    /// Refuses a transaction of an attempt that is over.
    async fn check_current(&self, client: &Client) -> Result<()> {
        match client
            .query_one(&self.named.sql(sql::IS_CURRENT), &[&self.named.id, &self.attempt])
            .await?
            .get(0)
        {
            true => Ok(()),
            false => Err(self.overtaken()),
        }
    }

    /// Whether earlier attempts have loaded rows.
    pub(crate) fn is_resumed(&self) -> bool {
        !self.claimed.is_empty() || !self.past.is_empty()
    }

    /// The rows that earlier attempts have rejected.
    pub(crate) fn rejected(&self) -> &HashSet<Origin> {
        &self.rejected
    }

    /// Records a split before its rows are routed. A split of a stream must be the same as before.
    pub(crate) fn verify_block(&self, split: &Split, inputs: &[Input]) -> Result<()> {
        if let Some(share) = &self.share {
            share.add(split);
            return Ok(());
        }
        self.blocks.verify_block(split, inputs).map_err(|error| refuse(error, self.id()))
    }

    /// Refuses a split of a stream that differs from what earlier runs read. Records nothing.
    pub(crate) fn check_block(&self, split: &Split, inputs: &[Input]) -> Result<()> {
        self.blocks.check_block(split, inputs).map_err(|error| refuse(error, self.id()))
    }

    /// Compares the streams, or the inputs of a share, with the record in the ledger. All of them must have been read
    /// again.
    pub(crate) fn check_finished(&self, inputs: &[Input]) -> Result<()> {
        if let Some(share) = &self.share {
            return share.compare();
        }
        Fingerprint::check_streams(&self.sources, &self.blocks.whole(&self.sources), inputs)
    }

    /// Refuses streams that have ended before what earlier attempts have read of them.
    pub(crate) fn check_end(&self, inputs: &[Input]) -> Result<()> {
        self.blocks.check_end(inputs)
    }

    /// Checks the same as [`Self::check_end`]; its error has the way out.
    pub(crate) fn check_whole(&self, inputs: &[Input]) -> Result<()> {
        self.check_end(inputs).map_err(|error| refuse(error, self.id()))
    }

    /// Returns the error for a load that must be all or nothing now, but was begun otherwise.
    pub(crate) fn begun_otherwise(&self) -> Error {
        let message = Words::from(format!("load {} was begun without ", self.id()))
            + option("atomic")
            + ", and has rows in the table";
        Error::new(Kind::Usage, message).with_hint("Resume it without " + option("atomic") + ".")
    }

    /// Marks the load as finished, in the transaction that `client` is in: all rows are in when that is
    /// committed.
    pub(crate) async fn close(&self, client: &Client, counts: RowCounts) -> Result<()> {
        if let Some(share) = &self.share {
            return share.settle(client, counts).await;
        }
        let sources = sql::json::json(&self.blocks.whole(&self.sources))?;
        let parts = self.named.forget_parts();
        let closing = try_join(
            self.named.settle_load(client, self.attempt, counts, &sources),
            client.batch_execute(&parts),
        );
        if closing.await?.0 { Ok(()) } else { Err(self.overtaken()) }
    }

    /// The rows that receipts speak of, by node; and those of other trees than that of now, if there are
    /// any.
    async fn sums(&self, client: &Client) -> Result<(BTreeMap<NodeId, u64>, Option<u64>)> {
        let (mut by_node, mut others) = (BTreeMap::new(), None);
        for row in client.query(&self.named.sql(sql::SUMS), &[&self.named.id, &self.tree]).await? {
            let (node, rows) = (row.get::<_, i32>(1), row.get::<_, i64>(2).unsigned_abs());
            match row.get(0) {
                true => _ = by_node.insert(node.unsigned_abs() as usize, rows),
                false => *others.get_or_insert(0) += rows,
            }
        }
        Ok((by_node, others))
    }

    /// Marks the load as finished, with `counts` of its rows, by a synchronous commit that makes all
    /// before it durable. It does not if `check` refuses the sums of [`Self::sums`]. `session` may be lost.
    pub(crate) async fn finish(
        &self,
        inputs: &[Input],
        counts: RowCounts,
        check: impl FnOnce(&BTreeMap<NodeId, u64>, Option<u64>) -> Result<()>,
        session: Option<Client>,
        target: &Target,
    ) -> Result<()> {
        failpoint("load::closing");
        self.check_whole(inputs)?;
        let client = connect::own_again(session, target).await?;
        client.batch_execute(&format!("{NO_LOCK_TIMEOUT}; {DURABLE}")).await?;
        self.trust(&client).await?;
        let answers = client.simple_query(&format!("{BEGIN}; {}", self.fence())).await?;
        if !sql::is_held(&answers) {
            return Err(self.lost_attempt(&client).await);
        }
        let (by_node, others) = self.sums(&client).await?;
        check(&by_node, others)?;
        self.close(&client, counts).await?;
        client.batch_execute(COMMIT).await?;
        failpoint("load::closed");
        Ok(())
    }
}
