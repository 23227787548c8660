//! What prevents loading in several transactions that are prepared and then committed together.

use tokio_postgres::types::{Oid, Type};
use tokio_postgres::{GenericClient, Row};

use super::introspect::Catalogue;
use crate::error::Result;
use crate::job::Job;

/// Reads what prevents it in the tables $1, the first of which is the root. It says what `PREPARE
/// TRANSACTION` refuses, what one transaction cannot see of another, and whether readers can be held
/// off. It also counts the server's locks, and those that each table and index needs.
const OBSTACLES: &str = "
SELECT pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8,
       (SELECT pg_catalog.count(*) FROM pg_catalog.pg_prepared_xacts),
       (SELECT pg_catalog.min(oid::pg_catalog.regclass::pg_catalog.text) FROM pg_catalog.pg_class
        WHERE oid OPERATOR(pg_catalog.=) ANY ($1) AND relkind OPERATOR(pg_catalog.=) 'f'),
       (SELECT pg_catalog.min(conname::pg_catalog.text) FROM pg_catalog.pg_constraint
        WHERE contype OPERATOR(pg_catalog.=) 'f' AND conrelid OPERATOR(pg_catalog.=) ANY ($1)
          AND confrelid OPERATOR(pg_catalog.=) ANY ($1)),
       pg_catalog.has_table_privilege(($1::pg_catalog.oid[])[1], 'UPDATE, DELETE, TRUNCATE'),
       pg_catalog.current_setting('max_locks_per_transaction')::pg_catalog.int8
           OPERATOR(pg_catalog.*) (pg_catalog.current_setting('max_connections')::pg_catalog.int8
               OPERATOR(pg_catalog.+) pg_catalog.current_setting('max_prepared_transactions')::pg_catalog.int8),
       pg_catalog.cardinality($1) OPERATOR(pg_catalog.+)
           (SELECT pg_catalog.count(*) FROM pg_catalog.pg_index WHERE indrelid OPERATOR(pg_catalog.=) ANY ($1))";

/// Why the rows of a load cannot be in several transactions that become visible together; None if they
/// can.
pub(crate) async fn obstacle(
    client: &impl GenericClient,
    catalogue: &Catalogue,
    job: &Job,
) -> Result<Option<String>> {
    if job.safety.ledger.is_none() {
        return Ok(Some("several transactions need a ledger, and none is kept".to_owned()));
    }
    let oids: Vec<Oid> = catalogue.facts.iter().map(|facts| facts.oid).collect();
    let row = client.query_typed_one(OBSTACLES, &[(&oids, Type::OID_ARRAY)]).await?;
    let text = |place| row.get::<_, Option<String>>(place);
    let of_tables = [
        text(2).map(|table| format!("table {table} is a foreign table")),
        text(3).map(|name| format!("foreign key {name} refers to the table itself")),
        (!row.get::<_, bool>(4))
            .then(|| "this user may not lock the table against readers".to_owned()),
    ];
    Ok(no_room(&row, job.speed.jobs)
        .or(no_locks(&row, job.speed.jobs))
        .or(of_tables.into_iter().flatten().next()))
}

fn no_room(row: &Row, lanes: usize) -> Option<String> {
    let (most, used): (i64, i64) = (row.get(0), row.get(1));
    let free = usize::try_from(most - used).unwrap_or(0);
    match most {
        _ if free >= lanes => None,
        0 => Some("max_prepared_transactions is 0".to_owned()),
        _ => Some(format!("max_prepared_transactions is {most}, but only {free} are free")),
    }
}

/// Each transaction may hold the locks of all tables and indexes, and half of the room is left to others.
fn no_locks(row: &Row, lanes: usize) -> Option<String> {
    let (room, each): (i64, i64) = (row.get(5), row.get(6));
    let all = each.saturating_mul(i64::try_from(lanes).unwrap_or(i64::MAX));
    (all > room / 2).then(|| {
        format!(
            "each connection may hold up to {each} locks, but the server has room for only {room} \
             (max_locks_per_transaction)"
        )
    })
}

/// The sessions $1 that wait for another one of them, be it by way of others. Sessions that share an
/// advisory lock may be connections of one load, whose transactions end together. Locks that are held
/// for a moment only do not count.
const ENTANGLED: &str = "
WITH RECURSIVE waiting (pid) AS (
    SELECT pg_catalog.unnest(pg_catalog.pg_blocking_pids(pid))
    FROM pg_catalog.pg_stat_activity
    WHERE pid OPERATOR(pg_catalog.=) ANY ($1) AND wait_event_type OPERATOR(pg_catalog.=) 'Lock'
      AND wait_event OPERATOR(pg_catalog.<>) ALL (
          ARRAY['extend', 'page', 'frozenid', 'spectoken']::pg_catalog.text[])
    UNION
    SELECT pg_catalog.unnest(pg_catalog.pg_blocking_pids(next.pid))
    FROM waiting
    CROSS JOIN LATERAL (
        SELECT waiting.pid
        UNION
        SELECT peer.pid
        FROM pg_catalog.pg_locks own
        JOIN pg_catalog.pg_locks peer
            ON ROW(peer.locktype, peer.mode, peer.database, peer.classid, peer.objid, peer.objsubid)
               OPERATOR(pg_catalog.=)
               ROW(own.locktype, own.mode, own.database, own.classid, own.objid, own.objsubid)
        WHERE own.pid OPERATOR(pg_catalog.=) waiting.pid AND own.granted AND peer.granted
          AND own.locktype OPERATOR(pg_catalog.=) 'advisory'
          AND own.mode OPERATOR(pg_catalog.=) 'ShareLock'
    ) AS next
)
SELECT EXISTS (SELECT FROM waiting WHERE pid OPERATOR(pg_catalog.=) ANY ($1))";

/// Whether one of the sessions `pids` waits for another of them.
pub(crate) async fn are_entangled(client: &impl GenericClient, pids: &[i32]) -> Result<bool> {
    Ok(client.query_one(ENTANGLED, &[&pids]).await?.get(0))
}

/// Looks at each session that the session $1 waits for. Says whether it is a prepared transaction,
/// which has the number 0, or holds one of the locks $2, as loads do. There may be very many locks.
const BLOCKERS: &str = "
SELECT CASE WHEN blocker OPERATOR(pg_catalog.=) 0 THEN true ELSE EXISTS (
    SELECT FROM pg_catalog.pg_locks
    WHERE pid OPERATOR(pg_catalog.=) blocker AND granted
      AND locktype OPERATOR(pg_catalog.=) 'advisory' AND objsubid OPERATOR(pg_catalog.=) 1
      AND mode OPERATOR(pg_catalog.=) 'ShareLock'
      AND ((classid::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
           OPERATOR(pg_catalog.|) objid::pg_catalog.int8)
          OPERATOR(pg_catalog.=) ANY ($2::pg_catalog.int8[])) END
FROM pg_catalog.unnest(pg_catalog.pg_blocking_pids($1)) AS blocker";

/// Who keeps the session `pid` from a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Blocked {
    /// It does not wait.
    No,
    /// Prepared transactions, and sessions of loads, of which `loads` are the locks.
    ByLoads,
    /// Others as well.
    ByOthers,
}

/// Who keeps the session `pid` from a lock.
pub(crate) async fn blocked(
    client: &impl GenericClient,
    pid: i32,
    loads: &[i64],
) -> Result<Blocked> {
    let blockers = client.query(BLOCKERS, &[&pid, &loads]).await?;
    let is_load = |row: &Row| row.get(0);
    Ok(match blockers.is_empty() {
        true => Blocked::No,
        false if blockers.iter().all(is_load) => Blocked::ByLoads,
        false => Blocked::ByOthers,
    })
}

/// Ends what the session `pid` waits for.
pub(crate) async fn cancel(client: &impl GenericClient, pid: i32) -> Result<()> {
    client.query_one("SELECT pg_catalog.pg_cancel_backend($1)", &[&pid]).await?;
    Ok(())
}

/// A session that waits may outlive its program and hold others up. This limits it on servers that do
/// not check whether the client is there.
pub(crate) const LIMITED: &str = "
SELECT pg_catalog.set_config('lock_timeout', '10min', false)
WHERE COALESCE(pg_catalog.current_setting('client_connection_check_interval', true), '0')
      OPERATOR(pg_catalog.=) '0'";
