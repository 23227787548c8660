//! Conversion of a server's refusal of rows into an error with the location of the row.

use pgsluice_core::bucket::{BlockRow, Payload, Wire};

use crate::error::kind::Kind;
use crate::error::{Error, Location, sqlstate};
use crate::sink::context::Context;
use crate::source::splits::Splits;
use crate::source::{Inputs, Split};

/// The input of the rows that are sent.
#[derive(Default)]
pub(super) struct Read {
    files: Inputs,
    splits: Splits,
}

impl Read {
    /// Starts with `files` and no splits.
    pub(super) fn new(files: &Inputs) -> Self {
        Self { files: files.clone(), splits: Splits::default() }
    }

    /// Adds the next split.
    pub(super) fn add(&mut self, split: &Split) {
        self.splits.begin(split);
    }

    /// Converts a refusal of `payload`, whose COPY was into `table`. Adds the location of the row if the
    /// server names it.
    pub(super) fn refused(
        &self,
        error: tokio_postgres::Error,
        payload: &Payload,
        table: &str,
        columns: &[String],
    ) -> Error {
        let context = error.as_db_error().and_then(|db| db.where_());
        let context = context.map(|it| Context::parse(it, std::iter::once(table), columns));
        // For any other refusal, `blame` proves which row it is.
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

    /// Returns the location of a row.
    pub(super) fn locate(&self, at: BlockRow) -> Option<Location> {
        let (origin, line) = self.splits.origin_of(at)?;
        self.files.locate(origin, line)
    }
}

/// Converts a refusal without the location of a row.
pub(super) fn refusal(error: tokio_postgres::Error) -> Error {
    let error = Error::from(error);
    let is_row = error.sqlstate().is_some_and(sqlstate::blames_row);
    if is_row { error.with_kind(Kind::Data) } else { error }
}
