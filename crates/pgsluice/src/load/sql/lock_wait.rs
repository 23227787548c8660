//! The holders of locks that some sessions wait for. The query must run in a session of pgsluice, in which
//! bare names belong to `pg_catalog`.

use std::time::Duration;

use tokio_postgres::GenericClient;

use crate::error::Result;

/// Query for the waiting ones among the sessions $1: for how many milliseconds they wait, for what, and which
/// session blocks them. A user without `pg_read_all_stats` does not see the statements of other users.
/// Sessions that only wait for each other are left out: their work ends by itself, or the server detects a
/// deadlock. The time when a wait began is known since PostgreSQL 14.
const LOCK_WAITS: &str = "
SELECT w.pid,
       (extract(epoch FROM clock_timestamp() - (to_jsonb(l) ->> 'waitstart')::timestamptz) * 1000)::int8,
       CASE WHEN l.relation IS NULL THEN format('a lock (%s)', w.wait_event)
            ELSE format('a lock on %s', l.relation::regclass) END,
       b.pid,
       CASE WHEN b.pid = 0 THEN 'a prepared transaction holds it' ELSE concat(
           'process ', b.pid, ' of user \"', a.usename, '\"', ' (' || NULLIF(a.application_name, '') || ')',
           ' holds it, or waits ahead of this load', ', since ' || date_trunc('second', a.xact_start),
           ', ' || a.state, ': ' || left(regexp_replace(NULLIF(a.query, ''), '[[:space:]]+', ' ', 'g'), 80)) END
FROM pg_stat_activity w
CROSS JOIN LATERAL unnest(pg_blocking_pids(w.pid)) AS b (pid)
LEFT JOIN pg_stat_activity a ON a.pid = b.pid
LEFT JOIN LATERAL (SELECT * FROM pg_locks WHERE pg_locks.pid = w.pid AND NOT granted LIMIT 1) AS l ON true
WHERE w.pid = ANY ($1) AND w.wait_event_type = 'Lock' AND b.pid <> ALL ($1)
ORDER BY w.pid, b.pid";

/// A session that waits for a lock.
pub(crate) struct LockWait {
    pub(crate) pid: i32,
    pub(crate) waited: Duration,
    pub(crate) what: String,
    /// A description of the first blocking session.
    pub(crate) holder: String,
    /// The process of that session; 0 for a prepared transaction.
    pub(crate) holder_pid: i32,
}

/// Returns the sessions that wait for locks of others, among the `busy` ones, which have been at work for
/// these times.
pub(crate) async fn lock_waits(
    client: &impl GenericClient,
    busy: &[(i32, Duration)],
) -> Result<Vec<LockWait>> {
    let pids: Vec<i32> = busy.iter().map(|(pid, _)| *pid).collect();
    let mut waits: Vec<LockWait> = Vec::new();
    for row in client.query(LOCK_WAITS, &[&pids]).await? {
        let pid = row.get(0);
        if waits.last().is_some_and(|wait| wait.pid == pid) {
            continue;
        }
        let reported = row
            .get::<_, Option<i64>>(1)
            .map(|time| Duration::from_millis(time.max(0).unsigned_abs()));
        let busy = busy.iter().find(|(other, _)| *other == pid).map(|(_, time)| *time);
        waits.push(LockWait {
            pid,
            waited: reported.or(busy).unwrap_or_default(),
            what: row.get(2),
            holder_pid: row.get(3),
            holder: row.get(4),
        });
    }
    Ok(waits)
}
