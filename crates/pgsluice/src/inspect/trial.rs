//! A trial of a sample on the server, which reads the rows into a temporary table with the types of the
//! columns. It finds the values that COPY would refuse before anything is loaded.

use std::collections::HashMap;
use std::pin::pin;

use bytes::Bytes;
use futures_util::SinkExt;
use pgsluice_core::catalog::ROOT;
use pgsluice_core::origin::Origin;
use tokio_postgres::Transaction;

use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};
use crate::error::{Error, Result};
use crate::inspect::hints;
use crate::inspect::preview::Preview;
use crate::inspect::sql::audit;
use crate::job::{Job, OnConflict, SAMPLE_BYTES, SAMPLE_ROWS};
use crate::pg::connect::{Link, open};
use crate::pg::conninfo::Target;
use crate::plan::Plan;
use crate::sink::context::Context;
use crate::source::rewritten::RowRefusal;
use crate::source::{Inputs, Reader, Split};

/// The outcome of a trial.
#[derive(Debug)]
pub enum Trial {
    /// The server can read all rows.
    Read,
    /// The load would fail with this error.
    Fails(Error),
    /// The server was not asked, for this reason.
    Untried(String),
}

/// Makes the server read the first [`SAMPLE_ROWS`] rows, or [`SAMPLE_BYTES`], of each input that can be read
/// again.
pub async fn try_rows(
    job: &Job,
    plan: &Plan,
    preview: &Preview,
    target: &Target,
    control: &Control,
) -> Result<Trial> {
    // If no partition accepts a row, there is no existing row to delete.
    let deletes = job.changes.on_conflict == OnConflict::Delete;
    let unrouted = if deletes { None } else { preview.first_unrouted(plan, job) };
    Ok(match try_first_rows(job, plan, unrouted, target, control).await? {
        Trial::Fails(error) => Trial::Fails(error.into_predicted()),
        other => other,
    })
}

/// Works like [`try_rows`]. `unrouted` is the error for the first row that no partition accepts.
pub(crate) async fn try_first_rows(
    job: &Job,
    plan: &Plan,
    unrouted: Option<Error>,
    target: &Target,
    control: &Control,
) -> Result<Trial> {
    if job.input.fields.default.is_some() {
        return Ok(Trial::Untried("fields stand for defaults".to_owned()));
    }
    let Link { mut client, canceller, .. } = control.stop.unless_stopped(open(target)).await?;
    let trying = async {
        let transaction = client.transaction().await?;
        // Set inside the transaction, because a pooler may give the session to other clients.
        transaction.batch_execute(audit::SESSION).await?;
        let columns = &plan.catalogue.columns;
        let create = audit::create_input(
            &plan.tree.nodes[ROOT].relation.to_string(),
            columns,
            plan.catalogue.besides,
        );
        if let Err(error) = transaction.batch_execute(&create).await {
            return Ok(Trial::Untried(Error::from(error).message().to_owned()));
        }
        // A trigger may replace NULL, and a row that conflicts with an existing one may not change the column.
        let has_triggers = plan.catalogue.facts.iter().any(|facts| facts.row_triggers);
        if !has_triggers && !job.changes.is_any() {
            let table = plan.catalogue.facts[ROOT].oid;
            audit::demand_values(&transaction, table, columns).await?;
        }
        let refused = copy(job, plan, &transaction).await?;
        transaction.rollback().await?;
        Ok(match earlier(refused, unrouted) {
            Some(error) => Trial::Fails(hints::explain(error, job, plan)),
            None => Trial::Read,
        })
    };
    canceller.unless_stopped(control, trying).await
}

fn earlier(one: Option<Error>, other: Option<Error>) -> Option<Error> {
    match (one, other) {
        (Some(one), Some(other)) if other.is_earlier_than(&one) => Some(other),
        (one, other) => one.or(other),
    }
}

/// Returns the error for the first row that the server refuses, or that cannot be read.
async fn copy(job: &Job, plan: &Plan, transaction: &Transaction<'_>) -> Result<Option<Error>> {
    let columns = &plan.catalogue.columns;
    let statement = audit::copy_input(columns, &plan.shape.format, &plan.fields);
    for (number, input) in (0..).zip(job.input.files.iter()) {
        if !input.is_rereadable() {
            continue;
        }
        let mut reader = Reader::new(Inputs::from(input.clone()), &plan.shape.in_text());
        let (mut sent, mut left) = (TrialSent::default(), SAMPLE_ROWS);
        let mut bytes_left = SAMPLE_BYTES;
        let mut sink = pin!(transaction.copy_in::<_, Bytes>(&statement).await?);
        let mut outcome = Ok(());
        while left > 0 && bytes_left > 0 {
            let split = match reader.next(None) {
                Ok(Some(split)) => split,
                Ok(None) => break,
                Err(error) => return Ok(Some(error)),
            };
            let bytes = sent.add(&split, left);
            left -= split.rows.len().min(left);
            bytes_left = bytes_left.saturating_sub(bytes.len());
            outcome = sink.feed(bytes).await;
            if outcome.is_err() {
                break;
            }
        }
        let outcome = match outcome {
            Ok(()) => sink.finish().await.map(|_| ()),
            Err(error) => Err(error),
        };
        if let Err(error) = outcome {
            return sent.blame(&error, plan, job, number).map(Some);
        }
    }
    Ok(None)
}

/// The positions of the rows of one input that were sent.
#[derive(Default)]
struct TrialSent {
    /// For each row, the line of the COPY after it, its offset, and its line in the input.
    rows: Vec<(u64, u64, u64)>,
    lines: u64,
    /// The refusals of records that cannot be converted into rows, by index in `rows`.
    refused: HashMap<usize, RowRefusal>,
}

impl TrialSent {
    /// Returns the first `max` rows of a split, in the form for COPY.
    fn add(&mut self, split: &Split, max: usize) -> Bytes {
        let mut bytes = Vec::with_capacity(split.bytes.len() + 1);
        for (index, row) in split.rows.iter().enumerate().take(max) {
            let text = split.text(index);
            if let Some(refusal) = split.refusal(index) {
                self.refused.insert(self.rows.len(), refusal.clone());
            }
            bytes.extend_from_slice(text);
            bytes.push(b'\n');
            self.lines += 1 + text.iter().filter(|byte| **byte == b'\n').count() as u64;
            self.rows.push((self.lines, split.origin(index).at, split.line + u64::from(row.line)));
        }
        bytes.into()
    }

    /// Returns the error with the location of the row that the server means. Fails if the error is not about
    /// a row.
    fn blame(
        &self,
        error: &tokio_postgres::Error,
        plan: &Plan,
        job: &Job,
        input: u32,
    ) -> Result<Error> {
        let columns = &plan.catalogue.columns;
        let context = error.as_db_error().and_then(|db| db.where_()).unwrap_or_default();
        let context = Context::parse(context, std::iter::once(audit::INPUT), columns);
        let report = match error.as_db_error() {
            Some(db) if policy::for_sqlstate(db.code().code()) == Policy::Reject => {
                Error::from(db).with_kind(Kind::Data)
            }
            // The error is not about the rows: a full disk, a cancelled statement.
            Some(db) => return Err(Error::from(db)),
            None => return Err(crate::pg::lost(Some(error))),
        };
        let report = match context.column() {
            Some(column) => report.with_column(column),
            None => report,
        };
        let line = context.likely().map(|entry| entry.line);
        let row = line.and_then(|line| self.rows.iter().position(|(end, ..)| *end >= line));
        let refusal = row.and_then(|row| self.refused.get(&row));
        let report = refusal.map_or(report, |refusal| refusal.clone().into());
        let place = row.and_then(|row| {
            let (_, at, line) = self.rows[row];
            job.input.files.locate(Origin { input, at }, line)
        });
        Ok(place.into_iter().fold(report, Error::at))
    }
}
