//! The steps of an attempt at a load before and after its rows.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::attempt::Attempt;
use super::failed::with_committed;
use super::small::Tried;
use super::watch_thread::with_watch;
use super::{check_claims, finish, finished, lag, run, small};
use crate::control::{Control, Event, Rejecting};
use crate::counts::first_row::Opening;
use crate::counts::outcome::Outcome;
use crate::counts::summary::Summary;
use crate::duplicates::{self, DuplicateRows};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::exchange::Exchange;
use crate::inspect::{guess, hints};
use crate::job::{Job, Sink};
use crate::ledger::share::Share;
use crate::ledger::{self, Begun, Ledger, LoadRun, Run, refuse};
use crate::load::sql::lag::check_rights;
use crate::partitions;
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;
use crate::plan::Plan;
use crate::rejects::table::RejectTable;
use crate::rejects::{self, RejectWriter};
use crate::row_counts::RowCounts;
use crate::sink::flow::Flow;
use crate::source::splits::Splits;
use crate::source::{FileFormat, starts};
use crate::testing::failpoint::failpoint;

/// Makes one attempt: opens, plans and begins, runs the flow, and finishes.
pub(super) fn attempt(
    job: &Job,
    id: &str,
    run: &Run,
    target: &Target,
    control: &Arc<Control>,
) -> Result<Summary> {
    let (opening, runtime) = (Opening::new(), runtime()?);
    let attempt = Attempt { job, id, run, target, control, opening, runtime };
    control.emit(&Event::Attempt { number: control.attempts.count() });
    attempt.announce();
    let link = match attempt.load_small()? {
        Tried::Loaded(summary) => return Ok(summary),
        Tried::Not(link) => link,
    };
    let created = attempt.create_partitions()?;
    let BegunAttempt { plan, reject_table, begun, session } = attempt.begin(link)?;
    let ledger = match begun {
        Some(Begun::Running(ledger)) => Some(ledger),
        Some(Begun::Finished(ledger, counts)) => {
            return attempt.end_finished(&plan, ledger, counts);
        }
        None => None,
    };
    let ledger = ledger.as_ref();
    let duplicates = attempt.look_through(&plan, ledger)?;
    attempt.check_starts(&plan)?;
    let exchange = attempt.begin_exchange(&plan)?;
    let header_row = Arc::default();
    let rejects = rejects::begin(job, id, &plan, reject_table, ledger, &header_row)?;
    let flow = Flow {
        plan: &plan,
        control,
        inputs: job.input.files.clone(),
        opening: &attempt.opening,
        exchange: exchange.as_ref(),
        rejects: rejects.as_ref(),
        is_atomic: is_held(job, &plan),
        ledger,
        duplicates,
        splits: Splits::default(),
        header_row,
    };
    let (mut outcome, session) = attempt.run(&flow, session);
    attempt.finish(&flow, session, &mut outcome)?;
    let bytes = control.progress.bytes_read.load(Relaxed);
    let before = flow.counts_before(&outcome);
    let summary = Summary::new(id, &plan, &outcome, before, job, bytes, &attempt.opening);
    let share = ledger.and_then(Ledger::share).map(Share::summary);
    Ok(Summary { partitions_created: created, share, ..summary })
}

/// An attempt that is planned, and begun in the ledger.
struct BegunAttempt {
    plan: Plan,
    /// The table of rejected rows, if they go to one.
    reject_table: Option<RejectTable>,
    begun: Option<Begun>,
    /// The session that began it, and shows to the end that the load is alive.
    session: Link,
}

impl Attempt<'_> {
    /// Records the hints that an error of this attempt may give.
    fn announce(&self) {
        if self.job.keeps_ledger() && !self.job.target.is_scratch {
            self.control.attempts.set_resume(self.id);
        }
        self.control.attempts.set_rejecting(rejecting(self.job));
        self.control.attempts.set_share(self.job.safety.share.is_some());
    }

    /// Adds the state of the table to an error before the first row, unless no row can be in the table.
    fn explain_early(&self, error: Error) -> Error {
        let asks = self.control.may_have_rows() || error.kind() == Kind::Interrupted;
        if asks { self.left_by(error) } else { error }
    }

    fn load_small(&self) -> Result<Tried> {
        self.runtime.block_on(small::load(self)).map_err(|error| self.explain_early(error))
    }

    fn create_partitions(&self) -> Result<Vec<String>> {
        if !self.job.target.create_partitions {
            return Ok(Vec::new());
        }
        let created = partitions::create(self.job, self.target, self.control);
        created.map_err(|error| self.explain_early(error))
    }

    /// Plans the load and begins it in the ledger, if one is kept.
    fn begin(&self, link: Option<Link>) -> Result<BegunAttempt> {
        let beginning = self.runtime.block_on(self.plan_and_begin(link));
        let beginning = beginning.map_err(|error| self.explain_early(error))?;
        let notes = beginning.plan.notes(self.job);
        notes.into_iter().for_each(|note| self.control.note(&note));
        failpoint("load::begun");
        if let Some(Begun::Running(ledger)) = &beginning.begun
            && self.job.safety.atomic
            && ledger.is_resumed()
        {
            return Err(with_committed(ledger.begun_otherwise(), self.control));
        }
        Ok(beginning)
    }

    async fn plan_and_begin(&self, link: Option<Link>) -> Result<BegunAttempt> {
        let Self { job, id, run, target, control, .. } = *self;
        let mut link = match link {
            Some(link) => link,
            None => control.stop.unless_stopped(connect::open(target)).await?,
        };
        let Link { client, canceller, .. } = &mut link;
        let beginning = async {
            if job.safety.max_lag.is_some() {
                check_rights(client).await?;
            }
            let mut plan = Plan::read(job, client).await?;
            plan.leaf_by_leaf = control.attempts.is_leaf_by_leaf();
            // From here on, this session resolves names differently from the user's sessions.
            let table = RejectTable::find(job, &plan, client).await?;
            let Some(named) = ledger::find_participant(job, id) else {
                return Ok((plan, table, None));
            };
            plan.catalogue.read_reads(client).await?;
            let of = LoadRun { named: &named, run };
            let begun = ledger::begin(job, of, &plan, client, target, control).await?;
            Ok((plan, table, Some(begun)))
        };
        match canceller.unless_stopped(control, beginning).await {
            Ok((plan, reject_table, begun)) => {
                Ok(BegunAttempt { plan, reject_table, begun, session: link })
            }
            Err(error) => Err(hints::explain_changed(error, job, id, target).await),
        }
    }

    /// Ends an attempt at a load that was already finished.
    fn end_finished(&self, plan: &Plan, ledger: Ledger, counts: RowCounts) -> Result<Summary> {
        let share = finished::check(plan, &self.job.input.files, ledger, self.control)
            .map_err(|error| refuse(error, self.id))?;
        let summary = Summary::from_finished(self.id, plan, self.job, counts, &self.opening);
        let rows_read = share.as_ref().map_or(summary.rows_read, |share| share.rows);
        Ok(Summary { share, rows_read, ..summary })
    }

    /// Reads the input before the first row is sent: for repeated keys if rows may match existing ones, and
    /// for the rows that earlier runs of the load have settled.
    fn look_through(&self, plan: &Plan, ledger: Option<&Ledger>) -> Result<DuplicateRows> {
        let Self { job, target, control, .. } = *self;
        let looking = || {
            let duplicates = match &plan.changes {
                Some(changes) => {
                    duplicates::find(job, plan, changes, &job.input.files, target, control)?
                }
                None => DuplicateRows::default(),
            };
            if let Some(ledger) = ledger {
                check_claims::check(self, plan, ledger, &duplicates)?;
            }
            Ok(duplicates)
        };
        // A load that cannot be resumed in this form needs no hint on how to resume it.
        let is_refused = |error: &Error| matches!(error.sqlstate(), Some("55000" | "0A000"));
        looking()
            .map_err(|error| if is_refused(&error) { error } else { self.explain_early(error) })
    }

    fn check_starts(&self, plan: &Plan) -> Result<()> {
        let Self { job, .. } = *self;
        let checked =
            starts::check_all(&job.input.files, &plan.shape, job.safety.rejects.is_none());
        checked.map_err(|error| self.explain_early(self.guess(error, plan)))
    }

    fn begin_exchange<'p>(&'p self, plan: &'p Plan) -> Result<Option<Exchange<'p>>> {
        let Some(eligible) = &plan.exchange else { return Ok(None) };
        let beginning = Exchange::begin(plan, eligible, self.target, self.control);
        let exchange = self.runtime.block_on(beginning);
        exchange.map(Some).map_err(|error| self.explain_early(error))
    }

    /// Runs the flow to its end. Returns the session that began the load, if it is needed to end the load.
    fn run(&self, flow: &Flow<'_>, session: Link) -> (Outcome, Option<Link>) {
        let Self { job, target, control, .. } = *self;
        control.progress.bytes_total.store(flow.inputs.size().unwrap_or(0), Relaxed);
        let running = || run(job, target, flow, &self.runtime, session);
        let (outcome, session) = match job.safety.max_lag {
            Some(max) => {
                // The load is paused until the first measurement.
                control.is_paused.store(true, Relaxed);
                with_watch(running, |over| lag::watch(max, target, control, over))
            }
            None => running(),
        };
        if let Some(error) = flow.rejects.and_then(|rejects| rejects.too_many(&outcome)) {
            control.stop.fail(error);
        }
        (outcome, session)
    }

    /// Ends the load with the session that began it.
    fn finish(&self, flow: &Flow<'_>, session: Option<Link>, outcome: &mut Outcome) -> Result<()> {
        let session = session.map(|link| link.client);
        let finishing = finish::finish(self.job, session, self.target, flow, outcome);
        let finished = self.runtime.block_on(finishing);
        let written = flow.rejects.map_or(Ok(()), RejectWriter::finish);
        finished.and(written).map_err(|error| self.explain(error, flow.plan))?;
        outcome.exchanged = flow.exchange.map(Exchange::outcome).unwrap_or_default();
        let note = flow.plan.extra_note();
        note.into_iter().for_each(|note| self.control.note(&note));
        Ok(())
    }

    /// Adds hints to the error of a load that was running.
    fn explain(&self, error: Error, plan: &Plan) -> Error {
        let Self { job, target, control, .. } = *self;
        if plan.one_statement.is_some() {
            control.attempts.set_rejecting(Rejecting::Never);
        }
        let error = guess::explain_rights(error, plan, target.user());
        let error = self.guess(error, plan);
        let error = match control.may_have_rows() {
            true => error,
            false => self.runtime.block_on(hints::explain_duplicate(error, job, target)),
        };
        self.left_by(error)
    }

    /// Adds the state of the table to an error.
    fn left_by(&self, error: Error) -> Error {
        if self.job.target.is_scratch { error } else { with_committed(error, self.control) }
    }

    /// Adds the likely mistake behind an error. Once rows are in the table, the suggested command would store
    /// them twice.
    fn guess(&self, error: Error, plan: &Plan) -> Error {
        match self.control.may_have_rows() {
            true => error,
            false => hints::explain(error, self.job, plan),
        }
    }
}

/// Whether one transaction stores all payloads.
fn is_held(job: &Job, plan: &Plan) -> bool {
    job.safety.atomic && job.target.sink == Sink::Copy && plan.one_statement.is_none()
}

/// Returns whether and how rows can be rejected.
fn rejecting(job: &Job) -> Rejecting {
    match job.safety.rejects {
        Some(_) => Rejecting::Does,
        // A task of a cluster has no place for a file.
        None if job.safety.exchange.is_some() || job.safety.share.is_some() => Rejecting::Never,
        None if job.input.file_format == FileFormat::Delimited => Rejecting::IfAsked("csv"),
        None => Rejecting::IfAsked("ndjson"),
    }
}
