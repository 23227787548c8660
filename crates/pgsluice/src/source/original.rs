//! Reads a row of an input again, in its original form.

use std::io::Read;

use bytes::Bytes;

use super::{Input, Shape};
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// The number of bytes that are searched first for the end of the row.
const FIRST_BYTES: u64 = 4 << 10;

impl Input {
    /// Returns the row that begins at `offset` of the text, without its line end. It must be possible to read
    /// the input again.
    pub(crate) fn row_at(&self, offset: u64, shape: &Shape) -> Result<Vec<u8>> {
        let mut want = FIRST_BYTES;
        loop {
            let bytes = self.bytes_at(offset, want)?;
            let last = (bytes.len() as u64) < want;
            let mut rows = Vec::new();
            let scan = shape.splitter().scan(&bytes, last, &mut rows);
            match (rows.first(), scan) {
                (Some(row), _) => return Ok(row.slice(&bytes).to_vec()),
                (None, Ok(_)) if !last => want *= 16,
                (None, _) => return Err(self.has_changed()),
            }
        }
    }

    /// Returns the error for an input that has changed since it was first read.
    pub(crate) fn has_changed(&self) -> Error {
        Error::new(Kind::Input, format!("file \"{}\" has changed during the load", self.name))
    }

    fn bytes_at(&self, offset: u64, max: u64) -> Result<Bytes> {
        let read = match self.stored().filter(|_| self.is_seekable()) {
            Some(stored) => stored.read_at(offset, max),
            None => {
                let mut text = self.open()?;
                let mut bytes = Vec::new();
                std::io::copy(&mut text.by_ref().take(offset), &mut std::io::sink())
                    .and_then(|_| text.take(max).read_to_end(&mut bytes))
                    .map(|_| bytes.into())
            }
        };
        read.map_err(|error| self.cannot_read(&error))
    }
}

#[cfg(test)]
mod tests {
    use pgsluice_core::format::Format;

    use super::FIRST_BYTES;
    use crate::source::{Header, Shape};

    #[test]
    fn a_row_is_read_again_wherever_it_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.csv");
        let long = "x".repeat(FIRST_BYTES as usize * 20);
        let rows = ["a,\"1\n2\"", "b", &long, "", "last"];
        std::fs::write(&path, rows.join("\r\n")).expect("a file");
        let [input] =
            &super::super::Inputs::resolve([path.display().to_string()]).expect("inputs")[..]
        else {
            panic!("one input")
        };
        let shape = Shape::new(Format::csv(), Header::Absent, Vec::new());
        let mut offset = 0;
        for row in rows {
            let read = input.row_at(offset, &shape).expect("a row");
            assert_eq!(read, row.as_bytes());
            offset += row.len() as u64 + 2;
        }
        assert!(input.row_at(offset, &shape).is_err());
    }
}
