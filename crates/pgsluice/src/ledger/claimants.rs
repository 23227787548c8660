//! Finds the receipts of earlier attempts that claim a row that is read again.

use pgsluice_core::catalog::NodeId;
use pgsluice_core::route::Scratch;

use super::Ledger;
use crate::error::Result;
use crate::plan::Plan;
use crate::route::row::Routed;
use crate::source::Split;
use pgsluice_core::origin::Origin;

/// A node that claims rows: the number of its tree (0 for the present one, then the earlier ones), and the
/// node.
pub(crate) type Claimant = (usize, NodeId);

impl Ledger {
    /// Whether a row that was routed to `node` of the present tree was loaded by an earlier attempt.
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
        for earlier in &self.earlier_trees {
            if earlier.claimant(routed, at, scratch)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Passes every node whose receipts cover a row to `found`. A row that an earlier tree claims may also be
    /// claimed by a later one, because its receipts cover all rows of a node, however they were stored.
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
        for (earlier, number) in self.earlier_trees.iter().zip(1..) {
            if let Some(node) = earlier.claimant(routed, at, scratch)? {
                found((number, node));
            }
        }
        Ok(())
    }

    /// Returns the number of rows that receipts cover, by claimant.
    pub(crate) fn claimed_rows(&self) -> impl Iterator<Item = (Claimant, u64)> {
        let all = std::iter::once(&self.claimed)
            .chain(self.earlier_trees.iter().map(|earlier| &earlier.claimed));
        all.zip(0..).flat_map(|(claimed, tree)| {
            claimed.rows().map(move |(node, rows)| ((tree, node), rows))
        })
    }

    /// Returns the place from which on no receipt covers any rows.
    pub(crate) fn end(&self) -> Origin {
        let earlier = self.earlier_trees.iter().map(|earlier| earlier.claimed.end());
        earlier.fold(self.claimed.end(), Origin::max)
    }

    /// Returns the name of a claimant for the user.
    pub(crate) fn label_of(&self, (tree, node): Claimant, plan: &Plan) -> String {
        match tree.checked_sub(1).and_then(|index| self.earlier_trees.get(index)) {
            Some(earlier) => earlier.label(node),
            None => plan.tree.nodes.get(node).map_or_else(String::new, |it| it.relation.label()),
        }
    }

    /// Whether a row that was loaded before was rejected.
    pub(crate) fn was_rejected(&self, routed: &Routed<'_>, split: &Split) -> bool {
        !self.rejected.is_empty() && self.rejected.contains(&origin(split, routed))
    }
}

/// Returns the place where a row begins.
fn origin(split: &Split, routed: &Routed<'_>) -> Origin {
    split.origin(routed.index)
}
