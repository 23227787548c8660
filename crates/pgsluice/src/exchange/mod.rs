//! Exchange: builds a leaf in a shadow table, without indexes, and swaps it in. The old leaf is empty, or its
//! rows are to be replaced.
//!
//! ```text
//!     eligible  ->  shadow  ->  build    ->  swap
//!     which       table       indexes,     one transaction of
//!     leaves      and rows    keys         milliseconds
//! ```
//!
//! 1. `plan::eligible` finds the leaves that can be exchanged. A query (`exchange::sql::definitions`)
//!    describes a leaf as the statements that create each of its parts. `pg::exchange::obstacles` refuses
//!    anything that is not known to be carried over.
//! 2. A session takes an advisory lock on the root, before the first table and until after the swap. The same
//!    session does the swap, so a load that has lost the lock cannot swap.
//! 3. The connection with the first rows of a leaf creates its shadow in the same transaction (`shadow`).
//! 4. When all rows are sent, `build` creates the parts that the shadows lack: indexes, keys, foreign keys,
//!    privileges.
//! 5. `swap` locks the tables and checks again. Each leaf must be unchanged, and neither it nor its shadow
//!    may have an obstacle. Rows that other sessions have inserted are moved, unless rows are replaced: then
//!    the leaf is dropped with all its rows.
//! 6. Each shadow takes the place, name and bound of its leaf. Then each of its parts must equal that of the
//!    old leaf, in all columns of the catalogue except the harmless ones (`exchange::sql::harmless`). A test
//!    checks that list against the server.
//! 7. Receipts are written, and the swap is committed.
//!
//! Until then the table is unchanged. The name and the comment of a shadow show its purpose. A load that is
//! stopped drops its shadows. The next load drops those of a load that died.

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

/// The longest time for dropping shadows before they are left to the next load.
const DROPPING_PATIENCE: Duration = Duration::from_secs(15);

/// The longest time for dropping shadows after Ctrl-C, while the user waits.
const DROPPING_BRIEFLY: Duration = Duration::from_millis(500);

/// The exchange of one load.
pub(crate) struct Exchange<'a> {
    plan: &'a Plan,
    eligible: &'a Eligible,
    /// A name that distinguishes its shadows from other loads' shadows.
    load: String,
    /// The session that holds the lock of the table and swaps.
    lock_session: Link,
    /// The number of leaves that one transaction can swap.
    max: usize,
    leaves: Mutex<BTreeMap<NodeId, LeafState>>,
    moved: AtomicU64,
}

/// The state of a leaf that receives rows.
enum LeafState {
    /// Its shadow is being created, with its first rows.
    Making,
    /// Its shadow exists.
    Made(Shadow),
    /// One transaction cannot swap another leaf, so its rows go directly into the leaf.
    OverLimit,
}

/// The reason why an eligible leaf is not exchanged.
pub(crate) const TOO_MANY: &str =
    "not exchanged: one transaction cannot lock more tables (max_locks_per_transaction)";

/// The leaves that were exchanged, and those that were not.
#[derive(Debug, Default)]
pub(crate) struct Exchanged {
    /// The number of leaves that were swapped.
    pub(crate) leaves: usize,
    /// The number of them that had rows when the load began, which are gone.
    pub(crate) replaced: usize,
    /// The number of rows that other sessions or the slow lane had inserted, and that were moved into the new
    /// leaves.
    pub(crate) moved: u64,
    /// Leaves that were not exchanged because one transaction cannot swap more.
    pub(crate) over_limit: Vec<NodeId>,
}

impl<'a> Exchange<'a> {
    /// Takes the lock of the exchange, so that no other load exchanges this table, and drops the shadows of
    /// loads that died.
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
            let max = catalogue::max_leaves(&lock_session.client, &leaves).await?;
            Ok(Self {
                plan,
                eligible,
                load: format!("{:x}", RandomState::new().hash_one(root)),
                lock_session,
                max,
                leaves: Mutex::default(),
                moved: AtomicU64::new(0),
            })
        };
        control.stop.unless_stopped(opening).await
    }

    /// Returns the shadow that is built for `node`, if there is one.
    pub(crate) fn relation(&self, node: NodeId) -> Option<Relation> {
        match self.leaves().get(&node) {
            Some(LeafState::Making | LeafState::Made(_)) => Some(self.shadow_name(node)),
            _ => None,
        }
    }

    /// Builds the parts that the shadows lack, and swaps them in.
    pub(crate) async fn finish(
        &self,
        job: &Job,
        target: &Target,
        control: &Control,
        receipts: Option<(&Ledger, &Splits)>,
    ) -> Result<()> {
        let leaves = self.shadows();
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
    pub(crate) fn outcome(&self) -> Exchanged {
        let leaves = self.leaves();
        let over_limit = leaves.iter().filter(|(_, state)| matches!(state, LeafState::OverLimit));
        let made = leaves.iter().filter(|(_, state)| matches!(state, LeafState::Made(_)));
        Exchanged {
            leaves: made.clone().count(),
            replaced: made.filter(|(node, _)| self.eligible.filled.contains(node)).count(),
            moved: self.moved.load(Relaxed),
            over_limit: over_limit.map(|(node, _)| *node).collect(),
        }
    }

    /// Drops the shadows of a failed load. If that fails too, adds a detail to its error.
    pub(crate) async fn abandon(&self, target: &Target, error: Error) -> Error {
        if self.leaves().is_empty() {
            return error;
        }
        let dropping = async {
            if !self.lock_session.is_closed().await {
                return drop_shadows(&self.lock_session.client).await;
            }
            drop_shadows(&connect::connect_internal(target).await?).await
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

    /// Returns the leaves whose shadows exist, in descending order of their rows.
    fn shadows(&self) -> Vec<(NodeId, Shadow)> {
        let leaves = self.leaves();
        let made = leaves.iter().filter_map(|(node, state)| match state {
            LeafState::Made(shadow) => Some((*node, shadow.clone())),
            _ => None,
        });
        let mut made: Vec<_> = made.collect();
        made.sort_by_key(|(_, shadow)| std::cmp::Reverse(shadow.rows));
        made
    }

    fn leaves(&self) -> MutexGuard<'_, BTreeMap<NodeId, LeafState>> {
        self.leaves.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn drop_shadows(client: &Client) -> Result<()> {
    client.batch_execute(catalogue::DROPPING).await?;
    exchange::drop_leftovers(client).await
}

fn in_use(plan: &Plan, holder: Option<String>) -> Error {
    let table = plan.tree.nodes[ROOT].relation.label();
    let error =
        Error::new(Kind::Server, format!("another load is exchanging partitions of {table}"))
            .with_sqlstate("55006")
            .with_hint("Wait until it ends, or load without " + option("exchange") + ".");
    let detail = holder.map(|holder| format!("{holder} holds the advisory lock of the exchange."));
    detail.into_iter().fold(error, Error::with_detail)
}
