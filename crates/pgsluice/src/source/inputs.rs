//! The inputs of a job, found once.

mod address;
mod again;
mod entries;
#[cfg(feature = "objects")]
mod objects;
#[cfg(not(feature = "objects"))]
#[path = "inputs/objects/absent.rs"]
mod objects;
mod resolve;
mod stored;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use pgsluice_core::origin::Origin;
use tempfile::TempPath;

pub(super) use self::entries::pattern_of;
#[cfg(feature = "parquet")]
pub(super) use self::stored::Pieces;
#[cfg(feature = "arrow")]
pub(super) use self::stored::ReadSeek;
pub(super) use self::stored::{Object, Stored};
use super::compression::Compression;
use super::encoding::Encoding;
use super::relation::{OpenRelation, Relation, Snapshots};
use super::stream::Stream;
use super::typed::CallerBatches;
use super::{FileFormat, Split, typed};
use crate::error::kind::Kind;
use crate::error::{Error, Location, Result, Unit, plain_io};

/// The likely number of bytes of text per byte of a compressed input.
const LIKELY_RATIO: u64 = 8;

/// The maximum number of bytes of the beginning of an input that are saved.
pub(crate) const OPENING: usize = 64 << 10;

/// One input, found but not yet opened.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name for the user: the path, or `<stdin>`.
    pub name: String,
    /// Its size in bytes before decompression, if known in advance.
    pub size: Option<u64>,
    place: Place,
    /// Compression, if known. For a pipe it is detected while reading.
    compression: Option<Compression>,
    encoding: Encoding,
    reread: Reread,
    /// The format in which it is read.
    pub(super) format: FileFormat,
    /// Whether the user gave the format.
    pub(super) is_format_given: bool,
    /// The format that the first bytes of a file show, if they show any.
    pub(super) known: Option<FileFormat>,
    /// The hash of all bytes of a copied input.
    pub(super) content: Option<Arc<str>>,
    /// The beginning of the text of an input that can be read only once, after it was read.
    opening: Arc<OnceLock<Vec<u8>>>,
}

/// The place of an input.
#[derive(Clone, Debug)]
enum Place {
    /// A file, or anything that can be opened like one.
    File(PathBuf),
    /// An object.
    Object(Arc<dyn Object>),
    Stdin,
    /// Bytes that can be read only once: raw, or (`Begun`) decoded text of an input that was already begun.
    Once(Arc<Mutex<Option<Bytes>>>),
    Begun(Arc<Mutex<Option<Bytes>>>),
    /// Batches from the calling program.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code))]
    Batches(CallerBatches),
    /// An input that could be read only once, copied into a file that is removed with its last user.
    Spooled(Arc<TempPath>),
    /// Text from the calling program.
    Memory(Arc<[u8]>),
    /// A table that is not open yet.
    Table(Relation, Snapshots),
    /// A table under its snapshot.
    OpenTable(Arc<OpenRelation>),
}

/// A reader of bytes.
struct Bytes(Box<dyn Read + Send>);

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Bytes")
    }
}

/// Whether an input can be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reread {
    /// It can be read only once, like a pipe.
    Never,
    /// It can be read again from the beginning, like a compressed file.
    FromStart,
    /// It can be read again from any place.
    Seek,
}

impl Input {
    /// Creates an input that reads from `bytes`, once, like a pipe. The name is shown to the user.
    pub fn from_reader(name: impl Into<String>, bytes: impl Read + Send + 'static) -> Self {
        let bytes = Arc::new(Mutex::new(Some(Bytes(Box::new(bytes)))));
        resolve::pipe(name.into(), Place::Once(bytes))
    }

    /// Creates an input from text in memory, which can be read again. The name is shown to the user.
    pub fn from_bytes(name: impl Into<String>, bytes: Arc<[u8]>) -> Self {
        let size = Some(bytes.len() as u64);
        let reread = Reread::FromStart;
        Self { size, reread, ..resolve::pipe(name.into(), Place::Memory(bytes)) }
    }

    /// Sets the kind of lines that a program writes: [`FileFormat::Dicts`] or [`FileFormat::Rows`].
    #[must_use]
    pub fn holding(self, format: FileFormat) -> Self {
        Self { known: Some(format), ..self }
    }

    /// Opens the input for reading its text from the beginning. Waits for the first bytes of an input that
    /// can be read only once.
    pub fn open(&self) -> Result<Stream> {
        let raw: Box<dyn Read + Send> = match &self.place {
            Place::Stdin => Box::new(io::stdin()),
            Place::File(path) => resolve::open(path)?,
            Place::Spooled(path) => resolve::open(path)?,
            Place::Object(object) => object.open(),
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
                Stream::from_file(raw, None, Encoding::default())
            }
            Reread::Never => Stream::from_pipe(raw, self.encoding),
            _ => Stream::from_file(raw, self.compression, self.encoding),
        };
        stream.map_err(|error| self.cannot_read(&error))
    }

    /// Returns this input with its bytes copied into a file.
    pub(super) fn with_spool_file(&self, path: TempPath, bytes: u64, content: &str) -> Self {
        Self {
            name: self.name.clone(),
            size: Some(bytes),
            place: Place::Spooled(Arc::new(path)),
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

    /// Returns this input, which can be read only once and was already begun; `text` is all of its text.
    pub(super) fn begun(&self, text: Box<dyn Read + Send>) -> Self {
        Self { place: Place::Begun(Arc::new(Mutex::new(Some(Bytes(text))))), ..self.clone() }
    }

    /// Saves the beginning of the text for [`Self::opening`], if the input cannot be read again.
    pub(super) fn save_opening(&self, text: &[u8]) {
        if !self.is_rereadable() {
            self.opening.get_or_init(|| text[..text.len().min(OPENING)].to_vec());
        }
    }

    /// Returns the beginning of the text: `max` bytes of an input that can be read again, otherwise at most
    /// [`OPENING`]. If there are fewer bytes, they are the whole text. Returns `None` if the input cannot be
    /// read.
    pub(crate) fn opening(&self, max: u64) -> Option<Vec<u8>> {
        if !self.is_rereadable() {
            return self.opening.get().cloned();
        }
        let mut text = Vec::new();
        self.open().ok()?.take(max).read_to_end(&mut text).ok()?;
        Some(text)
    }

    /// Creates an input from batches of the calling program; `size` is their size in bytes, if known.
    #[cfg(feature = "arrow")]
    pub(super) fn from_batches(name: String, batches: CallerBatches, size: Option<u64>) -> Self {
        let reread = if batches.is_rereadable() { Reread::FromStart } else { Reread::Never };
        let known = Some(FileFormat::Arrow);
        Self { size, reread, known, ..resolve::pipe(name, Place::Batches(batches)) }
    }

    /// Returns the batches from the calling program, if it is such an input.
    pub(super) fn caller_batches(&self) -> Option<&CallerBatches> {
        match &self.place {
            Place::Batches(batches) => Some(batches),
            _ => None,
        }
    }

    /// Returns the error for bytes that cannot be read.
    pub(super) fn cannot_read(&self, error: &io::Error) -> Error {
        objects::cannot_read(&self.name, error).unwrap_or_else(|| {
            let reason = plain_io(error);
            let message = format!("could not read from file \"{}\": {reason}", self.name);
            Error::new(Kind::Input, message)
        })
    }

    /// Returns the location of a row for the user. For a Parquet file, this reads the footer.
    pub(super) fn locate(&self, origin: Origin, line: u64) -> Location {
        if let Place::OpenTable(relation) = &self.place {
            return relation.locate(origin, line);
        }
        let (unit, line) = match self.format.is_typed() {
            true => typed::unit(self, line),
            false => (Unit::Bytes, line),
        };
        let source = self.name.clone();
        Location { source, line, offset: origin.at, input: origin.input, unit }
    }

    /// Returns the name of its compression, if it is known to be compressed.
    pub(super) fn compressed_by(&self) -> Option<&'static str> {
        self.compression.map(Compression::name)
    }

    /// Whether it can be read again, like a file, unlike a pipe.
    pub fn is_rereadable(&self) -> bool {
        self.reread != Reread::Never
    }

    /// Whether a row can be read again without the rows before it.
    pub(crate) fn is_seekable(&self) -> bool {
        self.reread == Reread::Seek
    }

    /// Returns how many bytes a reader may ask for to get all of it and see its end, if it is text in memory.
    pub(super) fn bytes_in_memory(&self) -> Option<usize> {
        match &self.place {
            Place::Memory(bytes) => Some(bytes.len() + 1),
            _ => None,
        }
    }

    /// Returns the unit in which its positions are counted.
    pub(crate) fn counted_by(&self) -> &'static str {
        if self.format.is_typed() { "row" } else { "byte" }
    }
}

/// The inputs of a job in order. Cloning is cheap.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    list: Arc<[Input]>,
    remarks: Arc<Remarks>,
}

/// Sentences about the names by which the inputs were found.
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
        Self::new(vec![input])
    }
}

impl Inputs {
    /// Creates inputs from a list.
    pub(super) fn new(inputs: Vec<Input>) -> Self {
        Self { list: inputs.into(), remarks: Arc::default() }
    }

    /// Returns `inputs`, which stand for the same names as `self`.
    pub(super) fn with_list(&self, inputs: Vec<Input>) -> Self {
        Self { list: inputs.into(), remarks: Arc::clone(&self.remarks) }
    }

    /// Returns sentences about entries of directories that are not read.
    pub(crate) fn notes(&self) -> &[String] {
        &self.remarks.notes
    }

    /// Returns sentences about files that were given more than once.
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
        self.with_list(self.iter().map(read_as).collect())
    }

    /// Whether all inputs can be read again.
    pub fn are_rereadable(&self) -> bool {
        self.iter().all(Input::is_rereadable)
    }

    /// Whether all inputs are files, which can be examined before they are read.
    pub fn are_files(&self) -> bool {
        self.iter().all(Input::is_file)
    }

    /// Returns the reason why single rows cannot be read again, if they cannot.
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

    /// Returns the known compressions and the number of inputs with each.
    pub(crate) fn compressions(&self) -> BTreeMap<&'static str, usize> {
        let mut found = BTreeMap::new();
        for compression in self.iter().filter_map(|input| input.compression) {
            *found.entry(compression.name()).or_default() += 1;
        }
        found
    }

    /// Returns the location of a row for the user.
    pub(crate) fn locate(&self, origin: Origin, line: u64) -> Option<Location> {
        Some(self.get(origin.input as usize)?.locate(origin, line))
    }

    /// Returns the location of the row at `index` of a split for the user.
    pub(crate) fn locate_row(&self, split: &Split, index: usize) -> Option<Location> {
        let row = split.rows.get(index)?;
        self.locate(split.origin(index), split.line + u64::from(row.line))
    }

    /// Returns the size of all inputs in bytes before decompression, if known in advance.
    pub fn size(&self) -> Option<u64> {
        self.iter().map(|input| input.size).sum()
    }

    /// Returns the approximate size of the text of all inputs in bytes, if known in advance.
    pub(crate) fn text_size(&self) -> Option<u64> {
        let text = |input: &Input| {
            let factor = if input.compression.is_some() { LIKELY_RATIO } else { 1 };
            input.size.map(|size| size * factor)
        };
        self.iter().map(text).sum()
    }
}
