//! The prepared transactions of a load: how they are named, which there are, and how they end.
//!
//! A name is one of the whole cluster and may have 199 bytes. It holds the database and the load's
//! number, by which it is found, the attempt and the connection. The load's id in it is for people. Any
//! role can prepare a transaction under a name like it, so only those of this role are ended.

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::locks::Named;
use super::schema::Schema;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::sql::literal;

/// Characters of a load's id that a name has room for.
const OF_ID: usize = 100;

/// Selects those of roles that may write to the ledger, with the role, and whether it is this one.
const NAMES: &str = "
SELECT x.gid, d.oid, x.owner::pg_catalog.text, x.owner OPERATOR(pg_catalog.=) CURRENT_USER
FROM pg_catalog.pg_prepared_xacts x
JOIN pg_catalog.pg_database d ON d.datname OPERATOR(pg_catalog.=) x.database
WHERE x.database OPERATOR(pg_catalog.=) pg_catalog.current_database()
  AND pg_catalog.starts_with(x.gid, 'pgsluice ')
  AND pg_catalog.has_table_privilege(x.owner, {table}, 'UPDATE')
ORDER BY x.gid";

/// Selects this session's role and database: the names of prepared transactions need the database.
pub(crate) const SESSION: &str = "
SELECT pg_catalog.pg_backend_pid(), oid FROM pg_catalog.pg_database
WHERE datname OPERATOR(pg_catalog.=) pg_catalog.current_database()";

/// Ends every attempt of a load that is not decided: none of them can be from now on.
const OUTDATE: &str = "
UPDATE ONLY {ledger}.load SET attempt = attempt OPERATOR(pg_catalog.+) 1
WHERE id OPERATOR(pg_catalog.=) $1 AND participant OPERATOR(pg_catalog.=) ''
  AND state OPERATOR(pg_catalog.=) 'running'";

/// A transaction that is prepared, by its name in the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Transaction {
    name: String,
    database: u32,
    owner: String,
    is_own: bool,
}

/// A prepared transaction of a load, and which attempt has prepared it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prepared {
    pub(crate) name: String,
    pub(crate) attempt: i32,
    /// The role that has prepared it.
    pub(crate) owner: String,
    /// Whether that is this one; then it may be ended.
    pub(crate) is_own: bool,
}

impl Named {
    fn prefix(&self, database: u32) -> String {
        format!("pgsluice {database} {:016x} ", self.attempt_lock().cast_unsigned())
    }

    /// Returns the name of one connection's transaction when it is prepared.
    pub(crate) fn name_of(&self, database: u32, attempt: i32, lane: usize) -> String {
        // Every database of the cluster shows it, whatever its encoding.
        let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '?' };
        let id: String = self.id.chars().take(OF_ID).map(plain).collect();
        format!("{}{attempt} {lane} {id}", self.prefix(database))
    }

    /// Returns those of `all` that belong to this load.
    pub(crate) fn prepared_of(&self, all: &[Transaction]) -> Vec<Prepared> {
        let of_load = all.iter().filter_map(|Transaction { name, database, owner, is_own }| {
            let attempt = name.strip_prefix(&self.prefix(*database))?.split(' ').next()?;
            let attempt = attempt.parse().ok()?;
            let (name, owner) = (name.clone(), owner.clone());
            Some(Prepared { name, attempt, owner, is_own: *is_own })
        });
        of_load.collect()
    }

    /// The prepared transactions of this load that this role may end.
    pub(crate) async fn prepared(&self, client: &Client) -> Result<Vec<Prepared>> {
        let mut prepared = self.prepared_of(&all(&self.schema, client).await?);
        prepared.retain(|prepared| prepared.is_own);
        Ok(prepared)
    }

    /// Takes, for the session, the lock that the load holds while it runs; false if it runs.
    pub(crate) async fn take_alive_lock(&self, client: &Client) -> Result<bool> {
        let sql = format!("SELECT pg_catalog.pg_try_advisory_lock({})", self.alive_lock());
        Ok(client.query_typed_one(&sql, &[]).await?.get(0))
    }

    /// Gives it back.
    pub(crate) async fn release_alive_lock(&self, client: &Client) -> Result<()> {
        let sql = format!("SELECT pg_catalog.pg_advisory_unlock({})", self.alive_lock());
        client.query_typed_one(&sql, &[]).await?;
        Ok(())
    }

    /// See [`OUTDATE`].
    pub(crate) async fn outdate(&self, client: &Client) -> Result<()> {
        client.execute(&self.sql(OUTDATE), &[&self.id]).await?;
        Ok(())
    }
}

/// All prepared transactions of loads of this database that are in the ledger.
pub(crate) async fn all(schema: &Schema, client: &Client) -> Result<Vec<Transaction>> {
    let table = literal(schema.sql("{ledger}.load").as_bytes());
    let rows = client.query_typed(&NAMES.replace("{table}", &table), &[]).await?;
    let transaction = |row: &tokio_postgres::Row| Transaction {
        name: row.get(0),
        database: row.get(1),
        owner: row.get(2),
        is_own: row.get(3),
    };
    Ok(rows.iter().map(transaction).collect())
}

/// The statement that prepares the transaction of the session.
pub(crate) fn prepare(name: &str) -> String {
    format!("PREPARE TRANSACTION {}", literal(name.as_bytes()))
}

/// Ends a prepared transaction, unless another session has.
pub(crate) async fn end(client: &Client, name: &str, commit: bool) -> Result<()> {
    let verb = if commit { "COMMIT" } else { "ROLLBACK" };
    let sql = format!("{verb} PREPARED {}", literal(name.as_bytes()));
    match client.batch_execute(&sql).await {
        Err(error) if error.code() == Some(&SqlState::UNDEFINED_OBJECT) => Ok(()),
        Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
            Err(Error::from(error).of_kind(Kind::Server).with_detail(format!(
                "An earlier run of this load left the prepared transaction \"{name}\"."
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
        let named = |id: &str| Named::new(&Schema::new("pgsluice"), id);
        let transaction = |id: &str, database, attempt| Transaction {
            name: named(id).name_of(database, attempt, 255),
            database,
            owner: "a".to_owned(),
            is_own: true,
        };
        let all = [("a b", 7, 1), ("a b", 8, 1), ("c", 7, 2), (&"ö".repeat(200), 7, 3)]
            .map(|(id, database, attempt)| transaction(id, database, attempt));
        assert!(all.iter().all(|it| it.name.len() < 200 && it.name.is_ascii()), "{all:?}");
        let attempts = |id: &str| -> Vec<i32> {
            named(id).prepared_of(&all).iter().map(|prepared| prepared.attempt).collect()
        };
        assert_eq!(attempts("a b"), [1, 1]);
        assert_eq!((attempts("c"), attempts("a")), (vec![2], vec![]));
        assert_eq!(attempts(&"ö".repeat(200)), [3]);
    }
}
