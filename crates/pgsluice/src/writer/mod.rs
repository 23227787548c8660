//! Writer: writes a few rows at a time, from a long-running program.
//!
//! ```text
//!     rows -> gather -> few: INSERT of arrays, many: COPY through the root (`send_method`)  one transaction, with
//!             by leaf   where rows exist: ON CONFLICT, or the stage (`changing`)      the position in the ledger
//! ```
//!
//! 1. The tree only determines the order of rows, as in [`crate::gather`]: the server routes each of them.
//! 2. A writer with a name keeps its position in the ledger, in the same transaction as its rows. The next
//!    writer with that name continues from there, and the earlier one can no longer commit anything.
//! 3. If a COMMIT has no answer, the count of rows in the ledger shows whether it succeeded. Without a ledger
//!    this remains unknown, and the error says so.
//! 4. A crash of the server undoes commits that did not wait for the disk. The next session proves that all
//!    of them are still there, or its first call fails (`lifecycle`).

mod batch;
mod blame;
mod changing;
mod choose;
mod explain;
mod extras;
mod failure;
mod lifecycle;
mod named;
mod parameters;
mod participants;
mod receipt;
mod record;
mod refused;
pub mod send_method;
mod session;
mod sql;
mod steps;

use std::sync::Arc;
use std::time::{Duration, Instant};

use pgsluice_core::catalog::ROOT;
use tokio::runtime::Runtime;

pub use self::extras::{Positions, RejectRows, Step, WriteExtras};
use self::failure::{WriteFailure, doubtful, is_about_names, is_ended, pause, sent_again};
pub use self::receipt::{Durability, Receipt};
use self::record::WriterRecord;
use self::session::Session;
use self::steps::{gather, store};
use crate::control::{Control, Event};
use crate::counts::summary::fresh_id;
use crate::error::backoff::Backoff;
use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};
use crate::error::{Error, Remedy, Result, option};
use crate::job::{InputOptions, Job};
use crate::pg::conninfo::Target;
use crate::pg::runtime::attentive;
use crate::row_counts::RowCounts;
use crate::testing::failpoint::failpoint;
use crate::writer::sql::incarnation::Incarnation;

/// Approximate pause before the first retry.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Minimum time to retry while other sessions are in the way, or to wait for the outcome of rows in doubt.
const MIN_PATIENCE: Duration = Duration::from_secs(10);

/// Maximum number of times that a table may be altered while rows are being written to it.
const MAX_CHANGES: u32 = 5;

/// Writes rows into a table, a few at a time.
///
/// ```no_run
/// use std::sync::Arc;
///
/// use pgsluice::{Control, Durability, InputOptions, Job, Target, Writer};
///
/// let mut job = Job::new("events");
/// // The ledger keeps the position of a writer that has a name.
/// job.safety.load_id = Some("sensor-7".to_owned());
/// let (target, control) = (Target::from_url("postgresql://localhost/shop")?, Arc::default());
/// let mut writer = Writer::open(job, target, Durability::Commit, &control)?;
/// let rows = [[Some("1"), Some("2026-01-01")], [Some("2"), None]];
/// let rows = InputOptions::from_rows(&["id", "at"], rows);
/// writer.write(&rows, Some("offset 2"), 0, &control)?;
/// # Ok::<(), pgsluice::Error>(())
/// ```
pub struct Writer {
    job: Job,
    target: Target,
    durability: Durability,
    record: Option<WriterRecord>,
    runtime: Runtime,
    session: Option<Session>,
    /// The number of rows whose COMMIT had no answer.
    unsure: Option<u64>,
    /// Whether rows in doubt were given up; the ledger may contain them.
    gave_up: bool,
    /// The rows that a new session has found in the ledger although their COMMIT was not answered.
    found: RowCounts,
    /// The number of rows that a crash of the server may still undo.
    unflushed: u64,
    /// The SQLSTATEs of rows that the server has refused since the last write.
    refused: Vec<String>,
    /// The incarnation of the server that has committed them, if no ledger counts them.
    incarnation: Option<Incarnation>,
}

impl Writer {
    /// Opens a writer for the table of `job`. The job's ledger keeps it if it has a `load_id`, or if it waits
    /// for an unavailable server.
    ///
    /// # Errors
    ///
    /// Fails if there is no connection or no such table, or if the `load_id` belongs to something else.
    pub fn open(
        job: Job,
        target: Target,
        durability: Durability,
        control: &Control,
    ) -> Result<Self> {
        job.check_settings()?;
        participants::check_shared(&job, durability)?;
        let waits = !target.patience().is_zero();
        let id = job.safety.load_id.clone().or_else(|| waits.then(fresh_id));
        let record = match (id, &job.safety.ledger) {
            (Some(id), Some(schema)) => {
                Some(WriterRecord::new(schema, &id, &job.changes, job.safety.shared)?)
            }
            _ => None,
        };
        let mut writer = Self {
            job,
            target,
            durability,
            record,
            runtime: attentive()?,
            session: None,
            unsure: None,
            gave_up: false,
            found: RowCounts::default(),
            unflushed: 0,
            refused: Vec::new(),
            incarnation: None,
        };
        writer.ensure_session(control).map_err(WriteFailure::into_error)?;
        Ok(writer)
    }

    /// Returns the name of the writer in the ledger, if it has one.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.record.as_ref().map(WriterRecord::id)
    }

    /// Returns the position of the last rows that were committed by this writer or an earlier one with its
    /// name.
    #[must_use]
    pub fn position(&self) -> Option<&str> {
        self.record.as_ref()?.position()
    }

    /// Writes all rows of `input` in one transaction, together with the `position` after them. Counts
    /// `rejected` more rows, which the program has removed from `input` because an earlier call refused them.
    ///
    /// Every call must use the same input options; only the names in the rows may change. For a transient
    /// error the writer retries as long as the target's patience lasts. After an error that leaves rows in
    /// doubt, a writer with a name must be given the same rows again: it finds out whether they were
    /// committed.
    ///
    /// # Errors
    ///
    /// Fails if the server refuses a row: it then stores no row of `input`. If the error counts rows in
    /// doubt, they may be stored. Also fails if the server may have lost rows of earlier calls: it then
    /// stores no row of `input`, and [`Self::position`] is read again from the ledger.
    pub fn write(
        &mut self,
        input: &InputOptions,
        position: Option<&str>,
        rejected: u64,
        control: &Arc<Control>,
    ) -> Result<Receipt> {
        let extras = WriteExtras { positions: position.into(), rejected, rejects: None };
        self.write_with(input, &extras, control)
    }

    /// Writes all rows of `input` in one transaction, together with the data in `extras`; otherwise like
    /// [`Self::write`].
    ///
    /// # Errors
    ///
    /// Fails like [`Self::write`], and if another writer has opened one of the participants since.
    pub fn write_with(
        &mut self,
        input: &InputOptions,
        extras: &WriteExtras<'_>,
        control: &Arc<Control>,
    ) -> Result<Receipt> {
        match (extras.positions, &self.record) {
            (Positions::Unchanged, None) => {}
            (positions, Some(record)) => record.check(positions)?,
            (Positions::Last(_) | Positions::Steps(_), None) => {
                let message = "only a Writer with a name can keep a position";
                return Err(Error::new(Kind::Usage, message)
                    .with_remedy(Remedy::options("Name it", [option("load-id").with("NAME")])));
            }
        }
        // An earlier request to stop was meant for another call.
        control.end();
        control.begin();
        let receipt = self.write_patiently(input, extras, control)?;
        self.report_rejected(extras.rejected, control);
        if self.is_lazy() {
            self.unflushed += receipt.counts.read;
        }
        Ok(receipt)
    }

    /// Tries to write the rows of `input`, and rolls back. Does nothing if rows are in doubt, because they
    /// may have been committed.
    ///
    /// # Errors
    ///
    /// Fails if the server refuses a row, and names it.
    pub fn check(&mut self, input: &InputOptions, control: &Arc<Control>) -> Result<()> {
        control.end();
        control.begin();
        if self.unsure.is_some() {
            return Ok(());
        }
        self.ensure_session(control).map_err(WriteFailure::into_error)?;
        let Self { job, target, runtime, session, .. } = self;
        let session = session.as_mut().ok_or_else(Error::lost)?;
        let batch = gather(job, target, session, input, runtime, control)?;
        let Session { link, planned: Some(planned), .. } = session else {
            return Err(Error::lost());
        };
        let trying = async {
            let channel = planned.channel(link, control);
            match planned.try_rows(channel, &batch).await {
                Some(None) => Ok(()),
                Some(Some(error)) => Err(planned.blame(channel, &batch, error).await),
                None => Err(Error::lost()),
            }
        };
        let tried = runtime.block_on(link.canceller.unless_stopped(control, trying));
        planned.gatherer.give_back(batch);
        tried
    }

    /// Reports rows that the program has removed because earlier calls refused them. The last refusals are
    /// about these rows.
    fn report_rejected(&mut self, rows: u64, control: &Control) {
        let refused = std::mem::take(&mut self.refused);
        let known = refused.len().saturating_sub(rows as usize);
        for sqlstate in &refused[known..] {
            control.emit(&Event::Rejected { sqlstate, rows: 1 });
        }
        let unknown = rows - (refused.len() - known) as u64;
        if unknown > 0 {
            control.emit(&Event::Rejected { sqlstate: "", rows: unknown });
        }
    }

    fn write_patiently(
        &mut self,
        input: &InputOptions,
        extras: &WriteExtras<'_>,
        control: &Arc<Control>,
    ) -> Result<Receipt> {
        let began = Instant::now();
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let mut changes = 0;
        loop {
            control.emit(&Event::Attempt { number: control.attempts.count() });
            let was_planned = self.session.as_ref().is_some_and(|it| it.planned.is_some());
            let error = match self.try_write(input, extras, control) {
                Ok(receipt) => return Ok(receipt),
                Err(WriteFailure::Changed(_)) if changes < MAX_CHANGES => {
                    changes += 1;
                    continue;
                }
                // Prepared statements do not know about columns that have changed.
                Err(WriteFailure::Refused(error))
                    if was_planned && changes == 0 && is_about_names(&error) =>
                {
                    changes += 1;
                    continue;
                }
                Err(WriteFailure::InDoubt(error, rows)) if self.record.is_none() => {
                    return Err(doubtful(control.stop.failure().unwrap_or(error), rows));
                }
                Err(WriteFailure::InDoubt(error, rows)) => {
                    self.unsure = Some(rows);
                    error
                }
                Err(WriteFailure::Lost(error)) => return Err(error),
                Err(WriteFailure::Refused(error) | WriteFailure::Changed(error)) => error,
            };
            if is_ended(&error) {
                self.session = None;
            }
            let error = control.stop.failure().unwrap_or(error);
            let left = self.patience(&error, control).saturating_sub(began.elapsed());
            if left.is_zero() {
                if error.kind() == Kind::Data {
                    self.refused.extend(error.sqlstate().map(str::to_owned));
                }
                return Err(match self.unsure {
                    Some(rows) => doubtful(error, rows),
                    None => sent_again(error),
                });
            }
            pause(&error, backoff.pause().min(left), control);
        }
    }

    /// Returns how long to retry a call that has failed with `error`.
    fn patience(&self, error: &Error, control: &Control) -> Duration {
        match policy::for_error(error) {
            _ if control.stop.is_stopped() => Duration::ZERO,
            Policy::Retry => self.target.patience().max(MIN_PATIENCE),
            // The ledger shows whether the rows were committed.
            _ if self.unsure.is_some() => self.target.patience().max(MIN_PATIENCE),
            Policy::Wait => self.target.patience(),
            Policy::Reject | Policy::Stop => Duration::ZERO,
        }
    }

    /// Writes the rows, unless they are already committed. After a failure the session is gone or has no plan.
    fn try_write(
        &mut self,
        input: &InputOptions,
        extras: &WriteExtras<'_>,
        control: &Arc<Control>,
    ) -> Result<Receipt, WriteFailure> {
        self.ensure_session(control)?;
        if let Some(counts) = self.settle_doubt()? {
            return Ok(Receipt { counts, method: None });
        }
        let Self { job, target, record, runtime, session, .. } = self;
        let session = session.as_mut().ok_or_else(Error::lost)?;
        let mut batch = gather(job, target, session, input, runtime, control)?;
        batch.rejected = extras.rejected;
        let Session { link, planned: Some(planned), .. } = session else {
            return Err(Error::lost().into());
        };
        if batch.rows() == 0 && !extras.is_any() {
            return Ok(Receipt { counts: RowCounts::default(), method: None });
        }
        let method = planned.choose(&batch);
        let update = record.as_ref().map(|record| (record, extras.positions));
        let channel = planned.channel(link, control);
        let began = Instant::now();
        let storing = store(planned, channel, &batch, method, update, extras.rejects);
        let settled = runtime.block_on(link.canceller.settle(control, storing));
        match settled {
            Some(Ok((counts, gone))) => {
                failpoint("payload::committed");
                control.emit(&Event::Committed {
                    table: &planned.plan.tree.nodes[ROOT].relation.label(),
                    rows: counts.rows() - counts.rejected,
                    bytes: batch.bytes() as u64,
                    seconds: began.elapsed().as_secs_f64(),
                    is_visible: true,
                });
                planned.gatherer.give_back(batch);
                record
                    .iter_mut()
                    .for_each(|record| record.record_committed(counts, extras.positions));
                Ok(Receipt { counts, method: Some(gone) })
            }
            // The plan is still valid after a row is refused.
            Some(Err(WriteFailure::Refused(error))) if planned.can_blame(&error) => {
                let channel = planned.channel(link, control);
                let blaming = planned.blame(channel, &batch, error.clone());
                let blamed = runtime.block_on(link.canceller.settle(control, blaming));
                planned.gatherer.give_back(batch);
                Err(WriteFailure::Refused(blamed.unwrap_or(error)))
            }
            Some(Err(failure)) => {
                // The next call will notice if the session was lost.
                match &failure {
                    WriteFailure::InDoubt(..) => self.session = None,
                    _ if planned.prepared.is_spoiled() => self.session = None,
                    _ => session.planned = None,
                }
                Err(failure)
            }
            None => {
                self.session = None;
                Err(WriteFailure::InDoubt(Error::interrupted(), batch.rows()))
            }
        }
    }
}
