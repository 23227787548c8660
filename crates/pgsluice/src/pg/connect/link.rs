//! A connection that may have to be stopped or may be lost while it works: the client, the means
//! to cancel what the server is at, and how the connection ended.

use std::future::Future;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite};
use tokio_postgres::{CancelToken, Client, Connection, Error, NoTls, SimpleQueryMessage};

use super::watch::Watched;
use crate::Result;
use crate::busy::Pid;
use crate::control::Control;
use crate::pg::sql::OWN_PID;

/// How long a statement that was cancelled may take to say how it ended: whoever has pressed Ctrl-C
/// waits for it.
const PATIENCE: Duration = Duration::from_secs(1);

/// A connection, logged in.
pub(crate) struct Link {
    pub(crate) client: Client,
    pub(crate) canceller: Canceller,
    ending: Arc<OnceLock<Error>>,
}

impl Link {
    /// Lets `connection` run as a task; `tls` is how it is encrypted, if it is.
    pub(super) fn new<S, T>(
        client: Client,
        connection: Connection<S, T>,
        tls: Option<Watched>,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let ending = Arc::new(OnceLock::new());
        let end = Arc::clone(&ending);
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                let _ = end.set(error);
            }
        });
        let canceller = Canceller { token: client.cancel_token(), tls, pid: Arc::default() };
        Self { client, canceller, ending }
    }

    /// Runs `settings`, and asks by which number the server knows the session.
    pub(crate) async fn set(&self, settings: &str) -> Result<()> {
        self.canceller.identify(&self.client, settings).await
    }

    /// Whether the connection has ended, after giving it its turn: nobody else looks at it while
    /// its thread waits for something else.
    pub(crate) async fn is_closed(&self) -> bool {
        tokio::task::yield_now().await;
        self.client.is_closed()
    }

    /// Why the connection ended, if it has.
    pub(crate) fn ending(&self) -> Option<&Error> {
        self.ending.get()
    }
}

/// Cancels what a connection's server is at.
pub(crate) struct Canceller {
    token: CancelToken,
    tls: Option<Watched>,
    /// By which number the server knows the session, once it was asked.
    pid: Pid,
}

impl Canceller {
    /// Runs `settings` over `client`, which this is the canceller of, and asks for the session's number in
    /// the same round trip: locks that it waits for are said from then on.
    pub(crate) async fn identify(&self, client: &Client, settings: &str) -> Result<()> {
        let sql = format!("{settings}; {OWN_PID}");
        self.is(&client.simple_query(&sql).await?);
        Ok(())
    }

    /// Notes the session's number, which is the last of `answers`.
    pub(crate) fn is(&self, answers: &[SimpleQueryMessage]) {
        let last = answers.iter().rev().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0)?.parse().ok(),
            _ => None,
        });
        last.into_iter().for_each(|pid| _ = self.pid.set(pid));
    }

    /// The outcome of `work`. If the load is stopped meanwhile, the server is asked to cancel it;
    /// None if even so it does not end.
    pub(crate) async fn settle<T>(
        &self,
        control: &Control,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = pin!(work);
        let _busy = control.busy.enter(&self.pid);
        tokio::select! {
            biased;
            outcome = &mut work => return Some(outcome),
            () = control.stopped() => {}
        }
        let cancelled = async {
            self.cancel().await;
            std::future::pending().await
        };
        let outcome = async {
            tokio::select! {
                outcome = work => outcome,
                never = cancelled => never,
            }
        };
        tokio::time::timeout(PATIENCE, outcome).await.ok()
    }

    /// The outcome of `work`, or why the load was stopped: as [`Self::settle`] otherwise.
    pub(crate) async fn unless_stopped<T>(
        &self,
        control: &Control,
        work: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        let outcome = self.settle(control, work).await;
        match (control.failure(), outcome) {
            (None, Some(outcome)) => outcome,
            (failure, _) => Err(failure.unwrap_or_else(crate::Error::interrupted)),
        }
    }

    /// Whether the server does as it is asked, the statement's own outcome tells.
    async fn cancel(&self) {
        let _ = match &self.tls {
            Some(tls) => self.token.cancel_query(tls.clone()).await,
            None => self.token.cancel_query(NoTls).await,
        };
    }
}
