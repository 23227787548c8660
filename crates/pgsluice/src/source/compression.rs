//! Compression: what an input is compressed by as a whole, known by its first bytes.

use std::io::{self, BufRead, ErrorKind, Read};

use super::gzip::Members;

/// What an input is compressed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Compression {
    /// gzip, perhaps of several members: RFC 1952.
    Gzip,
    /// zstd, perhaps of several frames: RFC 8878.
    Zstd,
}

/// Bytes by which it is known.
pub(super) const MAGIC: usize = 4;

/// How the names end of files that are compressed.
const SUFFIXES: [(&str, Compression); 3] =
    [(".gz", Compression::Gzip), (".zst", Compression::Zstd), (".zstd", Compression::Zstd)];

impl Compression {
    /// What the first bytes of an input say.
    pub(super) fn of_bytes(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            // The second is a frame that is skipped: compressors that work in parallel begin with one.
            [0x28, 0xb5, 0x2f, 0xfd, ..] | [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// What the name of a file says.
    pub(super) fn of_name(name: &str) -> Option<Self> {
        named(name).map(|(_, compression)| compression)
    }

    /// Its name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }

    /// Returns the program that prints what a file holds, for a shell: `{}` stands for its name.
    pub(super) fn printed_by(self) -> &'static str {
        match self {
            Self::Gzip => "gzip -dc {}",
            Self::Zstd => "zstdcat {}",
        }
    }

    /// Reads what `compressed` holds.
    pub(super) fn reader(
        self,
        compressed: impl BufRead + Send + 'static,
    ) -> io::Result<Box<dyn Read + Send>> {
        Ok(match self {
            Self::Gzip => Box::new(Members::new(compressed)),
            Self::Zstd => Box::new(zstd::Decoder::with_buffer(compressed)?),
        })
    }

    /// The error of such a reader in words; one of the operating system stays as it is.
    pub(super) fn explained(self, error: io::Error) -> io::Error {
        let what = self.name();
        match error.kind() {
            _ if error.raw_os_error().is_some() => error,
            // Such an error is in words already.
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

/// The name of a file without the ending of a compression.
pub fn uncompressed(name: &str) -> &str {
    named(name).map_or(name, |(stem, _)| stem)
}

fn named(name: &str) -> Option<(&str, Compression)> {
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
        assert_eq!(uncompressed("days/a.csv.GZ"), "days/a.csv");
        assert_eq!(uncompressed("a.tbl"), "a.tbl");
        assert_eq!(Compression::of_name("a.csv.zst"), Some(Compression::Zstd));
        assert_eq!(
            [".gz", "é", ""].map(Compression::of_name),
            [Some(Compression::Gzip), None, None]
        );
    }
}
