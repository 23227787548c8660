//! The progress of the followers of the server's WAL. The queries must run in a session of pgsluice, in which
//! bare names belong to `pg_catalog`.

use tokio_postgres::GenericClient;

use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};

/// Query for the end of the server's WAL, and the name and place of each follower. The place is the end of
/// the WAL that a replica has replayed, that a slot's consumer no longer needs, or that the archiver has
/// stored in whole segments. An archiver that has failed without storing any has no place.
const FOLLOWERS: &str = "
WITH wal AS (
    SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::int8 AS lsn,
           pg_size_bytes(current_setting('wal_segment_size')) AS segment
)
SELECT lsn, 'replica ' || application_name, pg_wal_lsn_diff(replay_lsn, '0/0')::int8
FROM wal, pg_stat_replication WHERE replay_lsn IS NOT NULL
UNION ALL
SELECT lsn, 'replication slot ' || slot_name, pg_wal_lsn_diff(restart_lsn, '0/0')::int8
FROM wal, pg_replication_slots WHERE restart_lsn IS NOT NULL
UNION ALL
SELECT lsn - lsn % segment,
       concat('the archiver', ' (archiving ' || CASE WHEN failed THEN last_failed_wal END || ' fails)'),
       CASE WHEN last_archived_wal ~ '^[0-9A-F]{24}$'
            THEN ('x' || substr(last_archived_wal, 9, 8))::bit(32)::int8 * 4294967296
                 + (('x' || substr(last_archived_wal, 17, 8))::bit(32)::int8 + 1) * segment END
FROM wal, (SELECT *, last_failed_time > COALESCE(last_archived_time, '-infinity') AS failed
           FROM pg_stat_archiver) AS archiver
WHERE current_setting('archive_mode') <> 'off'
  AND (last_archived_wal ~ '^[0-9A-F]{24}$' OR last_archived_wal IS NULL AND failed)";

/// A follower of the server's WAL; places are bytes since its beginning.
pub(crate) struct WalFollower {
    pub(crate) name: String,
    /// The place that it must reach.
    pub(crate) end: u64,
    /// Its present place; `None` if unknown.
    pub(crate) place: Option<u64>,
}

/// Returns all followers.
pub(crate) async fn followers(client: &impl GenericClient) -> Result<Vec<WalFollower>> {
    let rows = client.query(FOLLOWERS, &[]).await?;
    let place = |place: i64| place.max(0).unsigned_abs();
    let follower = |row: &tokio_postgres::Row| WalFollower {
        name: row.get(1),
        end: place(row.get(0)),
        place: row.get::<_, Option<i64>>(2).map(place),
    };
    Ok(rows.iter().map(follower).collect())
}

/// Rejects a user who may not see the progress of replicas.
pub(crate) async fn check_rights(client: &impl GenericClient) -> Result<()> {
    let sql = "SELECT pg_catalog.pg_has_role('pg_read_all_stats', 'USAGE'),
                      pg_catalog.quote_ident(CURRENT_USER)";
    let row = client.query_one(sql, &[]).await?;
    if row.get(0) {
        return Ok(());
    }
    let role: String = row.get(1);
    Err(Error::new(Kind::Server, "permission denied for view pg_stat_replication")
        .with_sqlstate("42501")
        .with_detail(
            option("max-lag")
                + " checks how far behind replicas are, which only members of pg_read_all_stats \
                   can see.",
        )
        .with_hint(
            Words::from(format!("GRANT pg_read_all_stats TO {role}; or leave out "))
                + option("max-lag")
                + ".",
        ))
}
