//! Earlier loads of the same input into the same table: a finished one, if the table still has rows, or a
//! running one.

use pgsluice_core::catalog::{ROOT, Relation};
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, option};
use crate::job::Job;
use crate::ledger::sql::{Earlier, NOTHING, Participant, SearchScope, lives, may_hold_rows};
use crate::plan::Plan;
use crate::source::Fingerprint;

/// The maximum number of the ledger's blocks that a load searches for them.
const LEDGER_BLOCKS: u32 = 1000;

/// Warns that the inputs were loaded before, or rejects them if the job must load them only once. `client` is
/// in the transaction that begins the load. If several loads have the same input, the first to take the lock
/// is in the ledger before the next one looks.
pub(super) async fn check(
    job: &Job,
    named: &Participant,
    plan: &Plan,
    sources: &[Fingerprint],
    client: &Client,
    control: &Control,
) -> Result<()> {
    if job.safety.once {
        return check_once(named, plan, sources, client).await;
    }
    if job.changes.is_any() {
        // Keys prevent rows from being stored twice.
        return Ok(());
    }
    let (table, version) = (&plan.tree.nodes[ROOT].relation, plan.catalogue.version);
    let earlier =
        find(named, table, sources, client, SearchScope::Last(LEDGER_BLOCKS)).await?.pop();
    if let Some(earlier) = earlier
        && may_hold_rows(client, &table.to_string(), version).await?
    {
        control.warn(&words(&earlier, table));
    }
    Ok(())
}

async fn check_once(
    named: &Participant,
    plan: &Plan,
    sources: &[Fingerprint],
    client: &Client,
) -> Result<()> {
    let (table, version) = (&plan.tree.nodes[ROOT].relation, plan.catalogue.version);
    let Some(content) = Fingerprint::content_hash(sources) else { return Ok(()) };
    named.lock_input(client, &format!("{table} {content:016x}")).await?;
    // A load that ends between the two queries is finished in the second answer.
    let lives = lives(&named.schema, client).await?;
    let found = find(named, table, sources, client, SearchScope::All).await?;
    let is_running = |earlier: &&Earlier| {
        earlier.ended.is_none() && Participant::new(&named.schema, &earlier.id).is_running(&lives)
    };
    if let Some(running) = found.iter().find(is_running) {
        return Err(refusal(running, table, true));
    }
    match found.first() {
        Some(earlier) if may_hold_rows(client, &table.to_string(), version).await? => {
            Err(refusal(earlier, table, false))
        }
        _ => Ok(()),
    }
}

/// Returns the loads of these inputs into the table, within the limit of `look`.
async fn find(
    named: &Participant,
    table: &Relation,
    sources: &[Fingerprint],
    client: &Client,
    look: SearchScope,
) -> Result<Vec<Earlier>, tokio_postgres::Error> {
    let answers = client.simple_query(&question(named, &table.to_string(), sources, look)).await?;
    let load = |answer: &SimpleQueryMessage| match answer {
        SimpleQueryMessage::Row(row) => Earlier::from_row(row),
        _ => None,
    };
    Ok(answers.iter().filter_map(load).collect())
}

/// Returns a single statement that asks for these loads; [`Earlier::from_row`] reads its rows.
pub(crate) fn question(
    named: &Participant,
    table: &str,
    sources: &[Fingerprint],
    look: SearchScope,
) -> String {
    match Fingerprint::content(sources) {
        Some(files) => named.earlier(table, &files, sources.len(), look),
        None => NOTHING.to_owned(),
    }
}

/// Returns the warning about a finished load.
pub(crate) fn words(Earlier { id, ended }: &Earlier, table: &Relation) -> String {
    let (table, ended) = (table.label(), ended.as_deref().unwrap_or_default());
    format!(
        "the same input was loaded into {table} before, by load {id}, which ended {ended}; unless those rows \
         were removed, this load stores them a second time"
    )
}

fn refusal(Earlier { id, ended }: &Earlier, table: &Relation, is_running: bool) -> Error {
    let table = table.label();
    let refuse = |message: String, state: &str| {
        Error::new(Kind::Data, message)
            .with_sqlstate(state)
            .with_detail("Inputs are recognized by their size and by their first and last 64 KiB.")
            .permanent()
    };
    match ended {
        Some(ended) => refuse(format!("this input was loaded into {table} before"), "55000")
            .with_detail(format!("It was loaded by load {id}, which ended {ended}."))
            .with_hint("Leave out " + option("once") + " to load it again."),
        None if is_running => {
            refuse(format!("this input is being loaded into {table} by load {id}"), "55006")
                .with_hint("Wait until that load ends.")
        }
        None => refuse(format!("load {id} started to load this input into {table}"), "55000")
            .with_detail("It did not finish, and is not running.")
            .with_remedy(Remedy::options("To load the rest", [option("load-id").with(id)])),
    }
}
