//! Errors for rows that must go into an exchange but cannot: the load ends before they are committed.

use pgsluice_core::catalog::NodeId;

use super::Plan;
use super::eligible::{Eligible, remove_obstacle};
use crate::error::kind::Kind;
use crate::error::{Error, option};

impl Plan {
    /// Returns the reason why a leaf is not exchanged, if the job asks for an exchange.
    pub fn not_exchanged(&self, leaf: NodeId) -> Option<String> {
        self.exchange.as_ref()?.why_excluded(leaf)
    }

    /// Whether existing rows of leaves are replaced.
    pub(crate) fn replaces(&self) -> bool {
        self.exchange.as_ref().is_some_and(Eligible::replaces)
    }

    /// Returns the error for rows of `nodes` if one of these is a leaf that must be exchanged but cannot be.
    pub(crate) fn refuse_excluded(&self, nodes: &[NodeId]) -> Option<Error> {
        let (node, why) =
            nodes.iter().find_map(|node| Some((*node, self.not_exchanged(*node)?)))?;
        self.refuse(node, &why)
    }

    /// Returns the error for rows of `node`, which is not exchanged because of `why`, if it must be.
    pub(crate) fn refuse(&self, node: NodeId, why: &str) -> Option<Error> {
        let eligible = self.exchange.as_ref().filter(|eligible| eligible.mode.is_required())?;
        let message = format!("rows for {} are {why}", self.tree.nodes[node].relation.label());
        let hint = match eligible.replaces() {
            true => remove_obstacle(),
            false => {
                "Empty the leaf, or load with plain "
                    + option("exchange")
                    + ": its rows are then copied as usual."
            }
        };
        Some(Error::new(Kind::Server, message).with_sqlstate("55000").with_hint(hint))
    }

    /// Returns the error for rows that only the server can route, below `node`, if rows are replaced: the
    /// server would store them in the old leaves.
    pub(crate) fn refuse_unrouted(&self, node: NodeId) -> Option<Error> {
        self.exchange.as_ref().filter(|eligible| eligible.replaces())?;
        let table = self.tree.nodes[node].relation.label();
        let message = format!(
            "rows for {table} cannot replace existing rows: only the server can route them"
        );
        let error = Error::new(Kind::Server, message).with_sqlstate("0A000");
        Some(error.with_hint(
            "Load these rows without "
                + option("exchange")
                + "; pgsluice plan lists them, with the reasons.",
        ))
    }
}
