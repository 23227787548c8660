//! A part of a transaction: the rows of one COPY and their destination.

use std::sync::Arc;

use pgsluice_core::bucket::{BlockRow, Payload, Wire};
use pgsluice_core::catalog::{NodeId, ROOT, Relation};

use super::merge::Merge;
use crate::exchange::Destination;
use crate::plan::Plan;
use crate::sink::sql::stage::stage;

/// The rows of one COPY.
pub(crate) struct Part<'p> {
    pub(crate) rows: Rows<'p>,
    pub(crate) landing: Landing<'p>,
}

/// Rows that are sent to one table.
pub(crate) enum Rows<'p> {
    /// All rows of a payload.
    All(&'p Arc<Payload>),
    /// Some rows in one format, each with its position in the input.
    Some(Wire, Vec<(BlockRow, &'p [u8])>),
}

/// The destination of the rows of a part.
#[derive(Clone, Copy)]
pub(crate) enum Landing<'p> {
    /// The table of their node.
    Leaf(NodeId),
    /// The root, with the rows of several leaves in turns. If `proves`, the server's counts must show that
    /// each leaf got its rows.
    Root { proves: bool },
    /// The table that is built to replace the leaf.
    Shadow(NodeId, &'p Destination),
    /// The stage of the session, from which they are taken into the table of their node.
    Stage(NodeId, Merge),
}

impl<'p> Part<'p> {
    /// Returns a part that copies all rows of a payload into the root.
    pub(crate) fn through_root(payload: &'p Arc<Payload>) -> Self {
        Self { rows: Rows::All(payload), landing: Landing::Root { proves: false } }
    }

    /// Returns a part without rows for the table of `node`.
    pub(crate) fn empty(node: NodeId) -> Self {
        Self { rows: Rows::Some(Wire::Text, Vec::new()), landing: Landing::Leaf(node) }
    }

    /// Whether it has no rows.
    pub(super) fn is_empty(&self) -> bool {
        matches!(&self.rows, Rows::Some(_, rows) if rows.is_empty())
    }

    /// Returns the format of the rows.
    pub(crate) fn wire(&self) -> Wire {
        match &self.rows {
            Rows::All(payload) => payload.wire(),
            Rows::Some(wire, _) => *wire,
        }
    }

    /// Returns the payload, if the server's counts must show its rows in their leaves.
    pub(super) fn payload_to_prove(&self) -> Option<&'p Arc<Payload>> {
        match (&self.rows, self.landing) {
            (Rows::All(payload), Landing::Root { proves: true }) => Some(payload),
            _ => None,
        }
    }

    /// Returns the COPY statement that takes the rows.
    pub(super) fn copy_statement(&self, plan: &Plan) -> String {
        let wire = self.wire();
        match self.landing.copy_table() {
            Some(relation) => plan.copy_into(&relation, wire),
            None => plan.copy_statement(self.landing.node(), wire),
        }
    }
}

impl Landing<'_> {
    /// Returns the node that the rows belong to.
    pub(crate) fn node(&self) -> NodeId {
        match self {
            Self::Leaf(node) | Self::Shadow(node, _) | Self::Stage(node, _) => *node,
            Self::Root { .. } => ROOT,
        }
    }

    /// Whether the rows go into a table that is built to replace their leaf.
    pub(super) fn is_shadow(&self) -> bool {
        matches!(self, Self::Shadow(..))
    }

    /// Returns the table that COPY names instead of the node's.
    fn copy_table(&self) -> Option<Relation> {
        match self {
            Self::Leaf(_) | Self::Root { .. } => None,
            Self::Shadow(_, destination) => Some(destination.relation.clone()),
            Self::Stage(..) => Some(stage()),
        }
    }
}
