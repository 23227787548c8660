//! Data that is written in the same transaction as the rows of a write.

use tokio_postgres::{Client, Error as PgError};

use crate::error::Result;
use crate::rejects::sql::FoundRejects;

/// The positions after the rows, and the rejected rows.
#[derive(Clone, Copy, Debug, Default)]
pub struct WriteExtras<'a> {
    /// The positions after the rows.
    pub positions: Positions<'a>,
    /// The number of additional rows that were rejected: the program has removed them because an earlier call
    /// refused them.
    pub rejected: u64,
    /// Descriptions of rejected rows, if they are kept.
    pub rejects: Option<RejectRows<'a>>,
}

/// The positions of a writer after some rows.
#[derive(Clone, Copy, Debug, Default)]
pub enum Positions<'a> {
    /// No position changes.
    #[default]
    Unchanged,
    /// The writer is at this position.
    Last(&'a str),
    /// These participants of a shared load advance.
    Steps(&'a [Step<'a>]),
}

/// A change of a participant's position.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// The participant's name.
    pub participant: &'a str,
    /// Its position before the rows; `None` if it has none yet.
    pub from: Option<&'a str>,
    /// Its position after the rows.
    pub to: &'a str,
}

/// Rows for a user's table that describe rejected rows.
#[derive(Clone, Copy, Debug)]
pub struct RejectRows<'a> {
    /// The table, written as in SQL.
    pub table: &'a str,
    /// The columns of the rows, as the catalogue spells them.
    pub columns: &'a [String],
    /// The rows: a JSON array of objects.
    pub rows: &'a str,
}

/// Rejected rows and the table for them.
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

impl WriteExtras<'_> {
    /// Whether a position changes or rejected rows are kept.
    pub(super) fn is_any(&self) -> bool {
        let moves = match self.positions {
            Positions::Unchanged => false,
            Positions::Last(_) => true,
            Positions::Steps(steps) => !steps.is_empty(),
        };
        moves || self.rejects.is_some()
    }
}
