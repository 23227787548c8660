//! The end of a load whose rows were all sent. Shadows are swapped in, the transaction of an atomic load is
//! committed, and the load is marked as finished.

use std::sync::atomic::Ordering::Relaxed;

use tokio::runtime::Runtime;
use tokio_postgres::Client;

use crate::counts::outcome::{Decision, Outcome};
use crate::counts::reconcile;
use crate::error::{Error, Result};
use crate::job::{Job, Sink};
use crate::pg::conninfo::Target;
use crate::sink::flow::Flow;
use crate::sink::held::Held;
use crate::source::Input;

/// Ends a load whose rows were all sent without an error. `session` is the one that began it.
pub(crate) async fn finish(
    job: &Job,
    session: Option<Client>,
    target: &Target,
    flow: &Flow<'_>,
    outcome: &Outcome,
) -> Result<()> {
    if flow.is_atomic {
        return finish_at_once(flow, outcome);
    }
    let swapping = async {
        flow.control.stop.failure().map_or(Ok(()), Err)?;
        check(flow, outcome, target).await?;
        let Some(exchange) = flow.exchange else { return Ok(()) };
        let receipts = flow.ledger.map(|ledger| (ledger, &flow.splits));
        exchange.finish(job, target, flow.control, receipts).await
    };
    if let Err(error) = swapping.await {
        return Err(match flow.exchange {
            Some(exchange) => exchange.abandon(target, error).await,
            None => error,
        });
    }
    match flow.ledger {
        _ if job.target.sink == Sink::Null => Ok(()),
        Some(ledger) => {
            let check = |receipts: &_, others| match flow.plan.one_statement {
                // All rows are then stored by one statement, which writes no receipts.
                Some(_) => Ok(()),
                None => {
                    let settled = match flow.inputs.iter().any(Input::may_change) {
                        false => outcome.routed.settled_rows(),
                        // Rows that earlier runs have settled may have disappeared from the input.
                        true => outcome.routed.settled_after(ledger.claimed_rows()),
                    };
                    reconcile::check_receipts(flow.plan, &settled, receipts, others)
                }
            };
            let counts = outcome.counts(flow.counts_before(outcome));
            let finishing = ledger.finish(&flow.inputs, counts, check, session, target);
            flow.control.stop.unless_stopped(finishing).await
        }
        // Everything that the connections have committed is durable.
        None => Ok(()),
    }
}

/// Checks that each row that was read is accounted for.
async fn check(flow: &Flow<'_>, outcome: &Outcome, target: &Target) -> Result<()> {
    let Flow { plan, control, .. } = flow;
    reconcile::check(plan, outcome, control.progress.rows_read.load(Relaxed))?;
    let dropped = &outcome.committed.dropped;
    control.stop.unless_stopped(reconcile::check_dropped_by_node(plan, dropped, target)).await
}

/// Returns the outcome of an atomic load.
fn finish_at_once(flow: &Flow<'_>, outcome: &Outcome) -> Result<()> {
    if outcome.decision == Decision::Committed {
        return Ok(());
    }
    if let (Decision::Open, Some(rejects)) = (outcome.decision, flow.rejects) {
        rejects.withdraw_all();
    }
    Err(flow.control.stop.failure().unwrap_or_else(Error::interrupted))
}

/// Commits an atomic load, if its counts agree.
pub(crate) fn commit(
    flow: &Flow<'_>,
    held: Held<'_>,
    outcome: &Outcome,
    target: &Target,
    runtime: &Runtime,
) -> Decision {
    let checking = async {
        flow.control.stop.failure().map_or(Ok(()), Err)?;
        check(flow, outcome, target).await?;
        may_commit(flow, outcome)
    };
    let (decision, committed) = match runtime.block_on(checking) {
        Ok(()) => held.commit(outcome.counts(flow.counts_before(outcome))),
        Err(error) => (Decision::Open, Err(error)),
    };
    if let Err(error) = committed {
        flow.control.stop.fail(error);
    }
    decision
}

/// Checks the other conditions for committing any row.
fn may_commit(flow: &Flow<'_>, outcome: &Outcome) -> Result<()> {
    flow.ledger.map_or(Ok(()), |ledger| ledger.check_whole(&flow.inputs))?;
    let too_many = flow.rejects.and_then(|rejects| rejects.too_many(outcome));
    too_many.map_or(Ok(()), Err)
}
