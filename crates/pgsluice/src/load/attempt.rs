//! One attempt at a load: what comes before its rows, and after them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::failed::with_committed;
use super::small::Tried;
use super::watched::watched;
use super::{finish, finished, lag, run, small, walk};
use crate::control::{Control, Rejecting};
use crate::counts::first_row::Opening;
use crate::counts::summary::Summary;
use crate::duplicates::{self, Superseded};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::inspect::{guess, hints};
use crate::job::{Job, Sink};
use crate::ledger::{self, Begun, Ledger, Run, refuse};
use crate::partitions;
use crate::pg;
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;
use crate::plan::Plan;
use crate::rejects::{self, Rejects};
use crate::sink::flow::Flow;
use crate::source::{FileFormat, Input, Inputs, starts};
use crate::testing::failpoint::failpoint;

/// Makes one attempt: opens, plans and begins, runs the flow, and finishes.
pub(super) fn attempt(
    job: &Job,
    (id, by): (&str, &Run),
    target: &Target,
    control: &Arc<Control>,
) -> Result<Summary> {
    let opening = Opening::new();
    let inputs = &job.input.files;
    let runtime = runtime()?;
    if job.keeps_ledger() {
        control.attempts.set_resume(id);
    }
    control.attempts.set_rejecting(rejecting(job));
    // Any other error before the first row needs no word on rows in the table.
    let early = |error: Error| {
        let asks = control.may_have_rows() || error.kind() == Kind::Interrupted;
        if asks { with_committed(error, control) } else { error }
    };
    let trying = small::load(job, (id, by), inputs, target, control, &opening);
    let link = match runtime.block_on(trying).map_err(early)? {
        Tried::Loaded(summary) => return Ok(summary),
        Tried::Not(link) => link,
    };
    let created = match job.target.create_partitions {
        true => partitions::create(job, target, control).map_err(early)?,
        false => Vec::new(),
    };
    let beginning = begin(job, (id, by), inputs, (link, target), control);
    // By its session others know to the end that the load is alive.
    let (plan, begun, session) = runtime.block_on(beginning).map_err(early)?;
    plan.notes(job).into_iter().for_each(|note| control.progress.note(note));
    failpoint("load::begun");
    let ledger = match begun {
        Some(Begun::Running(ledger)) => Some(ledger),
        Some(Begun::Finished(ledger, fate)) => {
            let read = finished::check_streams(&plan, inputs, ledger, control);
            read.map_err(|error| refuse(error, id))?;
            return Ok(Summary::of_finished(id, &plan, job, fate, &opening));
        }
        None => None,
    };
    if let Some(ledger) = ledger.as_ref().filter(|it| job.safety.atomic && it.is_resumed()) {
        return Err(with_committed(ledger.begun_otherwise(), control));
    }
    let superseded = look_through(job, &plan, inputs, ledger.as_ref(), target, control);
    let superseded =
        superseded.map_err(|error| if is_refused(&error) { error } else { early(error) })?;
    starts::check_all(inputs, &plan.shape, job.safety.rejects.is_none())
        .map_err(|error| early(guessed(error, job, &plan, control)))?;
    let is_atomic = is_held(job, &plan);
    let exchange = plan.exchange.as_ref().map(|eligible| {
        runtime.block_on(Exchange::begin(&plan, eligible, target, control)).map_err(early)
    });
    let exchange = exchange.transpose()?;
    control.progress.bytes_total.store(inputs.size().unwrap_or(0), Relaxed);

    let exchange = exchange.as_ref();
    let header_row = Arc::default();
    let rejects = rejects::begin(job, id, &plan, inputs, ledger.as_ref(), &header_row)?;
    let flow = Flow::new(
        &plan,
        control,
        inputs.clone(),
        &opening,
        exchange,
        rejects.as_ref(),
        ledger.as_ref(),
    );
    let flow = Flow { is_atomic, superseded, ..flow };
    let running = || run(job, target, &flow, &header_row, (&runtime, &session));
    let mut outcome = match job.safety.max_lag {
        Some(most) => {
            // Until it has looked once.
            control.is_paused.store(true, Relaxed);
            watched(running, |over| lag::watch(most, target, control, over))
        }
        None => running(),
    };
    if let Some(error) = rejects.as_ref().and_then(|rejects| rejects.too_many(&outcome)) {
        control.stop.fail(error);
    }
    let finished = runtime.block_on(finish::finish(job, (session.client, target), &flow, &outcome));
    let kept = rejects.as_ref().map_or(Ok(()), Rejects::finish);
    finished.and(kept).map_err(|error| explained(error, (job, &plan), target, control))?;
    outcome.exchanged = exchange.map(Exchange::done).unwrap_or_default();
    plan.extra_note().into_iter().for_each(|note| control.progress.note(note));
    let bytes = control.progress.bytes_read.load(Relaxed);
    let before = flow.fate_before(&outcome);
    let summary = Summary::new(id, &plan, (&outcome, before), job, bytes, &opening);
    Ok(Summary { partitions_created: created, ..summary })
}

/// Looks through the input before the first row is sent: for keys that come again where rows may meet others, and
/// for the rows that earlier runs of the load have settled.
fn look_through(
    job: &Job,
    plan: &Plan,
    inputs: &Inputs,
    ledger: Option<&Ledger>,
    target: &Target,
    control: &Arc<Control>,
) -> Result<Superseded> {
    let superseded = match &plan.changes {
        Some(changes) => duplicates::find(job, plan, changes, inputs, target, control)?,
        None => Superseded::default(),
    };
    if let Some(ledger) = ledger {
        walk::check(job, plan, inputs, (ledger, &superseded), target, control)?;
    }
    Ok(superseded)
}

/// Whether one transaction takes all payloads.
fn is_held(job: &Job, plan: &Plan) -> bool {
    job.safety.atomic && job.target.sink == Sink::Copy && plan.one_statement.is_none()
}

/// The error of a load that was under way, with what is to be done about it.
fn explained(
    error: Error,
    (job, plan): (&Job, &Plan),
    target: &Target,
    control: &Control,
) -> Error {
    if plan.one_statement.is_some() {
        control.attempts.set_rejecting(Rejecting::Never);
    }
    let error = guess::explain_rights(error, plan, target.user());
    let error = guessed(error, job, plan, control);
    let error = match runtime() {
        Ok(runtime) if !control.may_have_rows() => {
            runtime.block_on(hints::explain_duplicate(error, job, target))
        }
        _ => error,
    };
    with_committed(error, control)
}

/// The error with the mistake that may be behind it. Once rows are in, its command would double them.
fn guessed(error: Error, job: &Job, plan: &Plan, control: &Control) -> Error {
    if control.may_have_rows() { error } else { hints::explain(error, job, plan) }
}

/// Whether rows can be left out.
fn rejecting(job: &Job) -> Rejecting {
    match job.safety.rejects {
        Some(_) => Rejecting::Does,
        None if job.safety.exchange.is_some() => Rejecting::Never,
        None if job.input.file_format == FileFormat::Delimited => Rejecting::IfAsked("csv"),
        None => Rejecting::IfAsked("ndjson"),
    }
}

/// Whether the load cannot be resumed as it is: there is no use in saying how to.
fn is_refused(error: &Error) -> bool {
    matches!(error.sqlstate(), Some("55000" | "0A000"))
}

/// The plan, and how the load begins in the ledger if one is kept, with the session that has begun it.
async fn begin(
    job: &Job,
    (id, by): (&str, &Run),
    inputs: &[Input],
    (link, target): (Option<Link>, &Target),
    control: &Control,
) -> Result<(Plan, Option<Begun>, Link)> {
    let mut link = match link {
        Some(link) => link,
        None => control.stop.unless_stopped(connect::open(target)).await?,
    };
    let Link { client, canceller, .. } = &mut link;
    let beginning = async {
        if job.safety.max_lag.is_some() {
            pg::lag::check_rights(client).await?;
        }
        let mut plan = Plan::read(job, client).await?;
        plan.leaf_by_leaf = control.attempts.is_leaf_by_leaf();
        let Some(named) = ledger::named(job, id) else { return Ok((plan, None)) };
        let of_load = (&named, by);
        plan.catalogue.read_reads(client).await?;
        let begun = ledger::begin(job, of_load, &plan, inputs, (client, target), control).await?;
        Ok((plan, Some(begun)))
    };
    match canceller.unless_stopped(control, beginning).await {
        Ok((plan, begun)) => Ok((plan, begun, link)),
        Err(error) => Err(hints::explain_changed(error, (job, id), target).await),
    }
}
