//! Row triggers that may give a row another key before it is stored.

use std::collections::HashMap;

use pgsluice_core::catalog::NodeId;
use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Error, Transaction};

use crate::pg::trigger_source::keeps_key;

/// Query for enabled triggers before each row is inserted or updated. Functions of `pg_catalog` do not change
/// key columns. `TRIGGER_TYPE_ROW` is 1, `BEFORE` 2, `INSERT` 4, `UPDATE` 16
/// (`src/include/catalog/pg_trigger.h`, PostgreSQL 13 to 18).
const TRIGGERS: &str = "
SELECT g.tgrelid, g.tgname, g.tgtype & 4 <> 0 AS inserts, g.tgtype & 16 <> 0 AS updates,
       CASE WHEN l.lanname = 'plpgsql' THEN f.prosrc END AS body
FROM pg_catalog.pg_trigger g
JOIN pg_catalog.pg_proc f ON f.oid = g.tgfoid
JOIN pg_catalog.pg_language l ON l.oid = f.prolang
WHERE g.tgrelid = ANY (ARRAY(SELECT pg_catalog.unnest($1::pg_catalog.oid[])))
  AND g.tgenabled <> 'D' AND g.tgtype & 3 = 3 AND g.tgtype & 20 <> 0
  AND f.pronamespace <> 'pg_catalog'::pg_catalog.regnamespace
ORDER BY g.tgname";

/// A trigger that fires before each row.
#[derive(Clone, Debug)]
pub(crate) struct RowTrigger {
    pub(crate) node: NodeId,
    pub(crate) name: String,
    /// Whether it fires for inserted rows.
    pub(crate) inserts: bool,
    /// Whether it fires for updated rows.
    pub(crate) updates: bool,
    /// The body of its function, if that is in PL/pgSQL.
    body: Option<String>,
}

impl RowTrigger {
    /// Whether it may change one of the columns `key`.
    pub(crate) fn may_change(&self, key: &[String]) -> bool {
        !self.body.as_ref().is_some_and(|body| keeps_key(body, key))
    }
}

/// Reads the triggers of the tables `oids`, sorted by their nodes.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    oids: &[Oid],
    nodes: &HashMap<Oid, NodeId>,
) -> Result<Vec<RowTrigger>, Error> {
    let rows = transaction.query_typed(TRIGGERS, &[(&oids, Type::OID_ARRAY)]).await?;
    let triggers = rows.iter().filter_map(|row| {
        Some(RowTrigger {
            node: *nodes.get(&row.get(0))?,
            name: row.get("tgname"),
            inserts: row.get("inserts"),
            updates: row.get("updates"),
            body: row.get("body"),
        })
    });
    let mut triggers: Vec<RowTrigger> = triggers.collect();
    triggers.sort_by_key(|trigger| trigger.node);
    Ok(triggers)
}
