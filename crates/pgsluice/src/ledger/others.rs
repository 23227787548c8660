//! Another run of the same load. It is not disturbed while it lives, unless the user asks to end it.

use std::time::{Duration, Instant};

use tokio_postgres::Client;
use tokio_postgres::error::SqlState;

use super::PAUSE;
use super::run::{LoadRun, Run};
use crate::control::{Control, WaitReason};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::ledger::sql::json::parse;
use crate::ledger::sql::{Access, Holder, Participant, is_held, lives};
use crate::pg::connect::connect_internal;
use crate::pg::conninfo::Target;
use crate::pg::sql::PID;

/// The time that a run waits for earlier ones before it reports that and looks at their sessions.
const QUIET_WAIT: Duration = Duration::from_secs(2);

/// The time that a run waits for the sessions of another run, because the server may not know yet that they are
/// dead.
const OTHER_RUN_TIMEOUT: Duration = Duration::from_secs(10);

/// Makes sure that no other run works at the load. Returns true if `client` now keeps others out for as long
/// as the session lasts, and false if sessions of this same run are left whose connections were lost.
pub(super) async fn lock_out_others(
    LoadRun { named, run }: LoadRun<'_>,
    client: &Client,
    end_other: bool,
    control: &Control,
) -> Result<bool> {
    let began = Instant::now();
    while !named.take_alive_lock(client).await? {
        if !named.is_running(&lives(&named.schema, client).await?)
            && let Some(holder) = named.find_foreign_holder(client).await?
        {
            // A shared lock does not keep another session out.
            return match is_held(&client.simple_query(&named.hold_alive_lock()).await?) {
                true => Ok(false),
                false => Err(named.held_up(&holder)),
            };
        }
        let found = named.run(client).await?;
        let other: Option<Run> = found.as_deref().map(parse).transpose()?;
        if other.as_ref().is_some_and(|other| other.token == run.token) {
            return Ok(false);
        }
        let holders = named.holders(client).await?;
        if end_other {
            end(named, client, &holders).await?;
        }
        if began.elapsed() > OTHER_RUN_TIMEOUT {
            return Err(in_use(named, other.as_ref(), &holders));
        }
        control.wait_for(WaitReason::Session, &waiting(named, &holders));
        tokio::time::sleep(PAUSE).await;
    }
    control.resume(WaitReason::Session);
    Ok(true)
}

/// Begins a transaction once no other run of the load has one.
pub(super) async fn wait_for(
    named: &Participant,
    end_other: bool,
    client: &Client,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let own: i32 = client.query_typed_one(PID, &[]).await?.get(0);
    let begin = named.begin_exclusive();
    let beginning = client.batch_execute(&begin);
    tokio::pin!(beginning);
    let mut other = None;
    loop {
        if let Ok(outcome) = tokio::time::timeout(QUIET_WAIT, &mut beginning).await {
            control.resume(WaitReason::Session);
            return Ok(outcome?);
        }
        let other = match &other {
            Some(client) => client,
            None => {
                let client = connect_internal(target).await?;
                named.schema.make(&client, Access::Write).await?;
                other.insert(client)
            }
        };
        if let Some(holder) = named.find_foreign_holder(other).await? {
            return Err(named.held_up(&holder));
        }
        let mut holders = named.holders(other).await?;
        holders.retain(|holder| holder.pid != own);
        control.wait_for(WaitReason::Session, &waiting(named, &holders));
        if end_other {
            end(named, other, &holders).await?;
        }
    }
}

/// Returns a message about the sessions that the load waits for.
pub(super) fn waiting(named: &Participant, holders: &[Holder]) -> String {
    let sessions: Vec<String> = holders.iter().map(Holder::to_string).collect();
    format!("waiting for another run of load {} to end: {}", named.id, sessions.join("; "))
}

/// Ends the sessions of another run.
pub(super) async fn end(named: &Participant, client: &Client, holders: &[Holder]) -> Result<()> {
    for holder in holders {
        match holder.end(client).await {
            Err(error) if error.code() == Some(&SqlState::INSUFFICIENT_PRIVILEGE) => {
                return Err(may_not_end(named, holder));
            }
            outcome => outcome?,
        }
    }
    Ok(())
}

fn may_not_end(named: &Participant, holder: &Holder) -> Error {
    let message = format!("permission denied to end the other run of load {}", named.id);
    Error::new(Kind::Server, message)
        .with_sqlstate("42501")
        .with_detail(format!("It runs in {holder}, a session of role \"{}\".", holder.role))
        .with_hint(format!(
            "Run as that role, a member of pg_signal_backend or a superuser: SELECT \
             pg_terminate_backend({});",
            holder.pid
        ))
        .permanent()
}

fn in_use(named: &Participant, other: Option<&Run>, holders: &[Holder]) -> Error {
    let message = format!("load {} is being run by another process", named.id);
    let error = Error::new(Kind::Server, message).with_sqlstate("55006");
    let error = match other {
        Some(Run { user, host, pid, since, .. }) => error.with_detail(format!(
            "User \"{user}\" has been running it on \"{host}\", as process {pid}, since {since}."
        )),
        None => error,
    };
    let error = holders
        .iter()
        .fold(error, |error, holder| error.with_detail(format!("It runs in {holder}.")));
    error
        .with_hint(
            "Wait until it ends. If it died and left its sessions behind, end them: run the same \
             command with --end-other.",
        )
        .permanent()
}
