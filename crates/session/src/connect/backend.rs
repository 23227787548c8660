//! The identity of a connection's session on the server. Behind a pooler in transaction mode the session may
//! change with each transaction, and other clients get whatever was set, locked or prepared in it. A crash of
//! the server, which can undo asynchronous commits, does not close the connection to the pooler.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// Query for the process of the session. It identifies a session that is not shared.
pub(crate) const PROCESS: &str = "SELECT pg_catalog.pg_backend_pid()";

/// Query for an identity that is unique among all sessions of all servers: the process, and the start times of
/// the server and of the session. A role may not be allowed to see the session's.
pub(crate) const BACKEND: &str = "
SELECT pg_catalog.concat_ws(' ', pg_catalog.pg_backend_pid(),
           pg_catalog.encode(pg_catalog.timestamptz_send(pg_catalog.pg_postmaster_start_time()), 'hex'),
           pg_catalog.encode(pg_catalog.timestamptz_send(a.backend_start), 'hex'))
FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) AS a";

/// A session's identity, as the server reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backend(String);

impl Backend {
    /// Asks for the current session of `client` with [`PROCESS`] or [`BACKEND`].
    pub(super) async fn query(
        client: &Client,
        question: &str,
    ) -> Result<Option<Self>, tokio_postgres::Error> {
        Ok(Self::in_answers(&client.simple_query(question).await?))
    }

    fn in_answers(answers: &[SimpleQueryMessage]) -> Option<Self> {
        answers.iter().rev().find_map(|answer| match answer {
            SimpleQueryMessage::Row(row) => row.get(0).map(|text| Self(text.to_owned())),
            _ => None,
        })
    }

    /// Returns its process.
    pub(super) fn pid(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// Fails if the last of `answers`, which answers the query of the first identification, comes from another
    /// session.
    pub(super) fn check(&self, answers: &[SimpleQueryMessage]) -> Result<()> {
        match Self::in_answers(answers) {
            Some(now) if now != *self => Err(shared(&format!(
                "This connection was served by server process {} at first, and is now served by \
                 {}.",
                self.pid(),
                now.pid()
            ))),
            _ => Ok(()),
        }
    }

    /// Returns the error for a session that does not know a prepared statement, if `error` says so.
    pub(super) fn without_statement(error: &tokio_postgres::Error) -> Option<Error> {
        let is_unknown = error.code() == Some(&SqlState::INVALID_SQL_STATEMENT_NAME);
        is_unknown.then(|| shared("A prepared statement no longer exists."))
    }

    /// Fails if another connection has the same session.
    pub(super) fn check_distinct(&self, other: &Self) -> Result<()> {
        match self == other {
            true => Err(shared(&format!("Two connections share server process {}.", self.pid()))),
            false => Ok(()),
        }
    }
}

/// Builds the error for a connection whose session is shared.
fn shared(how: &str) -> Error {
    Error::new(Kind::Server, "the connection goes through a pooler in transaction mode")
        .with_sqlstate("0A000")
        .with_detail(how)
        .with_detail("Settings, locks and prepared statements need a dedicated session.")
        .with_hint(
            "Connect directly to the server, or to a pool in session mode; in PgBouncer, set \
             pool_mode=session for the database or the user.",
        )
        .permanent()
}
