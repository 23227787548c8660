//! Exchange: builds a leaf in a shadow table, without indexes, and swaps it in. The old leaf is empty, or its
//! rows are to be replaced.
//!
//! ```text
//!     eligible  ->  shadow  ->  build    ->  swap
//!     which       table       indexes,     one transaction of
//!     leaves      and rows    keys         milliseconds
//! ```
//!
//! 1. `plan::eligible` finds the leaves that can be exchanged. One query (`exchange::sql::definitions`) says
//!    what a leaf is: each thing as the statement that makes it. `pg::exchange::obstacles` refuses anything
//!    that is not known to be carried over.
//! 2. A session takes an advisory lock on the root, before the first table and until after the swap. It
//!    also does the swap, so a load that has lost the lock cannot swap.
//! 3. The connection with the first rows of a leaf makes its shadow in the same transaction (`shadow`).
//! 4. When all rows are sent, `build` makes what the shadows lack: indexes, keys, foreign keys, privileges.
//! 5. `swap` locks the tables and asks again. Each leaf must be what it was, and neither it nor its shadow
//!    may have an obstacle. Rows that others have inserted are moved, unless rows are replaced: then
//!    the leaf is dropped with all its rows.
//! 6. Each shadow takes the place, name and bound of its leaf. Then it must be, thing by thing, what
//!    the old leaf was: in all columns of the catalogue but the harmless ones
//!    (`exchange::sql::harmless`). A test holds that list against the server.
//! 7. Receipts are written, and the swap is committed.
//!
//! Until then the table is as it was. A shadow has a name and a comment that say what it is. A load that is
//! stopped drops its shadows. The next load drops those of one that died.

mod build;
mod difference;
mod shadow;
mod sql;
mod swap;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use pgsluice_core::catalog::{NodeId, ROOT, Relation};
use tokio_postgres::Client;

use self::shadow::Shadow;
pub(crate) use self::shadow::{Destination, Maker};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::exchange::sql as catalogue;
use crate::job::Job;
use crate::ledger::Ledger;
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::exchange;
use crate::pg::sql::{DURABLE, NO_LOCK_TIMEOUT, PG_CATALOG_ONLY};
use crate::plan::Plan;
use crate::plan::eligible::Eligible;
use crate::source::splits::Splits;

/// How long the dropping may take before it is left to the next load.
const DROPPING_PATIENCE: Duration = Duration::from_secs(15);

/// How long it may take after Ctrl-C, when a person waits.
const DROPPING_BRIEFLY: Duration = Duration::from_millis(500);

/// The exchange of one load.
pub(crate) struct Exchange<'a> {
    plan: &'a Plan,
    eligible: &'a Eligible,
    /// Tells its tables from those of other loads.
    load: String,
    /// Holds the lock of the table, and swaps.
    lock_session: Link,
    /// How many leaves one transaction can swap.
    most: usize,
    leaves: Mutex<BTreeMap<NodeId, LeafClaim>>,
    moved: AtomicU64,
}

/// The state of a leaf that the input has rows for.
enum LeafClaim {
    /// Its table is being made, with the first of its rows.
    Making,
    /// Its table is there.
    Made(Shadow),
    /// Its leaf is more than one transaction can swap: its rows go there directly.
    Kept,
}

/// Why a leaf is kept that could have been exchanged.
pub(crate) const TOO_MANY: &str =
    "not exchanged: one transaction cannot lock more tables (max_locks_per_transaction)";

/// The leaves that were exchanged, and those that were not.
#[derive(Debug, Default)]
pub(crate) struct Exchanged {
    /// How many leaves were swapped.
    pub(crate) leaves: usize,
    /// How many of them had rows when the load began, which are gone.
    pub(crate) replaced: usize,
    /// Rows that were in them by then, and are now with the others.
    pub(crate) moved: u64,
    /// Leaves that were too many for one transaction.
    pub(crate) kept: Vec<NodeId>,
}

impl<'a> Exchange<'a> {
    /// Makes sure that no other load exchanges this table, and drops what died loads have left.
    pub(crate) async fn begin(
        plan: &'a Plan,
        eligible: &'a Eligible,
        target: &Target,
        control: &Control,
    ) -> Result<Self> {
        let facts = &plan.catalogue.facts;
        let root = facts[ROOT].oid;
        let leaves: Vec<u32> = eligible.leaves.iter().map(|&leaf| facts[leaf].oid).collect();
        let opening = async {
            let lock_session = connect::open(target).await?;
            lock_session
                .client
                .batch_execute(&[PG_CATALOG_ONLY, NO_LOCK_TIMEOUT, DURABLE].join(";"))
                .await?;
            if !exchange::lock(&lock_session.client, root).await? {
                return Err(in_use(plan, catalogue::holder(&lock_session.client, root).await?));
            }
            exchange::drop_leftovers(&lock_session.client).await?;
            let most = catalogue::most_leaves(&lock_session.client, &leaves).await?;
            Ok(Self {
                plan,
                eligible,
                load: format!("{:x}", RandomState::new().hash_one(root)),
                lock_session,
                most,
                leaves: Mutex::default(),
                moved: AtomicU64::new(0),
            })
        };
        control.stop.unless_stopped(opening).await
    }

    /// The table that is built for `node`, once it is there.
    pub(crate) fn relation(&self, node: NodeId) -> Option<Relation> {
        match self.claims().get(&node) {
            Some(LeafClaim::Making | LeafClaim::Made(_)) => Some(self.shadow_name(node)),
            _ => None,
        }
    }

    /// Builds what the tables lack, and puts them in the places of their leaves.
    pub(crate) async fn finish(
        &self,
        job: &Job,
        target: &Target,
        control: &Control,
        receipts: Option<(&Ledger, &Splits)>,
    ) -> Result<()> {
        let leaves = self.made();
        if leaves.is_empty() {
            return Ok(());
        }
        build::build(self.plan, &leaves, job.speed.jobs, target, control).await?;
        let swapping = swap::swap(self, &leaves, job.safety.swap_patience, control, receipts);
        let moved = self.lock_session.canceller.unless_stopped(control, swapping).await?;
        self.moved.store(moved, Relaxed);
        Ok(())
    }

    /// Returns the outcome of the exchange.
    pub(crate) fn done(&self) -> Exchanged {
        let claims = self.claims();
        let kept = claims.iter().filter(|(_, claim)| matches!(claim, LeafClaim::Kept));
        let made = claims.iter().filter(|(_, claim)| matches!(claim, LeafClaim::Made(_)));
        Exchanged {
            leaves: made.clone().count(),
            replaced: made.filter(|(node, _)| self.eligible.filled.contains(node)).count(),
            moved: self.moved.load(Relaxed),
            kept: kept.map(|(node, _)| *node).collect(),
        }
    }

    /// Drops what a load that has failed had built; adds to its error what could not be dropped.
    pub(crate) async fn abandon(&self, target: &Target, error: Error) -> Error {
        if self.claims().is_empty() {
            return error;
        }
        let dropping = async {
            if !self.lock_session.is_closed().await {
                return dropped(&self.lock_session.client).await;
            }
            dropped(&connect::connect_for_own(target).await?).await
        };
        let patience = match error.kind() {
            Kind::Interrupted => DROPPING_BRIEFLY,
            _ => DROPPING_PATIENCE,
        };
        match tokio::time::timeout(patience, dropping).await {
            Ok(Ok(())) => error,
            _ => error.with_detail(
                "Tables named pgsluice_new_ and a number may be left; the next load "
                    + option("exchange")
                    + " drops them.",
            ),
        }
    }

    fn shadow_name(&self, leaf: NodeId) -> Relation {
        let schema = self.plan.tree.nodes[leaf].relation.schema.clone();
        let name = catalogue::shadow_name(self.plan.catalogue.facts[leaf].oid, &self.load);
        Relation { schema, name }
    }

    /// The leaves whose tables are there, those with the most rows first.
    fn made(&self) -> Vec<(NodeId, Shadow)> {
        let claims = self.claims();
        let made = claims.iter().filter_map(|(node, claim)| match claim {
            LeafClaim::Made(shadow) => Some((*node, shadow.clone())),
            _ => None,
        });
        let mut made: Vec<_> = made.collect();
        made.sort_by_key(|(_, shadow)| std::cmp::Reverse(shadow.rows));
        made
    }

    fn claims(&self) -> MutexGuard<'_, BTreeMap<NodeId, LeafClaim>> {
        self.leaves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn dropped(client: &Client) -> Result<()> {
    client.batch_execute(catalogue::DROPPING).await?;
    exchange::drop_leftovers(client).await
}

fn in_use(plan: &Plan, holder: Option<String>) -> Error {
    let table = plan.tree.nodes[ROOT].relation.label();
    let error =
        Error::new(Kind::Server, format!("another load is exchanging partitions of {table}"))
            .with_sqlstate("55006")
            .with_hint("Wait until it ends, or load without " + option("exchange") + ".");
    let said = holder.map(|holder| format!("{holder} holds the advisory lock of the exchange."));
    said.into_iter().fold(error, Error::with_detail)
}
