//! A connection that may have to be stopped, or may be lost, while it works: the client, the means to cancel a
//! statement, and how the connection ended.

use std::future::Future;
use std::ops::Deref;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::{CancelToken, Client, Connection, Error, NoTls, SimpleQueryMessage};

use super::backend::{BACKEND, Backend, PROCESS};
use super::login_pid::login_pid;
use super::timeouts;
use super::watch::WatchedConnector;
use crate::Result;
use crate::conninfo::Target;

/// Time that a cancelled statement has to report its end, while a person who pressed Ctrl-C waits.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(1);

/// Pause before the cancel request is repeated.
const CANCEL_AGAIN: Duration = Duration::from_millis(100);

/// The server's process ID of a session, once known.
pub type Pid = Arc<OnceLock<i32>>;

/// A user of sessions, who can ask for their work to end.
pub trait Caller {
    /// Marks the session `pid` as working until the returned value is dropped.
    fn enter(&self, pid: &Pid) -> impl Sized;

    /// Waits until the work should end.
    fn until_stopped(&self) -> impl Future<Output = ()>;

    /// Returns why the work should end, if it should.
    fn failure(&self) -> Option<crate::Error>;
}

impl<D: Deref<Target: Caller>> Caller for D {
    fn enter(&self, pid: &Pid) -> impl Sized {
        (**self).enter(pid)
    }

    fn until_stopped(&self) -> impl Future<Output = ()> {
        (**self).until_stopped()
    }

    fn failure(&self) -> Option<crate::Error> {
        (**self).failure()
    }
}

/// A connection, logged in.
pub struct Link {
    /// The client that sends statements.
    pub client: Client,
    /// Cancels statements.
    pub canceller: Canceller,
    /// The session, once it is identified, and whether other clients may get it too.
    session: OnceLock<(Option<Backend>, bool)>,
    /// The server's major version.
    version: u32,
    ending: Arc<OnceLock<Error>>,
}

impl Link {
    /// Runs `connection` as a task; `tls` is its encryption, if any.
    pub(super) fn new<S, T>(
        client: Client,
        connection: Connection<S, T>,
        tls: Option<WatchedConnector>,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let ending = Arc::new(OnceLock::new());
        let version = connection.parameter("server_version").map_or(0, major);
        let end = Arc::clone(&ending);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                let _ = end.set(error);
            }
        });
        let canceller = Canceller { token: client.cancel_token(), tls, pid: Arc::default() };
        Self { client, canceller, session: OnceLock::new(), version, ending }
    }

    /// Returns the major version of the server.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Records which session of the server the connection has. Behind a pooler, its process differs from the
    /// process that was named at login.
    pub(super) async fn identify(&self) -> Result<(), Error> {
        let mut backend = Backend::query(&self.client, PROCESS).await?;
        let login_pid = login_pid(&self.canceller.token).await.map(|pid| pid.to_string());
        let is_pooled = backend.as_ref().map(Backend::pid) != login_pid.as_deref();
        if is_pooled {
            backend = Backend::query(&self.client, BACKEND).await?;
        }
        let pid = backend.as_ref().and_then(|backend| backend.pid().parse().ok());
        pid.into_iter().for_each(|pid| _ = self.canceller.pid.set(pid));
        let _ = self.session.set((backend, is_pooled));
        Ok(())
    }

    /// Prevents timeouts of the role from ending the session, and makes the server end it soon after this client
    /// is gone.
    pub async fn set_timeouts(&self, target: &Target) -> Result<(), Error> {
        timeouts::set(&self.client, self.version, target.liveness()).await
    }

    /// Whether a pooler that may share the session lies between the connection and the server.
    pub(super) fn is_pooled(&self) -> bool {
        self.session.get().is_some_and(|(_, is_pooled)| *is_pooled)
    }

    fn backend(&self) -> Option<&Backend> {
        self.session.get()?.0.as_ref()
    }

    /// Fails if `other`, which is in a transaction, has the session of this connection, or if this connection
    /// has another session now.
    pub(super) async fn check_apart(&self, other: &Self) -> Result<()> {
        let (Some(own), Some(other)) = (self.backend(), other.backend()) else { return Ok(()) };
        own.check_distinct(other)?;
        self.check_same(&self.client.simple_query(BACKEND).await?)
    }

    /// Returns the last query at the beginning of a transaction, for [`Self::check_session`]; empty where
    /// sessions are not shared.
    pub fn asks_session(&self) -> &'static str {
        if self.is_pooled() { BACKEND } else { "" }
    }

    /// Fails if the transaction runs in another session than the connection's first.
    pub fn check_session(&self, answers: &[SimpleQueryMessage]) -> Result<()> {
        if self.is_pooled() { self.check_same(answers) } else { Ok(()) }
    }

    /// Returns the query that identifies the session.
    pub fn which_session(&self) -> &'static str {
        if self.is_pooled() { BACKEND } else { PROCESS }
    }

    /// Fails if the answers come from another session than the connection's first. The last of them answers
    /// [`Self::which_session`].
    pub fn check_same(&self, answers: &[SimpleQueryMessage]) -> Result<()> {
        self.backend().map_or(Ok(()), |backend| backend.check(answers))
    }

    /// Explains an `error` that a shared session may cause; returns `None` for all others.
    pub fn explain(&self, error: &Error) -> Option<crate::Error> {
        if self.is_pooled() { Backend::without_statement(error) } else { None }
    }

    /// Whether the connection has ended. Polls it first, because nothing else does while its thread waits for
    /// something else.
    pub async fn is_closed(&self) -> bool {
        tokio::task::yield_now().await;
        self.client.is_closed()
    }

    /// Returns why the connection ended, if it has.
    pub fn ending(&self) -> Option<&Error> {
        self.ending.get()
    }
}

/// Returns the major version in a server's version string.
fn major(version: &str) -> u32 {
    let end = version.find(|c: char| !c.is_ascii_digit()).unwrap_or(version.len());
    version[..end].parse().unwrap_or(0)
}

/// Cancels the current statement of a connection.
pub struct Canceller {
    token: CancelToken,
    tls: Option<WatchedConnector>,
    /// The server's process ID of the session, once known.
    pid: Pid,
}

impl Canceller {
    /// Returns the outcome of `work`. If the load is stopped first, asks the server to cancel it; `None` if it
    /// does not end even then.
    pub async fn settle<T>(
        &self,
        caller: &impl Caller,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let _busy = caller.enter(&self.pid);
        tokio::select! {
            biased;
            outcome = &mut work => return Some(outcome),
            () = caller.until_stopped() => {}
        }
        // A request that arrives before the statement has no effect.
        let cancelled = async {
            loop {
                self.cancel().await;
                tokio::time::sleep(CANCEL_AGAIN).await;
            }
        };
        let outcome = async {
            tokio::select! {
                outcome = work => outcome,
                never = cancelled => never,
            }
        };
        tokio::time::timeout(CANCEL_TIMEOUT, outcome).await.ok()
    }

    /// Returns the outcome of `work`, or why the load was stopped; otherwise like [`Self::settle`].
    pub async fn unless_stopped<T>(
        &self,
        caller: &impl Caller,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let outcome = self.settle(caller, work).await;
        match (caller.failure(), outcome) {
            (None, Some(outcome)) => outcome,
            (failure, _) => Err(failure.unwrap_or_else(crate::Error::interrupted)),
        }
    }

    /// Sends a cancel request. The statement's outcome shows whether it took effect.
    async fn cancel(&self) {
        let _ = match &self.tls {
            Some(tls) => self.token.cancel_query(tls.clone()).await,
            None => self.token.cancel_query(NoTls).await,
        };
    }
}
