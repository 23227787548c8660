//! What the ledger keeps of a writer: its position, and the count by which a COMMIT without an answer is found out.

use tokio_postgres::{Client, Error as PgError};

use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::ChangeOptions;
use crate::ledger::Run;
use crate::ledger::sql::positions::WriterPosition;
use crate::ledger::sql::{Participant, Schema};
use crate::ledger::terms::of_writer;
use crate::row_counts::RowCounts;
use crate::sink::fence::Advance;

/// A writer that the ledger knows.
#[derive(Debug)]
pub(super) struct KeptPosition {
    named: Participant,
    run: String,
    /// The terms that its options set, as JSON.
    terms: String,
    /// How far it has come, once it is open.
    at: Option<WriterPosition>,
}

/// What keeps rows that are sent, if anything does, and the position behind them.
pub(super) type Keeping<'k> = Option<(&'k KeptPosition, Option<&'k str>)>;

impl KeptPosition {
    /// The writer `id` in the ledger of `schema`, which is not open.
    pub(super) fn new(schema: &str, id: &str, changes: &ChangeOptions) -> Result<Self> {
        let run = serde_json::to_string(&Run::new());
        let run = run.map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        let (named, terms) = (Participant::new(&Schema::new(schema), id), of_writer(changes)?);
        Ok(Self { named, run, terms, at: None })
    }

    /// The name of it.
    pub(super) fn id(&self) -> &str {
        &self.named.id
    }

    /// Opens it, or opens it again; returns how far it has come by the ledger.
    pub(super) async fn open(&self, client: &mut Client, table: &str) -> Result<WriterPosition> {
        let attempt = self.at.as_ref().map(|at| at.attempt);
        self.named.open_writer(client, table, &self.run, &self.terms, attempt).await
    }

    /// Goes on from `found`; returns what became of the rows that were committed since it was open before.
    ///
    /// # Errors
    ///
    /// Returns the rows that the server lost since.
    pub(super) fn take_up(&mut self, found: WriterPosition) -> Result<RowCounts, u64> {
        let before = self.at.as_ref().map_or(found.counts, |at| at.counts);
        let since = found.counts.since(&before);
        self.at = Some(found);
        since
    }

    /// What the program has said of the last rows that are in.
    pub(super) fn position(&self) -> Option<&str> {
        self.at.as_ref()?.position.as_deref()
    }

    fn at(&self) -> WriterPosition {
        self.at.clone().unwrap_or_default()
    }

    /// Returns the move from its position to the one behind `rows` more.
    pub(super) fn advance<'a>(&'a self, rows: u64, to: Option<&'a str>) -> Advance<'a> {
        Advance { participant: &self.named, from: self.at(), to, rows }
    }

    /// Records what became of them.
    pub(super) async fn settle(&self, client: &Client, counts: &RowCounts) -> Result<(), PgError> {
        self.named.settle(client, self.at().attempt, counts).await
    }

    /// The rows are committed.
    pub(super) fn advanced(&mut self, counts: RowCounts, position: Option<&str>) {
        if let Some(at) = &mut self.at {
            at.counts.add(counts);
            at.position = position.map(str::to_owned).or_else(|| at.position.take());
        }
    }

    /// Marks it as closed.
    pub(super) async fn close(&self, client: &Client) -> Result<()> {
        self.named.close_writer(client, self.at().attempt).await
    }

    /// The error for one that another has taken over.
    pub(super) fn overtaken(&self) -> Error {
        self.named.overtaken()
    }
}
