//! Closing: the end of a load whose rows are all sent. What was built is swapped in, what was held is
//! committed, and all is made durable.

use tokio::runtime::Runtime;

use crate::atomic::{Atomic, Verdict, verdict};
use crate::config::{Load, Sink};
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::flow::Flow;
use crate::outcome::{Outcome, Tally};
use crate::pg::conninfo::Target;
use crate::sink::copy::flush;

/// Ends a load that has gone well so far.
pub(crate) async fn finish(
    config: &Load,
    target: &Target,
    flow: &Flow<'_>,
    outcome: &Outcome,
) -> Result<()> {
    match (flow.atomic, flow.exchange) {
        (Some(atomic), _) => finish_at_once(config, target, (flow, atomic), outcome).await,
        (None, Some(exchange)) => {
            let swapped = swap(config, target, (flow, exchange)).await;
            match swapped {
                Ok(()) => finish_piecewise(config, target, flow, outcome).await,
                Err(error) => Err(exchange.abandon(target, error).await),
            }
        }
        (None, None) => match flow.control.failure() {
            Some(error) => Err(error),
            None => finish_piecewise(config, target, flow, outcome).await,
        },
    }
}

async fn swap(
    config: &Load,
    target: &Target,
    (flow, exchange): (&Flow<'_>, &Exchange<'_>),
) -> Result<()> {
    if let Some(error) = flow.control.failure() {
        return Err(error);
    }
    let receipts = flow.ledger.map(|ledger| (ledger, &flow.splits));
    exchange.finish(config, target, flow.control, receipts).await
}

/// Of rows that are committed.
async fn finish_piecewise(
    config: &Load,
    target: &Target,
    flow: &Flow<'_>,
    outcome: &Outcome,
) -> Result<()> {
    outcome.check()?;
    let rows = outcome.rows_in_all();
    match flow.ledger {
        _ if config.sink == Sink::Null => Ok(()),
        Some(ledger) => {
            let finishing = ledger.finish(&flow.inputs, &flow.splits, rows, target);
            flow.control.unless_stopped(finishing).await
        }
        None => flow.control.unless_stopped(flush(target)).await,
    }
}

/// Of rows that one connection has committed as a whole, or several have prepared.
async fn finish_at_once(
    config: &Load,
    target: &Target,
    (flow, atomic): (&Flow<'_>, &Atomic),
    outcome: &Outcome,
) -> Result<()> {
    let failure = flow.control.failure();
    let finished = match (atomic.verdict(), failure, flow.ledger) {
        (Verdict::Committed, ..) => Ok(()),
        (Verdict::Open, None, Some(ledger)) => {
            let rows = outcome.rows_in_all();
            let of_load = (atomic, ledger);
            verdict::commit(flow, of_load, rows, target, config.swap_patience).await
        }
        (Verdict::Open, Some(error), Some(ledger)) => {
            Err(verdict::abandon(atomic, ledger, target, error).await)
        }
        (_, failure, _) => Err(failure.unwrap_or_else(Error::interrupted)),
    };
    if let (Err(_), Verdict::Open, Some(rejects)) = (&finished, atomic.verdict(), flow.rejects) {
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
    let keeper = match check(flow, &outcome) {
        Ok(()) => runtime.block_on(atomic.keep(flow.ledger, target, flow.control)),
        refused => refused,
    };
    match keeper {
        Ok(()) => atomic.go(outcome.rows_in_all()),
        Err(error) => flow.control.fail(error),
    }
}

/// What must hold before any row is committed.
fn check(flow: &Flow<'_>, outcome: &Outcome) -> Result<()> {
    outcome.check()?;
    flow.ledger.map_or(Ok(()), |ledger| ledger.check_whole(&flow.inputs))?;
    let too_many = flow.rejects.and_then(|rejects| rejects.too_many(outcome));
    too_many.map_or(Ok(()), Err)
}
