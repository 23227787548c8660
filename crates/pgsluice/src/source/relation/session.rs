//! The sessions that read a table: one exports the snapshot, the others import it.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use pgsluice_session::connect::{self, Caller, Link, Pid};
use pgsluice_session::conninfo::Target;
use pgsluice_session::runtime::runtime;
use tokio::runtime::Runtime;

use super::Snapshots;
use crate::control::Control;
use crate::error::{Error, Result};
use crate::source::sql::relation::{BEGIN, begin_with, begin_without_snapshot};

/// A session with its own runtime, which can move between threads.
pub(super) struct SourceSession {
    /// The runtime and the connection; `None` only during drop.
    open: Option<(Runtime, Link)>,
}

/// The sessions that read one table.
pub(super) struct Sessions {
    target: Target,
    /// The snapshot that all sessions import; `None` if each range is read under its own.
    snapshot: Option<String>,
    /// The session that holds the snapshot, and the locks on the heaps.
    _holder: SourceSession,
    idle: Mutex<Vec<SourceSession>>,
    control: Arc<Control>,
    /// Maximum number of sessions that read at the same time.
    pub(super) readers: usize,
}

impl fmt::Debug for Sessions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sessions").field("snapshot", &self.snapshot).finish_non_exhaustive()
    }
}

impl Sessions {
    /// Creates the sessions for `snapshot`, which `holder` has exported, or for a new snapshot for each
    /// statement.
    pub(super) fn new(
        target: Target,
        snapshot: Option<String>,
        holder: SourceSession,
        control: Arc<Control>,
        readers: usize,
    ) -> Self {
        Self { target, snapshot, _holder: holder, idle: Mutex::default(), control, readers }
    }

    /// Returns the snapshots under which the sessions read.
    pub(super) fn snapshots(&self) -> Snapshots {
        if self.snapshot.is_some() { Snapshots::One } else { Snapshots::Each }
    }

    /// Returns an idle session, or opens one under the snapshot.
    pub(super) fn take(&self) -> Result<SourceSession> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        match idle {
            Some(session) => Ok(session),
            None => {
                let session = SourceSession::open(&self.target)?;
                let begin = match &self.snapshot {
                    Some(snapshot) => begin_with(snapshot),
                    None => begin_without_snapshot(),
                };
                session.run(&self.control, async |link| {
                    link.client.batch_execute(&begin).await.map_err(snapshot_gone)
                })?;
                Ok(session)
            }
        }
    }

    /// Makes a session available to other readers.
    pub(super) fn give_back(&self, session: SourceSession) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(session);
    }

    /// Returns the control of the load that reads.
    pub(super) fn control(&self) -> &Control {
        &self.control
    }
}

/// Converts the error for a snapshot that no session holds any more.
fn snapshot_gone(error: tokio_postgres::Error) -> Error {
    let is_gone = error.code().is_some_and(|code| matches!(code.code(), "22023" | "42704"));
    let error = Error::from(error);
    match is_gone {
        true => error
            .with_detail("The session that held the snapshot of the source has ended.")
            .only_hint("Run the load again.")
            .permanent(),
        false => error,
    }
}

impl SourceSession {
    /// Connects to `target`.
    pub(super) fn open(target: &Target) -> Result<Self> {
        let runtime = runtime()?;
        let link = runtime.block_on(connect::open(target))?;
        Ok(Self { open: Some((runtime, link)) })
    }

    /// Begins the transaction that holds the locks, and with [`Snapshots::One`] the snapshot.
    pub(super) fn begin(&self, snapshots: Snapshots, control: &Control) -> Result<()> {
        let begin = match snapshots {
            Snapshots::One => BEGIN.to_owned(),
            Snapshots::Each => begin_without_snapshot(),
        };
        self.run(control, async |link| Ok(link.client.batch_execute(&begin).await?))
    }

    /// Runs `work`, and asks the server to cancel it if the load is stopped.
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
    /// Closes the connection. A separate thread does this, because the caller may be inside a runtime.
    fn drop(&mut self) {
        let Some((runtime, link)) = self.open.take() else { return };
        thread::spawn(move || {
            drop(link);
            // The connection's task sends Terminate.
            runtime.block_on(tokio::task::yield_now());
        });
    }
}

/// The load that the sessions read for. It does not watch them for locks, because their PIDs may belong to another
/// server.
struct SourceCaller<'c>(&'c Control);

impl Caller for SourceCaller<'_> {
    fn enter(&self, _: &Pid) -> impl Sized {}

    fn until_stopped(&self) -> impl Future<Output = ()> {
        self.0.stop.until_stopped()
    }

    fn failure(&self) -> Option<Error> {
        self.0.stop.failure()
    }
}
