//! Closing: the end of a load whose rows are all sent. Shadows are swapped in, held transactions are
//! committed, and the load is marked as finished.

use std::sync::atomic::Ordering::Relaxed;

use tokio::runtime::Runtime;
use tokio_postgres::Client;

use crate::atomic::{Atomic, Decision, decision};
use crate::counts::outcome::{Outcome, Tally};
use crate::counts::reconcile;
use crate::error::{Error, Result};
use crate::job::{Job, Sink};
use crate::pg::conninfo::Target;
use crate::sink::flow::Flow;

/// Ends a load whose rows were all sent without an error. `session` is the one that has begun it.
pub(crate) async fn finish(
    job: &Job,
    (session, target): (Client, &Target),
    flow: &Flow<'_>,
    outcome: &Outcome,
) -> Result<()> {
    if let Some(atomic) = flow.atomic {
        return finish_at_once(job, target, (flow, atomic), outcome).await;
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
                // Then all rows are in by one statement, which writes no receipts.
                Some(_) => Ok(()),
                None => {
                    let settled = outcome.routed.settled();
                    reconcile::check_receipts(flow.plan, &settled, receipts, others)
                }
            };
            let fate = outcome.fate(flow.fate_before(outcome));
            let finishing = ledger.finish(&flow.inputs, fate, check, (session, target));
            flow.control.stop.unless_stopped(finishing).await
        }
        // What each connection has committed is durable.
        None => Ok(()),
    }
}

/// Each row that was read must be accounted for.
async fn check(flow: &Flow<'_>, outcome: &Outcome, target: &Target) -> Result<()> {
    let Flow { plan, control, .. } = flow;
    reconcile::check(plan, outcome, control.progress.rows_read.load(Relaxed))?;
    let dropped = &outcome.committed.dropped;
    control.stop.unless_stopped(reconcile::check_dropped_by_node(plan, dropped, target)).await
}

/// Finishes a load whose rows one connection has committed as a whole, or several have prepared.
async fn finish_at_once(
    job: &Job,
    target: &Target,
    (flow, atomic): (&Flow<'_>, &Atomic),
    outcome: &Outcome,
) -> Result<()> {
    let failure = flow.control.stop.failure();
    let finished = match (atomic.decision(), failure, flow.ledger) {
        (Decision::Committed, ..) => Ok(()),
        (Decision::Open, None, Some(ledger)) => {
            let fate = outcome.fate(flow.fate_before(outcome));
            let of_load = (atomic, ledger);
            decision::commit(
                (flow.plan, flow.control),
                of_load,
                fate,
                target,
                job.safety.swap_patience,
            )
            .await
        }
        (Decision::Open, Some(error), Some(ledger)) => {
            Err(decision::abandon(atomic, ledger, target, error).await)
        }
        (_, failure, _) => Err(failure.unwrap_or_else(Error::interrupted)),
    };
    if let (Err(_), Decision::Open, Some(rejects)) = (&finished, atomic.decision(), flow.rejects) {
        rejects.withdraw_all();
    }
    finished
}

/// Has the transactions of a load end once all of its rows are sent; nothing of them is visible before.
pub(crate) fn let_end(
    flow: &Flow<'_>,
    atomic: &Atomic,
    routed: &Tally,
    target: &Target,
    runtime: &Runtime,
) {
    let Some(committed) = atomic.all_ready(flow.control) else { return };
    let outcome = Outcome { routed: routed.clone(), committed, ..Outcome::default() };
    let checking = async {
        check(flow, &outcome, target).await?;
        may_commit(flow, &outcome)?;
        atomic.keep(flow.ledger, target, flow.control).await
    };
    let lock_session = runtime.block_on(checking);
    match lock_session {
        Ok(()) => atomic.go(outcome.fate(flow.fate_before(&outcome))),
        Err(error) => flow.control.stop.fail(error),
    }
}

/// Checks what else must hold before any row is committed.
fn may_commit(flow: &Flow<'_>, outcome: &Outcome) -> Result<()> {
    flow.ledger.map_or(Ok(()), |ledger| ledger.check_whole(&flow.inputs))?;
    let too_many = flow.rejects.and_then(|rejects| rejects.too_many(outcome));
    too_many.map_or(Ok(()), Err)
}
