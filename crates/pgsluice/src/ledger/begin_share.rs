//! Begins the share of a participant, and inserts its load into the ledger if missing.

use pgsluice_core::catalog::ROOT;
use tokio_postgres::Client;

use super::begun::{Begun, check, emptied, refuse};
use super::run::LoadRun;
use super::share::Share;
use super::{Ledger, sql};
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::job::{Job, ShareOptions};
use crate::ledger::sql::json::json;
use crate::ledger::sql::{NewLoad, Participant};
use crate::pg::sql::{BEGIN, COMMIT, literal};
use crate::plan::Plan;

/// Begins a load for one of its shares, unless another share has begun it.
pub(super) async fn begin(
    job: &Job,
    of: LoadRun<'_>,
    share: &ShareOptions,
    plan: &Plan,
    now: &str,
    client: &Client,
) -> Result<Begun> {
    let LoadRun { named, run } = of;
    if let Some(why) = &plan.one_statement {
        let message = option("participant") + " is not possible for this table: " + why.as_str();
        return Err(Error::new(Kind::Usage, message).with_sqlstate("0A000"));
    }
    let found = match named.find(client).await? {
        Some(found) => found,
        None => {
            let terms = format!("{}::pg_catalog.jsonb", literal(now.as_bytes()));
            let new = NewLoad {
                named,
                table: &plan.tree.nodes[ROOT].relation,
                terms: &terms,
                sources: "[]",
                run: &json(run)?,
                finished: None,
            };
            let insert = format!("{BEGIN}; {}; {COMMIT}", new.insert_unless_there());
            if let Err(error) = client.batch_execute(&insert).await {
                return Err(named.schema.refused(client, error).await);
            }
            named.find(client).await?.ok_or_else(Error::lost)?
        }
    };
    check(&found, plan, now).map_err(|error| refuse(error, &named.id))?;
    let oids: Vec<u32> = plan.catalogue.facts.iter().map(|facts| facts.oid).collect();
    if !found.is_finished
        && client.query_one(&named.sql(sql::EMPTIED), &[&named.id, &oids]).await?.get(0)
    {
        return Err(refuse(emptied(), &named.id));
    }
    let (version, ends_other) = (plan.catalogue.version, job.safety.end_other);
    let share = Share::new(of, share, &found, version, ends_other, client).await?;
    let (stored, ledger) = (share.stored_counts(), Ledger::from_share(share, named));
    if let Some(counts) = stored {
        return Ok(Begun::Finished(ledger, counts));
    }
    ledger.hold_alive_lock(client).await?;
    Ok(Begun::Running(ledger))
}

impl Ledger {
    /// Creates the ledger of a share, which has no receipts.
    fn from_share(share: Share, named: &Participant) -> Self {
        Self { share: Some(share), ..Self::new(named, 1, 0, Vec::new()) }
    }
}
