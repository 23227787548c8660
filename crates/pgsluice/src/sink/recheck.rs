//! The recheck of a payload's table: under the locks of the transaction it must still be the table that the
//! plan was made for.

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
    /// The names of the columns, sorted, and their types.
    columns: Vec<String>,
    types: Vec<u32>,
}

/// A change that the recheck has found.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Changed {
    /// The node is no longer where it was when the load began.
    Moved,
    /// The columns no longer have the types that they had when the load began.
    Retyped,
}

impl Recheck {
    /// Prepares the statement once for all payloads.
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

    /// Returns the change since the plan was made that affects the rows of `node`, if any. Rows that go to
    /// the `shadow` of a leaf do not need the leaf to be there.
    pub(crate) async fn find_change(
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
