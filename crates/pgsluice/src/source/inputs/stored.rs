//! Inputs that can be read from any place: files and objects.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use super::super::compression::Compression;
use super::{Input, Place, address};

/// The bytes of an input, before they are decompressed.
#[derive(Clone, Copy, Debug)]
pub(in crate::source) enum Stored<'i> {
    File(&'i Path),
    Object(&'i Arc<dyn Object>),
}

/// An object of a store outside of this machine. All of it is read from one version.
pub(in crate::source) trait Object: std::fmt::Debug + Send + Sync {
    /// Returns its address for people, without secrets.
    fn name(&self) -> &str;

    /// Returns a text that no other object has. It may contain a secret.
    fn identity(&self) -> String;

    /// Returns its size in bytes.
    fn size(&self) -> u64;

    /// Returns a text that changes with every write to it.
    fn version(&self) -> String;

    /// Returns its first 8 bytes, or fewer if it is smaller.
    fn start(&self) -> &[u8];

    /// Opens it for reading from the beginning.
    fn open(&self) -> Box<dyn ReadSeek>;

    /// Returns `max` bytes from `offset` on, or fewer at the end.
    fn read_at(&self, offset: u64, max: u64) -> io::Result<Bytes>;

    /// Requests its beginning, which will be read soon.
    fn prepare(&self);

    /// Requests several ranges, each of which is read from its beginning to its end.
    #[cfg(feature = "parquet")]
    fn pieces(&self, ranges: Vec<std::ops::Range<u64>>) -> Arc<dyn Pieces>;
}

/// Ranges of an object that are read at the same time.
#[cfg(feature = "parquet")]
pub(in crate::source) trait Pieces: Send + Sync {
    /// Returns `length` bytes from `at` on, which must be within one range.
    fn read_at(&self, at: u64, length: usize) -> io::Result<Bytes>;

    /// Returns some bytes from `at` on; none at the end of a range.
    fn some_at(&self, at: u64) -> io::Result<Bytes>;
}

/// Objects that a name stands for.
#[cfg_attr(not(feature = "objects"), expect(dead_code))]
pub(in crate::source) enum Found {
    /// They can be read from any place. The sentences are about objects that are not read.
    Objects(Vec<Arc<dyn Object>>, Vec<String>),
    /// It can be read only once, in order.
    Once(String, Box<dyn Read + Send>),
}

/// A reader that can go to any place.
pub(in crate::source) trait ReadSeek: Read + Seek + Send {}

impl<R: Read + Seek + Send> ReadSeek for R {}

impl Stored<'_> {
    /// Opens it for reading from the beginning.
    pub(in crate::source) fn open(self) -> io::Result<Box<dyn ReadSeek>> {
        Ok(match self {
            Self::File(path) => Box::new(File::open(path)?),
            Self::Object(object) => object.open(),
        })
    }

    /// Returns `max` bytes from `offset` on, or fewer at the end.
    pub(in crate::source) fn read_at(self, offset: u64, max: u64) -> io::Result<Bytes> {
        match self {
            Self::File(path) => {
                // Most ranges are short, so they take one read instead of one each time the buffer grows.
                let mut bytes = Vec::with_capacity(max.min(ROOM) as usize);
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(offset))?;
                file.take(max).read_to_end(&mut bytes)?;
                Ok(bytes.into())
            }
            Self::Object(object) => object.read_at(offset, max),
        }
    }
}

/// The number of bytes for which memory is allocated before they are read.
const ROOM: u64 = 64 << 10;

impl Input {
    /// Returns its path in the file system, if it has one.
    pub(in crate::source) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            _ => None,
        }
    }

    /// Returns the object, if it is one.
    pub(in crate::source) fn object(&self) -> Option<&Arc<dyn Object>> {
        match &self.place {
            Place::Object(object) => Some(object),
            _ => None,
        }
    }

    /// Whether it is a file or an object, which can be examined before it is read.
    pub(crate) fn is_file(&self) -> bool {
        self.stored().is_some()
    }

    /// Returns its file, if it can be read again.
    pub(in crate::source) fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::Spooled(path) => Some(path),
            _ => self.path().filter(|_| self.is_rereadable()),
        }
    }

    /// Returns its bytes, if they can be read from any place.
    pub(in crate::source) fn stored(&self) -> Option<Stored<'_>> {
        match self.object() {
            Some(object) => Some(Stored::Object(object)),
            None => self.file().map(Stored::File),
        }
    }

    /// Lets the store send its beginning, if it is an object.
    pub(in crate::source) fn prepare(&self) {
        if let Some(object) = self.object() {
            object.prepare();
        }
    }

    /// Returns the shell command that prints its text; `{}` stands for its name.
    pub(crate) fn printed_by(&self) -> String {
        let object = self.object().map(|_| address::printed_by(&self.name));
        match (object, self.compression.map(Compression::printed_by)) {
            (None, program) => program.unwrap_or("cat {}").to_owned(),
            (Some(object), None) => object,
            (Some(object), Some(program)) => {
                format!("{object} | {}", program.trim_end_matches(" {}"))
            }
        }
    }
}
