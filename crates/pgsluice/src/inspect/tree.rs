//! A partition tree with its sizes, for display.

use std::collections::HashMap;

use pgsluice_core::catalog::{NodeId, Tree};
use tokio_postgres::Client;

use crate::control::Control;
use crate::error::Result;
use crate::pg::connect::{Link, open};
use crate::pg::conninfo::Target;
use crate::pg::introspect::{Catalogue, Facts};
use crate::pg::sql::SIZES;
use crate::pg::template::fill;

/// A table, its partitions, and their sizes.
#[derive(Debug)]
pub struct Sizes {
    /// The tree.
    pub tree: Tree,
    /// The server's facts about each node.
    pub facts: Vec<Facts>,
    /// Bytes of each node's own storage, including indexes and TOAST.
    own_bytes: Vec<u64>,
}

impl Sizes {
    /// Reads the tree of `table`, a name as in SQL.
    pub async fn read(target: &Target, table: &str, control: &Control) -> Result<Self> {
        let Link { mut client, canceller, .. } = control.stop.unless_stopped(open(target)).await?;
        canceller.unless_stopped(control, Self::query(&mut client, table)).await
    }

    async fn query(client: &mut Client, table: &str) -> Result<Self> {
        let mut catalogue = Catalogue::read(client, table, None).await?;
        catalogue.define_keys(client).await?;
        let Catalogue { tree, facts, .. } = catalogue;
        let oids: Vec<u32> = facts.iter().map(|facts| facts.oid).collect();
        let rows = client.query(&fill(SIZES, &[]), &[&oids]).await?;
        let sizes: HashMap<u32, i64> = rows
            .iter()
            .filter_map(|row| Some((row.get(0), row.get::<_, Option<i64>>(1)?)))
            .collect();
        let own_bytes =
            oids.iter().map(|oid| sizes.get(oid).map_or(0, |bytes| bytes.unsigned_abs())).collect();
        Ok(Self { tree, facts, own_bytes })
    }

    /// Returns the number of bytes of `node` and everything below it.
    pub fn bytes(&self, node: NodeId) -> u64 {
        let below = self.tree.nodes[node].children.iter().map(|&child| self.bytes(child));
        self.own_bytes[node] + below.sum::<u64>()
    }

    /// Returns the server's estimate of the rows of `node` and everything below it, and whether VACUUM or
    /// ANALYZE has ever counted every leaf. Leaves that were never counted add nothing.
    pub fn estimated_rows(&self, node: NodeId) -> (u64, bool) {
        let children = &self.tree.nodes[node].children;
        if self.tree.nodes[node].key.is_none() {
            // Before PostgreSQL 14, a table that was never counted has 0.
            let rows = self.facts[node].estimated_rows;
            return (rows.max(0.0) as u64, rows >= 0.0);
        }
        children
            .iter()
            .map(|&child| self.estimated_rows(child))
            .fold((0, true), |(sum, all), (rows, counted)| (sum + rows, all && counted))
    }
}
