//! Removes a load from the ledger that has failed without storing a row.

use std::time::Duration;

use tokio_postgres::Client;

use super::run::{LoadRun, Run};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::ledger::sql::json::parse;
use crate::ledger::sql::{self as sql, Access, Participant};
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::sql::{BEGIN, COMMIT, ROLLBACK};

/// The maximum duration. After it, the load stays in the ledger, like a killed one.
const WITHDRAW_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum duration after Ctrl-C, when a user waits.
const BRIEFLY: Duration = Duration::from_millis(300);

/// The pause between two checks whether the load's transactions have ended.
const PAUSE: Duration = Duration::from_millis(20);

/// Removes the load of this run, which has failed with `error`, from the ledger. It stays if any row is in
/// the table or may still get there. If the run loads a share, the load may have been begun by another run.
pub(crate) async fn withdraw(
    LoadRun { named, run }: LoadRun<'_>,
    is_share: bool,
    error: &Error,
    target: &Target,
    control: &Control,
) {
    let patience = match error.kind() {
        Kind::Connection => return,
        Kind::Interrupted => BRIEFLY,
        _ => WITHDRAW_TIMEOUT,
    };
    if control.may_have_rows() {
        return;
    }
    let withdrawing = async {
        let client = connect::connect_internal(target).await?;
        take_out(named, (!is_share).then_some(run), &client).await
    };
    // After a timeout or an error, the ledger is left as if the program had been killed.
    let _ = tokio::time::timeout(patience, withdrawing).await;
}

async fn take_out(named: &Participant, run: Option<&Run>, client: &Client) -> Result<()> {
    if !named.schema.open(client, Access::Write).await? {
        return Ok(());
    }
    // A load of another run is not removed.
    let by: Option<Run> = named.run(client).await?.as_deref().map(parse).transpose()?;
    if run.is_some_and(|run| by.is_none_or(|by| by.token != run.token)) {
        return Ok(());
    }
    // Rows of a transaction that is still running must not outlive their receipts.
    let begin = format!("{BEGIN}; {}", named.try_lock_attempt());
    while !sql::is_held(&client.simple_query(&begin).await?) {
        client.batch_execute(ROLLBACK).await?;
        tokio::time::sleep(PAUSE).await;
    }
    let taken = match run {
        Some(run) => client.execute(&named.sql(sql::WITHDRAW), &[&named.id, &run.token]).await?,
        None => client.execute(&named.sql(sql::WITHDRAW_LOAD), &[&named.id]).await?,
    };
    if taken == 1 {
        client.batch_execute(&named.forget_parts()).await?;
    }
    Ok(client.batch_execute(COMMIT).await?)
}
