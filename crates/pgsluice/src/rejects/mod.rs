//! Rejects: the rows that the server refuses, kept with its reasons in place of ending the load.
//!
//! A row is either in the table or in the file. Rejects are written before COMMIT and removed if it fails.
//! If the outcome of a COMMIT is unknown, they are reconciled on resume.

mod before;
mod output;

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde::Serialize;

pub(crate) use self::before::Before;
use self::output::Output;
use crate::control::Control;
use crate::counts::outcome::Outcome;
use crate::error::kind::Kind;
use crate::error::{Error, Location, Result};
use crate::job::{self, Job, Most};
use crate::ledger::Ledger;
use crate::plan::Plan;
use crate::source::Input;
use pgsluice_core::position::Origin;

/// One row, and why the server refuses it.
#[derive(Clone, Debug)]
pub(crate) struct Reject {
    /// The number of its source, and its first byte.
    pub origin: Origin,
    pub place: Location,
    pub reason: RejectReason,
    /// As it stands in the input.
    pub row: Vec<u8>,
}

/// The server's words. The names of the fields are those of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RejectReason {
    /// The table that the row was sent to.
    pub table: String,
    pub column: Option<String>,
    pub sqlstate: String,
    pub message: String,
    pub detail: Option<String>,
}

/// A line of the log.
#[derive(Serialize)]
struct Line<'r> {
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

/// Where rejects go, and how many may.
pub(crate) struct RejectFiles {
    /// The load.
    id: String,
    most: Most,
    /// The header of the inputs, if they have one and as soon as it was read.
    header: Arc<OnceLock<Vec<u8>>>,
    written: Mutex<WrittenRejects>,
    count: AtomicU64,
}

struct WrittenRejects {
    rows: Output,
    log: Output,
    batches: Vec<RejectBatch>,
}

/// The rejects of one transaction: their places in both files.
struct RejectBatch {
    rows: Range<u64>,
    log: Range<u64>,
    is_kept: bool,
}

/// Refuses names of what can only be written to, since rows must be read again and taken out.
pub(crate) fn check_files(job: &job::Rejects) -> Result<()> {
    [&job.file, &job.log()].into_iter().try_for_each(|path| output::check_regular(path))
}

/// Where the rejects of the load `id` go, if there may be any; `header` is set when it is read.
pub(crate) fn begin(
    job: &Job,
    id: &str,
    plan: &Plan,
    inputs: &[Input],
    ledger: Option<&Ledger>,
    header: &Arc<OnceLock<Vec<u8>>>,
) -> Result<Option<RejectFiles>> {
    let Some(rejects) = &job.safety.rejects else { return Ok(None) };
    if let Some(why) = &plan.one_statement {
        return Err(Error::new(Kind::Usage, "rows of this table cannot be rejected")
            .with_detail(format!("The load is one COPY, which accepts all rows or none: {why}.")));
    }
    let before = ledger.filter(|ledger| !ledger.is_first()).map(|ledger| Before {
        inputs,
        splitter: plan.shape.splitter_of_rejects(),
        header_rows: job.input.header.rows(),
        rejected: ledger.rejected(),
    });
    RejectFiles::open(id, rejects, Arc::clone(header), before.as_ref()).map(Some)
}

impl RejectFiles {
    /// Makes the files, which must not be there or be empty, unless an earlier run of the load has
    /// written them. The text in `header` comes in front of the first row.
    pub(crate) fn open(
        id: &str,
        job: &job::Rejects,
        header: Arc<OnceLock<Vec<u8>>>,
        before: Option<&Before<'_>>,
    ) -> Result<Self> {
        let (rows, log) = (Output::open(job.file.clone())?, Output::open(job.log())?);
        let mut written = WrittenRejects { rows, log, batches: Vec::new() };
        match before {
            Some(before) => written.take_up(id, before)?,
            None => written.check_empty()?,
        }
        let count = before.map_or(0, |before| before.rejected.len() as u64);
        let (id, most, written) = (id.to_owned(), job.most, Mutex::new(written));
        Ok(Self { id, most, header, written, count: count.into() })
    }

    /// Counts another row, unless there are as many as there may be.
    pub(crate) fn admit(&self, control: &Control) -> bool {
        let most = match self.most {
            Most::Rows(rows) => rows,
            Most::Percent(percent) => (control.progress.rows_expected() * percent / 100.0) as u64,
        };
        let admit = |count| (count < most).then_some(count + 1);
        self.count.fetch_update(Relaxed, Relaxed, admit).is_ok()
    }

    /// Takes back the count of a transaction that was not committed.
    pub(crate) fn dismiss(&self, rows: u64) {
        self.count.fetch_sub(rows, Relaxed);
    }

    /// The error for a share of all rows that is larger than it was guessed.
    pub(crate) fn too_many(&self, outcome: &Outcome) -> Option<Error> {
        let (read, rejected, limit) = (outcome.read(), outcome.rejected(), self.limit());
        self.are_too_many(read).then(|| {
            let message = format!("{rejected} of {read} rows were rejected, more than {limit}");
            Error::new(Kind::Data, message)
        })
    }

    fn are_too_many(&self, read: u64) -> bool {
        let rejected = self.count.load(Relaxed) as f64;
        matches!(self.most, Most::Percent(percent) if rejected > read as f64 * percent / 100.0)
    }

    /// The limit, for people.
    pub(crate) fn limit(&self) -> String {
        match self.most {
            Most::Rows(rows) => rows.to_string(),
            Most::Percent(percent) => format!("{percent}%"),
        }
    }

    /// Writes the rejects of a transaction that is about to be committed; see [`Self::withdraw`].
    pub(crate) fn write(&self, rejects: &[Reject]) -> Result<usize> {
        let mut written = self.written.lock();
        let WrittenRejects { rows, log, batches } = &mut *written;
        let (mut bytes, mut lines) = (Vec::new(), Vec::new());
        for Reject { place, reason, row, .. } in rejects {
            let Location { source, line, offset, unit, .. } = place;
            bytes.extend_from_slice(row);
            bytes.push(b'\n');
            let row_group = unit.group();
            let (load, line, offset) = (&*self.id, *line, *offset);
            let ctid = place.ctid();
            let line = Line { load, source, row_group, line, offset, ctid, reason };
            serde_json::to_writer(&mut lines, &line).map_err(|error| log.failed(&error.into()))?;
            lines.push(b'\n');
        }
        // First, so that rows are known to be of this load.
        let log = log.append(&lines)?;
        if rows.is_empty()
            && let Some(header) = self.header.get()
        {
            rows.append(&[&header[..], b"\n"].concat())?;
        }
        batches.push(RejectBatch { rows: rows.append(&bytes)?, log, is_kept: true });
        Ok(batches.len() - 1)
    }

    /// Marks the transaction of a batch as one that was certainly not committed. If the outcome is
    /// unknown, its rows stay, and are reconciled on resume.
    pub(crate) fn withdraw(&self, batch: usize) {
        self.written.lock().batches[batch].is_kept = false;
    }

    /// Marks all batches as certainly not committed: see [`Self::withdraw`].
    pub(crate) fn withdraw_all(&self) {
        self.written.lock().batches.iter_mut().for_each(|batch| batch.is_kept = false);
    }

    /// Removes rejects of transactions that were not committed, and makes the files durable; removes
    /// the files if they are empty.
    pub(crate) fn finish(&self) -> Result<()> {
        let mut written = self.written.lock();
        written.keep_committed()?;
        let WrittenRejects { rows, log, .. } = &mut *written;
        rows.finish()?;
        log.finish()
    }
}

impl WrittenRejects {
    fn check_empty(&self) -> Result<()> {
        self.rows.check_empty()?;
        self.log.check_empty()
    }

    /// Takes over what an earlier run has written, as far as it was committed.
    fn take_up(&mut self, id: &str, before: &Before<'_>) -> Result<()> {
        match before.batches(id, &self.rows.read()?, &self.log.read()?) {
            Some(batches) => self.batches = batches,
            None => self.check_empty()?,
        }
        self.keep_committed()
    }

    /// Removes rejects of transactions that were not committed.
    fn keep_committed(&mut self) -> Result<()> {
        let Self { rows, log, batches } = self;
        let header = batches.first().map_or(0, |batch| batch.rows.start);
        batches.retain(|batch| batch.is_kept);
        let (mut rows_end, mut log_end) = (if batches.is_empty() { 0 } else { header }, 0);
        for batch in batches {
            batch.rows = rows.pull(&batch.rows, rows_end)?;
            batch.log = log.pull(&batch.log, log_end)?;
            (rows_end, log_end) = (batch.rows.end, batch.log.end);
        }
        rows.cut(rows_end)?;
        log.cut(log_end)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::path::Path;

    use pgsluice_core::format::Format;
    use pgsluice_core::split::Splitter;

    use super::*;
    use crate::error::Unit;

    fn reject(row: &str) -> Reject {
        let source = "rows.csv".to_owned();
        let place = Location { source, line: 7, offset: 70, input: 0, unit: Unit::Bytes };
        let reason = RejectReason {
            table: "public.t".to_owned(),
            column: None,
            sqlstate: "23505".to_owned(),
            message: "duplicate \"key\"".to_owned(),
            detail: None,
        };
        Reject { origin: Origin { input: 0, at: 70 }, place, reason, row: row.as_bytes().to_vec() }
    }

    fn rejects(folder: &Path, most: Most, header: Option<&str>) -> RejectFiles {
        let job = job::Rejects { file: folder.join("bad.csv"), most };
        let cell = Arc::new(OnceLock::new());
        header.into_iter().for_each(|header| _ = cell.set(header.as_bytes().to_vec()));
        RejectFiles::open("id", &job, cell, None).expect("files")
    }

    #[test]
    fn what_was_not_committed_is_taken_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let rejects = rejects(folder.path(), Most::Rows(10), Some("a,b"));
        let batches =
            ["one", "two,\"\r\n\"", "three", "4"].map(|row| rejects.write(&[reject(row)]));
        let [one, _, three, _] = batches.map(|batch| batch.expect("written"));
        rejects.withdraw(three);
        rejects.withdraw(one);
        rejects.finish().expect("finished");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        assert_eq!(read("bad.csv"), "a,b\ntwo,\"\r\n\"\n4\n");
        let line = "{\"load\":\"id\",\"source\":\"rows.csv\",\"line\":7,\"offset\":70,\"table\":\"public.t\",\"column\":null,\
                    \"sqlstate\":\"23505\",\"message\":\"duplicate \\\"key\\\"\",\"detail\":null}\n";
        assert_eq!(read("bad.csv.log"), line.repeat(2));
    }

    #[test]
    fn what_an_earlier_run_has_committed_is_taken_up() {
        let folder = tempfile::tempdir().expect("a folder");
        let input = folder.path().join("rows.csv");
        std::fs::write(&input, "").expect("a file");
        let source = input.display().to_string();
        let rejects = |rejected: &HashSet<Origin>, header: bool| {
            let job = job::Rejects { file: folder.path().join("bad.csv"), most: Most::Rows(9) };
            let inputs = crate::source::Inputs::resolve([&source]).expect("inputs");
            let before = Before {
                inputs: &inputs,
                splitter: Splitter::new(&Format::csv()),
                header_rows: usize::from(header),
                rejected,
            };
            let cell = Arc::new(OnceLock::new());
            if header {
                let _ = cell.set(b"a,b".to_vec());
            }
            RejectFiles::open("id", &job, cell, Some(&before))
        };
        let reject = |offset: u64, row: &str| {
            let mut reject = reject(row);
            (reject.place.source, reject.place.offset) = (source.clone(), offset);
            reject
        };
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        let mut known = HashSet::new();
        // A run that is killed: the second batch is not committed, the last one is torn.
        let killed = rejects(&known, true).expect("files");
        killed.write(&[reject(1, "one,1"), reject(2, "\"two\n\",2")]).expect("written");
        killed.write(&[reject(3, "three,3")]).expect("written");
        killed.write(&[reject(4, "four,4")]).expect("written");
        known.extend([1, 2, 4].map(|at| Origin { input: 0, at }));
        drop(killed);
        for (name, torn) in [("bad.csv", "\"torn"), ("bad.csv.log", "{\"source\"")] {
            let text = read(name) + torn;
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        let resumed = rejects(&known, true).expect("files");
        assert_eq!(read("bad.csv"), "a,b\none,1\n\"two\n\",2\nfour,4\n");
        resumed.write(&[reject(3, "three,3")]).expect("written");
        resumed.finish().expect("finished");
        assert_eq!(read("bad.csv"), "a,b\none,1\n\"two\n\",2\nfour,4\nthree,3\n");
        assert_eq!(read("bad.csv.log").lines().count(), 4);
        // Without any that was committed nothing is left but what is new.
        let resumed = rejects(&HashSet::new(), true).expect("files");
        resumed.write(&[reject(7, "seven,7")]).expect("written");
        resumed.finish().expect("finished");
        assert_eq!(read("bad.csv"), "a,b\nseven,7\n");
        // Whatever else is there stays.
        std::fs::write(folder.path().join("bad.csv.log"), "notes\n").expect("a file");
        assert!(rejects(&HashSet::new(), true).is_err());
        assert_eq!(read("bad.csv"), "a,b\nseven,7\n");
    }

    #[test]
    fn files_without_rows_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let rejects = rejects(folder.path(), Most::Rows(10), Some("a,b"));
        rejects.withdraw(rejects.write(&[reject("1,2")]).expect("written"));
        rejects.finish().expect("finished");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn rows_of_another_load_are_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("bad.csv"), "1\n").expect("a file");
        let job = job::Rejects { file: folder.path().join("bad.csv"), most: Most::Rows(1) };
        let error = RejectFiles::open("id", &job, Arc::default(), None).err().expect("not empty");
        assert!(error.to_string().contains("is not empty\nHINT"), "{error}");
    }

    #[test]
    fn a_limit_holds() {
        let folder = tempfile::tempdir().expect("a folder");
        let control = Control::default();
        let rejects = rejects(folder.path(), Most::Rows(2), None);
        assert_eq!([(); 3].map(|()| rejects.admit(&control)), [true, true, false]);
        rejects.dismiss(1);
        assert!(rejects.admit(&control) && !rejects.admit(&control));

        let folder = tempfile::tempdir().expect("a folder");
        let rejects = self::rejects(folder.path(), Most::Percent(1.0), None);
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
