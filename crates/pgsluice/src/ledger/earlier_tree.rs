//! Earlier tree: a partition tree by which an earlier attempt routed rows, and the rows that it committed.

use std::sync::Arc;

use pgsluice_core::catalog::{NodeId, ROOT};
use pgsluice_core::route::{Cause, Route, Router, Scratch, wanted_fields};
use tokio_postgres::Client;

use super::claimed::Claimed;
use super::layout::Layout;
use crate::error::Result;
use crate::pg::introspect;
use crate::plan::Plan;
use crate::route::row::Routed;
use pgsluice_core::origin::Origin;

/// An earlier tree, and the rows that were committed by it.
pub(crate) struct EarlierTree {
    layout: Layout,
    router: Router,
    pub(super) claimed: Claimed,
    /// Whether the server is asked to convert the same fields to text as now.
    is_spelled_alike: bool,
}

impl EarlierTree {
    /// Builds the router again. Fails if it could not route exactly as before.
    pub(super) async fn build(
        layout: Layout,
        claimed: Claimed,
        plan: &Plan,
        client: &mut Client,
    ) -> Result<Self> {
        let tree = layout.tree(plan)?;
        let tree = introspect::fill_bounds(client, tree, &layout.bounds()).await?;
        let is_known =
            wanted_fields(&tree).iter().all(|field| plan.router.wanted_fields().contains(field));
        if !layout.is_of(&tree) || !is_known {
            return Err(layout.unreadable(ROOT, "its keys have changed"));
        }
        let router = Router::over(Arc::new(tree), plan.router.wanted_fields().to_vec());
        let spelling = plan.catalogue.questions.spelling.as_ref();
        let is_spelled_alike = layout.spelled.as_ref() == spelling.map(|question| &question.fields);
        Ok(Self { layout, router, claimed, is_spelled_alike })
    }

    /// Returns the name of a node for the user.
    pub(crate) fn label(&self, node: NodeId) -> String {
        self.layout.label(node)
    }

    /// Returns the node whose receipts cover a row, if any. `at` is the place where the row begins.
    pub(crate) fn claimant(
        &self,
        routed: &Routed<'_>,
        at: Origin,
        scratch: &mut Scratch,
    ) -> Result<Option<NodeId>> {
        let node = match self.router.route(routed.row, routed.keys, scratch) {
            _ if routed.has_no_keys => ROOT,
            Route::Leaf(node) => node,
            // The server was asked to convert the value to text, but for the present tree. For this tree, it
            // must be asked again, unless it refused to answer.
            Route::Node(node, Cause::Spelling(_)) if self.is_to_be_spelled(routed) => {
                return Err(self
                    .layout
                    .unreadable(node, "only the server can read one of its values"));
            }
            Route::Node(node, _) | Route::Ask(node) => node,
        };
        Ok(self.claimed.has(node, at).then_some(node))
    }

    /// Whether the existing answer is of no use for this tree.
    fn is_to_be_spelled(&self, routed: &Routed<'_>) -> bool {
        let is_settled = matches!(routed.at, Err((_, Cause::Spelling(_) | Cause::Clock(_))));
        let same = self.is_spelled_alike && is_settled;
        self.layout.spelled.is_some() && !same
    }
}
