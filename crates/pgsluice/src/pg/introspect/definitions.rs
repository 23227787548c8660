//! The definitions of partition keys, for the user and for new partitions. They are read separately, because
//! most loads do not need them and they take the server some time.

use std::collections::HashMap;

use futures_util::future::try_join3;
use tokio_postgres::Client;
use tokio_postgres::types::{Oid, Type};

use super::Catalogue;
use crate::error::Result;
use crate::pg::Parameters;
use crate::pg::sql;

const DEFINITIONS: &str = "
SELECT partrelid, pg_catalog.pg_get_partkeydef(partrelid)
FROM pg_catalog.pg_partitioned_table
WHERE partrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))";

impl Catalogue {
    /// Reads the definitions of all keys.
    pub async fn define_keys(&mut self, client: &Client) -> Result<()> {
        let keyed = self.tree.nodes.iter().zip(&self.facts).filter(|(node, _)| node.key.is_some());
        let oids: Vec<Oid> = keyed.map(|(_, facts)| facts.oid).collect();
        let asked: Parameters<'_> = &[(&oids, Type::OID_ARRAY)];
        let defining = try_join3(
            client.batch_execute(sql::DEPARSE_SETTINGS),
            client.query_typed(DEFINITIONS, asked),
            client.batch_execute(sql::RESET_SETTINGS),
        );
        let (_, rows, _) = defining.await?;
        let mut keys: HashMap<Oid, String> =
            rows.iter().map(|row| (row.get(0), row.get(1))).collect();
        self.facts.iter_mut().for_each(|facts| facts.key = keys.remove(&facts.oid));
        Ok(())
    }
}
