//! Layout: a partition tree as the ledger keeps it. By it each row's node is found again, even when
//! partitions were split, attached, detached, dropped or renamed meanwhile: what is in, was counted
//! by the nodes of the tree that it was loaded by.

use std::sync::Arc;

use pgsluice_core::catalog::{Bound, Key, Node, NodeId, ROOT, Relation, Tree};
use pgsluice_core::route::{Cause, Route, Router, Scratch, wanted_fields};
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use super::claimed::{Claimed, Place};
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::pg::introspect;
use crate::plan::Plan;
use crate::routing::Reached;

/// A tree in text. Two are equal if they route all rows alike.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Layout {
    keys: Vec<OfKey>,
    nodes: Vec<OfNode>,
    /// The fields whose values the server is asked to spell.
    spelled: Option<Vec<usize>>,
}

/// A partition key: how it is read, in all that matters for routing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OfKey {
    strategy: String,
    columns: Vec<String>,
}

#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
struct OfNode {
    schema: String,
    name: String,
    parent: Option<NodeId>,
    /// As the server deparses it.
    bound: Option<String>,
    /// Its place among the keys.
    key: Option<usize>,
}

impl OfKey {
    fn of(key: &Key) -> Self {
        let columns = key.columns.iter().map(|column| format!("{column:?}")).collect();
        Self { strategy: key.strategy.to_string(), columns }
    }
}

impl Layout {
    /// That of the tree that a plan routes by.
    pub(super) fn of(plan: &Plan) -> Self {
        let bounds = plan.catalogue.facts.iter().map(|facts| facts.bound.clone());
        let spelling = plan.catalogue.questions.spelling.as_ref();
        Self::of_tree(&plan.tree, bounds, spelling.map(|question| question.fields.clone()))
    }

    fn of_tree(
        tree: &Tree,
        bounds: impl Iterator<Item = Option<String>>,
        spelled: Option<Vec<usize>>,
    ) -> Self {
        let mut keys: Vec<OfKey> = Vec::new();
        let mut place = |key: &Key| {
            let key = OfKey::of(key);
            keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            })
        };
        let nodes = tree.nodes.iter().zip(bounds).map(|(node, bound)| OfNode {
            schema: node.relation.schema.clone(),
            name: node.relation.name.clone(),
            parent: node.parent,
            bound,
            key: node.key.as_ref().map(&mut place),
        });
        let nodes = nodes.collect();
        Self { keys, nodes, spelled }
    }

    /// The name of a node, for people.
    pub(super) fn label(&self, node: NodeId) -> String {
        let Some(OfNode { schema, name, .. }) = self.nodes.get(node) else { return String::new() };
        Relation { schema: schema.clone(), name: name.clone() }.label()
    }
}

/// A tree of before, and the rows that are in by it.
pub(crate) struct Past {
    layout: Layout,
    router: Router,
    claimed: Claimed,
}

impl Past {
    /// Builds the router anew; an error if that cannot be done exactly.
    pub(super) async fn build(
        layout: Layout,
        claimed: Claimed,
        plan: &Plan,
        client: &mut Client,
    ) -> Result<Self> {
        let tree = layout.tree(plan)?;
        let bounds: Vec<Option<&str>> =
            layout.nodes.iter().map(|node| node.bound.as_deref()).collect();
        let tree = introspect::fill_bounds(client, tree, &bounds).await?;
        let bounds = layout.nodes.iter().map(|node| node.bound.clone());
        let again = Layout::of_tree(&tree, bounds, layout.spelled.clone());
        let is_known =
            wanted_fields(&tree).iter().all(|field| plan.router.wanted().contains(field));
        if again != layout || !is_known {
            return Err(layout.unreadable(ROOT, "its keys are not what they were"));
        }
        let router = Router::over(Arc::new(tree), plan.router.wanted().to_vec());
        Ok(Self { layout, router, claimed })
    }

    /// Whether a row is in. `at` is where it begins.
    pub(crate) fn has(
        &self,
        reached: &Reached<'_>,
        at: Place,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let node = match self.router.route(reached.row, reached.keys, scratch) {
            Route::Leaf(node) => node,
            // The server was asked how it spells the value. Unless it refused to say, it must be asked
            // again; but that it is for the tree of now.
            Route::Node(node, Cause::Spelling(_))
                if self.layout.spelled.is_some()
                    && !matches!(reached.at, Err((_, Cause::Spelling(_)))) =>
            {
                return Err(self
                    .layout
                    .unreadable(node, "one of its values is spelled by the server"));
            }
            Route::Node(node, _) | Route::Ask(node) => node,
        };
        Ok(self.claimed.has(node, at))
    }
}

impl Layout {
    /// The tree without the values of its bounds.
    fn tree(&self, plan: &Plan) -> Result<Tree> {
        let mut nodes: Vec<Node> = Vec::with_capacity(self.nodes.len());
        for (id, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                nodes[parent].children.push(id);
            }
            let key = match node.key {
                Some(key) => Some(self.key(id, &self.keys[key], plan)?),
                None => None,
            };
            nodes.push(Node {
                relation: Relation { schema: node.schema.clone(), name: node.name.clone() },
                parent: node.parent,
                bound: node.parent.map(|_| Bound::Opaque),
                key,
                children: Vec::new(),
            });
        }
        Ok(Tree { nodes })
    }

    /// A key that reads as `wanted`: some table of now has one, if it is read natively at all.
    fn key(&self, node: NodeId, wanted: &OfKey, plan: &Plan) -> Result<Key> {
        if wanted.columns.iter().any(|column| column.starts_with("Asked")) {
            return Err(self.unreadable(node, "its key is evaluated by the server"));
        }
        let keys = plan.tree.nodes.iter().filter_map(|node| node.key.as_ref());
        let key = keys.into_iter().find(|key| OfKey::of(key) == *wanted);
        key.cloned().ok_or_else(|| self.unreadable(node, "no table has its key any more"))
    }

    fn unreadable(&self, node: NodeId, why: &str) -> Error {
        let relation = self.label(node);
        let message = format!(
            "the partitions have changed, and which rows are in is not known: of {relation}, {why}"
        );
        Error::new(Kind::Server, message).sqlstate("0A000")
    }
}
