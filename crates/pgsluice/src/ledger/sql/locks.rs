//! The locks of a load: which attempt may write, and which run is alive.
//!
//! Every transaction of a load takes its lock in shared mode. A later statement checks that the load is still
//! at the same attempt. A run that resumes takes the lock exclusively and begins the next attempt. After
//! that, no earlier attempt can commit any more. No run resumes a load while another one is alive, which the
//! second lock shows.
//!
//! Any role can take an advisory lock, and the lock numbers are public. A session that cannot get a lock
//! therefore asks which session holds it. If the holder's role may not write to the ledger, the session does
//! not belong to pgsluice, and the error names the role.

use std::collections::HashSet;
use std::fmt;
use std::time::Duration;

use pgsluice_core::hash::bytes_extended;
use tokio_postgres::{Client, Row, SimpleQueryMessage};

use super::schema::Schema;
use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::pg::sql::{BEGIN, literal};
use crate::pg::template::fill;

/// The schema for which the lock numbers of a load depend on its id alone.
const USUAL: &str = "pgsluice";

/// The pause between two attempts to take a lock that is held for a moment.
const PAUSE: Duration = Duration::from_millis(50);

/// A participant of a load, which identifies its row in the ledger, its receipts and its locks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Participant {
    pub(crate) schema: Schema,
    pub(crate) id: String,
    /// Empty for the load as a whole.
    pub(crate) participant: String,
}

/// The number of an advisory lock, computed from its halves, which are unsigned.
const NUMBER: &str = "((l.classid::pg_catalog.int8 OPERATOR(pg_catalog.<<) 32)
    OPERATOR(pg_catalog.|) l.objid::pg_catalog.int8)";

/// Query for the 64-bit advisory locks in this database that other sessions hold or wait for. Each row also
/// has the session or prepared transaction, and its role if the role may not write to the ledger.
const OTHERS: &str = "
SELECT {number},
       CASE WHEN NOT pg_catalog.has_table_privilege(COALESCE(a.usename, x.owner), {table}, 'UPDATE')
            THEN COALESCE(a.usename, x.owner)::pg_catalog.text END,
       CASE WHEN x.gid IS NULL THEN pg_catalog.format('process %s', l.pid)
            ELSE pg_catalog.format('prepared transaction %L', x.gid) END,
       CASE WHEN x.gid IS NULL THEN pg_catalog.format('SELECT pg_terminate_backend(%s);', l.pid)
            ELSE pg_catalog.format('ROLLBACK PREPARED %L;', x.gid) END
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_database d ON d.oid {eq} l.database
LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid {eq} l.pid
LEFT JOIN pg_catalog.pg_locks t
    ON l.pid IS NULL AND t.pid IS NULL AND t.locktype {eq} 'transactionid'
    AND t.virtualtransaction {eq} l.virtualtransaction
LEFT JOIN pg_catalog.pg_prepared_xacts x ON x.transaction {eq} t.transactionid
WHERE l.locktype {eq} 'advisory' AND l.objsubid {eq} 1::pg_catalog.int2
  AND d.datname {eq} pg_catalog.current_database()
  AND (l.pid IS NULL OR l.pid {ne} pg_catalog.pg_backend_pid())";

/// Query for the other sessions that hold one of the advisory locks `{locks}` of this database.
const HOLDERS: &str = "
SELECT l.pid, COALESCE(a.usename::pg_catalog.text, ''), pg_catalog.host(a.client_addr),
       pg_catalog.min(a.backend_start)::pg_catalog.text
FROM pg_catalog.pg_locks l
JOIN pg_catalog.pg_database d ON d.oid {eq} l.database
LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid {eq} l.pid
WHERE l.locktype {eq} 'advisory' AND l.objsubid {eq} 1::pg_catalog.int2
  AND d.datname {eq} pg_catalog.current_database() AND l.granted
  AND l.pid {ne} pg_catalog.pg_backend_pid()
  AND {number} {any} (ARRAY[{locks}]::pg_catalog.int8[])
GROUP BY l.pid, a.usename, a.client_addr ORDER BY l.pid";

/// A session that works at a load.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Holder {
    pub(crate) pid: i32,
    pub(crate) role: String,
    address: Option<String>,
    since: Option<String>,
}

impl Holder {
    /// Makes the server end it.
    pub(crate) async fn end(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        let sql = format!("SELECT pg_catalog.pg_terminate_backend({})", self.pid);
        client.batch_execute(&sql).await
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "server process {}", self.pid)?;
        // Some roles may not see these columns of other roles' sessions.
        self.address.iter().try_for_each(|address| write!(f, ", for {address}"))?;
        self.since.iter().try_for_each(|since| write!(f, ", since {since}"))
    }
}

/// A session that holds a lock of a load but does not belong to pgsluice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ForeignHolder {
    role: String,
    what: String,
    end: String,
}

impl Schema {
    /// Returns the number of a lock of this kind for `name`.
    fn lock(&self, kind: [u8; 8], name: &str) -> i64 {
        let seed = u64::from_be_bytes(kind);
        let hash = match self.name() {
            USUAL => bytes_extended(name.as_bytes(), seed),
            schema => bytes_extended(format!("{schema}\0{name}").as_bytes(), seed),
        };
        hash.cast_signed()
    }
}

impl Participant {
    /// Names the load `id` in the ledger of `schema`, as a whole.
    pub(crate) fn new(schema: &Schema, id: &str) -> Self {
        Self { schema: schema.clone(), id: id.to_owned(), participant: String::new() }
    }

    /// Fills the template of a statement; see [`fill`].
    pub(crate) fn sql(&self, statement: &str) -> String {
        self.fill(statement, &[])
    }

    /// Fills the template of a statement that also has `values`.
    pub(crate) fn fill(&self, statement: &str, values: &[(&str, &str)]) -> String {
        let participant = literal(self.participant.as_bytes());
        let own = [("ledger", &*self.schema.quoted()), ("participant", &participant)];
        fill(statement, &[&own, values].concat())
    }

    /// Returns the lock by which an attempt ends all earlier ones; see [`Self::fence`].
    pub(super) fn attempt_lock(&self) -> i64 {
        self.lock(*b"pgsluice")
    }

    /// Returns the lock that a load holds while it runs; see [`Self::hold_alive_lock`].
    pub(super) fn alive_lock(&self) -> i64 {
        self.lock(*b"sluicing")
    }

    fn lock(&self, kind: [u8; 8]) -> i64 {
        match &*self.participant {
            "" => self.schema.lock(kind, &self.id),
            participant => self.schema.lock(kind, &format!("{}\0{participant}", self.id)),
        }
    }

    /// Takes a lock on `input`, which names an input and a table, until the transaction ends. Loads of the
    /// same input into the same table wait for each other.
    pub(crate) async fn lock_input(&self, client: &Client, input: &str) -> Result<()> {
        let lock = self.schema.lock(*b"onceonly", input);
        let take = format!("SELECT pg_catalog.pg_try_advisory_xact_lock({lock})");
        while !is_held(&client.simple_query(&take).await?) {
            if let Some(holder) = self.find_foreign_holder_at(client, &[lock]).await? {
                return Err(self.held_up(&holder));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Returns the statement that takes the load's lock for a transaction; [`is_held`] reads from the answers
    /// whether it succeeded.
    pub(crate) fn fence(&self) -> String {
        format!("SELECT pg_catalog.pg_try_advisory_xact_lock_shared({})", self.attempt_lock())
    }

    /// Returns the statement that marks the load as running while the session lasts; [`is_held`] reads from
    /// the answers whether it succeeded.
    pub(crate) fn hold_alive_lock(&self) -> String {
        format!("SELECT pg_catalog.pg_try_advisory_lock_shared({})", self.alive_lock())
    }

    /// Takes the lock that the load holds while it runs, for as long as the session lasts; returns false if
    /// it runs.
    pub(crate) async fn take_alive_lock(&self, client: &Client) -> Result<bool> {
        let sql = format!("SELECT pg_catalog.pg_try_advisory_lock({})", self.alive_lock());
        Ok(client.query_typed_one(&sql, &[]).await?.get(0))
    }

    /// Releases the lock of [`Self::take_alive_lock`].
    pub(crate) async fn release_alive_lock(&self, client: &Client) -> Result<()> {
        let sql = format!("SELECT pg_catalog.pg_advisory_unlock({})", self.alive_lock());
        client.query_typed_one(&sql, &[]).await?;
        Ok(())
    }

    /// Whether one of these locks belongs to the load.
    pub(crate) fn is_running(&self, lives: &HashSet<i64>) -> bool {
        lives.contains(&self.alive_lock())
    }

    /// Returns the statements that begin a transaction with exclusive access to the load. They wait for the
    /// transactions of earlier attempts.
    pub(crate) fn begin_exclusive(&self) -> String {
        format!("{BEGIN}; SELECT pg_catalog.pg_advisory_xact_lock({})", self.attempt_lock())
    }

    /// Returns the statement that takes the load's lock exclusively until the transaction ends; [`is_held`]
    /// reads from the answers whether it succeeded.
    pub(crate) fn try_lock_attempt(&self) -> String {
        format!("SELECT pg_catalog.pg_try_advisory_xact_lock({})", self.attempt_lock())
    }

    /// Returns the statements that begin a transaction and try to take the lock that the load holds while it
    /// runs.
    pub(crate) fn begin_unless_running(&self) -> String {
        format!("{BEGIN}; SELECT pg_catalog.pg_try_advisory_xact_lock({})", self.alive_lock())
    }

    /// Returns a session that holds one of this load's locks but does not belong to pgsluice, if there is
    /// one.
    pub(crate) async fn find_foreign_holder(
        &self,
        client: &Client,
    ) -> Result<Option<ForeignHolder>> {
        self.find_foreign_holder_at(client, &[self.attempt_lock(), self.alive_lock()]).await
    }

    async fn find_foreign_holder_at(
        &self,
        client: &Client,
        own: &[i64],
    ) -> Result<Option<ForeignHolder>> {
        let found = others(&self.schema, client).await?;
        let mut of_load = found.iter().filter(|row| own.contains(&row.get(0)));
        Ok(of_load.find_map(ForeignHolder::from_row))
    }

    /// Returns the other sessions that work at the load.
    pub(crate) async fn holders(&self, client: &Client) -> Result<Vec<Holder>> {
        let locks = format!("{}, {}", self.attempt_lock(), self.alive_lock());
        let sql = fill(HOLDERS, &[("number", NUMBER), ("locks", &locks)]);
        let rows = client.query(&sql, &[]).await?;
        let holder = |row: &Row| Holder {
            pid: row.get(0),
            role: row.get(1),
            address: row.get(2),
            since: row.get(3),
        };
        Ok(rows.iter().map(holder).collect())
    }

    /// Returns the error for a load that such a session blocks.
    pub(crate) fn held_up(&self, holder: &ForeignHolder) -> Error {
        let ForeignHolder { role, what, end } = holder;
        let message =
            format!("role \"{role}\" holds the advisory lock of load {} ({what})", self.id);
        Error::new(Kind::Server, message)
            .with_sqlstate("55006")
            .with_detail(
                "That role may not write to the ledger, so its session does not belong to \
                 pgsluice.",
            )
            .with_hint(
                Words::from(format!("End it: {end} or use another ")) + option("load-id") + ".",
            )
            .permanent()
    }
}

impl ForeignHolder {
    fn from_row(row: &Row) -> Option<Self> {
        let role: Option<String> = row.get(1);
        Some(Self { role: role?, what: row.get(2), end: row.get(3) })
    }
}

async fn others(schema: &Schema, client: &Client) -> Result<Vec<Row>> {
    let table = literal(schema.sql("{ledger}.load").as_bytes());
    let sql = fill(OTHERS, &[("number", NUMBER), ("table", &table)]);
    Ok(client.query(&sql, &[]).await?)
}

/// Whether the last row of `answers` reports that a lock was taken.
pub(crate) fn is_held(answers: &[SimpleQueryMessage]) -> bool {
    answers.iter().rev().any(|answer| match answer {
        SimpleQueryMessage::Row(row) => row.get(0) == Some("t"),
        _ => false,
    })
}

/// Returns the locks of running loads in this database, for [`Participant::is_running`]. Locks of roles that
/// may not write to the ledger do not count.
pub(crate) async fn lives(schema: &Schema, client: &Client) -> Result<HashSet<i64>> {
    let found = others(schema, client).await?;
    Ok(found
        .iter()
        .filter(|row| ForeignHolder::from_row(row).is_none())
        .map(|row| row.get(0))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_of_two_ledgers_have_other_locks() {
        let named = |schema: &str| Participant::new(&Schema::new(schema), "l");
        assert_ne!(named("pgsluice").attempt_lock(), named("other").attempt_lock());
        assert_ne!(named("pgsluice").attempt_lock(), named("pgsluice").alive_lock());
        let seed = u64::from_be_bytes(*b"pgsluice");
        assert_eq!(named("pgsluice").attempt_lock(), bytes_extended(b"l", seed).cast_signed());
    }
}
