//! Settles prepared transactions that were left without an end: the ledger says how they end.
//!
//! A load is decided when it is marked as finished. Before any of its transactions is rolled back, its
//! attempt is ended in the ledger. So a run that is about to decide no longer can. The lock that a
//! living load holds only keeps others from spoiling its work.

use tokio_postgres::Client;

use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result};
use crate::pg::ledger::Named;
use crate::pg::ledger::prepared::{self, Prepared};

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

/// Ends the prepared transactions of a load, over a session that is in no transaction. Transactions of
/// other roles are left alone, and are an error.
pub(crate) async fn settle(client: &Client, named: &Named) -> Result<Settled> {
    let found = named.prepared_of(&prepared::all(&named.schema, client).await?);
    if found.is_empty() {
        return Ok(Settled::Nothing);
    }
    if let Some(other) = found.iter().find(|prepared| !prepared.is_own) {
        return Err(of_another(named, other));
    }
    if !named.take_alive_lock(client).await? {
        return Ok(Settled::Busy);
    }
    let settled = end_all(client, named).await;
    named.release_alive_lock(client).await?;
    settled
}

/// The same by the load itself, whose lock keeps others from it.
pub(crate) async fn settle_own(client: &Client, named: &Named) -> Result<Settled> {
    let found = named.prepared_of(&prepared::all(&named.schema, client).await?);
    match found.iter().find(|prepared| !prepared.is_own) {
        Some(other) => Err(of_another(named, other)),
        None if found.is_empty() => Ok(Settled::Nothing),
        None => end_all(client, named).await,
    }
}

async fn end_all(client: &Client, named: &Named) -> Result<Settled> {
    named.outdate(client).await?;
    let found = named.find(client).await?;
    let decided = found.filter(|found| found.is_finished).map(|found| found.attempt);
    for transaction in named.prepared(client).await? {
        let commit = Some(transaction.attempt) == decided;
        prepared::end(client, &transaction.name, commit).await?;
    }
    Ok(if decided.is_some() { Settled::Committed } else { Settled::RolledBack })
}

fn of_another(named: &Named, Prepared { name, owner, .. }: &Prepared) -> Error {
    let message = format!("role \"{owner}\" has prepared transactions of load {}", named.id);
    Error::new(Kind::Server, message)
        .with_sqlstate("42501")
        .with_detail(format!(
            "Only that role may end transaction \"{name}\", as the ledger requires."
        ))
        .with_remedy(Remedy::ledger(
            "As that role, resume the load; or end it",
            &["forget", &named.id.to_string()],
        ))
        .permanent()
}
