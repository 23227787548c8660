//! A server's refusal of rows, as an error at the row that it is about.

use pgsluice_core::bucket::{Payload, RowAt, Wire};
use pgsluice_core::position::Position;

use crate::error::kind::Kind;
use crate::error::{Error, Location, sqlstate};
use crate::sink::context::Context;
use crate::source::{Inputs, Split};

/// What rows that are sent were read from.
#[derive(Default)]
pub(super) struct Read {
    files: Inputs,
    /// Where each split begins.
    starts: Vec<Position>,
}

impl Read {
    /// Begins to read `files`.
    pub(super) fn of(files: &Inputs) -> Self {
        Self { files: files.clone(), starts: Vec::new() }
    }

    /// Adds the next split.
    pub(super) fn add(&mut self, split: &Split) {
        self.starts.push(split.start);
    }

    /// The error for a refusal of `payload`, whose COPY was into `table`, with the row that it is about if the server
    /// says so.
    pub(super) fn refused(
        &self,
        error: tokio_postgres::Error,
        payload: &Payload,
        table: &str,
        columns: &[String],
    ) -> Error {
        let context = error.as_db_error().and_then(|db| db.where_());
        let context = context.map(|it| Context::parse(it, std::iter::once(table), columns));
        // Of any other, `blame` proves which row it is.
        let entry = context.as_ref().and_then(Context::certain);
        let error = refusal(error);
        let Some(entry) = entry.filter(|_| error.kind() == Kind::Data) else { return error };
        let column = entry.column.clone();
        let error = column.into_iter().fold(error, Error::with_column);
        let mut lines = 0;
        let row = payload.in_order().find(|(_, row)| {
            lines += match payload.wire() {
                Wire::Binary => 1,
                Wire::Text => row.iter().filter(|byte| **byte == b'\n').count() as u64,
            };
            lines >= entry.line
        });
        let place = row.and_then(|(at, _)| self.locate(at));
        place.into_iter().fold(error, Error::at)
    }

    /// Where a row begins.
    pub(super) fn locate(&self, at: RowAt) -> Option<Location> {
        let start = self.starts.get(at.split as usize)?;
        let (origin, line) = (start.origin.plus(at.offset.into()), start.line + u64::from(at.line));
        self.files.locate(Position { origin, line })
    }
}

/// The error for a refusal, of which it is not known which row it is about.
pub(super) fn refusal(error: tokio_postgres::Error) -> Error {
    let error = Error::from(error);
    let is_row = error.sqlstate().is_some_and(sqlstate::blames_row);
    if is_row { error.of_kind(Kind::Data) } else { error }
}
