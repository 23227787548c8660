//! A whole load: attempts until one succeeds, or none can.

use std::sync::Arc;

use super::steps::attempt;
use super::watch_thread::with_watch;
use super::{lock_watch, retry};
use crate::control::Control;
use crate::counts::summary::{Summary, fresh_id};
use crate::error::{Error, Result};
use crate::job::Job;
use crate::ledger::{self, LoadRun, Run, withdraw};
use crate::partitions;
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;
use crate::rejects;

/// A load: a [`Job`], and the server that it loads into.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use pgsluice::{Control, Inputs, Job, Load, Target};
///
/// let mut job = Job::new("measurements");
/// job.input.files = Inputs::resolve(["measurements.txt"])?;
/// let target = Target::from_url("postgresql://localhost/weather")?;
/// match Load::new(job, target).run(&Arc::new(Control::default())) {
///     Ok(summary) => println!("{} rows are in", summary.rows_loaded),
///     Err(error) => eprintln!("{}: {:?} {:?}", error.message(), error.sqlstate(), error.place()),
/// }
/// # Ok::<(), pgsluice::Error>(())
/// ```
#[derive(Debug)]
pub struct Load {
    job: Job,
    target: Target,
}

impl Load {
    /// Creates a load that has not begun.
    pub fn new(job: Job, target: Target) -> Self {
        Self { job, target }
    }

    /// Blocks until all rows are committed or the load has failed; watch and stop it through `control`.
    ///
    /// On an error, rows of payloads that were already committed stay in the table, and the error's detail
    /// gives their number. A load that is stopped does not wait for its input. A thread that is reading from
    /// a silent input ends when the input continues.
    ///
    /// If an error is temporary, such as an unreachable server, the load waits as long as the target's
    /// patience lasts. It then resumes where it stopped, if its inputs can be read again.
    pub fn run(&self, control: &Arc<Control>) -> Result<Summary> {
        self.run_and(control, |error| control.finish(control.rows_in(), error))
    }

    /// Runs the load as a part of something else, which reports its own end to listeners.
    pub(crate) fn run_as_part(&self, control: &Arc<Control>) -> Result<Summary> {
        self.run_and(control, |_| ())
    }

    fn run_and(
        &self,
        control: &Arc<Control>,
        finish: impl FnOnce(Option<&Error>),
    ) -> Result<Summary> {
        control.begin();
        let outcome = self.attempts(control);
        if outcome.as_ref().is_ok_and(|summary| summary.rows_read == 0) {
            control.warn("the input has no rows");
        }
        // A listener may warn as well.
        finish(outcome.as_ref().err());
        let outcome = outcome.map(|summary| {
            let (notes, warnings) = (control.progress.notes(), control.progress.warnings());
            Summary { notes, warnings, ..summary }
        });
        control.end();
        outcome
    }

    /// Makes attempts until one succeeds, or none can.
    fn attempts(&self, control: &Arc<Control>) -> Result<Summary> {
        let Self { job, target } = self;
        job.check()?;
        let mut job = job.open(target, control)?;
        if job.changes.is_any() || job.safety.share.is_some() {
            // Such inputs are read twice: to look for keys in advance, or to compare a stored share.
            job.input.files = job.input.files.spool(control)?;
        }
        let job = &job;
        job.input.notes().into_iter().for_each(|note| control.note(&note));
        let warnings = job.input.files.warnings().iter().cloned();
        warnings.for_each(|warning| control.warn(&warning));
        job.safety.rejects.as_ref().map_or(Ok(()), rejects::check_files)?;
        let id = job.safety.load_id.clone().unwrap_or_else(fresh_id);
        let run = Run::new();
        let attempt = || attempt(job, &id, &run, target, control);
        let attempts = || retry::until_settled(job, target, control, attempt);
        let attempts = || loop {
            let closed = control.attempts.closed_ways();
            match attempts() {
                Err(error)
                    if control.attempts.closed_ways() > closed
                        && job.input.files.are_rereadable()
                        && control.begin_again(&error) => {}
                outcome => return outcome,
            }
        };
        let outcome = with_watch(attempts, |over| {
            lock_watch::watch(job.safety.lock_timeout, target, control, over);
        });
        if let (Err(error), Some(named)) = (&outcome, ledger::find_participant(job, &id)) {
            runtime()?.block_on(withdraw(
                LoadRun { named: &named, run: &run },
                job.safety.share.is_some(),
                error,
                target,
                control,
            ));
        }
        outcome.map_err(|error| partitions::take_back(error, target, control))
    }
}
