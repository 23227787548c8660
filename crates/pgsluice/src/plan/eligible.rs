//! Eligible: which leaves can be exchanged, before any row is read.
//!
//! A leaf that has rows is loaded directly, and the plan says so. An empty leaf with something that
//! could not be carried over is refused by name: nothing is lost silently.

use std::collections::{BTreeMap, BTreeSet};

use pgsluice_core::catalog::{NodeId, ROOT};
use tokio_postgres::Client;

use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::introspect::Catalogue;
use crate::pg::{exchange, sql};

/// Obstacles that one error names.
const NAMED: usize = 5;

/// What happens to each leaf if it gets rows.
#[derive(Debug, Default)]
pub struct Eligible {
    /// Leaves that are exchanged.
    pub leaves: BTreeSet<NodeId>,
    /// Leaves that are not, and why.
    pub kept: BTreeMap<NodeId, String>,
    /// Whether rows for another leaf end the load.
    pub is_required: bool,
}

impl Eligible {
    /// Why the leaf is not exchanged.
    pub fn why_kept(&self, leaf: NodeId) -> Option<String> {
        self.kept.get(&leaf).map(|why| format!("not exchanged: {why}"))
    }
}

/// Looks at all leaves; an error if a leaf that would be exchanged cannot be. `detours` says of each
/// node why its rows go through the root, if they do.
pub(crate) async fn find(
    client: &Client,
    catalogue: &Catalogue,
    detours: &[Option<String>],
) -> Result<Eligible> {
    let Catalogue { tree, facts, .. } = catalogue;
    if tree.nodes[ROOT].key.is_none() {
        let table = tree.nodes[ROOT].relation.label();
        let message = format!("table {table} is not partitioned: it has no leaves to exchange");
        return Err(Error::new(Kind::Usage, message).with_hint("Load without --exchange."));
    }
    let named = |leaf: NodeId| (facts[leaf].oid, tree.nodes[leaf].relation.to_string());
    let own: Vec<NodeId> = tree.leaves().filter(|leaf| facts[*leaf].kind == 'r').collect();
    client.batch_execute(sql::DEPARSE_SETTINGS).await?;
    let tables: Vec<_> = own.iter().copied().map(named).collect();
    let filled = exchange::not_empty(client, &tables).await?;
    let is_empty = |leaf: NodeId| facts[leaf].kind == 'r' && !filled.contains(&facts[leaf].oid);

    let scanned = filled_defaults(catalogue, is_empty);
    let mut eligible = Eligible::default();
    for leaf in tree.leaves() {
        let default = tree.nodes[leaf].parent.and_then(|parent| scanned.get(&parent));
        let why = match (&detours[leaf], default) {
            (Some(detour), _) => detour.clone(),
            _ if !is_empty(leaf) => "it is not empty, so rows are copied into it".to_owned(),
            (None, Some(&default)) => format!(
                "the DEFAULT partition {} has rows, which the server would read while all wait",
                tree.nodes[default].relation.label()
            ),
            (None, None) => {
                eligible.leaves.insert(leaf);
                continue;
            }
        };
        eligible.kept.insert(leaf, why);
    }
    refuse_obstacles(client, catalogue, &eligible).await?;
    client.batch_execute(sql::RESET_SETTINGS).await?;
    Ok(eligible)
}

/// The DEFAULT partitions that have rows, by their parents: ATTACH looks through them, because a row
/// of theirs might belong to the new partition.
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

async fn refuse_obstacles(
    client: &Client,
    catalogue: &Catalogue,
    eligible: &Eligible,
) -> Result<()> {
    let Catalogue { tree, facts, columns, .. } = catalogue;
    let leaves: Vec<NodeId> = eligible.leaves.iter().copied().collect();
    let oids: Vec<u32> = leaves.iter().map(|&leaf| facts[leaf].oid).collect();
    let obstacles = exchange::obstacles(client, &oids, columns).await?;
    let mut said = obstacles.iter().map(|(place, why)| {
        let leaf = tree.nodes[leaves[*place]].relation.label();
        format!("cannot exchange {leaf}: {why}")
    });
    let Some(first) = said.next() else { return Ok(()) };
    let error = Error::new(Kind::Server, first).with_sqlstate("0A000");
    let error = said.by_ref().take(NAMED - 1).fold(error, Error::with_detail);
    let error = match said.count() {
        0 => error,
        more => error.with_detail(format!("And {more} more.")),
    };
    Err(error.with_hint("Remove what stands in the way, or load without --exchange."))
}
