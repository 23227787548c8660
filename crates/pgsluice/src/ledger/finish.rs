//! Finishing a load whose shares are complete: only one row with their sums is kept.

use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use super::begun::{emptied, refuse};
use super::lookup::unknown;
pub use super::members::Expected;
use super::members::{Members, RowSet};
use super::others::wait_for;
use super::sql::json::{json, parse};
use super::sql::{self, Access, FoundLoad, Participant, Schema, StoredShare};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::connect::connect;
use crate::pg::conninfo::Target;
use crate::pg::sql::{COMMIT, DURABLE, NO_LOCK_TIMEOUT, PG_CATALOG_ONLY};
use crate::row_counts::RowCounts;

/// A finished load.
#[derive(Clone, Debug, Serialize)]
pub struct FinishedLoad {
    /// The id of the load.
    pub load_id: String,
    /// The number of its participants.
    pub participants: u64,
    /// The number of rows that they have read.
    pub rows_read: u64,
    /// The outcomes of these rows.
    pub counts: RowCounts,
    /// The sum of the hashes of all rows, in base 16.
    pub rows_hash: String,
    /// Whether it was finished before.
    pub already_finished: bool,
}

/// Marks a load as finished if its shares are complete, and keeps only their sums. A load that is already
/// finished is only compared with `expected`.
///
/// # Errors
///
/// Fails, without changing anything, if the shares are not the expected ones.
pub async fn finish(
    target: &Target,
    schema: &str,
    id: &str,
    expected: &Expected,
    control: &Control,
) -> Result<FinishedLoad> {
    let finishing = async {
        let client = connect(target).await?;
        client.batch_execute(&[PG_CATALOG_ONLY, DURABLE, NO_LOCK_TIMEOUT].join("; ")).await?;
        let named = Participant::new(&Schema::new(schema), id);
        if !named.schema.open(&client, Access::Write).await? {
            return Err(unknown(id));
        }
        finish_by(&client, &named, expected, target, control).await
    };
    control.stop.unless_stopped(finishing).await
}

async fn finish_by(
    client: &Client,
    named: &Participant,
    expected: &Expected,
    target: &Target,
    control: &Control,
) -> Result<FinishedLoad> {
    let id = &named.id;
    // Attempts at shares hold the lock of the load.
    wait_for(named, false, client, target, control).await?;
    let found = named.find(client).await?.ok_or_else(|| unknown(id))?;
    let term = read_participants(&found, id)?;
    if let (Some(asked), Some(term)) = (expected.participants, term)
        && asked != term
    {
        let message = format!("load {id} was begun for {term} participants, not {asked}");
        return Err(Error::new(Kind::Server, message).with_sqlstate("55000"));
    }
    let expected = Expected { participants: expected.participants.or(term), ..expected.clone() };
    if found.is_finished {
        let members = Members::from_load(&found)?;
        members.check(id, &expected).map_err(|error| refuse(error, id))?;
        return Ok(finished(id, &members, found.counts, true));
    }
    let tables: Vec<u32> =
        client.query_one(&named.sql(sql::TABLES), &[&found.relation]).await?.get(0);
    if client.query_one(&named.sql(sql::EMPTIED), &[id, &tables]).await?.get(0) {
        return Err(refuse(emptied(), id));
    }
    let shares = named.shares(client).await?;
    let (mut counts, mut rows) = (RowCounts::default(), RowSet::default());
    for StoredShare { record, counts: of_share, .. } in &shares {
        counts.add(*of_share);
        rows.add(parse(record)?);
    }
    let members = Members::new(shares.iter().map(|share| &*share.participant), rows);
    members.check(id, &expected)?;
    let record = json(&[&members])?;
    if !named.settle_load(client, found.attempt, counts, &record).await? {
        return Err(unknown(id));
    }
    client.execute(&named.sql(sql::DROP_SHARES), &[id]).await?;
    client.batch_execute(&format!("{}{COMMIT}", named.forget_parts())).await?;
    Ok(finished(id, &members, counts, false))
}

fn finished(
    id: &str,
    members: &Members,
    counts: RowCounts,
    already_finished: bool,
) -> FinishedLoad {
    FinishedLoad {
        load_id: id.to_owned(),
        participants: members.count(),
        rows_read: members.rows.rows,
        counts,
        rows_hash: format!("{:016x}", members.rows.hash),
        already_finished,
    }
}

/// Returns the number of participants that a load was begun with, if it was given.
///
/// # Errors
///
/// Fails if the load has no participants.
fn read_participants(found: &FoundLoad, id: &str) -> Result<Option<u32>> {
    #[derive(Deserialize)]
    struct ShareTerms {
        participant: Option<String>,
        participants: Option<String>,
    }
    let ShareTerms { participant, participants } = parse(&found.terms)?;
    if participant.is_none() {
        let message = format!("load {id} was begun without participants");
        return Err(Error::new(Kind::Server, message)
            .with_sqlstate("55000")
            .with_hint("Such a load is finished by its last run."));
    }
    Ok(participants.and_then(|count| count.parse().ok()))
}
