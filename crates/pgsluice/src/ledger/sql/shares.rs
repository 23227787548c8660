//! Shares of a load in SQL. Each has a row in `load`, which its participant inserts in the transaction of its rows.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::{Participant, read_counts, running};
use crate::pg::sql::literal;
use crate::row_counts::RowCounts;

/// Claims a share, if the load is running under the terms `$2`, into the table `$3`. If another transaction has claimed the
/// share, it waits for the end of that one, and inserts nothing if that one has committed.
const CLAIM: &str = "
INSERT INTO {ledger}.load (id, participant, relation, name, state, attempt, terms, sources, run, begun)
SELECT id, {participant}, relation, name, 'running', 1, '{}', '[]', {run}, pg_catalog.clock_timestamp()
FROM ONLY {ledger}.load
WHERE id {eq} $1 AND participant {eq} '' AND state {eq} 'running'
  AND terms {eq} $2::pg_catalog.text::pg_catalog.jsonb AND relation {eq} $3
ON CONFLICT (id, participant) DO NOTHING";

/// The sessions that the session `$1` waits for. Each has what it does, which changes as long as it does anything, and
/// whether it waits for its client.
const IN_THE_WAY: &str = "
SELECT a.pid, pg_catalog.concat_ws(' ', a.query_start, a.state_change, {progress}),
       COALESCE(a.state {ne} 'active' OR a.wait_event_type {eq} 'Client', a.state IS NULL)
FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids($1)) AS b (pid)
JOIN pg_catalog.pg_stat_activity a ON a.pid {eq} b.pid
{join}";

/// How far the COPY of a session has come; PostgreSQL 14 and later.
const COPY_PROGRESS: [(&str, &str); 2] = [
    ("progress", "p.bytes_processed"),
    ("join", "LEFT JOIN pg_catalog.pg_stat_progress_copy p ON p.pid OPERATOR(pg_catalog.=) a.pid"),
];

/// The shares of a load that are in.
const SHARES: &str = "
SELECT participant, sources::pg_catalog.text,
       rows_read, rows_inserted, rows_updated, rows_deleted, rows_unchanged, rows_not_newer, rows_not_found,
       rows_duplicate, rows_skipped, rows_dropped, rows_rejected
FROM ONLY {ledger}.load
WHERE id {eq} $1 AND participant {ne} ''";

/// Deletes the rows of the shares of a load, whose sums its own row has.
pub(crate) const DROP_SHARES: &str = "
DELETE FROM ONLY {ledger}.load WHERE id {eq} $1 AND participant {ne} ''";

/// Removes a load from the ledger if none of its shares is stored.
pub(crate) const WITHDRAW_LOAD: &str = "
DELETE FROM ONLY {ledger}.load
WHERE id {eq} $1 AND participant {eq} '' AND state {eq} 'running'
  AND (terms OPERATOR(pg_catalog.->) 'participant') IS NOT NULL
  AND NOT EXISTS (SELECT FROM ONLY {ledger}.load WHERE id {eq} $1 AND participant {ne} '')";

/// The tables of the tree below `$1`.
pub(crate) const TABLES: &str = "
SELECT pg_catalog.array_agg(relid::pg_catalog.oid) FROM pg_catalog.pg_partition_tree($1::pg_catalog.oid)";

/// A share that is in.
#[derive(Clone, Debug)]
pub(crate) struct StoredShare {
    pub(crate) participant: String,
    /// Its record, as JSON.
    pub(crate) record: String,
    pub(crate) counts: RowCounts,
}

/// A session that another one waits for.
#[derive(Clone, Debug)]
pub(crate) struct InTheWay {
    pub(crate) pid: i32,
    /// Text that differs from that of an earlier look if the session has done anything since.
    pub(crate) activity: String,
    pub(crate) waits_for_client: bool,
}

impl Participant {
    /// Claims the share in the transaction that `client` is in; false if it is in, or if the load does not run under
    /// `terms`, into the table `relation`. `run` is who works at it, as JSON.
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

    /// The sessions that the session `pid` waits for. `version` is the server's.
    pub(crate) async fn in_the_way(
        &self,
        client: &Client,
        pid: i32,
        version: u32,
    ) -> Result<Vec<InTheWay>, tokio_postgres::Error> {
        let sql = match version {
            ..140_000 => self.fill(IN_THE_WAY, &[("progress", "NULL"), ("join", "")]),
            _ => self.fill(IN_THE_WAY, &COPY_PROGRESS),
        };
        let rows = client.query(&sql, &[&pid]).await?;
        let session = |row: &Row| InTheWay {
            pid: row.get(0),
            activity: row.get(1),
            waits_for_client: row.get(2),
        };
        Ok(rows.iter().map(session).collect())
    }

    /// The shares of the load that are in.
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
