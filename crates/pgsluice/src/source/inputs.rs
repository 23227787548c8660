//! The inputs of a job, found once.

use std::fs::File;
use std::io::{self, Read};
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pgsluice_core::position::Position;
use tempfile::TempPath;

use crate::error::kind::Kind;
use crate::error::{Error, Location, Result, plain_io};

/// One input, found but not yet opened.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name as the user knows it: the path, or `<stdin>`.
    pub name: String,
    /// Bytes, where that is known beforehand.
    pub size: Option<u64>,
    place: Place,
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
    /// What could be read only once, in a file that is removed when nobody has it any more.
    Kept(Arc<TempPath>),
}

/// Whether an input can be read again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reread {
    /// It can be read only once, as a pipe.
    Never,
    /// It can be read again from any place.
    Seek,
}

impl Input {
    /// Opens the input for reading from its beginning.
    pub fn open(&self) -> Result<Box<dyn Read + Send>> {
        match &self.place {
            Place::Stdin => Ok(Box::new(io::stdin())),
            Place::File(path) => match File::open(path) {
                Ok(file) => Ok(Box::new(file)),
                Err(error) => Err(cannot_open(path, &error)),
            },
            Place::Kept(path) => match File::open(&**path) {
                Ok(file) => Ok(Box::new(file)),
                Err(error) => Err(cannot_open(path, &error)),
            },
        }
    }

    /// The same input, whose bytes were copied into a file.
    pub(super) fn kept_in(&self, path: TempPath, bytes: u64, content: &str) -> Self {
        Self {
            name: self.name.clone(),
            size: Some(bytes),
            place: Place::Kept(Arc::new(path)),
            reread: Reread::Seek,
            content: Some(content.into()),
        }
    }

    /// The error for bytes that cannot be read.
    pub(super) fn cannot_read(&self, error: &io::Error) -> Error {
        let reason = plain_io(error);
        let message = format!("could not read from file \"{}\": {reason}", self.name);
        Error::new(Kind::Input, message)
    }

    /// Whether it can be read again: a file can, a pipe cannot.
    pub fn is_rereadable(&self) -> bool {
        self.reread == Reread::Seek
    }

    /// Where it is in the file system, if it has a name there.
    pub(super) fn path(&self) -> Option<&Path> {
        match &self.place {
            Place::File(path) => Some(path),
            Place::Stdin | Place::Kept(_) => None,
        }
    }

    /// The file, of one that can be read again from any place on.
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

    /// Whether all of them can be read again.
    pub fn are_rereadable(&self) -> bool {
        self.iter().all(Input::is_rereadable)
    }

    /// What users are told of where a row begins.
    pub(crate) fn locate(&self, Position { origin, line }: Position) -> Option<Location> {
        let source = self.get(origin.input as usize)?.name.clone();
        Some(Location { source, line, offset: origin.at, input: origin.input })
    }

    /// The bytes of all of them, where that is known beforehand.
    pub fn size(&self) -> Option<u64> {
        self.iter().map(|input| input.size).sum()
    }
}

fn stdin() -> Input {
    let name = "<stdin>".to_owned();
    Input { name, size: None, place: Place::Stdin, reread: Reread::Never, content: None }
}

fn file(path: &Path) -> Result<Input> {
    let metadata = path.metadata().and_then(|metadata| match metadata.is_file() {
        true => File::open(path).map(|_| metadata),
        // A process that writes into a pipe would find it closed if it were opened only to look.
        false => Ok(metadata),
    });
    let metadata = metadata.map_err(|error| cannot_open(path, &error))?;
    let (size, reread) = match metadata.is_file() {
        true => (Some(metadata.len()), Reread::Seek),
        false => (None, Reread::Never),
    };
    let place = Place::File(path.to_owned());
    Ok(Input { name: path.display().to_string(), size, place, reread, content: None })
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
