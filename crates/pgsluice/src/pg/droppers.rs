//! Droppers: features of the server that can keep a row out of a table without an error.

use crate::pg::template::fill;
use tokio_postgres::{Client, Error};

/// Query for the tables of `$1`, by their quoted names, that cannot drop a row. They exist, and have no
/// BEFORE or INSTEAD OF row trigger and no part on another server. Before version 15, a trigger that a
/// partition gets from its parent is marked as internal. `TRIGGER_TYPE_ROW` is 1, `BEFORE` 2, `INSERT` 4,
/// `INSTEAD` 64 (`src/include/catalog/pg_trigger.h`, PostgreSQL 13 to 18).
const UNABLE: &str = "
SELECT t.name FROM (SELECT name, pg_catalog.to_regclass(name)::pg_catalog.oid
                    FROM pg_catalog.unnest($1::pg_catalog.text[]) AS n (name)) AS t (name, oid)
WHERE t.oid IS NOT NULL AND NOT EXISTS (
    SELECT FROM (SELECT t.oid UNION ALL
                 SELECT relid FROM pg_catalog.pg_partition_tree(t.oid::pg_catalog.regclass)) AS p (oid)
    JOIN pg_catalog.pg_class c ON c.oid {eq} p.oid
    WHERE c.relkind {eq} 'f'
       OR EXISTS (SELECT FROM pg_catalog.pg_trigger g
                  WHERE g.tgrelid {eq} c.oid
                    AND g.tgenabled {ne} 'D'
                    AND g.tgtype OPERATOR(pg_catalog.&) 5::pg_catalog.int2
                        {eq} 5::pg_catalog.int2
                    AND g.tgtype OPERATOR(pg_catalog.&) 66::pg_catalog.int2
                        {ne} 0::pg_catalog.int2))";

/// Returns the `tables` that cannot drop a row.
pub(crate) async fn unable(client: &Client, tables: &[String]) -> Result<Vec<String>, Error> {
    let rows = client.query(&fill(UNABLE, &[]), &[&tables]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}
