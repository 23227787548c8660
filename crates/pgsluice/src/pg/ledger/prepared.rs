//! The prepared transactions of a load: how they are named, which there are, and how they end.
//!
//! A name is one of the whole cluster and may have 199 bytes: it holds the database and the load's
//! number, by which it is found, the attempt and the connection; what it has of the load's id is for
//! people.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::turns::{life, turn};
use crate::error::{Error, Result};
use crate::kind::Kind;
use crate::pg::sql::literal;

/// Characters of a load's id that a name has room for.
const OF_ID: usize = 100;

const NAMES: &str = "
SELECT x.gid, d.oid
FROM pg_catalog.pg_prepared_xacts x
JOIN pg_catalog.pg_database d ON d.datname OPERATOR(pg_catalog.=) x.database
WHERE x.database OPERATOR(pg_catalog.=) pg_catalog.current_database()
  AND pg_catalog.starts_with(x.gid, 'pgsluice ')
ORDER BY x.gid";

/// Who this session is, and where: `prepared` names need the database.
pub(crate) const SESSION: &str = "
SELECT pg_catalog.pg_backend_pid(), oid FROM pg_catalog.pg_database
WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

/// Ends every attempt of a load that is not decided: none of them can be from now on.
const OUTDATE: &str = "
UPDATE pgsluice.load SET attempt = attempt OPERATOR(pg_catalog.+) 1
WHERE id OPERATOR(pg_catalog.=) $1 AND state OPERATOR(pg_catalog.=) 'running'";

/// A transaction that is prepared, and by which attempt of its load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub(crate) name: String,
    pub(crate) attempt: i32,
}

fn prefix(id: &str, database: u32) -> String {
    format!("pgsluice {database} {:016x} ", turn(id).cast_unsigned())
}

/// The name of the transaction of one connection.
pub(crate) fn name(id: &str, database: u32, attempt: i32, lane: usize) -> String {
    // Every database of the cluster shows it, whatever its encoding.
    let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
    let id_text: String = id.chars().take(OF_ID).map(plain).collect();
    format!("{}{attempt} {lane} {id_text}", prefix(id, database))
}

/// All prepared transactions of loads of this database: their names, and the database.
pub(crate) async fn all(client: &Client) -> Result<Vec<(String, u32)>> {
    let rows = client.query(NAMES, &[]).await?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// Those of `all` that are of the load `id`.
pub(crate) fn of_load(all: &[(String, u32)], id: &str) -> Vec<Prepared> {
    let of_load = all.iter().filter_map(|(name, database)| {
        let attempt = name.strip_prefix(&prefix(id, *database))?.split(' ').next()?;
        Some(Prepared { name: name.clone(), attempt: attempt.parse().ok()? })
    });
    of_load.collect()
}

/// The prepared transactions of the load `id`.
pub(crate) async fn find(client: &Client, id: &str) -> Result<Vec<Prepared>> {
    Ok(of_load(&all(client).await?, id))
}

/// Takes, for the session, the lock that a load holds while it runs; false if it runs.
pub(crate) async fn lock_life(client: &Client, id: &str) -> Result<bool> {
    let sql = format!("SELECT pg_catalog.pg_try_advisory_lock({})", life(id));
    Ok(client.query_one(&sql, &[]).await?.get(0))
}

/// Gives it back.
pub(crate) async fn unlock_life(client: &Client, id: &str) -> Result<()> {
    let sql = format!("SELECT pg_catalog.pg_advisory_unlock({})", life(id));
    client.query_one(&sql, &[]).await?;
    Ok(())
}

/// See [`OUTDATE`].
pub(crate) async fn outdate(client: &Client, id: &str) -> Result<()> {
    client.execute(OUTDATE, &[&id]).await?;
    Ok(())
}

/// The statement that prepares the transaction of the session.
pub(crate) fn prepare(name: &str) -> String {
    format!("PREPARE TRANSACTION {}", literal(name.as_bytes()))
}

/// Ends a prepared transaction, unless somebody else has.
pub(crate) async fn end(client: &Client, name: &str, commit: bool) -> Result<()> {
    let verb = if commit { "COMMIT" } else { "ROLLBACK" };
    let sql = format!("{verb} PREPARED {}", literal(name.as_bytes()));
    match client.batch_execute(&sql).await {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_OBJECT) => Ok(()),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            Err(Error::from(error).of_kind(Kind::Server).detail(format!(
                "An earlier run of this load has left the prepared transaction \"{name}\"."
            )))
        }
        outcome => Ok(outcome?),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_found_again() {
        let all = [("a b", 7, 1), ("a b", 8, 1), ("c", 7, 2), (&"ö".repeat(200), 7, 3)]
            .map(|(id, database, attempt)| (name(id, database, attempt, 255), database));
        assert!(all.iter().all(|(name, _)| name.len() < 200 && name.is_ascii()), "{all:?}");
        let attempts = |id: &str| -> Vec<i32> {
            of_load(&all, id).iter().map(|prepared| prepared.attempt).collect()
        };
        assert_eq!(attempts("a b"), [1, 1]);
        assert_eq!((attempts("c"), attempts("a")), (vec![2], vec![]));
        assert_eq!(attempts(&"ö".repeat(200)), [3]);
    }
}
