//! The incarnation of a server: a value that changes whenever the server loses commits that it has answered.
//!
//! A commit that did not wait for the disk is lost together with the WAL buffers. The postmaster's start time
//! does not prove that they are still there: if one process crashes, the postmaster ends all others and
//! recreates its shared memory, but keeps its start time. But the crash recovery that follows resets the
//! statistics (`StartupXLOG` in `src/backend/access/transam/xlog.c` calls `pgstat_reset_all`, from 15 on
//! `pgstat_discard_stats`). Their reset time survives a restart without a crash, but then the start time
//! changes.

use tokio_postgres::Client;

/// A query for the incarnation. It returns NULL if either time is unknown.
const INCARNATION: &str = "
SELECT pg_catalog.encode(pg_catalog.timestamptz_send(pg_catalog.pg_postmaster_start_time()), 'hex')
       OPERATOR(pg_catalog.||)
       pg_catalog.encode(pg_catalog.timestamptz_send(pg_catalog.pg_stat_get_bgwriter_stat_reset_time()), 'hex')";

/// The incarnation of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Incarnation(String);

impl Incarnation {
    /// Queries the server of `client`. Returns `None` if the incarnation is unknown.
    pub(crate) async fn query(client: &Client) -> Option<Self> {
        let rows = client.query_typed(INCARNATION, &[]).await.ok()?;
        rows.first()?.get::<_, Option<String>>(0).map(Self)
    }
}
