//! Dropping of partitions that a load has created, if they are empty and unaltered.

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, GenericClient};

use crate::control::CreatedPartition;
use crate::error::{Error, Result};
use crate::pg::template::fill;
use pgsluice_core::catalog::Relation;

/// Selects the state of a partition and of all partitions below it. Every change to a table gives its row in
/// `pg_class` a new `xmin`, except for changes to rows and indexes, VACUUM and ANALYZE.
const STATE: &str = "
SELECT pg_catalog.string_agg(pg_catalog.concat(c.oid, ' ', c.xmin), ', ' ORDER BY c.oid)
FROM pg_catalog.pg_partition_tree(pg_catalog.to_regclass($1)) AS p
JOIN pg_catalog.pg_class c ON c.oid {eq} p.relid::pg_catalog.oid";

/// Settings of a transaction that drops partitions. It soon gives up waiting for a lock, because other
/// sessions queue behind it, and fails if row security would hide rows.
const BRIEFLY: &str = "SET LOCAL lock_timeout = '1s'; SET LOCAL row_security = off";

/// Outcome of dropping a partition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Dropping {
    Dropped,
    /// It does not exist, or has rows.
    Needless,
    /// It remains, for this reason.
    Left(String),
}

/// Returns the state of a partition, or `None` if it does not exist.
pub(crate) async fn state(
    client: &impl GenericClient,
    relation: &Relation,
) -> Result<Option<String>> {
    let name = relation.to_string();
    Ok(client.query_typed_one(&fill(STATE, &[]), &[(&name, Type::TEXT)]).await?.get(0))
}

/// Drops a partition if it is empty and has not been altered since it was created.
pub(crate) async fn drop_if_empty(client: &mut Client, made: &CreatedPartition) -> Dropping {
    match try_to_drop(client, made).await {
        Ok(outcome) => outcome,
        Err(error) if error.sqlstate() == Some(SqlState::UNDEFINED_TABLE.code()) => {
            Dropping::Needless
        }
        Err(error) => Dropping::Left(error.message().to_owned()),
    }
}

async fn try_to_drop(client: &mut Client, made: &CreatedPartition) -> Result<Dropping> {
    let CreatedPartition { relation, parent, state: before } = made;
    let transaction = client.transaction().await?;
    // The order in which DROP and COPY take these locks.
    let lock = format!(
        "{BRIEFLY}; LOCK TABLE ONLY {parent} IN ACCESS EXCLUSIVE MODE; LOCK TABLE {relation} IN ACCESS EXCLUSIVE MODE"
    );
    transaction.batch_execute(&lock).await?;
    let now = state(&transaction, relation).await?;
    let has_rows = format!("SELECT EXISTS (SELECT FROM {relation})");
    if transaction.query_typed_one(&has_rows, &[]).await?.get(0) {
        return Ok(Dropping::Needless);
    }
    if now.as_ref() != Some(before) {
        return Ok(Dropping::Left("it was altered since".to_owned()));
    }
    transaction.batch_execute(&format!("DROP TABLE {relation}")).await?;
    transaction.commit().await.map_err(Error::from)?;
    Ok(Dropping::Dropped)
}

/// Returns the statement that drops a partition.
pub(crate) fn drop_statement(relation: &Relation) -> String {
    format!("DROP TABLE {};", relation.label())
}
