//! The swap: one transaction in which each shadow takes the place, the name and the bound of its leaf.
//!
//! Under the lock each leaf must still be as it was when its shadow was created. Rows that other sessions or
//! the slow lane have inserted are moved. If rows are replaced, none takes the slow lane, and rows of other
//! sessions are dropped with the old rows, as if TRUNCATE ran at this moment. At the end each part of the new
//! leaf must equal that of the old one. Otherwise nothing happens.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use pgsluice_core::catalog::{NodeId, ROOT, Relation};
use tokio_postgres::{Client, SimpleQueryMessage};

use super::Exchange;
use super::difference::{Difference, difference};
use super::shadow::Shadow;
use crate::control::{Control, Event, Progress};
use crate::error::backoff::Backoff;
use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};
use crate::error::{Error, Result, option};
use crate::exchange::sql::{self as catalogue, BuildPhase, LeafReader, find};
use crate::ledger::sql::is_held;
use crate::ledger::{Ledger, ReceiptStatements};
use crate::pg::exchange::obstacles;
use crate::pg::{is_answer, sql};
use crate::plan::Plan;
use crate::source::splits::Splits;
use crate::testing::failpoint::failpoint;

/// The longest time that one attempt waits for a lock, and that other sessions wait behind it.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Approximate pause after the first attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Swaps the shadows in, and returns the number of rows that were moved. Retries for `patience` while other
/// sessions hold locks.
pub(super) async fn swap(
    exchange: &Exchange<'_>,
    leaves: &[(NodeId, Shadow)],
    patience: Duration,
    control: &Control,
    receipts: Option<(&Ledger, &Splits)>,
) -> Result<u64> {
    let plan = exchange.plan;
    let client = &exchange.lock_session.client;
    client.batch_execute(sql::DEPARSE_SETTINGS).await?;
    let reader =
        LeafReader::prepare(client, plan.catalogue.facts[ROOT].oid, &exchange.load).await?;
    let receipts = match receipts {
        Some((ledger, splits)) => {
            ledger.trust(client).await?;
            Some((ledger, splits, ledger.prepare(client).await?))
        }
        None => None,
    };
    let leaves = in_order(plan, leaves);
    let swap = Swap { exchange, plan, client, reader, leaves, control, receipts };
    // Checks once before other sessions have to wait. The server has then also planned the query.
    swap.check_unaltered().await?;
    let began = Instant::now();
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    loop {
        let error = match swap.attempt(LOCK_WAIT.min(patience)).await {
            Ok(moved) => return Ok(moved),
            Err(error) => error,
        };
        if error.sqlstate().map(policy::for_sqlstate) != Some(Policy::Retry) {
            return Err(error);
        }
        let pause = backoff.pause();
        if began.elapsed() + pause >= patience {
            return Err(error.with_detail(format!(
                "The new partitions were not swapped in: other sessions held locks on the table \
                 for {} s.",
                patience.as_secs()
            )));
        }
        client.batch_execute(sql::ROLLBACK).await?;
        tokio::time::sleep(pause).await;
        if control.stop.is_stopped() {
            return Err(control.stop.failure().unwrap_or_else(Error::interrupted));
        }
    }
}

struct Swap<'a> {
    exchange: &'a Exchange<'a>,
    plan: &'a Plan,
    client: &'a Client,
    reader: LeafReader,
    leaves: Vec<&'a (NodeId, Shadow)>,
    control: &'a Control,
    receipts: Option<(&'a Ledger, &'a Splits, ReceiptStatements)>,
}

/// A difference of a leaf from its state when its shadow was created.
enum LeafDifference {
    Obstacle(String),
    Property(Difference),
}

/// Orders the leaves so that a partition is attached before a DEFAULT partition beside it, which would
/// otherwise be scanned.
fn in_order<'a>(plan: &Plan, leaves: &'a [(NodeId, Shadow)]) -> Vec<&'a (NodeId, Shadow)> {
    let defaults = |node: NodeId| {
        std::iter::successors(Some(node), |&node| plan.tree.nodes[node].parent)
            .filter(|&node| plan.catalogue.facts[node].is_default())
            .count()
    };
    let mut ordered: Vec<_> = leaves.iter().collect();
    ordered.sort_by_key(|(node, _)| (defaults(*node), *node));
    ordered
}

impl Swap<'_> {
    async fn attempt(&self, wait: Duration) -> Result<u64> {
        // Deferred constraints must not be pending: a table with pending checks cannot be altered.
        let begin = [
            sql::BEGIN,
            &sql::lock_timeout(wait),
            sql::IMMEDIATE,
            &self.lock(),
            self.exchange.lock_session.asks_session(),
        ]
        .join("; ");
        let answers = self.client.simple_query(&begin).await?;
        self.exchange.lock_session.check_session(&answers)?;
        self.check_attempt().await?;
        self.check_unaltered().await?;
        let moved = if self.plan.replaces() { 0 } else { self.move_rows().await? };
        let statements: Vec<String> = self.leave().chain(self.enter()).collect();
        self.client.batch_execute(&statements.join(";\n")).await?;
        self.check_carried().await?;
        self.write_receipts().await?;
        self.commit().await?;
        Ok(moved)
    }

    /// Checks that no other run of the load has begun.
    async fn check_attempt(&self) -> Result<()> {
        let Some((ledger, ..)) = &self.receipts else { return Ok(()) };
        let answers = self.client.simple_query(&ledger.fence()).await?;
        if is_held(&answers) { Ok(()) } else { Err(ledger.lost_attempt(self.client).await) }
    }

    /// Writes receipts for all rows of the leaves.
    async fn write_receipts(&self) -> Result<()> {
        let Some((ledger, splits, statements)) = &self.receipts else { return Ok(()) };
        let leaves = self.leaves.iter().map(|(node, shadow)| (*node, shadow.rows));
        let writing = ledger.writing_all(splits, leaves);
        let written = ledger.write(self.client, statements, &writing).await;
        written.map_err(|error| ledger.failed(&error))
    }

    /// Returns the statement that locks parents before leaves, as queries do.
    fn lock(&self) -> String {
        let mut nodes: Vec<NodeId> = self.leaves.iter().map(|(node, _)| *node).collect();
        nodes.extend(self.leaves.iter().filter_map(|(node, _)| self.plan.tree.nodes[*node].parent));
        nodes.sort_unstable();
        nodes.dedup();
        sql::lock_exclusively(nodes.iter().map(|&node| &self.plan.tree.nodes[node].relation))
    }

    async fn check_unaltered(&self) -> Result<()> {
        let oid = |(node, _): &&(NodeId, Shadow)| self.plan.catalogue.facts[*node].oid;
        let oids: Vec<u32> = self.leaves.iter().map(oid).collect();
        let Some((node, what)) = self.differs(&oids).await? else { return Ok(()) };
        let leaf = self.plan.tree.nodes[node].relation.label();
        let message = format!("table {leaf} was altered during the load");
        let error =
            Error::new(Kind::Server, message).with_sqlstate("55000").with_hint("Load again.");
        Err(match what {
            LeafDifference::Obstacle(why) => error.with_detail(format!("Now {why}.")),
            LeafDifference::Property(difference) => error
                .with_detail(format!("Its {} {} was changed.", difference.kind, difference.name)),
        })
    }

    /// Returns the first leaf that has changed. `oids` are the current oids of the leaves.
    async fn differs(&self, oids: &[u32]) -> Result<Option<(NodeId, LeafDifference)>> {
        let columns = &self.plan.catalogue.columns;
        let obstacles = obstacles(self.client, oids, columns, self.plan.replaces()).await?;
        if let Some((place, why)) = obstacles.into_iter().next() {
            return Ok(Some((self.leaves[place].0, LeafDifference::Obstacle(why))));
        }
        let now = self.reader.describe(self.client, oids).await?;
        Ok(self.leaves.iter().zip(now).find_map(|((node, shadow), now)| {
            let difference = difference(&shadow.defined.itself, &now)?;
            Some((*node, LeafDifference::Property(difference)))
        }))
    }

    async fn move_rows(&self) -> Result<u64> {
        // Functions resolve names as in every other session of this user.
        let moving = self.statements(BuildPhase::Move).collect::<Vec<_>>().join("; ");
        let moving = [sql::RESET_SEARCH_PATH, &moving, sql::PG_CATALOG_ONLY].join("; ");
        let answers = self.client.simple_query(&moving).await?;
        let rows = answers.iter().map(|answer| match answer {
            SimpleQueryMessage::CommandComplete(rows) => *rows,
            _ => 0,
        });
        Ok(rows.sum())
    }

    fn statements(&self, phase: BuildPhase) -> impl Iterator<Item = String> {
        let all = self.leaves.iter().flat_map(move |(_, shadow)| shadow.steps(phase));
        all.map(|step| step.sql.clone())
    }

    /// Returns the statements that drop the old leaves and give the new ones their names.
    fn leave(&self) -> impl Iterator<Item = String> {
        let gone = self.leaves.iter().flat_map(|(node, _)| {
            let (parent, old) = self.place(*node);
            catalogue::leave(parent, old)
        });
        let named = self.leaves.iter().map(|(node, _)| {
            let leaf = &self.plan.tree.nodes[*node].relation;
            catalogue::rename(&self.exchange.shadow_name(*node), leaf)
        });
        gone.chain(named).chain(self.statements(BuildPhase::Rename))
    }

    /// Returns the statements that attach the new leaves.
    fn enter(&self) -> impl Iterator<Item = String> {
        let attached = self.leaves.iter().flat_map(|(node, _)| {
            let (parent, new) = self.place(*node);
            let bound = self.plan.catalogue.facts[*node].bound.as_deref().unwrap_or_default();
            catalogue::enter(parent, new, bound)
        });
        attached.chain(self.statements(BuildPhase::Late))
    }

    /// Returns the parent of a leaf, and the leaf.
    fn place(&self, leaf: NodeId) -> (&Relation, &Relation) {
        let nodes = &self.plan.tree.nodes;
        (&nodes[nodes[leaf].parent.unwrap_or(ROOT)].relation, &nodes[leaf].relation)
    }

    async fn check_carried(&self) -> Result<()> {
        let names =
            self.leaves.iter().map(|(node, _)| self.plan.tree.nodes[*node].relation.to_string());
        let oids = find(self.client, &names.collect::<Vec<_>>()).await?;
        let Some((node, what)) = self.differs(&oids).await? else { return Ok(()) };
        let leaf = self.plan.tree.nodes[node].relation.label();
        let (why, detail) = match what {
            LeafDifference::Obstacle(why) => {
                (why, "The new table acquired this when it was created.".to_owned())
            }
            LeafDifference::Property(it) => {
                let Difference { kind, name, before, now } = it;
                let none = || "none".to_owned();
                (
                    format!("its {kind} {name} would differ"),
                    format!(
                        "The leaf has {}; the new table has {}.",
                        before.unwrap_or_else(none),
                        now.unwrap_or_else(none)
                    ),
                )
            }
        };
        Err(Error::new(Kind::Server, format!("cannot exchange {leaf}: {why}"))
            .with_sqlstate("0A000")
            .with_detail(detail)
            .with_hint(
                "Disable the event trigger that changes new tables, or load without "
                    + option("exchange")
                    + ".",
            ))
    }

    async fn commit(&self) -> Result<()> {
        let Progress { rows_unseen, bytes_unseen, rows_in_doubt, rows_loaded, .. } =
            &self.control.progress;
        let (rows, bytes) = (rows_unseen.swap(0, Relaxed), bytes_unseen.swap(0, Relaxed));
        let began = Instant::now();
        rows_in_doubt.fetch_add(rows, Relaxed);
        failpoint("exchange::committing");
        let outcome = self.client.batch_execute(sql::COMMIT).await;
        failpoint("exchange::committed");
        let answered = outcome.as_ref().map_or_else(is_answer, |()| true);
        if answered {
            rows_in_doubt.fetch_sub(rows, Relaxed);
        }
        outcome?;
        rows_loaded.fetch_add(rows, Relaxed);
        self.control.emit(&Event::Committed {
            table: &self.plan.tree.nodes[ROOT].relation.label(),
            rows,
            bytes,
            seconds: began.elapsed().as_secs_f64(),
            is_visible: true,
        });
        Ok(())
    }
}
