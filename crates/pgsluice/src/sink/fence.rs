//! A fence: a check in the first round trip of a transaction that it may write.

use futures_util::future::try_join_all;
use tokio_postgres::{Client, Error as PgError, SimpleQueryMessage};

use crate::error::Error;
use crate::ledger::Ledger;
use crate::ledger::sql::positions::WriterPosition;
use crate::ledger::sql::{Participant, is_held};
use crate::pg::connect::Link;

/// The conditions under which a transaction may write.
pub(crate) enum Fence<'f> {
    /// No condition.
    Open,
    /// The session is the one that the load began with.
    Session,
    /// The session is the one that the load began with, and no other run of the load has begun.
    Run(&'f Ledger),
    /// Each of these participants is still at its `from` position.
    Positions(Vec<Advance<'f>>),
}

/// A participant whose position moves with the rows of a transaction.
pub(crate) struct Advance<'a> {
    pub(crate) participant: &'a Participant,
    pub(crate) from: WriterPosition,
    /// The next position; `None` keeps the current one.
    pub(crate) to: Option<&'a str>,
    /// The number of rows between the two positions.
    pub(crate) rows: u64,
}

impl Fence<'_> {
    /// Returns the statements that follow the BEGIN and the locks.
    pub(super) fn sql(&self, link: &Link) -> String {
        match self {
            Self::Open | Self::Positions(_) => String::new(),
            Self::Session => link.asks_session().to_owned(),
            Self::Run(ledger) => format!("{}; {}", ledger.fence(), link.asks_session()),
        }
    }

    /// Advances the positions. Returns the first participant that another attempt has taken over, if any.
    pub(super) async fn advance(&self, client: &Client) -> Result<Option<&Participant>, PgError> {
        let Self::Positions(advances) = self else { return Ok(None) };
        let advancing = advances.iter().map(|Advance { participant, from, to, rows }| {
            participant.advance(client, from, rows.cast_signed(), *to)
        });
        let are_current = try_join_all(advancing).await?;
        let overtaken = advances.iter().zip(are_current).find(|(_, is_current)| !is_current);
        Ok(overtaken.map(|(advance, _)| advance.participant))
    }

    /// Checks the answers to [`Self::sql`].
    ///
    /// # Errors
    ///
    /// Fails if the transaction is in another session.
    pub(super) fn check_session(
        &self,
        link: &Link,
        answers: &[SimpleQueryMessage],
    ) -> Result<(), Error> {
        match self {
            Self::Open | Self::Positions(_) => Ok(()),
            Self::Session | Self::Run(_) => link.check_session(answers),
        }
    }

    /// Whether the answers to [`Self::sql`] show that no other run and no other attempt has begun.
    pub(super) fn is_held(&self, answers: &[SimpleQueryMessage]) -> bool {
        match self {
            Self::Run(_) => is_held(answers),
            Self::Open | Self::Session | Self::Positions(_) => true,
        }
    }

    /// Returns the error for a transaction that the fence has refused, with `overtaken` as the cause if it is
    /// given.
    pub(super) async fn explain(&self, client: &Client, overtaken: Option<&Participant>) -> Error {
        match (self, overtaken) {
            (_, Some(participant)) => participant.overtaken(),
            (Self::Run(ledger), None) => ledger.lost_attempt(client).await,
            (Self::Open | Self::Session | Self::Positions(_), None) => Error::lost(),
        }
    }
}
