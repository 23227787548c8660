//! Names to inputs: files, directories, patterns and standard input, found once.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::super::FileFormat;
use super::super::compression::Compression;
use super::super::encoding::Encoding;
use super::{Input, Inputs, Place, Reread};
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, plain_io};

/// Bytes by which files are known.
const MAGIC: usize = 8;

impl Inputs {
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
}

fn stdin() -> Input {
    pipe("<stdin>".to_owned(), Place::Stdin)
}

pub(super) fn pipe(name: String, place: Place) -> Input {
    Input {
        name,
        size: None,
        place,
        compression: None,
        encoding: Encoding::default(),
        reread: Reread::Never,
        format: FileFormat::default(),
        known: None,
        content: None,
    }
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
    let known = FileFormat::of_bytes(&start);
    Ok(Input { size: Some(metadata.len()), compression, reread, known, ..input })
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

pub(super) fn open(path: &Path) -> Result<Box<dyn Read + Send>> {
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
