//! A fence: the proof, in the first round trip of a transaction, that the transaction may write.

use futures_util::future::try_join_all;
use tokio_postgres::{Client, Error as PgError, SimpleQueryMessage};

use crate::error::Error;
use crate::ledger::Ledger;
use crate::ledger::sql::positions::WriterPosition;
use crate::ledger::sql::{Participant, is_held};
use crate::pg::connect::Link;

/// The conditions under which a transaction may write.
pub(crate) enum Fence<'f> {
    /// Nothing.
    Open,
    /// It is in the session that the load began with.
    Session,
    /// It is in that session, and no other run of the load has begun.
    Run(&'f Ledger),
    /// Each of these participants stands where it is moved from.
    Positions(Vec<Advance<'f>>),
}

/// A participant whose position moves with the rows of a transaction.
pub(crate) struct Advance<'a> {
    pub(crate) participant: &'a Participant,
    pub(crate) from: WriterPosition,
    /// The next position; the same as before if `None`.
    pub(crate) to: Option<&'a str>,
    /// The number of rows between the two.
    pub(crate) rows: u64,
}

impl Fence<'_> {
    /// Returns the statements that follow the beginning of the transaction and its locks.
    pub(super) fn sql(&self, link: &Link) -> String {
        match self {
            Self::Open | Self::Positions(_) => String::new(),
            Self::Session => link.asks_session().to_owned(),
            Self::Run(ledger) => format!("{}; {}", ledger.fence(), link.asks_session()),
        }
    }

    /// Moves the positions. Returns the first participant that another attempt has taken over, if any.
    pub(super) async fn advance(&self, client: &Client) -> Result<Option<&Participant>, PgError> {
        let Self::Positions(advances) = self else { return Ok(None) };
        let advancing = advances.iter().map(|Advance { participant, from, to, rows }| {
            participant.advance(client, from, rows.cast_signed(), *to)
        });
        let are_current = try_join_all(advancing).await?;
        let overtaken = advances.iter().zip(are_current).find(|(_, is_current)| !is_current);
        Ok(overtaken.map(|(advance, _)| advance.participant))
    }

    /// Returns the error for a transaction in another session, by the answers to [`Self::sql`].
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

    /// Whether no other run and no other attempt has begun, by the answers to [`Self::sql`].
    pub(super) fn is_held(&self, answers: &[SimpleQueryMessage]) -> bool {
        match self {
            Self::Run(_) => is_held(answers),
            Self::Open | Self::Session | Self::Positions(_) => true,
        }
    }

    /// Returns the error for a transaction that the fence has refused, if need be because of the participant
    /// `overtaken`.
    pub(super) async fn explain(&self, client: &Client, overtaken: Option<&Participant>) -> Error {
        match (self, overtaken) {
            (_, Some(participant)) => participant.overtaken(),
            (Self::Run(ledger), None) => ledger.lost_attempt(client).await,
            (Self::Open | Self::Session | Self::Positions(_), None) => Error::lost(),
        }
    }
}
