//! The inputs of a job, found once.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use pgsluice_core::position::Position;
use tempfile::TempPath;

use super::compression::{Compression, MAGIC};
use super::encoding::Encoding;
use super::stream::Stream;
use crate::error::kind::Kind;
use crate::error::{Error, Location, Remedy, Result, plain_io};

/// How many bytes of text one of a compressed input likely stands for.
const LIKELY_RATIO: u64 = 8;

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
    /// The hash of all bytes, of one that was kept.
    pub(super) content: Option<Arc<str>>,
}

/// Where an input is.
#[derive(Clone, Debug)]
enum Place {
    /// A file, or what can be opened like one.
    File(PathBuf),
    Stdin,
    /// What can be read only once, and was begun.
    Begun(Arc<Mutex<Option<Text>>>),
    /// What could be read only once, in a file that is removed when nobody has it any more.
    Kept(Arc<TempPath>),
}

/// The text of an input that was begun.
struct Text(Box<dyn Read + Send>);

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text")
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
    /// Opens the input for reading its text from the beginning. Of what can be read only once, the first bytes
    /// are waited for.
    pub fn open(&self) -> Result<Stream> {
        let raw: Box<dyn Read + Send> = match &self.place {
            Place::Stdin => Box::new(io::stdin()),
            Place::File(path) => open(path)?,
            Place::Kept(path) => open(path)?,
            Place::Begun(text) => {
                let text = text.lock().unwrap_or_else(PoisonError::into_inner).take();
                let once = || self.cannot_read(&io::Error::other("it can be read only once"));
                text.ok_or_else(once)?.0
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
            content: Some(content.into()),
        }
    }

    /// The same input, which can be read only once and was begun; `text` is all of it.
    pub(super) fn begun(&self, text: Box<dyn Read + Send>) -> Self {
        Self { place: Place::Begun(Arc::new(Mutex::new(Some(Text(text))))), ..self.clone() }
    }

    /// The error for bytes that cannot be read.
    pub(super) fn cannot_read(&self, error: &io::Error) -> Error {
        let reason = plain_io(error);
        let message = format!("could not read from file \"{}\": {reason}", self.name);
        Error::new(Kind::Input, message)
    }

    /// Whether it can be read again: a file can, a pipe cannot.
    pub fn is_rereadable(&self) -> bool {
        self.reread != Reread::Never
    }

    /// Whether a row of it can be read again without those before it.
    pub(super) fn is_seekable(&self) -> bool {
        self.reread == Reread::Seek
    }

    /// Where it is in the file system, if it has a name there.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Stdin | Place::Begun(_) | Place::Kept(_) => None,
        }
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
pub struct Inputs(Arc<[Input]>);

impl Deref for Inputs {
    type Target = [Input];

    fn deref(&self) -> &[Input] {
        &self.0
    }
}

impl From<Input> for Inputs {
    fn from(input: Input) -> Self {
        Self([input].into())
    }
}

impl Inputs {
    /// These inputs.
    pub(super) fn of(inputs: Vec<Input>) -> Self {
        Self(inputs.into())
    }

    /// Finds the inputs that names stand for: files, directories, glob patterns, `-` for standard
    /// input. Each of them exists and can be read.
    pub fn resolve(names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        let mut inputs = Vec::new();
        for name in names {
            let name = name.as_ref();
            let path = Path::new(name);
            if name == "-" {
                if inputs.iter().any(|input: &Input| matches!(input.place, Place::Stdin)) {
                    let message = "standard input can be given only once";
                    return Err(Error::new(Kind::Usage, message));
                }
                inputs.push(stdin());
            } else if path.is_dir() {
                inputs.extend(directory(path)?);
            } else if path.exists() || !name.contains(['*', '?', '[']) {
                inputs.push(file(path)?);
            } else {
                inputs.extend(pattern(name)?);
            }
        }
        Ok(Self(inputs.into()))
    }

    /// The same inputs, all of which are in this encoding.
    #[must_use]
    pub fn in_encoding(&self, encoding: Encoding) -> Self {
        let read_as = |input: &Input| Input {
            encoding,
            reread: match input.reread {
                Reread::Seek if !encoding.is_utf8() => Reread::FromStart,
                reread => reread,
            },
            ..input.clone()
        };
        Self(self.iter().map(read_as).collect())
    }

    /// Whether all of them can be read again.
    pub fn are_rereadable(&self) -> bool {
        self.iter().all(Input::is_rereadable)
    }

    /// Why single rows cannot be read again, in words, if they cannot.
    pub(crate) fn unseekable(&self) -> Option<&'static str> {
        let input = self.iter().find(|input| !input.is_seekable())?;
        Some(match (input.reread, input.compression) {
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
        let source = self.get(origin.input as usize)?.name.clone();
        Some(Location { source, line, offset: origin.at, input: origin.input })
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

fn stdin() -> Input {
    pipe("<stdin>".to_owned(), Place::Stdin)
}

fn pipe(name: String, place: Place) -> Input {
    let (compression, encoding, content) = (None, Encoding::default(), None);
    Input { name, size: None, place, compression, encoding, reread: Reread::Never, content }
}

fn file(path: &Path) -> Result<Input> {
    let cannot_open = |error| cannot_open(path, &error);
    let metadata = path.metadata().map_err(cannot_open)?;
    let input = pipe(path.display().to_string(), Place::File(path.to_owned()));
    if !metadata.is_file() {
        // A process that writes into a pipe would find it closed if it were opened only to look.
        return Ok(input);
    }
    let mut start = Vec::with_capacity(MAGIC);
    open(path)?.take(MAGIC as u64).read_to_end(&mut start).map_err(cannot_open)?;
    let compression = compression(&input.name, &start)?;
    let reread = if compression.is_some() { Reread::FromStart } else { Reread::Seek };
    Ok(Input { size: Some(metadata.len()), compression, reread, ..input })
}

/// What a file is compressed by: its first bytes say it, and its name must not say another thing.
fn compression(name: &str, start: &[u8]) -> Result<Option<Compression>> {
    match (Compression::of_bytes(start), Compression::of_name(name)) {
        (None, Some(named)) if start.is_empty() => Ok(Some(named)),
        (None, Some(named)) => {
            let named = named.name();
            let message = format!("{name} is not compressed by {named}, as its name says");
            Err(Error::new(Kind::Input, message).with_remedy(Remedy::piped(
                "Load it as it is",
                "cat",
                name,
            )))
        }
        (found, _) => Ok(found),
    }
}

fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(cannot_open(path, &error)),
    }
}

/// The files of a directory by name, hidden ones left out as a glob leaves them out.
fn directory(path: &Path) -> Result<Vec<Input>> {
    let entries = std::fs::read_dir(path).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut paths: Vec<PathBuf> = entries
        .map_err(|error| cannot_open(path, &error))?
        .into_iter()
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .map(|entry| entry.path())
        .filter(|path| path.is_file())
        .collect();
    if paths.is_empty() {
        let message = format!("directory \"{}\" has no files", path.display());
        return Err(Error::new(Kind::Input, message)
            .with_detail("Subdirectories and hidden files are not looked at.")
            .with_hint("Name the files, or use a pattern such as 'dir/**/*.csv'."));
    }
    paths.sort();
    paths.iter().map(|path| file(path)).collect()
}

fn pattern(name: &str) -> Result<Vec<Input>> {
    let invalid = |error: glob::PatternError| {
        Error::new(Kind::Usage, format!("invalid pattern \"{name}\": {error}"))
    };
    let mut paths = Vec::new();
    for path in glob::glob(name).map_err(invalid)? {
        let path = path.map_err(|error| cannot_open(error.path(), error.error()))?;
        if path.is_file() {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(Error::new(Kind::Input, format!("no file matches \"{name}\"")));
    }
    paths.sort();
    paths.iter().map(|path| file(path)).collect()
}

fn cannot_open(path: &Path, error: &io::Error) -> Error {
    let reason = plain_io(error);
    let message = format!("could not open file \"{}\" for reading: {reason}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound => Error::new(Kind::Input, message)
            .with_hint("Relative names are looked up in the current directory."),
        _ => Error::new(Kind::Input, message),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_files_by_name_directory_and_pattern() {
        let dir = tempfile::tempdir().expect("a directory");
        for name in ["b.csv", "a.csv", ".hidden"] {
            std::fs::write(dir.path().join(name), "x").expect("a file");
        }
        let path = |name: &str| dir.path().join(name).display().to_string();
        let names = |files: &[String]| -> Vec<String> {
            let inputs = Inputs::resolve(files).expect("inputs");
            inputs.iter().map(|input| input.name.clone()).collect()
        };
        assert_eq!(names(&[path("")]), [path("a.csv"), path("b.csv")]);
        assert_eq!(names(&[path("*.csv")]), [path("a.csv"), path("b.csv")]);
        assert_eq!(names(&["-".to_owned(), path("b.csv")]), ["<stdin>".to_owned(), path("b.csv")]);
    }

    #[test]
    fn says_what_is_missing() {
        let dir = tempfile::tempdir().expect("a directory");
        let message = |name: &str| {
            let name = dir.path().join(name).display().to_string();
            Inputs::resolve([name]).expect_err("missing").to_string()
        };
        assert!(message("no.csv").contains("for reading: No such file or directory\nHINT"));
        assert!(message("").contains("has no files"));
        assert!(message("*.csv").contains("no file matches"));
    }
}
