//! Looks ahead in a file before a very long row takes up more memory: can the row end at all? An unclosed
//! quote turns the rest of the file into one row.

use std::io::{Read, SeekFrom};

use super::Input;
use crate::error::Result;

/// Bytes that are read and searched together.
const BLOCK_BYTES: usize = 256 << 10;

/// The result of looking ahead from a place of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// One of the bytes occurs, or this is not known because the input cannot be read twice.
    Found,
    /// The end of the input comes first.
    End,
    /// The bytes occur nowhere in the part that was searched.
    Nothing,
}

impl Input {
    /// Returns which comes first within `max` bytes from `offset` on: one of `bytes`, or the end.
    pub(super) fn ahead(&self, offset: u64, max: u64, bytes: [u8; 2]) -> Result<Ahead> {
        let stored = self.stored().filter(|_| self.is_seekable());
        let Some(stored) = stored else { return Ok(Ahead::Found) };
        let look = || {
            let mut file = stored.open()?;
            file.seek(SeekFrom::Start(offset))?;
            let mut rest = file.take(max);
            let mut block = vec![0; BLOCK_BYTES];
            loop {
                match rest.read(&mut block)? {
                    0 if rest.limit() > 0 => return Ok(Ahead::End),
                    0 => return Ok(Ahead::Nothing),
                    got if bytes.iter().any(|byte| block[..got].contains(byte)) => {
                        return Ok(Ahead::Found);
                    }
                    _ => {}
                }
            }
        };
        look().map_err(|error| self.cannot_read(&error))
    }
}

#[cfg(test)]
mod tests {
    use super::{Ahead, BLOCK_BYTES};

    #[test]
    fn reading_ahead_ends_at_the_first_match_or_the_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.csv");
        let text = format!("\"{}\"", "x".repeat(2 * BLOCK_BYTES));
        std::fs::write(&path, &text).expect("a file");
        let [input] =
            &super::super::Inputs::resolve([path.display().to_string()]).expect("inputs")[..]
        else {
            panic!("one input")
        };
        let ahead = |max, byte| input.ahead(1, max, [byte; 2]).expect("the file");
        let length = text.len() as u64;
        assert_eq!(ahead(length, b'"'), Ahead::Found);
        assert_eq!(ahead(length, b'\n'), Ahead::End);
        assert_eq!(ahead(length - 2, b'"'), Ahead::Nothing);
        assert_eq!(ahead(length - 1, b'"'), Ahead::Found);
    }
}
