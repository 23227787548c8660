//! A file to which rejects are written.

use std::fs::{File, OpenOptions};
use std::io;
use std::ops::Range;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::kind::Kind;
use crate::error::{Error, Result, plain_io};

/// A growing file whose ranges can be moved to the front.
pub(super) struct Output {
    path: PathBuf,
    file: File,
    length: u64,
}

impl Output {
    /// Opens a file, or creates it.
    pub(super) fn open(path: PathBuf) -> Result<Self> {
        let mut options = OpenOptions::new();
        // Rows may be confidential.
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let opened = options.open(&path);
        let opened = opened.and_then(|file| Ok((file.metadata()?.len(), file)));
        let (length, file) = opened.map_err(|error| cannot_write(&path, &error))?;
        Ok(Self { path, file, length })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Fails if the file is not empty.
    pub(super) fn check_empty(&self) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        let message = format!("file \"{}\" is not empty", self.path.display());
        Err(Error::new(Kind::Input, message).with_hint(
            "It may contain rows that another load rejected: handle them first, or name another \
             file.",
        ))
    }

    /// Returns its contents.
    pub(super) fn read(&self) -> Result<Vec<u8>> {
        let mut bytes = vec![0; self.length as usize];
        let read = self.file.read_exact_at(&mut bytes, 0);
        read.map_err(|error| self.failed(&error))?;
        Ok(bytes)
    }

    /// Appends bytes, and returns their range.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<Range<u64>> {
        let written = self.file.write_all_at(bytes, self.length);
        written.map_err(|error| self.failed(&error))?;
        let start = self.length;
        self.length += bytes.len() as u64;
        Ok(start..self.length)
    }

    /// Moves a range to `start`, which is before it. Returns its new range.
    pub(super) fn pull(&mut self, range: &Range<u64>, start: u64) -> Result<Range<u64>> {
        let length = range.end - range.start;
        if range.start > start {
            let mut bytes = vec![0; length as usize];
            let moved = self.file.read_exact_at(&mut bytes, range.start);
            let moved = moved.and_then(|()| self.file.write_all_at(&bytes, start));
            moved.map_err(|error| self.failed(&error))?;
        }
        Ok(start..start + length)
    }

    /// Truncates the file.
    pub(super) fn cut(&mut self, length: u64) -> Result<()> {
        self.file.set_len(length).map_err(|error| self.failed(&error))?;
        self.length = length;
        Ok(())
    }

    /// Makes the file durable, or removes it if it is empty.
    pub(super) fn finish(&self) -> Result<()> {
        let finished = match self.is_empty() {
            true => std::fs::remove_file(&self.path),
            false => self.file.sync_all(),
        };
        finished.map_err(|error| self.failed(&error))
    }

    pub(super) fn failed(&self, error: &io::Error) -> Error {
        cannot_write(&self.path, error)
    }
}

/// Fails if the path exists and is neither a regular file nor a link to one.
pub(super) fn check_regular(path: &Path) -> Result<()> {
    if std::fs::metadata(path).map_or(true, |found| found.is_file()) {
        return Ok(());
    }
    let message = format!("\"{}\" is not a regular file", path.display());
    Err(Error::new(Kind::Usage, message)
        .with_detail(
            "Rejected rows are written to it before the others are committed, and removed again if \
             the commit fails.",
        )
        .with_hint("Name a file that does not exist yet, and remove it afterwards."))
}

fn cannot_write(path: &Path, error: &io::Error) -> Error {
    let reason = plain_io(error);
    Error::new(Kind::Input, format!("could not write to file \"{}\": {reason}", path.display()))
}
