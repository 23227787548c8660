//! A recheck: under the locks of its transaction a payload's table must be what the plan has seen.

use pgsluice_core::bucket::Wire;
use pgsluice_core::catalog::{NodeId, ROOT};
use tokio_postgres::{Client, Error, Statement};

use crate::pg::introspect::Catalogue;
use crate::pg::sql;
use crate::pg::template::fill;
use crate::plan::Plan;

/// The statement that checks, on one connection.
pub(crate) struct Recheck {
    statement: Statement,
    /// The columns by name, and their types.
    columns: Vec<String>,
    types: Vec<u32>,
}

/// What has changed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Changed {
    /// The node is not where it was when the load began.
    Moved,
    /// The columns are not of the types that they had then.
    Retyped,
}

impl Recheck {
    /// Plans the statement once for all payloads.
    pub(crate) async fn prepare(client: &Client, plan: &Plan) -> Result<Self, Error> {
        let statement = client.prepare(&fill(sql::RECHECK, &[])).await?;
        let Catalogue { columns, types, besides, .. } = &plan.catalogue;
        let of_table = |(place, _): &(usize, _)| *besides != Some(*place);
        let names = columns.iter().cloned().zip(types.iter().copied());
        let mut pairs: Vec<(String, u32)> =
            names.enumerate().filter(of_table).map(|(_, pair)| pair).collect();
        pairs.sort_unstable();
        let (columns, types) = pairs.into_iter().unzip();
        Ok(Self { statement, columns, types })
    }

    /// Checks whether anything that the rows of `node` rely on has changed since the plan was made.
    /// Rows that go to the `shadow` of a leaf do not need the leaf to be there.
    pub(crate) async fn changed(
        &self,
        plan: &Plan,
        client: &Client,
        node: NodeId,
        wire: Wire,
        shadow: bool,
    ) -> Result<Option<Changed>, Error> {
        let Plan { tree, catalogue, .. } = plan;
        let node = if plan.is_direct(node) { node } else { ROOT };
        let name = (!shadow).then(|| tree.nodes[node].relation.to_string());
        let types = (wire == Wire::Binary).then_some(&self.types);
        if name.is_none() && types.is_none() {
            return Ok(None);
        }
        let [oid, root] = [node, ROOT].map(|node| catalogue.facts[node].oid);
        let answer =
            client.query_one(&self.statement, &[&name, &oid, &root, &self.columns, &types]).await?;
        Ok(match answer.get(0) {
            sql::MOVED => Some(Changed::Moved),
            sql::RETYPED => Some(Changed::Retyped),
            _ => None,
        })
    }
}
