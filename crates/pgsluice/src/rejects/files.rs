//! Files of rejected rows: one with the unchanged rows, and one with the reasons.
//!
//! Rejects are written before COMMIT and removed if it fails. If the outcome of a COMMIT is unknown, they are
//! reconciled on resume.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::before::Before;
use super::output::Output;
use super::{Reject, RejectReport};
use crate::error::Result;
use crate::job::log_of;

/// The two files of a load.
pub(super) struct RejectFiles {
    /// The header of the inputs after it is read; empty if they have none.
    header: Arc<OnceLock<Vec<u8>>>,
    written: Mutex<WrittenRejects>,
}

struct WrittenRejects {
    rows: Output,
    log: Output,
    batches: Vec<RejectBatch>,
}

/// The rejects of one transaction: their ranges in both files.
pub(super) struct RejectBatch {
    pub(super) rows: Range<u64>,
    pub(super) log: Range<u64>,
    pub(super) is_kept: bool,
}

impl RejectFiles {
    /// Creates the files. They must not exist or must be empty, unless an earlier run of the load `id` has
    /// written them. The text in `header` precedes the first row.
    pub(super) fn open(
        id: &str,
        file: &Path,
        header: Arc<OnceLock<Vec<u8>>>,
        before: Option<&Before<'_>>,
    ) -> Result<Self> {
        let (rows, log) = (Output::open(file.to_owned())?, Output::open(log_of(file))?);
        let mut written = WrittenRejects { rows, log, batches: Vec::new() };
        match before {
            Some(before) => written.take_up(id, before)?,
            None => written.check_empty()?,
        }
        Ok(Self { header, written: Mutex::new(written) })
    }

    /// Writes the rejects of a transaction of the load `id` that is about to be committed. Returns the number
    /// of the batch for [`Self::withdraw`].
    pub(super) fn write(&self, id: &str, rejects: &[Reject]) -> Result<usize> {
        let mut written = self.written.lock();
        let WrittenRejects { rows, log, batches } = &mut *written;
        let (mut bytes, mut lines) = (Vec::new(), Vec::new());
        for reject in rejects {
            bytes.extend_from_slice(&reject.row);
            bytes.push(b'\n');
            let report = RejectReport::new(id, reject);
            serde_json::to_writer(&mut lines, &report)
                .map_err(|error| log.failed(&error.into()))?;
            lines.push(b'\n');
        }
        // The log comes first, so that the rows are known to belong to this load.
        let log = log.append(&lines)?;
        if rows.is_empty()
            && let Some(header) = self.header.get()
        {
            rows.append(&[&header[..], b"\n"].concat())?;
        }
        batches.push(RejectBatch { rows: rows.append(&bytes)?, log, is_kept: true });
        Ok(batches.len() - 1)
    }

    /// Marks the transaction of a batch as certainly not committed. If the outcome is unknown, its rows stay,
    /// and are reconciled on resume.
    pub(super) fn withdraw(&self, batch: usize) {
        self.written.lock().batches[batch].is_kept = false;
    }

    /// Marks all batches as certainly not committed, see [`Self::withdraw`].
    pub(super) fn withdraw_all(&self) {
        self.written.lock().batches.iter_mut().for_each(|batch| batch.is_kept = false);
    }

    /// Removes rejects of transactions that were not committed, and makes the files durable. Removes the
    /// files if they are empty.
    pub(super) fn finish(&self) -> Result<()> {
        let mut written = self.written.lock();
        written.drop_uncommitted()?;
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

    /// Takes over the committed rejects of an earlier run.
    fn take_up(&mut self, id: &str, before: &Before<'_>) -> Result<()> {
        match before.batches(id, &self.rows.read()?, &self.log.read()?) {
            Some(batches) => self.batches = batches,
            None => self.check_empty()?,
        }
        self.drop_uncommitted()
    }

    /// Removes rejects of transactions that were not committed.
    fn drop_uncommitted(&mut self) -> Result<()> {
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
    use crate::error::{Location, Unit};
    use crate::rejects::RejectReason;
    use pgsluice_core::origin::Origin;

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

    fn rejects(folder: &Path, header: Option<&str>) -> RejectFiles {
        let cell = Arc::new(OnceLock::new());
        header.into_iter().for_each(|header| _ = cell.set(header.as_bytes().to_vec()));
        RejectFiles::open("id", &folder.join("bad.csv"), cell, None).expect("files")
    }

    #[test]
    fn uncommitted_rejects_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let rejects = rejects(folder.path(), Some("a,b"));
        let batches =
            ["one", "two,\"\r\n\"", "three", "4"].map(|row| rejects.write("id", &[reject(row)]));
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
    fn committed_rejects_of_an_earlier_run_are_kept() {
        let folder = tempfile::tempdir().expect("a folder");
        let input = folder.path().join("rows.csv");
        std::fs::write(&input, "").expect("a file");
        let source = input.display().to_string();
        let rejects = |rejected: &HashSet<Origin>, header: bool| {
            let file = folder.path().join("bad.csv");
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
            RejectFiles::open("id", &file, cell, Some(&before))
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
        killed.write("id", &[reject(1, "one,1"), reject(2, "\"two\n\",2")]).expect("written");
        killed.write("id", &[reject(3, "three,3")]).expect("written");
        killed.write("id", &[reject(4, "four,4")]).expect("written");
        known.extend([1, 2, 4].map(|at| Origin { input: 0, at }));
        drop(killed);
        for (name, torn) in [("bad.csv", "\"torn"), ("bad.csv.log", "{\"source\"")] {
            let text = read(name) + torn;
            std::fs::write(folder.path().join(name), text).expect("a file");
        }
        let resumed = rejects(&known, true).expect("files");
        assert_eq!(read("bad.csv"), "a,b\none,1\n\"two\n\",2\nfour,4\n");
        resumed.write("id", &[reject(3, "three,3")]).expect("written");
        resumed.finish().expect("finished");
        assert_eq!(read("bad.csv"), "a,b\none,1\n\"two\n\",2\nfour,4\nthree,3\n");
        assert_eq!(read("bad.csv.log").lines().count(), 4);
        // If no earlier reject was committed, only the new ones are left.
        let resumed = rejects(&HashSet::new(), true).expect("files");
        resumed.write("id", &[reject(7, "seven,7")]).expect("written");
        resumed.finish().expect("finished");
        assert_eq!(read("bad.csv"), "a,b\nseven,7\n");
        // Other content stays.
        std::fs::write(folder.path().join("bad.csv.log"), "notes\n").expect("a file");
        assert!(rejects(&HashSet::new(), true).is_err());
        assert_eq!(read("bad.csv"), "a,b\nseven,7\n");
    }

    #[test]
    fn files_without_rows_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let rejects = rejects(folder.path(), Some("a,b"));
        rejects.withdraw(rejects.write("id", &[reject("1,2")]).expect("written"));
        rejects.finish().expect("finished");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn rows_of_another_load_are_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("bad.csv"), "1\n").expect("a file");
        let file = folder.path().join("bad.csv");
        let error = RejectFiles::open("id", &file, Arc::default(), None).err().expect("not empty");
        assert!(error.to_string().contains("is not empty\nHINT"), "{error}");
    }
}
