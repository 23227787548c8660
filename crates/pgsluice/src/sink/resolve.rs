//! A second method for rows of several leaves that were sent together, if the server's counts do not show
//! their leaves ([`super::proof`]).

use pgsluice_core::catalog::ROOT;

use super::connection::Connection;
use super::failure::{Doubt, Failure};
use crate::counts::reconcile;
use crate::error::{Error, Result};
use crate::pg::connect::open;
use crate::pg::introspect::Catalogue;
use crate::plan::landing::Evidence;

impl Connection<'_> {
    /// Chooses how to send rows again whose leaves are not known. Fails if a leaf rejects them although the
    /// partitions have not changed.
    pub(super) async fn resolve(&self, doubt: Doubt) -> Result<(), Failure> {
        let plan = self.flow.plan;
        let is_of_server = match doubt {
            // A single statement checks references after all of its rows are stored.
            Doubt::References => true,
            _ => self.has_changed().await.map_err(Failure::Unmade)?,
        };
        match (is_of_server, doubt) {
            (false, Doubt::Bounds(node, rows)) => {
                return Err(Failure::Misrouted(reconcile::refused(plan, node, rows)));
            }
            (true, _) => self.queue.rely_on(Evidence::Server),
            (false, _) => self.queue.rely_on(Evidence::Leaves),
        }
        Ok(())
    }

    /// Whether partitions have been added, removed or changed since the plan was made.
    async fn has_changed(&self) -> Result<bool> {
        let plan = self.flow.plan;
        let mut link = self.flow.control.stop.unless_stopped(open(self.target)).await?;
        let root = plan.tree.nodes[ROOT].relation.to_string();
        let columns =
            Some(&plan.catalogue.columns[..]).filter(|_| plan.catalogue.besides.is_none());
        let now =
            Catalogue::read(&mut link.client, &root, columns).await.map_err(Error::permanent)?;
        let layout = |catalogue: &Catalogue| -> Vec<(u32, Option<usize>, Option<String>)> {
            let nodes = catalogue.facts.iter().zip(&catalogue.tree.nodes);
            nodes.map(|(facts, node)| (facts.oid, node.parent, facts.bound.clone())).collect()
        };
        Ok(layout(&now) != layout(&plan.catalogue))
    }
}
