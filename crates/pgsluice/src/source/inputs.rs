//! The inputs of a job, found once.

mod address;
mod again;
mod entries;
mod resolve;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pgsluice_core::position::Position;
use tempfile::TempPath;

pub(super) use self::entries::pattern_of;
use super::compression::Compression;
use super::encoding::Encoding;
use super::relation::{OpenRelation, Relation, Snapshots};
use super::stream::Stream;
use super::typed::Handed;
use super::{FileFormat, typed};
use crate::error::kind::Kind;
use crate::error::{Error, Location, Result, Unit, plain_io};

/// How many bytes of text one of a compressed input likely stands for.
const LIKELY_RATIO: u64 = 8;

/// Bytes that are kept of what an input begins with.
pub(crate) const OPENING: usize = 64 << 10;

/// One input, found but not yet opened.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name as the user knows it: the path, or `<stdin>`.
    pub name: String,
    /// Bytes as they stand there, where that is known beforehand.
    pub size: Option<u64>,
    place: Place,
    /// What it is compressed by. Of what can be read only once that is seen when it is read.
    compression: Option<Compression>,
    encoding: Encoding,
    reread: Reread,
    /// What it is read as.
    pub(super) format: FileFormat,
    /// Whether the user gave the format.
    pub(super) is_format_given: bool,
    /// What the first bytes of a file say that it is, if they say anything.
    pub(super) known: Option<FileFormat>,
    /// The hash of all bytes, of one that was kept.
    pub(super) content: Option<Arc<str>>,
    /// The text that it begins with, of one that can be read only once and was.
    opening: Arc<OnceLock<Vec<u8>>>,
}

/// Where an input is.
#[derive(Clone, Debug)]
enum Place {
    /// A file, or what can be opened like one.
    File(PathBuf),
    Stdin,
    /// What can be read only once: as it comes, or the text of what was begun.
    Once(Arc<Mutex<Option<Bytes>>>),
    Begun(Arc<Mutex<Option<Bytes>>>),
    /// Batches that the program hands over.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code))]
    Batches(Handed),
    /// What could be read only once, in a file that is removed when nobody has it any more.
    Kept(Arc<TempPath>),
    /// Text that the program hands over.
    Memory(Arc<[u8]>),
    /// A table that is not open yet.
    Table(Relation, Snapshots),
    /// A table under its snapshot.
    OpenTable(Arc<OpenRelation>),
}

/// What is read.
struct Bytes(Box<dyn Read + Send>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bytes")
    }
}

/// Whether an input can be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reread {
    /// It can be read only once, as a pipe.
    Never,
    /// It can be read again from its beginning, as a file that is compressed.
    FromStart,
    /// It can be read again from any place.
    Seek,
}

impl Input {
    /// What is read from `bytes`, by a name for people: once, as from a pipe.
    pub fn of_reader(name: impl Into<String>, bytes: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Some(Bytes(Box::new(bytes)))));
        resolve::pipe(name.into(), Place::Once(bytes))
    }

    /// Text in memory, by a name for people. It can be read again.
    pub fn of_bytes(name: impl Into<String>, bytes: Arc<[u8]>) -> Self {
        let size = Some(bytes.len() as u64);
        let reread = Reread::FromStart;
        Self { size, reread, ..resolve::pipe(name.into(), Place::Memory(bytes)) }
    }

    /// Sets the kind of lines that a program writes: [`FileFormat::Dicts`] or [`FileFormat::Rows`].
    #[must_use]
    pub fn holding(self, format: FileFormat) -> Self {
        Self { known: Some(format), ..self }
    }

    /// Opens the input for reading its text from the beginning. Of what can be read only once, the first bytes
    /// are waited for.
    pub fn open(&self) -> Result<Stream> {
        let raw: Box<dyn Read + Send> = match &self.place {
            Place::Stdin => Box::new(io::stdin()),
            Place::File(path) => resolve::open(path)?,
            Place::Kept(path) => resolve::open(path)?,
            Place::Memory(bytes) => Box::new(io::Cursor::new(Arc::clone(bytes))),
            Place::Once(bytes) | Place::Begun(bytes) => {
                let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner).take();
                let once = || self.cannot_read(&io::Error::other("it can be read only once"));
                bytes.ok_or_else(once)?.0
            }
            Place::Batches(_) | Place::Table(..) | Place::OpenTable(_) => {
                return Err(self.cannot_read(&io::Error::other("it is not text")));
            }
        };
        let stream = match self.reread {
            Reread::Never if matches!(self.place, Place::Begun(_)) => {
                Stream::of_file(raw, None, Encoding::default())
            }
            Reread::Never => Stream::of_pipe(raw, self.encoding),
            _ => Stream::of_file(raw, self.compression, self.encoding),
        };
        stream.map_err(|error| self.cannot_read(&error))
    }

    /// The same input, whose bytes were copied into a file.
    pub(super) fn kept_in(&self, path: TempPath, bytes: u64, content: &str) -> Self {
        Self {
            name: self.name.clone(),
            size: Some(bytes),
            place: Place::Kept(Arc::new(path)),
            compression: None,
            encoding: Encoding::default(),
            reread: Reread::Seek,
            format: self.format,
            is_format_given: self.is_format_given,
            known: self.known,
            content: Some(content.into()),
            opening: Arc::default(),
        }
    }

    /// The same input, which can be read only once and was begun; `text` is all of it.
    pub(super) fn begun(&self, text: Box<dyn Read + Send>) -> Self {
        Self { place: Place::Begun(Arc::new(Mutex::new(Some(Bytes(text))))), ..self.clone() }
    }

    /// Keeps the text that it begins with for [`Self::opening`], if it cannot be read again.
    pub(super) fn keep_opening(&self, text: &[u8]) {
        if !self.is_rereadable() {
            self.opening.get_or_init(|| text[..text.len().min(OPENING)].to_vec());
        }
    }

    /// Returns the text that it begins with: `most` bytes of an input that can be read again, otherwise at most
    /// [`OPENING`]. Fewer bytes than that are all of it. `None` if it cannot be read.
    pub(crate) fn opening(&self, most: u64) -> Option<Vec<u8>> {
        if !self.is_rereadable() {
            return self.opening.get().cloned();
        }
        let mut text = Vec::new();
        self.open().ok()?.take(most).read_to_end(&mut text).ok()?;
        Some(text)
    }

    /// Batches that the program hands over, and their bytes where these are known.
    #[cfg(feature = "arrow")]
    pub(super) fn handed_over(name: String, handed: Handed, size: Option<u64>) -> Self {
        let reread = if handed.is_rereadable() { Reread::FromStart } else { Reread::Never };
        let known = Some(FileFormat::Arrow);
        Self { size, reread, known, ..resolve::pipe(name, Place::Batches(handed)) }
    }

    /// Returns what prints its text for a shell, where `{}` stands for its name.
    pub(crate) fn printed_by(&self) -> &'static str {
        self.compression.map_or("cat {}", Compression::printed_by)
    }

    /// The batches that the program hands over, if it does.
    pub(super) fn handed(&self) -> Option<&Handed> {
        match &self.place {
            Place::Batches(handed) => Some(handed),
            _ => None,
        }
    }

    /// The error for bytes that cannot be read.
    pub(super) fn cannot_read(&self, error: &io::Error) -> Error {
        let reason = plain_io(error);
        let message = format!("could not read from file \"{}\": {reason}", self.name);
        Error::new(Kind::Input, message)
    }

    /// What users are told of where a row begins. Of a Parquet file the end is read for that.
    pub(super) fn locate(&self, Position { origin, line }: Position) -> Location {
        if let Place::OpenTable(relation) = &self.place {
            return relation.locate(Position { origin, line });
        }
        let (unit, line) = match self.format.is_typed() {
            true => typed::unit(self, line),
            false => (Unit::Bytes, line),
        };
        let source = self.name.clone();
        Location { source, line, offset: origin.at, input: origin.input, unit }
    }

    /// The name of what it is compressed by as a whole, if it is.
    pub(super) fn compressed_by(&self) -> Option<&'static str> {
        self.compression.map(Compression::name)
    }

    /// Whether it can be read again: a file can, a pipe cannot.
    pub fn is_rereadable(&self) -> bool {
        self.reread != Reread::Never
    }

    /// Whether a row of it can be read again without those before it.
    pub(crate) fn is_seekable(&self) -> bool {
        self.reread == Reread::Seek
    }

    /// How many bytes more than all of it a reader may ask for, if it is text in memory.
    pub(super) fn bytes_in_memory(&self) -> Option<usize> {
        match &self.place {
            Place::Memory(bytes) => Some(bytes.len() + 1),
            _ => None,
        }
    }

    /// Where it is in the file system, if it has a name there.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            _ => None,
        }
    }

    /// Whether it is a file, of which something is known before all of it is read.
    pub(crate) fn is_file(&self) -> bool {
        self.file().is_some()
    }

    /// What its place is counted by, in words.
    pub(crate) fn counted_by(&self) -> &'static str {
        if self.format.is_typed() { "row" } else { "byte" }
    }

    /// The file, of one that can be read again.
    pub(super) fn file(&self) -> Option<&Path> {
        match &self.place {
            Place::Kept(path) => Some(path),
            _ => self.path().filter(|_| self.is_rereadable()),
        }
    }
}

/// The inputs of a job in their order; cheap to copy.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    list: Arc<[Input]>,
    remarks: Arc<Remarks>,
}

/// Sentences about the names that the inputs were found by.
#[derive(Debug, Default)]
struct Remarks {
    /// Entries of directories that are not read.
    notes: Vec<String>,
    /// Files that were given more than once.
    warnings: Vec<String>,
}

impl Deref for Inputs {
    type Target = [Input];

    fn deref(&self) -> &[Input] {
        &self.list
    }
}

impl From<Input> for Inputs {
    fn from(input: Input) -> Self {
        Self::of(vec![input])
    }
}

impl Inputs {
    /// These inputs.
    pub(super) fn of(inputs: Vec<Input>) -> Self {
        Self { list: inputs.into(), remarks: Arc::default() }
    }

    /// Returns `inputs`, which stand for the same names as these.
    pub(super) fn replaced(&self, inputs: Vec<Input>) -> Self {
        Self { list: inputs.into(), remarks: Arc::clone(&self.remarks) }
    }

    /// Sentences about entries of directories that are not read.
    pub(crate) fn notes(&self) -> &[String] {
        &self.remarks.notes
    }

    /// Sentences about files that were given more than once.
    pub fn warnings(&self) -> &[String] {
        &self.remarks.warnings
    }

    /// Sets the format and the encoding of all inputs, and whether the user gave the format.
    #[must_use]
    pub fn read_as(&self, format: FileFormat, is_format_given: bool, encoding: Encoding) -> Self {
        let is_text = encoding.is_utf8() && !format.is_typed();
        let read_as = |input: &Input| Input {
            format,
            is_format_given,
            encoding,
            reread: match input.reread {
                Reread::Seek if !is_text => Reread::FromStart,
                reread => reread,
            },
            ..input.clone()
        };
        self.replaced(self.iter().map(read_as).collect())
    }

    /// Whether all of them can be read again.
    pub fn are_rereadable(&self) -> bool {
        self.iter().all(Input::is_rereadable)
    }

    /// Whether all of them are files, of which something is known before they are read.
    pub fn are_files(&self) -> bool {
        self.iter().all(Input::is_file)
    }

    /// Why single rows cannot be read again, in words, if they cannot.
    pub(crate) fn unseekable(&self) -> Option<&'static str> {
        let input = self.iter().find(|input| !input.is_seekable())?;
        Some(match (input.reread, input.compression) {
            _ if input.format == FileFormat::Table => "single rows of a table are not read again",
            _ if input.format.is_typed() => "single rows of such a file cannot be read again",
            (Reread::Never, _) => "a pipe cannot be read again for rows that are rejected",
            (_, Some(_)) => "single rows of a compressed input cannot be read again",
            (_, None) => "single rows of an input that is not in UTF-8 cannot be read again",
        })
    }

    /// By what they are compressed, as far as that is known beforehand, and how many of them.
    pub(crate) fn compressions(&self) -> BTreeMap<&'static str, usize> {
        let mut found = BTreeMap::new();
        for compression in self.iter().filter_map(|input| input.compression) {
            *found.entry(compression.name()).or_default() += 1;
        }
        found
    }

    /// What users are told of where a row begins.
    pub(crate) fn locate(&self, Position { origin, line }: Position) -> Option<Location> {
        let input = self.get(origin.input as usize)?;
        Some(input.locate(Position { origin, line }))
    }

    /// The bytes of all of them as they stand there, where that is known beforehand.
    pub fn size(&self) -> Option<u64> {
        self.iter().map(|input| input.size).sum()
    }

    /// About the bytes of text in all of them, where that is known beforehand.
    pub(crate) fn text_size(&self) -> Option<u64> {
        let text = |input: &Input| {
            let factor = if input.compression.is_some() { LIKELY_RATIO } else { 1 };
            input.size.map(|size| size * factor)
        };
        self.iter().map(text).sum()
    }
}
