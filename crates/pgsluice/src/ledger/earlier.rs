//! The same input again: a finished load has loaded it into the same table, which still has rows.

use pgsluice_core::catalog::Relation;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::pg::ledger::{Earlier, Look, NOTHING, Named, may_hold_rows};
use crate::source::Fingerprint;

/// Blocks of the ledger in which a load looks that takes long anyway.
const LEDGER_BLOCKS: u32 = 1000;

/// Says that the inputs were loaded before, or refuses them if the job is to load them once.
pub(super) async fn check(
    job: &Job,
    named: &Named,
    (table, sources): (&Relation, &[Fingerprint]),
    client: &Client,
    control: &Control,
) -> Result<()> {
    if job.changes.is_any() && !job.safety.once {
        // Rows that meet their own kind are not there twice.
        return Ok(());
    }
    let look = if job.safety.once { Look::All } else { Look::Last(LEDGER_BLOCKS) };
    match find(named, (&table.to_string(), sources), client, look).await? {
        Some(earlier) if job.safety.once => Err(refusal(&earlier, table)),
        earlier => {
            earlier.iter().for_each(|earlier| control.progress.warn(words(earlier, table)));
            Ok(())
        }
    }
}

/// The load that has loaded the inputs into the table `name` before, if there is one and its rows may be there.
async fn find(
    named: &Named,
    of: (&str, &[Fingerprint]),
    client: &Client,
    look: Look,
) -> Result<Option<Earlier>, tokio_postgres::Error> {
    let answers = client.simple_query(&question(named, of, look)).await?;
    let row = answers.iter().find_map(|answer| match answer {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    match row.and_then(Earlier::of) {
        Some(earlier) if may_hold_rows(client, of.0).await? => Ok(Some(earlier)),
        _ => Ok(None),
    }
}

/// The question which load it was, one statement; [`Earlier::of`] makes sense of its row.
pub(crate) fn question(
    named: &Named,
    (name, sources): (&str, &[Fingerprint]),
    look: Look,
) -> String {
    match Fingerprint::content(sources) {
        Some(files) => named.earlier(name, (&files, sources.len()), look),
        None => NOTHING.to_owned(),
    }
}

/// What is said of it.
pub(crate) fn words(Earlier { id, ended }: &Earlier, table: &Relation) -> String {
    let table = table.label();
    format!(
        "the same input was loaded into {table} before, by load {id}, which ended {ended}: its rows are now \
         there twice, unless they were removed"
    )
}

fn refusal(Earlier { id, ended }: &Earlier, table: &Relation) -> Error {
    let message = format!("this input was loaded into {} before", table.label());
    Error::new(Kind::Data, message)
        .with_sqlstate("55000")
        .with_detail(format!("Load {id} has done so, and ended {ended}."))
        .with_detail("Inputs are known by their size, and their first and last 64 KiB.")
        .with_hint("Leave out --once to load it again.")
}
