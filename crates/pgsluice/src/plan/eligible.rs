//! The leaves that can be exchanged, determined before any row is read.
//!
//! A leaf with rows is loaded directly, unless its rows are to be replaced; the plan lists such leaves. An
//! exchange fails with the name of the leaf if something could not be carried over, so that nothing is lost
//! silently.

use std::collections::{BTreeMap, BTreeSet};

use pgsluice_core::catalog::{NodeId, ROOT, Tree};
use tokio_postgres::Client;

use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::job::ExchangeMode;
use crate::pg::introspect::Catalogue;
use crate::pg::{exchange, sql};
use crate::plan::Plan;

/// Returns the hint of such an error.
pub(super) fn remove_obstacle() -> Words {
    "Remove the obstacle, or load without " + option("exchange") + "."
}

/// The maximum number of obstacles that an error names.
const NAMED: usize = 5;

/// The leaves that are exchanged if they get rows, and the leaves that are not.
#[derive(Debug)]
pub struct Eligible {
    /// The job's choice of leaves.
    pub mode: ExchangeMode,
    /// The leaves that are exchanged.
    pub leaves: BTreeSet<NodeId>,
    /// The exchanged leaves that have rows, which the exchange removes.
    pub filled: BTreeSet<NodeId>,
    /// The leaves that are not exchanged, with the reasons.
    pub excluded: BTreeMap<NodeId, String>,
}

impl Eligible {
    /// Returns the reason why the leaf is not exchanged, if it is not.
    pub fn why_excluded(&self, leaf: NodeId) -> Option<String> {
        self.excluded.get(&leaf).map(|why| format!("not exchanged: {why}"))
    }

    /// Whether existing rows of leaves are replaced.
    pub fn replaces(&self) -> bool {
        self.mode == ExchangeMode::Replace
    }
}

/// Examines all leaves of `plan`.
///
/// # Errors
///
/// Fails if a leaf that would be exchanged cannot be, or if rows are to be replaced and all rows go through
/// the root.
pub(crate) async fn find(client: &Client, plan: &Plan, mode: ExchangeMode) -> Result<Eligible> {
    let Plan { catalogue, detours, one_statement, .. } = plan;
    let Catalogue { tree, facts, .. } = catalogue;
    if tree.nodes[ROOT].key.is_none() {
        let table = tree.nodes[ROOT].relation.label();
        let message = format!("table {table} is not partitioned: it has no leaves to exchange");
        return Err(
            Error::new(Kind::Usage, message).with_hint("Load without " + option("exchange") + ".")
        );
    }
    if let Some(why) = one_statement.as_ref().filter(|_| mode.is_required()) {
        let table = tree.nodes[ROOT].relation.label();
        let message = format!("cannot exchange leaves of {table}: {why}");
        return Err(Error::new(Kind::Server, message)
            .with_sqlstate("0A000")
            .with_hint(remove_obstacle()));
    }
    let named = |leaf: NodeId| (facts[leaf].oid, tree.nodes[leaf].relation.to_string());
    let own: Vec<NodeId> = tree.leaves().filter(|leaf| facts[*leaf].kind == 'r').collect();
    client.batch_execute(sql::DEPARSE_SETTINGS).await?;
    let tables: Vec<_> = own.iter().copied().map(named).collect();
    let filled = exchange::not_empty(client, &tables).await?;
    let is_empty = |leaf: NodeId| facts[leaf].kind == 'r' && !filled.contains(&facts[leaf].oid);

    let scanned = filled_defaults(catalogue, is_empty);
    let mut eligible = Eligible {
        mode,
        leaves: BTreeSet::new(),
        filled: BTreeSet::new(),
        excluded: BTreeMap::new(),
    };
    for leaf in tree.leaves() {
        // The DEFAULT partition itself is attached without being scanned.
        let default = tree.nodes[leaf].parent.and_then(|parent| scanned.get(&parent));
        let default = default.filter(|&&default| default != leaf);
        let why = match (&detours[leaf], default) {
            (Some(detour), _) => detour.clone(),
            _ if !is_empty(leaf) && !eligible.replaces() => {
                "it is not empty, so rows are copied into it".to_owned()
            }
            (None, Some(&default)) => format!(
                "the DEFAULT partition {} has rows, which the server would scan while other \
                 sessions wait",
                tree.nodes[default].relation.label()
            ),
            (None, None) => {
                eligible.leaves.insert(leaf);
                eligible.filled.extend((!is_empty(leaf)).then_some(leaf));
                continue;
            }
        };
        eligible.excluded.insert(leaf, why);
    }
    refuse_obstacles(client, plan, &eligible).await?;
    client.batch_execute(sql::RESET_SETTINGS).await?;
    Ok(eligible)
}

/// Returns the DEFAULT partitions that have rows, by their parents. ATTACH scans them, because a row in them
/// might belong to the new partition.
fn filled_defaults(
    catalogue: &Catalogue,
    is_empty: impl Fn(NodeId) -> bool,
) -> BTreeMap<NodeId, NodeId> {
    let Catalogue { tree, facts, .. } = catalogue;
    let nodes = &tree.nodes;
    let filled = tree.leaves().filter(|&leaf| !is_empty(leaf));
    let above =
        filled.flat_map(|leaf| std::iter::successors(Some(leaf), |&node| nodes[node].parent));
    let defaults = above.filter(|&node| facts[node].is_default());
    defaults.filter_map(|default| Some((nodes[default].parent?, default))).collect()
}

async fn refuse_obstacles(client: &Client, plan: &Plan, eligible: &Eligible) -> Result<()> {
    let Catalogue { tree, facts, columns, .. } = &plan.catalogue;
    let leaves: Vec<NodeId> = eligible.leaves.iter().copied().collect();
    let oids: Vec<u32> = leaves.iter().map(|&leaf| facts[leaf].oid).collect();
    let obstacles = exchange::obstacles(client, &oids, columns, eligible.replaces()).await?;
    let mut alike: BTreeMap<&str, Vec<NodeId>> = BTreeMap::new();
    for (place, why) in &obstacles {
        alike.entry(why).or_default().push(leaves[*place]);
    }
    let mut reasons = alike.iter().map(|(why, leaves)| cannot_exchange(tree, leaves, why));
    let Some(first) = reasons.next() else { return Ok(()) };
    let error = Error::new(Kind::Server, first).with_sqlstate("0A000");
    let error = reasons.by_ref().take(NAMED - 1).fold(error, Error::with_detail);
    let error = match reasons.count() {
        0 => error,
        more => error.with_detail(format!("And {more} more.")),
    };
    Err(error.with_hint(remove_obstacle()))
}

/// Returns a message why leaves cannot be exchanged. It names one leaf, and counts the others with the same
/// obstacle.
fn cannot_exchange(tree: &Tree, leaves: &[NodeId], why: &str) -> String {
    let name = |leaf: NodeId| tree.nodes[leaf].relation.label();
    let describe = |first| format!("cannot exchange {}: {why}", name(first));
    match *leaves {
        [] => String::new(),
        [one] => describe(one),
        [one, other] => format!("{}; the same applies to {}", describe(one), name(other)),
        [first, ref others @ ..] => {
            format!("{}; the same applies to {} other leaves", describe(first), others.len())
        }
    }
}
