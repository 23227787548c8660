//! Rejects: the rows that the server refuses, kept with its reasons in place of ending the load.
//!
//! A row stands in the file before the rows around it are committed, and is taken out again at the
//! end if they were not: so none is lost, and none is both in the file and in the table.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use serde::Serialize;

use crate::config::{self, Most};
use crate::control::Control;
use crate::error::{Error, Place, Result, plain_io};
use crate::kind::Kind;

/// One row, and why the server refuses it.
#[derive(Clone, Debug)]
pub(crate) struct Reject {
    pub place: Place,
    pub reason: Reason,
    /// As it stands in the input.
    pub row: Vec<u8>,
}

/// The server's words. The names of the fields are those of the log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Reason {
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
    source: &'r str,
    line: u64,
    offset: u64,
    #[serde(flatten)]
    reason: &'r Reason,
}

/// Where rejects go, and how many may.
pub(crate) struct Rejects {
    most: Most,
    /// The header of the inputs, if they have one and as soon as it was read.
    header: Arc<OnceLock<Vec<u8>>>,
    written: Mutex<Written>,
    count: AtomicU64,
}

struct Written {
    rows: Output,
    log: Output,
    batches: Vec<Batch>,
}

/// One of the two files.
struct Output {
    path: PathBuf,
    file: File,
    length: u64,
}

/// The rejects of one transaction: where they stand in both files.
struct Batch {
    rows: Range<u64>,
    log: Range<u64>,
    is_kept: bool,
}

impl Rejects {
    /// Makes the files, which must not be there or be empty. In front of the first row comes what will
    /// be in `header`.
    pub(crate) fn create(config: &config::Rejects, header: Arc<OnceLock<Vec<u8>>>) -> Result<Self> {
        let rows = Output::create(config.file.clone())?;
        let log = Output::create(config.log())?;
        let written = Mutex::new(Written { rows, log, batches: Vec::new() });
        Ok(Self { most: config.most, header, written, count: AtomicU64::new(0) })
    }

    /// Counts another row, unless there are as many as there may be.
    pub(crate) fn admit(&self, control: &Control) -> bool {
        let most = match self.most {
            Most::Rows(rows) => rows,
            Most::Percent(percent) => (control.rows_expected() * percent / 100.0) as u64,
        };
        self.count
            .fetch_update(Relaxed, Relaxed, |count| (count < most).then_some(count + 1))
            .is_ok()
    }

    /// Takes back what was counted of a transaction that was not committed.
    pub(crate) fn dismiss(&self, rows: u64) {
        self.count.fetch_sub(rows, Relaxed);
    }

    /// Whether in the end there are too many of `read` rows: their share was only guessed before.
    pub(crate) fn are_too_many(&self, read: u64) -> bool {
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

    /// Writes the rejects of a transaction that is about to be committed; then comes [`Self::keep`].
    pub(crate) fn write(&self, rejects: &[Reject]) -> Result<usize> {
        let mut written = self.written.lock();
        let Written { rows, log, batches } = &mut *written;
        if rows.length == 0
            && let Some(header) = self.header.get()
        {
            rows.append(&[&header[..], b"\n"].concat())?;
        }
        let (mut bytes, mut lines) = (Vec::new(), Vec::new());
        for Reject { place: Place { source, line, offset }, reason, row } in rejects {
            bytes.extend_from_slice(row);
            bytes.push(b'\n');
            let line = Line { source, line: *line, offset: *offset, reason };
            // Strings and numbers can always be written to memory.
            serde_json::to_writer(&mut lines, &line).map_err(|error| log.failed(&error.into()))?;
            lines.push(b'\n');
        }
        let batch = Batch { rows: rows.append(&bytes)?, log: log.append(&lines)?, is_kept: false };
        batches.push(batch);
        Ok(batches.len() - 1)
    }

    /// The transaction of a batch was committed.
    pub(crate) fn keep(&self, batch: usize) {
        self.written.lock().batches[batch].is_kept = true;
    }

    /// Takes out what was not committed, and makes the files durable; removes them if they are empty.
    pub(crate) fn finish(&self) -> Result<()> {
        let mut written = self.written.lock();
        let Written { rows, log, batches } = &mut *written;
        let kept = || batches.iter().filter(|batch| batch.is_kept);
        let header = batches.first().map_or(0, |batch| batch.rows.start);
        let kept_rows = kept().map(|batch| batch.rows.clone()).collect();
        let kept_lines = kept().map(|batch| batch.log.clone()).collect();
        rows.keep(header, kept_rows)?;
        log.keep(0, kept_lines)
    }
}

impl Output {
    fn create(path: PathBuf) -> Result<Self> {
        let mut options = OpenOptions::new();
        // Rows may hold what is nobody else's business.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let opened = options.open(&path);
        let length = |file: &File| file.metadata().map(|metadata| metadata.len());
        let opened = opened.and_then(|file| Ok((length(&file)?, file)));
        let (length, file) = opened.map_err(|error| cannot_write(&path, &error))?;
        if length > 0 {
            let message = format!("file \"{}\" is not empty", path.display());
            return Err(Error::new(Kind::Input, message)
                .hint("Rows that another load has rejected may be in it: see to them first, or name another file."));
        }
        Ok(Self { path, file, length })
    }

    /// Where the bytes are.
    fn append(&mut self, bytes: &[u8]) -> Result<Range<u64>> {
        let written = self.file.write_all_at(bytes, self.length);
        written.map_err(|error| self.failed(&error))?;
        let start = self.length;
        self.length += bytes.len() as u64;
        Ok(start..self.length)
    }

    /// Keeps these ranges behind the first `header` bytes; without any the file is removed.
    fn keep(&mut self, header: u64, ranges: Vec<Range<u64>>) -> Result<()> {
        let kept =
            if ranges.is_empty() { self.remove() } else { self.move_together(header, ranges) };
        kept.map_err(|error| self.failed(&error))
    }

    fn remove(&mut self) -> io::Result<()> {
        self.length = 0;
        self.file.set_len(0)?;
        std::fs::remove_file(&self.path)
    }

    fn move_together(&mut self, header: u64, ranges: Vec<Range<u64>>) -> io::Result<()> {
        let mut end = header;
        for range in ranges {
            if range.start > end {
                let mut bytes = vec![0; (range.end - range.start) as usize];
                self.file.read_exact_at(&mut bytes, range.start)?;
                self.file.write_all_at(&bytes, end)?;
            }
            end += range.end - range.start;
        }
        self.length = end;
        self.file.set_len(end)?;
        self.file.flush()?;
        self.file.sync_all()
    }

    fn failed(&self, error: &io::Error) -> Error {
        cannot_write(&self.path, error)
    }
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let reason = plain_io(error);
    Error::new(Kind::Input, format!("could not write to file \"{}\": {reason}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reject(row: &str) -> Reject {
        let place = Place { source: "rows.csv".to_owned(), line: 7, offset: 70 };
        let reason = Reason {
            table: "public.t".to_owned(),
            column: None,
            sqlstate: "23505".to_owned(),
            message: "duplicate \"key\"".to_owned(),
            detail: None,
        };
        Reject { place, reason, row: row.as_bytes().to_vec() }
    }

    fn rejects(folder: &Path, most: Most, header: Option<&str>) -> Rejects {
        let config = config::Rejects { file: folder.join("bad.csv"), most };
        let cell = Arc::new(OnceLock::new());
        header.into_iter().for_each(|header| _ = cell.set(header.as_bytes().to_vec()));
        Rejects::create(&config, cell).expect("files")
    }

    #[test]
    fn what_was_not_committed_is_taken_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let rejects = rejects(folder.path(), Most::Rows(10), Some("a,b"));
        let batches =
            ["one", "two,\"\r\n\"", "three", "4"].map(|row| rejects.write(&[reject(row)]));
        let [_, two, _, four] = batches.map(|batch| batch.expect("written"));
        rejects.keep(four);
        rejects.keep(two);
        rejects.finish().expect("finished");
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).expect(name);
        assert_eq!(read("bad.csv"), "a,b\ntwo,\"\r\n\"\n4\n");
        let line = "{\"source\":\"rows.csv\",\"line\":7,\"offset\":70,\"table\":\"public.t\",\"column\":null,\
                    \"sqlstate\":\"23505\",\"message\":\"duplicate \\\"key\\\"\",\"detail\":null}\n";
        assert_eq!(read("bad.csv.log"), line.repeat(2));
    }

    #[test]
    fn files_without_rows_are_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let rejects = rejects(folder.path(), Most::Rows(10), Some("a,b"));
        rejects.write(&[reject("1,2")]).expect("written");
        rejects.finish().expect("finished");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 0);
    }

    #[test]
    fn rows_of_another_load_are_not_written_over() {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("bad.csv"), "1\n").expect("a file");
        let config = config::Rejects { file: folder.path().join("bad.csv"), most: Most::Rows(1) };
        let error = Rejects::create(&config, Arc::default()).err().expect("not empty");
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
        for (number, value) in
            [(&control.rows_read, 100), (&control.bytes_read, 10), (&control.bytes_total, 20)]
        {
            number.store(value, Relaxed);
        }
        assert_eq!([(); 3].map(|()| rejects.admit(&control)), [true, true, false]);
        assert!(rejects.are_too_many(199) && !rejects.are_too_many(200));
    }
}
