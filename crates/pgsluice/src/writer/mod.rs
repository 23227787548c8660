//! Writer: a few rows at a time, from a program that runs long.
//!
//! ```text
//!     rows -> gather -> INSERT of a row | INSERT of arrays | COPY through the root    one transaction, with
//!             by leaf   whichever has taken least time for so many (`way`)            the position in the ledger
//!                       or the stage, where rows are there already (`changing`)
//! ```
//!
//! 1. The tree decides about the order of rows only, as in [`crate::gather`]: the server routes each of them.
//! 2. A writer with a name keeps its position in the ledger, in the rows' own transaction. What opens it next goes on
//!    from there, and nothing of the one before is committed any more.
//! 3. If a COMMIT has no answer, the count of rows in the ledger says whether it has come through. Without a ledger
//!    nobody can say, and the error tells so.

mod changing;
mod gathered;
mod kept;
mod parameters;
mod refused;
mod session;
mod trouble;
pub mod way;

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Runtime;

use self::gathered::Gathered;
use self::kept::{Keeping, Kept};
use self::session::{Planned, Session};
use self::trouble::{Trouble, doubtful, is_about_names, sent_again};
use self::way::Way;
use crate::control::Control;
use crate::counts::summary::fresh_id;
use crate::error::backoff::Backoff;
use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};
use crate::error::{Error, Remedy, Result};
use crate::fate::Fate;
use crate::job::{InputOptions, Job};
use crate::pg::connect::Link;
use crate::pg::conninfo::Target;
use crate::pg::runtime::attentive;

/// About the first pause before another try.
const FIRST_PAUSE: Duration = Duration::from_millis(100);

const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// How long others may be in the way, and how long an answer is looked for, at least.
const LEAST_PATIENCE: Duration = Duration::from_secs(10);

/// How often it is looked whether the server has ended the session: what it has said must be read, and understood.
const LOOKS: u32 = 4;

/// How often a table may be altered while rows are on their way to it.
const MOST_CHANGES: u32 = 5;

/// When rows are durable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Durability {
    /// When [`Writer::write`] returns.
    #[default]
    Commit,
    /// When [`Writer::flush`] returns. A crash of the server may lose those after it, and their position with them.
    Flush,
}

/// Rows that were written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Receipt {
    /// How many they are, and what became of them: all are inserted, unless a trigger drops some, or some may be there
    /// already.
    pub fate: Fate,
    /// How they were sent, if they were sent now.
    pub way: Option<Way>,
}

/// Writes rows into a table, a few at a time.
pub struct Writer {
    job: Job,
    target: Target,
    durability: Durability,
    kept: Option<Kept>,
    runtime: Runtime,
    session: Option<Session>,
    /// The rows of a COMMIT that had no answer.
    unsure: Option<u64>,
    /// Rows in doubt were given up: the ledger may have them.
    gave_up: bool,
}

impl Writer {
    /// Opens a writer for the table of `job`. With a `load_id`, or where it is to wait for a server that is away, it is
    /// kept in the job's ledger.
    ///
    /// # Errors
    ///
    /// No connection, no such table, or a `load_id` of something else.
    pub fn open(
        job: Job,
        target: Target,
        durability: Durability,
        control: &Control,
    ) -> Result<Self> {
        job.check_settings()?;
        let waits = !target.patience().is_zero();
        let id = job.safety.load_id.clone().or_else(|| waits.then(fresh_id));
        let kept = match (id, &job.safety.ledger) {
            (Some(id), Some(schema)) => Some(Kept::new(schema, &id, &job.changes)?),
            _ => None,
        };
        let (runtime, session, unsure) = (attentive()?, None, None);
        let gave_up = false;
        let mut writer = Self { job, target, durability, kept, runtime, session, unsure, gave_up };
        writer.reach(control).map(|_| writer)
    }

    /// The name by which the ledger knows it, if it does.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.kept.as_ref().map(Kept::id)
    }

    /// The position of the last rows that are in, of this writer and those of its name before it.
    #[must_use]
    pub fn position(&self) -> Option<&str> {
        self.kept.as_ref()?.position()
    }

    /// Writes all rows of `input` in one transaction, with the `position` behind them.
    ///
    /// All that is written must have the columns of the first, and be read alike. An error that passes is waited for as long as
    /// the target's patience lasts. Behind one that leaves rows in doubt, the same rows are to be written again, if the
    /// writer has a name: it finds out whether they are in.
    ///
    /// # Errors
    ///
    /// A row that is refused: then none is in. Where the error says that rows are in doubt, they may be.
    pub fn write(
        &mut self,
        input: &InputOptions,
        position: Option<&str>,
        control: &Arc<Control>,
    ) -> Result<Receipt> {
        if position.is_some() && self.kept.is_none() {
            let message = "a position is kept by the name of the loader";
            return Err(Error::new(Kind::Usage, message)
                .with_remedy(Remedy::options("Name it", ["--load-id", "NAME"])));
        }
        // What was to stop something else stops nothing here.
        control.end();
        control.begin();
        self.write_patiently(input, position, control)
    }

    fn write_patiently(
        &mut self,
        input: &InputOptions,
        position: Option<&str>,
        control: &Arc<Control>,
    ) -> Result<Receipt> {
        let began = Instant::now();
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        let mut changes = 0;
        loop {
            let was_planned = self.session.as_ref().is_some_and(|it| it.planned.is_some());
            let error = match self.try_write(input, position, control) {
                Ok(receipt) => return Ok(receipt),
                Err(Trouble::Changed(_)) if changes < MOST_CHANGES => {
                    changes += 1;
                    continue;
                }
                // Statements that are prepared do not know of columns that have changed.
                Err(Trouble::Refused(error))
                    if was_planned && changes == 0 && is_about_names(&error) =>
                {
                    changes += 1;
                    continue;
                }
                Err(Trouble::InDoubt(error, rows)) if self.kept.is_none() => {
                    return Err(doubtful(control.stop.failure().unwrap_or(error), rows));
                }
                Err(Trouble::InDoubt(error, rows)) => {
                    self.unsure = Some(rows);
                    error
                }
                Err(Trouble::Refused(error) | Trouble::Changed(error)) => error,
            };
            let error = control.stop.failure().unwrap_or(error);
            let patience = match policy::of_error(&error) {
                _ if control.stop.is_stopped() => Duration::ZERO,
                Policy::Retry => self.target.patience().max(LEAST_PATIENCE),
                // The ledger says whether the rows are in.
                _ if self.unsure.is_some() => self.target.patience().max(LEAST_PATIENCE),
                Policy::Wait => self.target.patience(),
                Policy::Reject | Policy::Stop => Duration::ZERO,
            };
            let left = patience.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(match self.unsure {
                    Some(rows) => doubtful(error, rows),
                    None => sent_again(error),
                });
            }
            control.stop.pause(backoff.pause().min(left));
        }
    }

    /// Writes the rows, unless they are in. What fails leaves no session, or one that is as new.
    fn try_write(
        &mut self,
        input: &InputOptions,
        position: Option<&str>,
        control: &Arc<Control>,
    ) -> Result<Receipt, Trouble> {
        let came_through = self.reach(control).map_err(Trouble::Refused)?;
        match (self.unsure.take(), came_through.read) {
            (Some(rows), found) if found == rows && rows > 0 => {
                return Ok(Receipt { fate: came_through, way: None });
            }
            (_, 0) => {}
            (None, _) if std::mem::take(&mut self.gave_up) => {}
            (_, _) => return Err(Trouble::Refused(self.overtaken())),
        }
        let Self { job, target, kept, runtime, session, .. } = self;
        let Some(Session { link, planned }) = session else {
            return Err(Trouble::Refused(Error::lost()));
        };
        let planned = match planned {
            Some(planned) => planned,
            none => {
                let plan = plan(job, input, link, runtime, control);
                none.insert(plan.map_err(Trouble::Refused)?)
            }
        };
        let files = input.files.read_as(input.file_format, input.encoding);
        let plan = (&*job, &planned.plan);
        let gathered = planned.gathering.gather(plan, &files, target, control);
        let gathered = gathered.map_err(Trouble::Refused)?;
        if gathered.rows() == 0 && position.is_none() {
            return Ok(Receipt { fate: Fate::default(), way: None });
        }
        let way = planned.choose(&gathered);
        let began = Instant::now();
        let keeping = kept.as_ref().map(|kept| (kept, position));
        let storing = store(planned, link, (&gathered, way), keeping);
        let settled = runtime.block_on(link.canceller.settle(control, storing));
        match settled {
            Some(Ok((fate, gone))) => {
                if gone == way {
                    planned.record(&gathered, way, began.elapsed());
                }
                planned.gathering.give_back(gathered);
                kept.iter_mut().for_each(|kept| kept.advanced(fate, position));
                Ok(Receipt { fate, way: Some(gone) })
            }
            Some(Err(trouble)) => {
                // A session that was lost is found out when the next one is needed.
                match &trouble {
                    Trouble::InDoubt(..) => self.session = None,
                    // A row that is refused says nothing against the plan.
                    Trouble::Refused(error) if error.kind() == Kind::Data => {
                        planned.gathering.give_back(gathered);
                    }
                    _ => session.iter_mut().for_each(|session| session.planned = None),
                }
                Err(trouble)
            }
            None => {
                self.session = None;
                Err(Trouble::InDoubt(Error::interrupted(), gathered.rows()))
            }
        }
    }

    /// Makes what was written durable, if it is not.
    ///
    /// # Errors
    ///
    /// The connection is lost: then rows that were written since the last time may be.
    pub fn flush(&mut self, control: &Control) -> Result<()> {
        control.end();
        match (&self.session, self.durability) {
            (Some(session), Durability::Flush) => {
                let flushing = session.flush();
                let canceller = &session.link.canceller;
                self.runtime.block_on(canceller.unless_stopped(control, flushing))
            }
            _ => Ok(()),
        }
    }

    /// Forgets rows that are in doubt: they are not written again.
    pub fn give_up(&mut self) {
        if self.unsure.take().is_some() {
            self.gave_up = true;
            self.session = None;
        }
    }

    /// Marks the writer as closed in the ledger, over another connection if its own was lost. It can be opened again.
    ///
    /// # Errors
    ///
    /// Those of [`Self::flush`], and those of [`Self::open`].
    pub fn close(mut self, control: &Control) -> Result<()> {
        self.flush(control)?;
        if self.kept.is_some() {
            self.reach(control)?;
        }
        let Some((kept, session)) = self.kept.as_ref().zip(self.session.as_ref()) else {
            return Ok(());
        };
        self.runtime.block_on(kept.close(&session.link.client))
    }

    /// Sees to it that there is a session. Returns what became of the rows that were not known to be in, by the ledger.
    fn reach(&mut self, control: &Control) -> Result<Fate> {
        let Self { job, target, durability, kept, runtime, session, .. } = self;
        // Nothing has looked at the connection since.
        let is_closed = async |open: &Session| {
            let mut is_closed = false;
            for _ in 0..LOOKS {
                is_closed = is_closed || open.link.is_closed().await;
            }
            is_closed
        };
        if let Some(open) = session
            && runtime.block_on(is_closed(open))
        {
            *session = None;
        }
        if session.is_some() {
            return Ok(Fate::default());
        }
        let is_lazy = *durability == Durability::Flush;
        let opening = control.stop.unless_stopped(Session::open(target, is_lazy));
        let mut opened = runtime.block_on(opening)?;
        let found = match kept {
            Some(kept) => {
                let Link { client, canceller, .. } = &mut opened.link;
                let opening = kept.open(client, &job.target.table);
                runtime.block_on(canceller.unless_stopped(control, opening))?
            }
            None => Fate::default(),
        };
        *session = Some(opened);
        Ok(found)
    }

    fn overtaken(&self) -> Error {
        let lost = || Error::new(Kind::Internal, "rows are in that no loader has written");
        self.kept.as_ref().map_or_else(lost, Kept::overtaken)
    }
}

/// Plans for rows such as those of `input`.
fn plan(
    job: &Job,
    input: &InputOptions,
    link: &mut Link,
    runtime: &Runtime,
    control: &Control,
) -> Result<Planned> {
    let job = Job { input: input.clone(), ..job.clone() };
    job.check()?;
    let job = job.opened(&Arc::default())?;
    let Link { client, canceller, .. } = link;
    runtime.block_on(canceller.unless_stopped(control, Planned::new(&job, client)))
}

/// Stores rows by the `way` that was chosen for them, or another one if the server refuses them so; what became of
/// them, and which way they have gone.
async fn store(
    planned: &Planned,
    link: &Link,
    (gathered, way): (&Gathered, Way),
    kept: Keeping<'_>,
) -> Result<(Fate, Way), Trouble> {
    let (mut way, mut tried) = (way, 0);
    let updated_first = planned.updates_first.get();
    loop {
        let refused = match planned.store(&link.client, (gathered, way), kept).await {
            Ok(fate) => return Ok((fate, way)),
            Err(refused) => refused,
        };
        match planned.next_way(way, &refused, tried) {
            Some(next) => (way, tried) = (next, tried + 1),
            None => {
                // An update has not helped.
                planned.updates_first.set(updated_first);
                return Err(refused);
            }
        }
    }
}
