//! Whose turn it is: the locks of a load.
//!
//! Every transaction of a load takes its lock shared and then, in a later statement, looks whether the
//! load is still at the same attempt. Whoever resumes takes the lock alone and begins the next
//! attempt: after that nothing of an earlier one can be committed any more.

use std::collections::HashSet;

use pgsluice_core::hash::bytes_extended;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::error::Result;
use crate::pg::sql::BEGIN;

/// The lock of a load by which an attempt ends all earlier ones; see [`fence`].
pub(super) fn turn(id: &str) -> i64 {
    bytes_extended(id.as_bytes(), u64::from_be_bytes(*b"pgsluice")).cast_signed()
}

/// The lock that a load holds while it runs; see [`stay`].
pub(super) fn life(id: &str) -> i64 {
    bytes_extended(id.as_bytes(), u64::from_be_bytes(*b"sluicing")).cast_signed()
}

/// The keys of all advisory locks of 64 bits: the halves are unsigned.
const LIVES: &str = "
SELECT (l.classid::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
           OPERATOR(pg_catalog.|) l.objid::pg_catalog.int8
FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) l.database
WHERE l.locktype OPERATOR(pg_catalog.=) 'advisory' AND l.objsubid OPERATOR(pg_catalog.=) 1::pg_catalog.int2
  AND l.granted AND d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

/// Takes a load's lock for a transaction of its rows; [`is_held`] tells from the answers whether it did.
pub(crate) fn fence(id: &str) -> String {
    format!("SELECT pg_catalog.pg_try_advisory_xact_lock_shared({})", turn(id))
}

/// Whether the last of `answers` says that a lock is held.
pub(crate) fn is_held(answers: &[SimpleQueryMessage]) -> bool {
    answers.iter().rev().any(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0) == Some("t"),
        _ => false,
    })
}

/// The locks of all loads that may be running, as the ledger has it.
pub(crate) async fn lives_noted(client: &Client) -> Result<Vec<i64>> {
    let sql = "SELECT id FROM pgsluice.load WHERE state OPERATOR(pg_catalog.=) 'running'";
    Ok(client.query(sql, &[]).await?.iter().map(|row| life(row.get(0))).collect())
}

/// Marks, for the session, a load as running.
pub(crate) fn stay(id: &str) -> String {
    format!("SELECT pg_catalog.pg_advisory_lock_shared({})", life(id))
}

/// The locks of running loads in this database, as [`is_running`] reads them.
pub(crate) async fn lives(client: &Client) -> Result<HashSet<i64>> {
    let rows = client.query(LIVES, &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Whether the load `id` is one of those that hold these locks.
pub(crate) fn is_running(id: &str, lives: &HashSet<i64>) -> bool {
    lives.contains(&life(id))
}

/// Begins a transaction that has the load for itself; it waits for those of earlier attempts.
pub(crate) fn begin_alone(id: &str) -> String {
    format!("{BEGIN}; SELECT pg_catalog.pg_advisory_xact_lock({})", turn(id))
}

/// Takes a load's lock alone, for the moment; [`is_held`] tells from the answers whether it could.
pub(crate) fn is_over(id: &str) -> String {
    format!("SELECT pg_catalog.pg_try_advisory_xact_lock({})", turn(id))
}

/// Begins a transaction that holds the lock that a load has while it runs, unless it does.
pub(crate) fn begin_unless_running(id: &str) -> String {
    format!("{BEGIN}; SELECT pg_catalog.pg_try_advisory_xact_lock({})", life(id))
}
