//! The locks of a move, and queries for sessions that hold conflicting locks.

use std::collections::BTreeSet;

/// Makes queries fail if a policy would hide rows.
pub(in crate::moving) const ALL_ROWS: &str = "SET row_security = off";

/// Begins a survey of the table before it is locked.
pub(in crate::moving) const LOOK: &str = "SAVEPOINT pgsluice_look";

/// Ends the survey, and restores the session's search_path.
pub(in crate::moving) const END_LOOK: &str = "ROLLBACK TO SAVEPOINT pgsluice_look";

/// Begins an attempt to swap, which a lock of another session may end.
pub(in crate::moving) const ATTEMPT: &str = "SAVEPOINT pgsluice_swap";

/// Ends an attempt, and releases its locks.
pub(in crate::moving) const GIVE_UP: &str = "ROLLBACK TO SAVEPOINT pgsluice_swap";

/// Removes the limit of the wait for a lock in this transaction.
pub(in crate::moving) const NO_LIMIT: &str = "SET LOCAL lock_timeout = 0";

/// Limits the wait of one attempt to drop a tree for a lock. Other sessions queue behind it.
pub(in crate::moving) const DROPPING: &str = "SET LOCAL lock_timeout = '500ms'";

/// Takes the lock of a move until the end of the session, unless another session has it.
pub(in crate::moving) const TRY_LOCK: &str = "SELECT pg_catalog.pg_try_advisory_lock($1, $2)";

/// Returns the session that holds the lock of a move, and its role.
pub(in crate::moving) const HOLDER: &str = "
SELECT l.pid, a.usename::pg_catalog.text
FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) l.pid
WHERE l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.granted
  AND l.database OPERATOR(pg_catalog.=) a.datid AND a.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()
  AND l.classid OPERATOR(pg_catalog.=) $1 AND l.objid OPERATOR(pg_catalog.=) $2";

/// Releases the lock of a move.
pub(in crate::moving) const UNLOCK: &str = "SELECT pg_catalog.pg_advisory_unlock($1, $2)";

/// Ends autovacuum of `tables`, which would be in the way of other locks. There is no limit for the wait,
/// because only VACUUM, ANALYZE and DDL queue behind it.
pub(in crate::moving) fn lock_out_autovacuum(tables: &[String]) -> String {
    format!("LOCK TABLE {} IN SHARE UPDATE EXCLUSIVE MODE", tables.join(", "))
}

/// Prevents writes to the tables that foreign keys refer to. This happens before the table itself is locked,
/// because writers often change a row there and then insert one that refers to it.
pub(in crate::moving) fn lock_parents<'p>(parents: impl Iterator<Item = &'p str>) -> Vec<String> {
    let parents: BTreeSet<&str> = parents.collect();
    let lock = |parent: &str| format!("LOCK TABLE ONLY {parent} IN SHARE ROW EXCLUSIVE MODE");
    parents.into_iter().map(lock).collect()
}

/// Makes the transaction see the current sessions.
pub(in crate::moving) const FRESH: &str = "SELECT pg_stat_clear_snapshot()";

/// Lists the other sessions, and the prepared transactions, that hold a lock on one of the tables `$1`.
pub(in crate::moving) const IN_THE_WAY: &str = "
SELECT string_agg(DISTINCT CASE WHEN l.pid IS NULL THEN 'a prepared transaction'
                                ELSE format('process %s of role %s (%s)', a.pid, a.usename, a.state) END, ', ')
FROM pg_locks l LEFT JOIN pg_stat_activity a USING (pid)
WHERE l.relation = ANY ($1) AND l.locktype = 'relation' AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())";
