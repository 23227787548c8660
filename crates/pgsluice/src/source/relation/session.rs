//! The sessions that read a table: one holds the snapshot, the others take it over.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pgsluice_session::connect::{self, Caller, Link, Pid};
use pgsluice_session::conninfo::Target;
use pgsluice_session::runtime::runtime;
use tokio::runtime::Runtime;

use crate::control::Control;
use crate::error::{Error, Result};
use crate::source::sql::relation::{BEGIN, begin_with};

/// A session with a thread's own way to drive it, which can be handed to another thread.
pub(super) struct SourceSession {
    /// Both are there until it is dropped.
    open: Option<(Runtime, Link)>,
}

/// The sessions that read one table under one snapshot.
pub(super) struct Sessions {
    target: Target,
    snapshot: String,
    /// Keeps the snapshot.
    _holder: SourceSession,
    idle: Mutex<Vec<SourceSession>>,
    control: Arc<Control>,
    /// How many may read at the same time.
    pub(super) readers: usize,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Keeps `holder`, which has exported `snapshot`.
    pub(super) fn new(
        target: Target,
        snapshot: String,
        holder: SourceSession,
        control: Arc<Control>,
        readers: usize,
    ) -> Self {
        Self { target, snapshot, _holder: holder, idle: Mutex::default(), control, readers }
    }

    /// Returns a session under the snapshot.
    pub(super) fn take(&self) -> Result<SourceSession> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(session) => Ok(session),
            None => {
                let session = SourceSession::open(&self.target)?;
                let begin = begin_with(&self.snapshot);
                session.run(&self.control, async |link| {
                    link.client.batch_execute(&begin).await.map_err(snapshot_gone)
                })?;
                Ok(session)
            }
        }
    }

    /// Takes back a session that has nothing left to do.
    pub(super) fn give_back(&self, session: SourceSession) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }

    /// What the sessions work for.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }
}

/// Words the error of a snapshot that no session holds any more.
fn snapshot_gone(error: tokio_postgres::Error) -> Error {
    let is_gone = error.code().is_some_and(|code| matches!(code.code(), "22023" | "42704"));
    let error = Error::from(error);
    match is_gone {
        true => error
            .with_detail("The session that held the snapshot of the source has ended.")
            .only_hint("Start the load again.")
            .permanent(),
        false => error,
    }
}

impl SourceSession {
    /// Connects.
    pub(super) fn open(target: &Target) -> Result<Self> {
        let runtime = runtime()?;
        let link = runtime.block_on(connect::open(target))?;
        Ok(Self { open: Some((runtime, link)) })
    }

    /// Begins the transaction that holds a snapshot.
    pub(super) fn begin(&self, control: &Control) -> Result<()> {
        self.run(control, async |link| Ok(link.client.batch_execute(BEGIN).await?))
    }

    /// Does `work`; the server is asked to cancel it if the load is stopped.
    pub(super) fn run<T>(
        &self,
        control: &Control,
        work: impl AsyncFnOnce(&Link) -> Result<T>,
    ) -> Result<T> {
        let Some((runtime, link)) = &self.open else { return Err(Error::lost()) };
        runtime.block_on(link.canceller.unless_stopped(&SourceCaller(control), work(link)))
    }
}

impl Drop for SourceSession {
    /// Ends the session as a client does that leaves, in a thread of its own: whoever drops it may be within a runtime.
    fn drop(&mut self) {
        let Some((runtime, link)) = self.open.take() else { return };
        thread::spawn(move || {
            drop(link);
            // The task of the connection says goodbye.
            runtime.block_on(tokio::task::yield_now());
        });
    }
}

/// What the sessions work for. They are not among those of the load that are watched for locks: their numbers are those
/// of another server, perhaps.
struct SourceCaller<'c>(&'c Control);

impl Caller for SourceCaller<'_> {
    fn enter(&self, _: &Pid) -> impl Sized {}

    fn stopped(&self) -> impl Future<Output = ()> {
        self.0.stop.stopped()
    }

    fn failure(&self) -> Option<Error> {
        self.0.stop.failure()
    }
}
