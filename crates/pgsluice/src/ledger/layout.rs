//! Layout: a partition tree in the ledger. It determines the node of each row again, even if partitions were
//! split, attached, detached, dropped or renamed since. Committed rows were counted by the nodes of the tree
//! that they were loaded with.

use pgsluice_core::catalog::{Bound, Key, Node, NodeId, Relation, Tree};
use serde::{Deserialize, Serialize};

use super::key::KeyTerms;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::plan::Plan;

/// A tree as text. Two layouts are equal if they route all rows alike.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Layout {
    keys: Vec<KeyTerms>,
    nodes: Vec<NodeLayout>,
    /// The fields whose values the server is asked to convert to text.
    pub(super) spelled: Option<Vec<usize>>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct NodeLayout {
    schema: String,
    name: String,
    parent: Option<NodeId>,
    /// The bound as the server deparses it.
    bound: Option<String>,
    /// The index of its key in `keys`.
    key: Option<usize>,
}

impl Layout {
    /// Returns the layout of the tree that a plan routes by.
    pub(super) fn from_plan(plan: &Plan) -> Self {
        let mut keys: Vec<KeyTerms> = Vec::new();
        let mut place = |key: KeyTerms| {
            keys.iter().position(|known| *known == key).unwrap_or_else(|| {
                keys.push(key);
                keys.len() - 1
            })
        };
        let nodes = plan.tree.nodes.iter().zip(&plan.catalogue.facts);
        let nodes = nodes.map(|(node, facts)| NodeLayout {
            schema: node.relation.schema.clone(),
            name: node.relation.name.clone(),
            parent: node.parent,
            bound: facts.bound.clone(),
            key: node.key.as_ref().map(|key| place(KeyTerms::new(key, &facts.reads))),
        });
        let nodes = nodes.collect();
        let spelling = plan.catalogue.questions.spelling.as_ref();
        Self { keys, nodes, spelled: spelling.map(|question| question.fields.clone()) }
    }

    /// Returns the name of a node for the user.
    pub(super) fn label(&self, node: NodeId) -> String {
        self.nodes.get(node).map_or_else(String::new, |_| self.relation(node).label())
    }
}

impl Layout {
    /// Builds the tree without the values of its bounds.
    pub(super) fn tree(&self, plan: &Plan) -> Result<Tree> {
        let now = Now::from_plan(plan);
        let mut nodes: Vec<Node> = Vec::with_capacity(self.nodes.len());
        for (id, node) in self.nodes.iter().enumerate() {
            if let Some(parent) = node.parent {
                nodes[parent].children.push(id);
            }
            let key = match node.key {
                Some(key) => Some(self.key(id, &self.keys[key], &now)?),
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

    /// Returns a key that routes like `wanted`. A key that is read natively must exist in the present tree.
    /// For an opaque key, any key at which all rows stop is enough.
    fn key(&self, node: NodeId, wanted: &KeyTerms, now: &Now<'_>) -> Result<Key> {
        if let Some(key) = wanted.opaque() {
            return Ok(key);
        }
        match now.keys.iter().find(|(known, _)| known == wanted) {
            Some((_, key)) if !wanted.is_asked() => Ok((*key).clone()),
            _ => {
                Err(self.unreadable(node, &wanted.describe_change(now.key_of(self.relation(node)))))
            }
        }
    }

    /// Whether `tree`, which was built for this layout, has the keys of this layout.
    pub(super) fn is_of(&self, tree: &Tree) -> bool {
        tree.nodes.iter().zip(&self.nodes).all(|(node, of_node)| match (&node.key, of_node.key) {
            (Some(key), Some(place)) => {
                let of_key = &self.keys[place];
                of_key.opaque().is_some() || of_key.is_of(key)
            }
            (None, None) => true,
            _ => false,
        })
    }

    /// Returns the bound of each node as the server deparses it.
    pub(super) fn bounds(&self) -> Vec<Option<&str>> {
        self.nodes.iter().map(|node| node.bound.as_deref()).collect()
    }

    fn relation(&self, node: NodeId) -> Relation {
        let (schema, name) = self
            .nodes
            .get(node)
            .map_or_else(Default::default, |node| (node.schema.clone(), node.name.clone()));
        Relation { schema, name }
    }

    pub(super) fn unreadable(&self, node: NodeId, why: &str) -> Error {
        let relation = self.label(node);
        let message = format!(
            "the partitions have changed, and pgsluice cannot tell which rows were loaded: \
             {relation}: {why}"
        );
        Error::new(Kind::Server, message).with_sqlstate("0A000")
    }
}

/// The keys of the present tree.
struct Now<'p> {
    plan: &'p Plan,
    /// The distinct keys.
    keys: Vec<(KeyTerms, &'p Key)>,
}

impl<'p> Now<'p> {
    fn from_plan(plan: &'p Plan) -> Self {
        let mut keys: Vec<(KeyTerms, &Key)> = Vec::new();
        for (node, facts) in plan.tree.nodes.iter().zip(&plan.catalogue.facts) {
            let Some(key) = &node.key else { continue };
            let of_key = KeyTerms::new(key, &facts.reads);
            if !keys.iter().any(|(known, _)| *known == of_key) {
                keys.push((of_key, key));
            }
        }
        Self { plan, keys }
    }

    /// Returns the key of a table, if it has one.
    fn key_of(&self, relation: Relation) -> Option<KeyTerms> {
        let nodes = &self.plan.tree.nodes;
        let node = nodes.iter().position(|node| node.relation == relation)?;
        let reads = &self.plan.catalogue.facts[node].reads;
        nodes[node].key.as_ref().map(|key| KeyTerms::new(key, reads))
    }
}
