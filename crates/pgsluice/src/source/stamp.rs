//! Stamp: whether a file is still the same at its end as when it was opened.

use std::time::SystemTime;

use super::Input;
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// The state of a file at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    size: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    /// Reads the state of an input's file; `None` if the input is not a file, or the file is gone.
    pub(super) fn read(input: &Input) -> Option<Self> {
        let metadata = input.file()?.metadata().ok()?;
        Some(Self { size: metadata.len(), modified: metadata.modified().ok() })
    }

    /// Rejects an input that has changed since. A file that was only extended and is read in order was read
    /// completely up to its old end; returns the number of bytes that were added.
    pub(super) fn check(self, input: &Input) -> Result<Option<u64>> {
        let Some(now) = Self::read(input).filter(|now| *now != self) else { return Ok(None) };
        match now.size.checked_sub(self.size) {
            Some(grown @ 1..) if input.is_seekable() => Ok(Some(grown)),
            _ => Err(Error::new(
                Kind::Input,
                format!("file \"{}\" changed while it was being read", input.name),
            )
            .with_hint(
                "The rows that were read may come from two versions of the file: compare the file \
                 with the table, using pgsluice verify.",
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::Stamp;
    use crate::source::Inputs;

    #[test]
    fn a_file_may_grow_and_not_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("rows.csv");
        fs::write(&path, "1\n2\n").expect("a file");
        let inputs = Inputs::resolve([path.display().to_string()]).expect("inputs");
        let stamp = Stamp::read(&inputs[0]).expect("a file");
        assert_eq!(stamp.check(&inputs[0]).expect("the same"), None);
        fs::write(&path, "1\n2\n3\n").expect("a file");
        assert_eq!(stamp.check(&inputs[0]).expect("longer"), Some(2));
        fs::write(&path, "1\n").expect("a file");
        let message = stamp.check(&inputs[0]).expect_err("shorter").to_string();
        assert!(message.contains("changed while it was being read"), "{message}");
    }
}
