//! State of a writer in the ledger: its positions, and the counts that decide whether a COMMIT without an
//! answer succeeded.
//!
//! A writer that does not share its load has one position, under the participant without a name. If several
//! writers share a load, each has the positions of the participants that it has opened.

use std::collections::{BTreeMap, BTreeSet};

use tokio_postgres::{Client, Error as PgError};

use super::extras::{Positions, Step};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::ChangeOptions;
use crate::ledger::Run;
use crate::ledger::sql::positions::WriterPosition;
use crate::ledger::sql::{Participant, Schema};
use crate::ledger::terms::describe_writer;
use crate::row_counts::RowCounts;
use crate::sink::fence::Advance;

/// The name of the participant that stands for the whole load.
const WHOLE: &str = "";

/// A writer that the ledger knows.
#[derive(Debug)]
pub(super) struct WriterRecord {
    named: Participant,
    run: String,
    /// The terms from the writer's options, as JSON.
    terms: String,
    is_shared: bool,
    /// The participants that it has opened, by name.
    open: BTreeMap<String, OpenParticipant>,
}

/// A participant that a writer has opened.
#[derive(Debug)]
struct OpenParticipant {
    named: Participant,
    at: WriterPosition,
}

/// The position of each participant in the ledger, by name.
pub(super) type PositionsByName = BTreeMap<String, WriterPosition>;

/// The writer in the ledger, if it has one, and the positions after the rows that are sent.
pub(super) type RecordUpdate<'k> = Option<(&'k WriterRecord, Positions<'k>)>;

impl WriterRecord {
    /// Creates the state of the writer `id` in the ledger of `schema`, without opening it.
    pub(super) fn new(
        schema: &str,
        id: &str,
        changes: &ChangeOptions,
        is_shared: bool,
    ) -> Result<Self> {
        let run = serde_json::to_string(&Run::new());
        let run = run.map_err(|error| Error::new(Kind::Internal, error.to_string()))?;
        let named = Participant::new(&Schema::new(schema), id);
        Ok(Self {
            named,
            run,
            terms: describe_writer(changes, is_shared)?,
            is_shared,
            open: BTreeMap::new(),
        })
    }

    /// Returns the writer's name.
    pub(super) fn id(&self) -> &str {
        &self.named.id
    }

    /// Whether other writers may work on the same load.
    pub(super) fn is_shared(&self) -> bool {
        self.is_shared
    }

    /// Opens the writer, or opens it again. Returns its positions in the ledger.
    pub(super) async fn open(&self, client: &mut Client, table: &str) -> Result<PositionsByName> {
        let Self { named, run, terms, is_shared, open } = self;
        let attempt = |name: &str| open.get(name).map(|open| open.at.attempt);
        let of_load = named.open_writer(client, table, run, terms, attempt(WHOLE)).await?;
        if !is_shared {
            return Ok(BTreeMap::from([(WHOLE.to_owned(), of_load)]));
        }
        let names = open.keys().map(|name| (&**name, attempt(name)));
        let found = named.open_participants(client, table, run, terms, names).await?;
        Ok(open.keys().cloned().zip(found).collect())
    }

    /// Opens the participants with these names, and no others. From then on the server commits nothing that
    /// was begun for them before.
    pub(super) async fn open_participants(
        &mut self,
        client: &mut Client,
        table: &str,
        names: &[String],
    ) -> Result<()> {
        let names: BTreeSet<&str> = names.iter().map(|name| &**name).collect();
        let Self { named, run, terms, .. } = self;
        let opening = names.iter().map(|name| (*name, None));
        let found = named.open_participants(client, table, run, terms, opening).await?;
        let entry = |(name, at): (&str, WriterPosition)| {
            (name.to_owned(), OpenParticipant { named: named.participant(name), at })
        };
        self.open = names.into_iter().zip(found).map(entry).collect();
        Ok(())
    }

    /// Forgets the participants that it has opened.
    pub(super) fn forget_participants(&mut self) {
        self.open.clear();
    }

    /// Continues from the positions `found`. Returns the outcome of the rows that were committed since it was
    /// last open.
    ///
    /// # Errors
    ///
    /// Returns the number of rows that the server has lost since.
    pub(super) fn take_up(&mut self, found: PositionsByName) -> Result<RowCounts, u64> {
        let sum = |counts: &mut dyn Iterator<Item = RowCounts>| {
            counts.fold(RowCounts::default(), |mut sum, counts| {
                sum.add(counts);
                sum
            })
        };
        let now = sum(&mut found.values().map(|at| at.counts));
        let before = found.iter().map(|(name, at)| match self.open.get(name) {
            Some(open) => open.at.counts,
            None => at.counts,
        });
        let since = now.since(&sum(&mut before.into_iter()));
        let Self { named, open, .. } = self;
        let entry = |(name, at): (String, WriterPosition)| {
            let participant = named.participant(&name);
            (name, OpenParticipant { named: participant, at })
        };
        *open = found.into_iter().map(entry).collect();
        since
    }

    /// Returns the position of the last committed rows.
    pub(super) fn position(&self) -> Option<&str> {
        self.position_of(WHOLE)
    }

    /// Returns the position of a participant, if it is open and has one.
    pub(super) fn position_of(&self, name: &str) -> Option<&str> {
        self.open.get(name)?.at.position.as_deref()
    }

    /// Whether a participant has a position.
    pub(super) fn has_position(&self) -> bool {
        self.open.values().any(|open| open.at.position.is_some())
    }

    /// Fails if `positions` do not continue from the current ones.
    pub(super) fn check(&self, positions: Positions<'_>) -> Result<()> {
        let refuse = |message: String| Err(Error::new(Kind::Usage, message));
        let steps = match positions {
            Positions::Unchanged | Positions::Last(_) | Positions::Steps([]) if self.is_shared => {
                return refuse(
                    "a Writer that shares its load needs positions of participants".into(),
                );
            }
            Positions::Unchanged | Positions::Last(_) => return Ok(()),
            Positions::Steps(_) if !self.is_shared => {
                return refuse("only a Writer that shares its load has participants".to_owned());
            }
            Positions::Steps(steps) => steps,
        };
        for Step { participant, from, .. } in steps {
            let Some(open) = self.open.get(*participant) else {
                return refuse(format!("participant {participant} is not open in this Writer"));
            };
            if open.at.position.as_deref() != *from {
                let [is, given] = [open.at.position.as_deref(), *from]
                    .map(|position| position.unwrap_or("none").to_owned());
                let message = format!(
                    "participant {participant} is at position {is}, not at {given}, where the rows begin"
                );
                return refuse(message);
            }
        }
        Ok(())
    }

    /// Returns the changes of its positions after `rows` more rows. All writers make them in the same order.
    /// The rows count for the first participant.
    pub(super) fn advance<'a>(&'a self, rows: u64, positions: Positions<'a>) -> Vec<Advance<'a>> {
        let moves = self.changed_participants(positions).into_iter().enumerate();
        let moves = moves.map(|(number, (open, to))| Advance {
            participant: &open.named,
            from: open.at.clone(),
            to,
            rows: if number == 0 { rows } else { 0 },
        });
        moves.collect()
    }

    /// Returns the participants that `positions` change, by name, each with its next position.
    fn changed_participants<'a>(
        &'a self,
        positions: Positions<'a>,
    ) -> Vec<(&'a OpenParticipant, Option<&'a str>)> {
        let steps: BTreeMap<&str, Option<&str>> = match positions {
            Positions::Unchanged => BTreeMap::from([(WHOLE, None)]),
            Positions::Last(position) => BTreeMap::from([(WHOLE, Some(position))]),
            Positions::Steps(steps) => {
                steps.iter().map(|step| (step.participant, Some(step.to))).collect()
            }
        };
        steps.into_iter().filter_map(|(name, to)| Some((self.open.get(name)?, to))).collect()
    }

    /// Records the outcome of the rows.
    pub(super) async fn settle(
        &self,
        client: &Client,
        counts: &RowCounts,
        positions: Positions<'_>,
    ) -> Result<(), PgError> {
        match self.changed_participants(positions).first() {
            Some((open, _)) => open.named.settle(client, open.at.attempt, counts).await,
            None => Ok(()),
        }
    }

    /// Updates the positions after the rows are committed.
    pub(super) fn record_committed(&mut self, counts: RowCounts, positions: Positions<'_>) {
        let moved = self.changed_participants(positions).into_iter();
        let moved: Vec<(String, Option<String>)> = moved
            .map(|(open, to)| (open.named.participant.clone(), to.map(str::to_owned)))
            .collect();
        for (number, (name, to)) in moved.into_iter().enumerate() {
            let Some(OpenParticipant { at, .. }) = self.open.get_mut(&name) else { continue };
            if number == 0 {
                at.counts.add(counts);
            }
            at.position = to.or_else(|| at.position.take());
        }
    }

    /// Marks the writer as closed.
    pub(super) async fn close(&self, client: &Client) -> Result<()> {
        for OpenParticipant { named, at } in self.open.values() {
            named.close_writer(client, at.attempt).await?;
        }
        if self.is_shared { self.named.close_shared(client).await } else { Ok(()) }
    }

    /// Returns the error for a writer that another one has taken over.
    pub(super) fn overtaken(&self) -> Error {
        self.named.overtaken()
    }
}
