//! How far those that follow the server's WAL have come. A session of our own must ask, whose names are
//! those of `pg_catalog`.

use tokio_postgres::GenericClient;

use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};

/// Reads the end of the server's WAL, and each follower's name and place in it. The place is what a
/// replica has replayed, a slot's consumer no longer needs, or the archiver has stored as whole
/// segments. An archiver that has stored none, and failed, has no place.
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
pub(crate) struct Follower {
    pub(crate) name: String,
    /// Where it is to come.
    pub(crate) end: u64,
    /// How far it has come; None if that is not known.
    pub(crate) place: Option<u64>,
}

/// Returns all followers.
pub(crate) async fn followers(client: &impl GenericClient) -> Result<Vec<Follower>> {
    let rows = client.query(FOLLOWERS, &[]).await?;
    let place = |place: i64| place.max(0).unsigned_abs();
    let follower = |row: &tokio_postgres::Row| Follower {
        name: row.get(1),
        end: place(row.get(0)),
        place: row.get::<_, Option<i64>>(2).map(place),
    };
    Ok(rows.iter().map(follower).collect())
}

/// Refuses a user who does not see how far replicas are.
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
