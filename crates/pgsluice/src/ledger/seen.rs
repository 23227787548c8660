//! Seen: finds the receipts of earlier attempts that claim a row that is read again.

use pgsluice_core::catalog::NodeId;
use pgsluice_core::route::Scratch;

use super::Ledger;
use crate::error::Result;
use crate::plan::Plan;
use crate::route::row::Routed;
use crate::source::Split;
use pgsluice_core::position::Origin;

/// A table whose rows are in by receipts: the tree, 0 for that of now and then those of before, and its
/// node.
pub(crate) type Claimant = (usize, NodeId);

impl Ledger {
    /// Whether a row that has reached `node` of the tree of now was loaded by an earlier attempt.
    #[inline]
    pub(crate) fn is_in(
        &self,
        node: NodeId,
        routed: &Routed<'_>,
        split: &Split,
        scratch: &mut Scratch,
    ) -> Result<bool> {
        let at = origin(split, routed);
        if self.claimed.has(node, at) {
            return Ok(true);
        }
        for past in &self.past {
            if past.claimant(routed, at, scratch)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Hands over all whose receipts say that a row is in. What an earlier tree claims, a later one may
    /// claim as well: its receipts speak of all rows of a node, however they came in.
    pub(crate) fn claimants(
        &self,
        node: NodeId,
        routed: &Routed<'_>,
        split: &Split,
        scratch: &mut Scratch,
        mut found: impl FnMut(Claimant),
    ) -> Result<()> {
        let at = origin(split, routed);
        if self.claimed.has(node, at) {
            found((0, node));
        }
        for (past, number) in self.past.iter().zip(1..) {
            if let Some(node) = past.claimant(routed, at, scratch)? {
                found((number, node));
            }
        }
        Ok(())
    }

    /// The rows that receipts speak of, by whose they are.
    pub(crate) fn claimed_rows(&self) -> impl Iterator<Item = (Claimant, u64)> {
        let all = std::iter::once(&self.claimed).chain(self.past.iter().map(|past| &past.claimed));
        all.zip(0..).flat_map(|(claimed, tree)| {
            claimed.rows().map(move |(node, rows)| ((tree, node), rows))
        })
    }

    /// The place from which on no receipt says anything.
    pub(crate) fn reach(&self) -> Origin {
        let past = self.past.iter().map(|past| past.claimed.reach());
        past.fold(self.claimed.reach(), Origin::max)
    }

    /// The name of a table whose rows are in, for people.
    pub(crate) fn label_of(&self, (tree, node): Claimant, plan: &Plan) -> String {
        match tree.checked_sub(1).and_then(|past| self.past.get(past)) {
            Some(past) => past.label(node),
            None => plan.tree.nodes.get(node).map_or_else(String::new, |it| it.relation.label()),
        }
    }

    /// Whether a row that is in was rejected.
    pub(crate) fn was_rejected(&self, routed: &Routed<'_>, split: &Split) -> bool {
        !self.rejected.is_empty() && self.rejected.contains(&origin(split, routed))
    }
}

/// Where a row begins.
fn origin(split: &Split, routed: &Routed<'_>) -> Origin {
    split.start.origin.plus(split.rows[routed.index].start.into())
}
