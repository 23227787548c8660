//! Prepared transactions of a load that nobody has ended: the ledger says how they end.
//!
//! A load is decided when it is marked as finished. Before any of its transactions is rolled back, its
//! attempt is ended in the ledger, so that whoever is still about to decide cannot. The lock that a
//! living load holds only keeps others from spoiling its work.

use tokio_postgres::Client;

use crate::error::Result;
use crate::pg::ledger::{self as sql, prepared};

/// What has become of prepared transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    /// There were none.
    Nothing,
    /// The load was decided: they are committed.
    Committed,
    /// They are rolled back.
    RolledBack,
    /// Their load runs.
    Busy,
}

/// Ends the prepared transactions of the load `id`, over a session that is in no transaction.
pub(crate) async fn settle(client: &Client, id: &str) -> Result<Settled> {
    if prepared::find(client, id).await?.is_empty() {
        return Ok(Settled::Nothing);
    }
    if !prepared::lock_life(client, id).await? {
        return Ok(Settled::Busy);
    }
    let settled = end_all(client, id).await;
    prepared::unlock_life(client, id).await?;
    settled
}

async fn end_all(client: &Client, id: &str) -> Result<Settled> {
    prepared::outdate(client, id).await?;
    let found = sql::find(client, id).await?;
    let decided = found.filter(|found| found.is_finished).map(|found| found.attempt);
    for transaction in prepared::find(client, id).await? {
        let commit = Some(transaction.attempt) == decided;
        prepared::end(client, &transaction.name, commit).await?;
    }
    Ok(if decided.is_some() { Settled::Committed } else { Settled::RolledBack })
}
