//! The ledger: which rows of a load are in the table. The transactions that store the rows also record them
//! here, in the target. A load can therefore be resumed where it stopped, however it ended.
//!
//! ```text
//!     begin ---------> payload --------------------> payload ... ------> finish
//!     the load,        BEGIN, fence, COPY,                               sums agree,
//!     its terms,       receipts, COMMIT                                  marked as finished
//!     its tree            ^
//!        |                | is this row claimed?  then it is not sent again
//!        '-> claims of earlier attempts: searched for before the first row is sent
//! ```
//!
//! **Receipts.**
//!
//! 1. A claim covers one node. It says that all rows of the node before a place of the input are committed,
//!    and those in some ranges after it. It does not count rows, so the next run may cut its payloads
//!    differently.
//! 2. `pgsluice_core::bucket` computes the claim when a payload is closed.
//! 3. The payload's transaction writes the claim as receipts and deletes the receipts that they cover, in the
//!    round trip that ends COPY.
//! 4. An exchange writes all of its receipts with the swap. A load in one statement, a small load and an
//!    atomic load write no receipts: the mark that they are finished is enough.
//!
//! **Why a claim means the same rows later.** "The rows of a node" are the rows that the recorded tree routes
//! there (`layout`). If the tree has changed, a resumed load keeps the old one as well and routes each row by
//! all of them (`earlier_tree`). The route of a row depends only on its bytes, the tree and the recorded terms. With
//! each key, the layout records how it is read (`key`): types, defaults, collations, operator classes,
//! digests of functions. A tree whose keys are read differently now is an error. At a key that was opaque,
//! rows still stop, whatever the key is now. The version of the routing rules is raised by hand
//! (`terms::RULES`).
//!
//! **Fencing.**
//!
//! 1. Each transaction takes the load's advisory lock in shared mode. A later statement checks that the load
//!    is still at the same attempt.
//! 2. A run that resumes takes the *alive lock* exclusively. The previous run holds that lock in shared mode
//!    as long as it lives. In that case the new run waits for 10 s and then fails (`others`), unless the
//!    ledger shows that the other run is itself.
//! 3. It takes the load's lock exclusively, which waits for all transactions, and begins the next attempt.
//!    From then on, no earlier attempt can commit anything, from any client or session.
//! 4. Any role can take an advisory lock. A session that cannot get one asks which session holds it. If the
//!    holder's role may not write to the ledger, the load ends with an error that names the role.
//!
//! **Tables.** `ledger::sql::tables` lists them. Before a session uses them, `ledger::sql::trust` checks that
//! no code attached to them would run with its rights. When a load is finished, only its row in `load` is
//! kept.

mod begin;
mod begin_share;
mod begun;
mod blocks;
mod claimants;
mod claimed;
pub(crate) mod earlier;
mod earlier_tree;
pub mod finish;
mod key;
mod layout;
pub mod lookup;
mod members;
mod others;
mod receipts;
mod row_counts;
mod run;
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

pub(crate) use self::begin::{begin, insert_small_load};
pub(crate) use self::begun::{Begun, refuse};
use self::blocks::Blocks;
pub(crate) use self::claimants::Claimant;
use self::claimed::Claimed;
use self::earlier_tree::EarlierTree;
use self::receipts::Receipts;
pub(crate) use self::run::LoadRun;
pub use self::run::Run;
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
use pgsluice_core::origin::Origin;

/// The pause between two attempts to take a lock that is held for a moment.
const PAUSE: Duration = Duration::from_millis(50);

/// Returns the load `id` in the ledger, if the job keeps a ledger.
pub(crate) fn find_participant(job: &Job, id: &str) -> Option<Participant> {
    let schema = job.safety.ledger.as_deref().filter(|_| job.keeps_ledger())?;
    Some(Participant::new(&Schema::new(schema), id))
}

/// One attempt of a load, as recorded in the ledger.
pub(crate) struct Ledger {
    named: Participant,
    /// The fingerprints of the inputs; for a finished load, from the run that finished it.
    sources: Vec<Fingerprint>,
    attempt: i32,
    /// The number of the tree by which rows are routed.
    tree: i32,
    /// The rows that earlier attempts have claimed, by this tree and by other trees.
    claimed: Claimed,
    earlier_trees: Vec<EarlierTree>,
    /// The rows that earlier attempts have rejected.
    rejected: HashSet<Origin>,
    receipts: Receipts,
    blocks: Blocks,
    /// The outcomes of the rows that earlier attempts have committed.
    counts_before: RowCounts,
    /// The share of the load, if this is not the whole load.
    share: Option<Share>,
}

impl Ledger {
    /// Returns the statement that begins a transaction's fence. [`sql::is_held`] reads from the answers
    /// whether the transaction may go on, and [`Self::lost_attempt`] returns the reason if not.
    pub(crate) fn fence(&self) -> String {
        self.named.fence()
    }

    /// Checks whether the session may use the ledger's tables. Must be called before it uses them for the
    /// first time.
    pub(crate) async fn trust(&self, client: &Client) -> Result<()> {
        trust::check(&self.named.schema, client, Access::Write).await
    }

    /// Marks the load as running for as long as the session lasts.
    pub(crate) async fn hold_alive_lock(&self, client: &Client) -> Result<()> {
        while !sql::is_held(&client.simple_query(&self.named.hold_alive_lock()).await?) {
            // Another run may hold it exclusively for a moment.
            if let Some(holder) = self.named.find_foreign_holder(client).await? {
                return Err(self.named.held_up(&holder));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Marks the load as running for as long as the session lasts. If `is_exclusive`, the session has kept
    /// all others out until now.
    async fn let_in(&self, client: &Client, is_exclusive: bool) -> Result<()> {
        self.hold_alive_lock(client).await?;
        match is_exclusive {
            true => self.named.release_alive_lock(client).await,
            false => Ok(()),
        }
    }

    /// Returns the reason why a transaction whose fence was not held may not go on, and rolls it back. A COPY
    /// must have ended.
    pub(crate) async fn lost_attempt(&self, client: &Client) -> Error {
        let _ = client.batch_execute(ROLLBACK).await;
        match self.named.find_foreign_holder(client).await {
            Ok(Some(holder)) => self.named.held_up(&holder),
            _ => self.share.as_ref().map_or_else(|| self.overtaken(), Share::locked_out),
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

    /// Returns the outcomes of the rows that earlier attempts have committed.
    pub(crate) fn counts_before(&self) -> RowCounts {
        self.counts_before
    }

    /// Returns the share of the load, if this is not the whole load.
    pub(crate) fn share(&self) -> Option<&Share> {
        self.share.as_ref()
    }

    /// Whether this is the first run of the load.
    pub(crate) fn is_first(&self) -> bool {
        self.attempt == 1
    }

    /// Returns the load's id.
    pub(crate) fn id(&self) -> &str {
        &self.named.id
    }

    /// Opens the transaction of an atomic load, in a later statement than [`Self::fence`]. Fails unless it
    /// belongs to the current attempt, or is the first to claim its share.
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

    /// Rejects a transaction of an attempt that is over.
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
        !self.claimed.is_empty() || !self.earlier_trees.is_empty()
    }

    /// Returns the rows that earlier attempts have rejected.
    pub(crate) fn rejected_rows(&self) -> &HashSet<Origin> {
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

    /// Rejects a split of a stream that differs from the one that earlier runs read. Records nothing.
    pub(crate) fn check_block(&self, split: &Split, inputs: &[Input]) -> Result<()> {
        self.blocks.check_block(split, inputs).map_err(|error| refuse(error, self.id()))
    }

    /// Compares the streams, or the inputs of a share, with the record in the ledger. All of them must have
    /// been read again.
    pub(crate) fn check_finished(&self, inputs: &[Input]) -> Result<()> {
        if let Some(share) = &self.share {
            return share.compare();
        }
        Fingerprint::check_streams(&self.sources, &self.blocks.whole(&self.sources), inputs)
    }

    /// Rejects streams that ended before blocks that earlier attempts had read.
    pub(crate) fn check_end(&self, inputs: &[Input]) -> Result<()> {
        self.blocks.check_end(inputs)
    }

    /// Checks streams like [`Self::check_end`], and adds hints to the error.
    pub(crate) fn check_whole(&self, inputs: &[Input]) -> Result<()> {
        self.check_end(inputs).map_err(|error| refuse(error, self.id()))
    }

    /// Returns the error for a load that must be atomic now, but was begun otherwise.
    pub(crate) fn begun_otherwise(&self) -> Error {
        let message = Words::from(format!("load {} was begun without ", self.id()))
            + option("atomic")
            + ", and has rows in the table";
        Error::new(Kind::Usage, message).with_hint("Resume it without " + option("atomic") + ".")
    }

    /// Marks the load as finished in the transaction that `client` is in, whose commit makes it complete.
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

    /// Returns the number of rows that receipts cover: for each node of the present tree, and in total for
    /// other trees, if there are any.
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

    /// Marks the load as finished, with `counts` of its rows, by a synchronous commit that makes all earlier
    /// commits durable. Fails if `check` rejects the result of [`Self::sums`]. The connection of `session`
    /// may be lost.
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
        let client = connect::reuse_or_connect(session, target).await?;
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
