//! Data that goes along with the rows of a write, in their transaction.

use tokio_postgres::{Client, Error as PgError};

use crate::error::Result;
use crate::rejects::sql::FoundRejects;

/// Positions behind the rows, and the rows that were rejected.
#[derive(Clone, Copy, Debug, Default)]
pub struct Along<'a> {
    /// How far the rows move the writer.
    pub positions: Positions<'a>,
    /// How many more rows were rejected: the program has taken them out, because an earlier call named them as refused.
    pub rejected: u64,
    /// Descriptions of rejected rows, if they are kept.
    pub rejects: Option<RejectRows<'a>>,
}

/// How far rows move a writer.
#[derive(Clone, Copy, Debug, Default)]
pub enum Positions<'a> {
    /// Not at all.
    #[default]
    Unchanged,
    /// To this position.
    Last(&'a str),
    /// These participants of a load that several writers share.
    Of(&'a [Step<'a>]),
}

/// A participant whose position moves.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Its name.
    pub participant: &'a str,
    /// Its position before the rows; `None` if it has none yet.
    pub from: Option<&'a str>,
    /// The position behind them.
    pub to: &'a str,
}

/// Rows for a table of the user's that describe rejected rows.
#[derive(Clone, Copy, Debug)]
pub struct RejectRows<'a> {
    /// The table, written as in SQL.
    pub table: &'a str,
    /// The columns that they have, as the catalogue spells them.
    pub columns: &'a [String],
    /// The rows: a JSON array of objects.
    pub rows: &'a str,
}

/// Rejected rows, and the table that was found for them.
pub(super) struct RejectInsert<'a> {
    found: FoundRejects,
    rejects: RejectRows<'a>,
}

impl<'a> RejectInsert<'a> {
    /// Finds the table.
    pub(super) async fn new(client: &Client, rejects: RejectRows<'a>) -> Result<Self> {
        Ok(Self { found: FoundRejects::find(client, rejects.table).await?, rejects })
    }

    /// Inserts the rows, in one round trip.
    pub(super) async fn execute(&self, client: &Client) -> Result<(), PgError> {
        self.found.insert(client, self.rejects.columns, self.rejects.rows).await
    }
}

impl<'a> From<Option<&'a str>> for Positions<'a> {
    fn from(position: Option<&'a str>) -> Self {
        position.map_or(Self::Unchanged, Self::Last)
    }
}

impl Along<'_> {
    /// Whether it moves a position or has rejected rows.
    pub(super) fn is_any(&self) -> bool {
        let moves = match self.positions {
            Positions::Unchanged => false,
            Positions::Last(_) => true,
            Positions::Of(steps) => !steps.is_empty(),
        };
        moves || self.rejects.is_some()
    }
}
