//! Compression of a whole input, detected by its first bytes.

use std::io::{self, BufRead, ErrorKind, Read};

use super::gzip::MemberReader;

/// The compression of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// gzip, possibly of several members: RFC 1952.
    Gzip,
    /// zstd, possibly of several frames: RFC 8878.
    Zstd,
}

/// The number of bytes that identify a compression.
pub(super) const MAGIC: usize = 4;

/// File name suffixes of compressed files.
const SUFFIXES: [(&str, Compression); 3] =
    [(".gz", Compression::Gzip), (".zst", Compression::Zstd), (".zstd", Compression::Zstd)];

impl Compression {
    /// Detects the compression by the first bytes of an input.
    pub(super) fn from_bytes(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // The second pattern is a skippable frame: compressors that work in parallel begin with one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Derives the compression from the name of a file.
    pub(super) fn from_name(name: &str) -> Option<Self> {
        split_suffix(name).map(|(_, compression)| compression)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// Returns the shell command that prints the contents of a file; `{}` stands for its name.
    pub(super) fn printed_by(self) -> &'static str {
        match self {
            Self::Gzip => "gzip -dc {}",
            Self::Zstd => "zstdcat {}",
        }
    }

    /// Returns a reader of the decompressed contents.
    pub(super) fn reader(
        self,
        compressed: impl BufRead + Send + 'static,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(MemberReader::new(compressed)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(compressed)?),
        })
    }

    /// Rewords an error of such a reader; an error of the operating system is returned unchanged.
    pub(super) fn explain(self, error: io::Error) -> io::Error {
        let what = self.name();
        match error.kind() {
            _ if error.raw_os_error().is_some() => error,
            // This error is already worded.
            ErrorKind::InvalidData if self == Self::Gzip => error,
            ErrorKind::UnexpectedEof => io::Error::other(format!("its {what} data is truncated")),
            // ZSTD_error_frameParameter_windowTooLarge, in the words of the library.
            _ if error.to_string().contains("too much memory") => io::Error::other(
                "its zstd data needs more than 128 MiB to be decompressed: use zstdcat --long=31",
            ),
            _ => io::Error::other(format!("its {what} data is damaged: {error}")),
        }
    }
}

/// Returns the name of a file without the suffix of a compression.
pub fn strip_compression(name: &str) -> &str {
    split_suffix(name).map_or(name, |(stem, _)| stem)
}

fn split_suffix(name: &str) -> Option<(&str, Compression)> {
    SUFFIXES.iter().find_map(|(suffix, compression)| {
        let (stem, end) = name.split_at_checked(name.len().checked_sub(suffix.len())?)?;
        end.eq_ignore_ascii_case(suffix).then_some((stem, *compression))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_known_by_their_ends() {
        assert_eq!(strip_compression("days/a.csv.GZ"), "days/a.csv");
        assert_eq!(strip_compression("a.tbl"), "a.tbl");
        assert_eq!(Compression::from_name("a.csv.zst"), Some(Compression::Zstd));
        assert_eq!(
            [".gz", "é", ""].map(Compression::from_name),
            [Some(Compression::Gzip), None, None]
        );
    }
}
