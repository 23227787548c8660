//! Shares of a load in SQL. Each has a row in `load`, which its participant inserts in the transaction of its rows.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::{Participant, read_counts, running};
use crate::pg::sql::literal;
use crate::row_counts::RowCounts;

/// Statement that claims a share, if the load is running with the terms `$2` into the table `$3`. If another
/// transaction has claimed the share, it waits for that transaction, and inserts nothing if that one commits.
const CLAIM: &str = "
INSERT INTO {ledger}.load (id, participant, relation, name, state, attempt, terms, sources, run, begun)
SELECT id, {participant}, relation, name, 'running', 1, '{}', '[]', {run}, pg_catalog.clock_timestamp()
FROM ONLY {ledger}.load
WHERE id {eq} $1 AND participant {eq} '' AND state {eq} 'running'
  AND terms {eq} $2::pg_catalog.text::pg_catalog.jsonb AND relation {eq} $3
ON CONFLICT (id, participant) DO NOTHING";

/// Query for the sessions that the session `$1` waits for. Each row has a text that changes whenever the
/// session does anything, and whether the session waits for its client.
const IN_THE_WAY: &str = "
SELECT a.pid, pg_catalog.concat_ws(' ', a.query_start, a.state_change, {progress}),
       COALESCE(a.state {ne} 'active' OR a.wait_event_type {eq} 'Client', a.state IS NULL)
FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids($1)) AS b (pid)
JOIN pg_catalog.pg_stat_activity a ON a.pid {eq} b.pid
{join}";

/// The progress of a session's COPY, in PostgreSQL 14 and later.
const COPY_PROGRESS: [(&str, &str); 2] = [
    ("progress", "p.bytes_processed"),
    ("join", "LEFT JOIN pg_catalog.pg_stat_progress_copy p ON p.pid OPERATOR(pg_catalog.=) a.pid"),
];

/// Query for the stored shares of a load.
const SHARES: &str = "
SELECT participant, sources::pg_catalog.text,
       rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_not_newer, rows_not_found,
       rows_duplicate, rows_skipped, rows_dropped, rows_rejected
FROM ONLY {ledger}.load
WHERE id {eq} $1 AND participant {ne} ''";

/// Statement that deletes the shares of a load, whose own row has their sums.
pub(crate) const DROP_SHARES: &str = "
DELETE FROM ONLY {ledger}.load WHERE id {eq} $1 AND participant {ne} ''";

/// Statement that removes a load from the ledger if none of its shares is stored.
pub(crate) const WITHDRAW_LOAD: &str = "
DELETE FROM ONLY {ledger}.load
WHERE id {eq} $1 AND participant {eq} '' AND state {eq} 'running'
  AND (terms OPERATOR(pg_catalog.->) 'participant') IS NOT NULL
  AND NOT EXISTS (SELECT FROM ONLY {ledger}.load WHERE id {eq} $1 AND participant {ne} '')";

/// Query for the tables of the tree below `$1`.
pub(crate) const TABLES: &str = "
SELECT pg_catalog.array_agg(relid::pg_catalog.oid) FROM pg_catalog.pg_partition_tree($1::pg_catalog.oid)";

/// A stored share.
#[derive(Clone, Debug)]
pub(crate) struct StoredShare {
    pub(crate) participant: String,
    /// Its record, as JSON.
    pub(crate) record: String,
    pub(crate) counts: RowCounts,
}

/// A session that another one waits for.
#[derive(Clone, Debug)]
pub(crate) struct Blocker {
    pub(crate) pid: i32,
    /// A text that changes if the session has done anything since an earlier look.
    pub(crate) activity: String,
    pub(crate) waits_for_client: bool,
}

impl Participant {
    /// Claims the share in the transaction that `client` is in. Returns false if it is already stored, or if
    /// the load is not running with `terms` into the table `relation`. `run` describes the process that works
    /// at it, as JSON.
    pub(crate) async fn claim(
        &self,
        client: &Client,
        run: &str,
        terms: &str,
        relation: u32,
    ) -> Result<bool, tokio_postgres::Error> {
        let run = running(&literal(run.as_bytes()));
        let claim = self.fill(CLAIM, &[("run", &run)]);
        let parameters: [(&(dyn ToSql + Sync), Type); 3] =
            [(&self.id, Type::TEXT), (&terms, Type::TEXT), (&relation, Type::OID)];
        Ok(client.execute_typed(&claim, &parameters).await? == 1)
    }

    /// Returns the sessions that the session `pid` waits for. `version` is the server's.
    pub(crate) async fn find_blockers(
        &self,
        client: &Client,
        pid: i32,
        version: u32,
    ) -> Result<Vec<Blocker>, tokio_postgres::Error> {
        let sql = match version {
            ..140_000 => self.fill(IN_THE_WAY, &[("progress", "NULL"), ("join", "")]),
            _ => self.fill(IN_THE_WAY, &COPY_PROGRESS),
        };
        let rows = client.query(&sql, &[&pid]).await?;
        let session = |row: &Row| Blocker {
            pid: row.get(0),
            activity: row.get(1),
            waits_for_client: row.get(2),
        };
        Ok(rows.iter().map(session).collect())
    }

    /// Returns the stored shares of the load.
    pub(crate) async fn shares(
        &self,
        client: &Client,
    ) -> Result<Vec<StoredShare>, tokio_postgres::Error> {
        let rows = client.query(&self.sql(SHARES), &[&self.id]).await?;
        let share = |row: &Row| StoredShare {
            participant: row.get(0),
            record: row.get(1),
            counts: read_counts(row, 2),
        };
        Ok(rows.iter().map(share).collect())
    }
}
