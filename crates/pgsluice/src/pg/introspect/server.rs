//! Properties of the server that determine how rows are sent.

use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{Error, Transaction};

/// The abilities of the server for rows of several leaves in one transaction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Several {
    /// Whether it counts the rows that go into each table (`track_counts`).
    pub(crate) are_counted: bool,
    /// The number of leaves that may be locked, with their indexes.
    pub(crate) max: usize,
}

/// Query for the server's version, whether it counts rows, and how many leaves fit into a quarter of its lock
/// table if each has two more indexes than the root.
const SERVER: &str = "
SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4,
       pg_catalog.current_setting('track_counts')::pg_catalog.bool,
       pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8
           * (pg_catalog.current_setting('max_connections')::pg_catalog.int8
              + pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8)
           / 4 / (3 + (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index WHERE indrelid = $1))";

/// Reads the server's version and its abilities for a load into `root`.
pub(super) async fn read(
    transaction: &Transaction<'_>,
    root: Oid,
) -> Result<(u32, Several), Error> {
    let server = transaction.query_typed_one(SERVER, &[(&root, Type::OID)]).await?;
    let max = usize::try_from(server.get::<_, i64>(2)).unwrap_or(1).max(1);
    Ok((server.get::<_, i32>(0).unsigned_abs(), Several { are_counted: server.get(1), max }))
}
