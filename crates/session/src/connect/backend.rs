//! Which session of the server a connection has. Behind a pooler that hands sessions out by the
//! transaction it has another one each time. Anything set, locked or prepared in one is left to others.
//! A crash of the server, which takes back what was committed asynchronously, closes nothing here.

use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, SimpleQueryMessage};

use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// The process of the session: it tells sessions apart that are not given to others.
pub(crate) const PROCESS: &str = "SELECT pg_catalog.pg_backend_pid()";

/// What no other session of any server has: its process, and when the server and the session began. The
/// latter a role may not always see.
pub(crate) const BACKEND: &str = "
SELECT pg_catalog.concat_ws(' ', pg_catalog.pg_backend_pid(),
           pg_catalog.encode(pg_catalog.timestamptz_send(pg_catalog.pg_postmaster_start_time()), 'hex'),
           pg_catalog.encode(pg_catalog.timestamptz_send(a.backend_start), 'hex'))
FROM pg_catalog.pg_stat_get_activity(pg_catalog.pg_backend_pid()) AS a";

/// A session of the server, as it calls itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Backend(String);

impl Backend {
    /// The one that `client` has now, by [`PROCESS`] or [`BACKEND`].
    pub(super) async fn of(
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

    /// Its process.
    pub(super) fn pid(&self) -> &str {
        self.0.split(' ').next().unwrap_or_default()
    }

    /// Refuses that the last of `answers`, to the question that was asked at first, comes from another session.
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

    /// The error for a session that does not know a statement which was prepared, if that is what `error` says.
    pub(super) fn without_statement(error: &tokio_postgres::Error) -> Option<Error> {
        let is_unknown = error.code() == Some(&SqlState::INVALID_SQL_STATEMENT_NAME);
        is_unknown.then(|| shared("A prepared statement no longer exists."))
    }

    /// Refuses a session that another connection has as well.
    pub(super) fn check_alone(&self, other: &Self) -> Result<()> {
        match self == other {
            true => Err(shared(&format!("Two connections share server process {}.", self.pid()))),
            false => Ok(()),
        }
    }
}

/// The error for a connection whose session is not its own.
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
