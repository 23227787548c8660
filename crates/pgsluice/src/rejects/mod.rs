//! Rejects: rows that the server refuses, which are stored with its reasons instead of ending the load.
//!
//! A row is either in the table or among the rejects. Files are written before COMMIT ([`files`]); a table of
//! rejected rows is written in the transaction itself ([`table`]).

mod before;
mod files;
mod output;
pub(crate) mod sql;
pub(crate) mod table;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use serde::Serialize;
use tokio_postgres::{Client, Error as PgError};

use self::before::Before;
use self::files::RejectFiles;
use self::table::RejectTable;
use crate::control::Control;
use crate::counts::outcome::Outcome;
use crate::error::kind::Kind;
use crate::error::{Error, Location, Result};
use crate::job::{self, Job, MaxRejects, RejectPlace};
use crate::ledger::Ledger;
use crate::plan::Plan;
use pgsluice_core::origin::Origin;

/// A rejected row and the server's reason.
#[derive(Clone, Debug)]
pub(crate) struct Reject {
    /// The number of its source, and its first byte.
    pub origin: Origin,
    pub place: Location,
    pub reason: RejectReason,
    /// The row as in the input.
    pub row: Vec<u8>,
}

/// The server's reason. The names of the fields are those of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RejectReason {
    /// The table that the row was sent to.
    pub table: String,
    pub column: Option<String>,
    pub sqlstate: String,
    pub message: String,
    pub detail: Option<String>,
}

/// A line of the log, or a row of the table without the column for the row itself.
#[derive(Serialize)]
struct RejectReport<'r> {
    load: &'r str,
    source: &'r str,
    #[serde(skip_serializing_if = "Option::is_none")]
    row_group: Option<u64>,
    line: u64,
    offset: u64,
    /// The ctid, for a row of a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    ctid: Option<String>,
    #[serde(flatten)]
    reason: &'r RejectReason,
}

impl<'r> RejectReport<'r> {
    fn new(load: &'r str, Reject { place, reason, .. }: &'r Reject) -> Self {
        let Location { source, line, offset, unit, .. } = place;
        let (row_group, ctid) = (unit.group(), place.ctid());
        Self { load, source, row_group, line: *line, offset: *offset, ctid, reason }
    }
}

/// A writer of rejects, up to a limit.
pub(crate) struct RejectWriter {
    /// The id of the load.
    id: String,
    max: MaxRejects,
    count: AtomicU64,
    place: RejectOutput,
}

enum RejectOutput {
    Files(RejectFiles),
    Table(RejectTable),
}

/// The reason why rejects were not written.
pub(crate) enum RejectWriteError {
    /// The connection was lost.
    Lost(PgError),
    /// A file or the table does not accept them.
    Refused(Error),
}

impl From<Error> for RejectWriteError {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// Fails for names of files that can only be written to, because rows may have to be read again and removed.
pub(crate) fn check_files(rejects: &job::Rejects) -> Result<()> {
    match &rejects.place {
        RejectPlace::File(file) => {
            [file, &job::log_of(file)].into_iter().try_for_each(|path| output::check_regular(path))
        }
        RejectPlace::Table(_) => Ok(()),
    }
}

/// Returns the writer of the rejects of the load `id`, if rows may be rejected. They go to the `table` that
/// was found for them, or to files. `header` is set after it is read.
pub(crate) fn begin(
    job: &Job,
    id: &str,
    plan: &Plan,
    table: Option<RejectTable>,
    ledger: Option<&Ledger>,
    header: &Arc<OnceLock<Vec<u8>>>,
) -> Result<Option<RejectWriter>> {
    let Some(rejects) = &job.safety.rejects else { return Ok(None) };
    if let Some(why) = &plan.one_statement {
        return Err(Error::new(Kind::Usage, "rows of this table cannot be rejected")
            .with_detail(format!("The load is one COPY, which accepts all rows or none: {why}.")));
    }
    let before = ledger.filter(|ledger| !ledger.is_first()).map(|ledger| Before {
        inputs: &job.input.files,
        splitter: plan.shape.splitter_of_rejects(),
        header_rows: job.input.header.rows(),
        rejected: ledger.rejected_rows(),
    });
    let place = match (&rejects.place, table) {
        (RejectPlace::File(file), _) => {
            RejectOutput::Files(RejectFiles::open(id, file, Arc::clone(header), before.as_ref())?)
        }
        (RejectPlace::Table(_), Some(table)) => RejectOutput::Table(table),
        (RejectPlace::Table(_), None) => {
            let message = "internal error: the table of rejected rows was not looked for";
            return Err(Error::new(Kind::Internal, message));
        }
    };
    let count = before.map_or(0, |before| before.rejected.len() as u64);
    Ok(Some(RejectWriter { id: id.to_owned(), max: rejects.max, count: count.into(), place }))
}

impl RejectWriter {
    /// Counts another row. Returns `false` if the limit is reached.
    pub(crate) fn admit(&self, control: &Control) -> bool {
        let max = match self.max {
            MaxRejects::Rows(rows) => rows,
            MaxRejects::Percent(percent) => {
                (control.progress.rows_expected() * percent / 100.0) as u64
            }
        };
        let admit = |count| (count < max).then_some(count + 1);
        self.count.fetch_update(Relaxed, Relaxed, admit).is_ok()
    }

    /// Subtracts the rows of a transaction that was not committed.
    pub(crate) fn dismiss(&self, rows: u64) {
        self.count.fetch_sub(rows, Relaxed);
    }

    /// Returns the error if the share of rejected rows turned out to exceed the limit, whose base was an
    /// estimate.
    pub(crate) fn too_many(&self, outcome: &Outcome) -> Option<Error> {
        let (read, rejected, limit) = (outcome.read(), outcome.rows_rejected(), self.limit());
        self.are_too_many(read).then(|| {
            let message = format!("{rejected} of {read} rows were rejected, more than {limit}");
            Error::new(Kind::Data, message)
        })
    }

    fn are_too_many(&self, read: u64) -> bool {
        let rejected = self.count.load(Relaxed) as f64;
        matches!(self.max, MaxRejects::Percent(percent) if rejected > read as f64 * percent / 100.0)
    }

    /// Returns the limit for messages.
    pub(crate) fn limit(&self) -> String {
        match self.max {
            MaxRejects::Rows(rows) => rows.to_string(),
            MaxRejects::Percent(percent) => format!("{percent}%"),
        }
    }

    /// Writes the rejects of the transaction that `client` is about to commit. Returns the number of their
    /// batch, which must be withdrawn if the commit fails, see [`Self::withdraw`].
    ///
    /// # Errors
    ///
    /// Fails if a file or the table cannot be written.
    pub(crate) async fn write(
        &self,
        client: &Client,
        rejects: &[Reject],
    ) -> Result<Option<usize>, RejectWriteError> {
        match &self.place {
            RejectOutput::Files(files) => Ok(Some(files.write(&self.id, rejects)?)),
            RejectOutput::Table(table) => {
                table.insert(client, &self.id, rejects).await.map(|()| None)
            }
        }
    }

    /// Marks the transaction of a batch as certainly not committed.
    pub(crate) fn withdraw(&self, batch: usize) {
        if let RejectOutput::Files(files) = &self.place {
            files.withdraw(batch);
        }
    }

    /// Marks all batches as certainly not committed, see [`Self::withdraw`].
    pub(crate) fn withdraw_all(&self) {
        if let RejectOutput::Files(files) = &self.place {
            files.withdraw_all();
        }
    }

    /// Removes rejects of transactions that were not committed, and makes the files durable.
    pub(crate) fn finish(&self) -> Result<()> {
        match &self.place {
            RejectOutput::Files(files) => files.finish(),
            RejectOutput::Table(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn writer(max: MaxRejects) -> RejectWriter {
        let place = RejectOutput::Table(RejectTable::default());
        RejectWriter { id: "id".to_owned(), max, count: AtomicU64::new(0), place }
    }

    #[test]
    fn a_limit_holds() {
        let control = Control::default();
        let rejects = writer(MaxRejects::Rows(2));
        assert_eq!([(); 3].map(|()| rejects.admit(&control)), [true, true, false]);
        rejects.dismiss(1);
        assert!(rejects.admit(&control) && !rejects.admit(&control));

        let rejects = writer(MaxRejects::Percent(1.0));
        assert!(!rejects.admit(&control));
        for (number, value) in [
            (&control.progress.rows_read, 100),
            (&control.progress.bytes_read, 10),
            (&control.progress.bytes_total, 20),
        ] {
            number.store(value, Relaxed);
        }
        assert_eq!([(); 3].map(|()| rejects.admit(&control)), [true, true, false]);
        assert!(rejects.are_too_many(199) && !rejects.are_too_many(200));
    }
}
