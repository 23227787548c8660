//! Reconciliation: at the end of a load each row that was read must be accounted for, node by node. Otherwise
//! the load fails.
//!
//! ```text
//!     read                         by the thread that splits, in all
//!      = routed                    by the threads that route: to send, or settled by an earlier run
//!      = sent + settled before     by the connections: loaded + rejected + skipped
//!      = receipts                  by the ledger, in the transactions that stored the rows
//! ```
//!
//! Each line is counted independently of the others, by payload, or by row where the code handles single rows
//! anyway. A row that the server refused counts at the node to which it was sent. A row that the server
//! routes counts at the node where its keys stop.
//!
//! Rows that were neither stored nor rejected require a trigger that may have dropped them. No leaf is
//! swapped in and no load is marked as finished before the sums agree.

use std::collections::BTreeMap;

use pgsluice_core::catalog::{NodeId, Relation};
use tokio_postgres::Client;

use crate::counts::outcome::Outcome;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::droppers;
use crate::plan::Plan;

/// Number of tables that one error names.
const NAMED: usize = 3;

/// Rows by node.
type RowsByNode = BTreeMap<NodeId, u64>;

/// Compares the rows that were read and routed with the rows that were sent, node by node.
pub(crate) fn check(plan: &Plan, outcome: &Outcome, read: u64) -> Result<()> {
    let Outcome { routed, committed, .. } = outcome;
    compare(plan, (&routed.by_node(), "routed"), (&committed.sent, "sent"))?;
    let excess = committed.excess.iter();
    refuse(
        excess.map(|(&node, rows)| never_sent(&plan.tree.nodes[node].relation, *rows)).collect(),
    )?;
    match outcome.read() {
        routed if routed == read => Ok(()),
        routed => refuse(vec![format!("{} read, {routed} routed", count(read))]),
    }
}

/// Checks the rows of each node that were sent and are neither stored nor rejected, see [`check_dropped`].
pub(crate) async fn check_dropped_by_node(
    plan: &Plan,
    dropped: &RowsByNode,
    target: &Target,
) -> Result<()> {
    let facts = &plan.catalogue.facts;
    // A trigger that existed when the load began may have been dropped since.
    let could = |node: NodeId| match plan.tree.nodes[node].key {
        None => facts[node].row_triggers,
        Some(_) => facts.iter().any(|facts| facts.row_triggers),
    };
    let relation = |node: NodeId| &plan.tree.nodes[node].relation;
    let dropped = dropped.iter().filter(|(node, _)| !could(**node));
    let dropped: Vec<_> = dropped.map(|(&node, &rows)| (relation(node), rows)).collect();
    if dropped.is_empty() {
        return Ok(());
    }
    check_dropped(&dropped, &connect::connect_internal(target).await?).await
}

/// Fails if no trigger can have dropped the rows that are neither stored nor rejected.
pub(crate) async fn check_dropped(dropped: &[(&Relation, u64)], client: &Client) -> Result<()> {
    let tables: Vec<String> = dropped.iter().map(|(relation, _)| relation.to_string()).collect();
    let unable = droppers::unable(client, &tables).await?;
    let wrong = dropped.iter().filter(|(relation, _)| unable.contains(&relation.to_string()));
    let details = wrong.map(|(relation, rows)| {
        let (table, rows) = (relation.label(), count(*rows));
        format!("Table {table}: {rows} not stored, although no trigger could have dropped them")
    });
    refuse(details.collect())
}

/// Compares `settled`, the rows that this run and earlier ones have settled, with the receipts. It compares
/// node by node, or the totals if some rows were routed by `other_trees`.
pub(crate) fn check_receipts(
    plan: &Plan,
    settled: &RowsByNode,
    receipts: &RowsByNode,
    other_trees: Option<u64>,
) -> Result<()> {
    let Some(others) = other_trees else {
        return compare(plan, (settled, "routed"), (receipts, "in the ledger"));
    };
    let [settled, receipts] = [settled, receipts].map(|rows| rows.values().sum::<u64>());
    match receipts + others {
        known if known == settled => Ok(()),
        known => refuse(vec![format!("{} routed, {known} in the ledger", count(settled))]),
    }
}

/// Returns the number of rows that were sent to a table and not stored. Fails if more were stored than sent.
pub(crate) fn count_dropped(table: &Relation, sent: u64, stored: u64) -> Result<u64> {
    let excess = stored.saturating_sub(sent);
    let details = (excess > 0).then(|| never_sent(table, excess));
    refuse(details.into_iter().collect()).map(|()| sent - stored)
}

/// Returns the error for `rows` rows that were routed to a leaf whose constraint rejects some of them.
pub(crate) fn refused(plan: &Plan, node: NodeId, rows: u64) -> Error {
    let (name, rows) = (name(plan, node), count(rows));
    differ(&[format!("{name}: {rows} routed here, but its constraint rejects some")])
}

/// Returns the error for rows that were routed to a node to which they do not belong.
pub(crate) fn misplaced(plan: &Plan, node: NodeId, rows: u64) -> Error {
    differ(&[format!("{}: {} routed here that it does not accept", name(plan, node), count(rows))])
}

fn never_sent(table: &Relation, rows: u64) -> String {
    format!("Table {}: {} stored or rejected that were never sent", table.label(), count(rows))
}

/// Fails if the two sides have different numbers for a node.
fn compare(
    plan: &Plan,
    (one, does): (&RowsByNode, &str),
    (other, did): (&RowsByNode, &str),
) -> Result<()> {
    let nodes = one.keys().chain(other.keys().filter(|node| !one.contains_key(node)));
    let differing = nodes.filter_map(|node| {
        let [one, other] = [one, other].map(|rows| rows.get(node).copied().unwrap_or(0));
        let differ = || format!("{}: {} {does}, {other} {did}", name(plan, *node), count(one));
        (one != other).then(differ)
    });
    refuse(differing.collect())
}

/// Fails if there are differences.
fn refuse(differing: Vec<String>) -> Result<()> {
    if differing.is_empty() { Ok(()) } else { Err(differ(&differing)) }
}

fn differ(differing: &[String]) -> Error {
    let mut error = Error::new(Kind::Internal, "the row counts of the load do not add up")
        .with_sqlstate("XX000")
        .with_hint(
            "This is a bug in pgsluice: please report it. Before you rely on the table, compare it \
             with the input: pgsluice verify.",
        );
    for difference in differing.iter().take(NAMED) {
        error = error.with_detail(format!("{difference}."));
    }
    match differing.len().saturating_sub(NAMED) {
        0 => error,
        1 => error.with_detail("The row counts of another table do not add up either."),
        more => error
            .with_detail(format!("The row counts of {more} other tables do not add up either.")),
    }
}

fn name(plan: &Plan, node: NodeId) -> String {
    format!("Table {}", plan.tree.nodes[node].relation.label())
}

fn count(rows: u64) -> String {
    format!("{rows} {}", if rows == 1 { "row" } else { "rows" })
}
