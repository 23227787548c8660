//! The input's side of an audit. The server reads it into a temporary table, so that the server interprets
//! the spellings.

use std::iter::once;
use std::pin::pin;

use bytes::Bytes;
use futures_util::SinkExt;
use pgsluice_core::catalog::ROOT;
use pgsluice_core::route::Cause;
use tokio_postgres::Transaction;

use super::Rejected;
use crate::error::kind::Kind;
use crate::error::{Error, Location, Result, option};
use crate::inspect::sql::audit;
use crate::job::Job;
use crate::plan::Plan;
use crate::sink::context::Context;
use crate::source::rewritten::RowRefusal;
use crate::source::{Reader, Split};

/// The rows of the input that are compared.
pub(super) struct Side<'a> {
    pub(super) plan: &'a Plan,
    pub(super) job: &'a Job,
    /// The rows that are left out.
    pub(super) rejected: &'a Rejected,
}

impl Side<'_> {
    /// Sends the rows, and returns the number of rows that were left out.
    pub(super) async fn copy(&self, transaction: &Transaction<'_>) -> Result<u64> {
        let Self { plan, .. } = self;
        let columns = &plan.catalogue.columns;
        let root = plan.tree.nodes[ROOT].relation.to_string();
        let create = audit::create_input(&root, columns, plan.catalogue.besides);
        transaction.batch_execute(&create).await.map_err(|error| {
            Error::from(error).with_hint(
                "verify reads the input into a temporary table, which requires the SELECT \
                 privilege on the table and the TEMPORARY privilege on the database.",
            )
        })?;
        let copy = audit::copy_input(columns, &plan.shape.format, &plan.fields);
        let refused = |error| self.refused(error);
        let mut sink = pin!(transaction.copy_in::<_, Bytes>(&copy).await.map_err(refused)?);
        let (mut reader, mut used, mut left_out) = (self.reader(), None, 0);
        while let Some(split) = reader.next(used.take())? {
            self.check_defaults(&split)?;
            let mut text = Vec::with_capacity(split.bytes.len() + 1);
            let mut count = 0;
            for (_, row) in self.rows(&split) {
                text.extend_from_slice(row);
                text.push(b'\n');
                count += 1;
            }
            left_out += (split.rows.len() - count) as u64;
            sink.feed(Bytes::from(text)).await.map_err(refused)?;
            used = Some(split);
        }
        sink.finish().await.map_err(refused)?;
        Ok(left_out)
    }

    /// Fails if a row has a field that stands for a default, because its value is unknown.
    fn check_defaults(&self, split: &Split) -> Result<()> {
        let has_default = |index: &usize| split.no_keys_cause(*index) == Some(Cause::Default);
        let Some(index) = (0..split.rows.len()).find(has_default) else { return Ok(()) };
        let message = "cannot verify rows with fields that stand for defaults";
        let error = Error::new(Kind::Usage, message)
            .with_detail("The server does not record the values that it filled in for them.");
        let place = self.job.input.files.locate_row(split, index);
        Err(place.into_iter().fold(error, Error::at))
    }

    fn reader(&self) -> Reader {
        Reader::new(self.job.input.files.clone(), &self.plan.shape.in_text())
    }

    /// Returns the rows of `split` that are compared, and their indexes.
    fn rows<'s>(&'s self, split: &'s Split) -> impl Iterator<Item = (usize, &'s [u8])> {
        let files = &self.job.input.files;
        let is_compared = move |index: &usize| !self.rejected.has(files, split.origin(*index));
        (0..split.rows.len()).filter(is_compared).map(|index| (index, split.text(index)))
    }

    /// Returns the error for a row that the server refuses, with its location in the input.
    fn refused(&self, error: tokio_postgres::Error) -> Error {
        let context = error.as_db_error().and_then(|db| db.where_()).unwrap_or_default().to_owned();
        let error = Error::from(error);
        let columns = &self.plan.catalogue.columns;
        let parsed = Context::parse(&context, once(audit::INPUT), columns);
        let Some(entry) = parsed.likely() else {
            let context = (!context.is_empty())
                .then(|| format!("The server reported this context: {context}"));
            return context.into_iter().fold(error, Error::with_detail);
        };
        let error = error.with_kind(Kind::Data);
        let error = parsed.column().into_iter().fold(error, Error::with_column);
        let error = match self.find(entry.line) {
            Some((place, None)) => error.at(place),
            Some((place, Some(refusal))) => Error::from(refusal).at(place),
            None => error.with_detail(format!(
                "It is line {} of all inputs combined, not counting headers.",
                entry.line
            )),
        };
        error.with_hint(
            "To leave out rows that a load rejected, use "
                + option("reject-file").with("FILE")
                + ".",
        )
    }

    /// Finds the row that ends in this line of the COPY, by reading the inputs again.
    fn find(&self, line: u64) -> Option<(Location, Option<RowRefusal>)> {
        if !self.job.input.files.are_rereadable() {
            return None;
        }
        let (mut reader, mut lines) = (self.reader(), 0);
        while let Some(split) = reader.next(None).ok()? {
            for (index, row) in self.rows(&split) {
                lines += 1 + row.iter().filter(|byte| **byte == b'\n').count() as u64;
                if lines >= line {
                    let refusal = self.plan.shape.refusal(row);
                    return Some((self.job.input.files.locate_row(&split, index)?, refusal));
                }
            }
        }
        None
    }
}
