//! Turns names into inputs: files, directories, patterns and standard input. Each name is looked up once.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;
use std::sync::Arc;

use super::super::FileFormat;
use super::super::compression::Compression;
use super::super::encoding::Encoding;
use super::again::Files;
use super::entries::{GLOB, cannot_open};
use super::objects::Lookup;
use super::stored::{Found, Object};
use super::{Input, Inputs, Place, Remarks, Reread, address, entries};
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result};

/// The number of bytes that identify a file format.
const MAGIC: usize = 8;

/// The inputs that were found so far.
#[derive(Default)]
struct Resolved {
    inputs: Vec<Input>,
    notes: Vec<String>,
    files: Files,
    lookup: Lookup,
}

impl Inputs {
    /// Finds the inputs that names stand for: files, directories, glob patterns, addresses of objects, `-` for
    /// standard input. Each input exists and can be read. A file that several names stand for is one input.
    pub fn resolve(names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Self> {
        Resolved::default().all(names)
    }

    /// Finds inputs as [`Self::resolve`] does. `provide` gives the credentials for objects, in place of the
    /// environment.
    #[cfg(feature = "objects")]
    pub fn resolve_with(
        names: impl IntoIterator<Item = impl AsRef<str>>,
        provide: Arc<pgsluice_objects::Provide>,
    ) -> Result<Self> {
        Resolved { lookup: Lookup::with(provide), ..Resolved::default() }.all(names)
    }
}

impl Resolved {
    /// Returns the inputs that names stand for.
    fn all(mut self, names: impl IntoIterator<Item = impl AsRef<str>>) -> Result<Inputs> {
        names.into_iter().try_for_each(|name| self.add(name.as_ref()))?;
        let Self { inputs, notes, files, lookup: _ } = self;
        let remarks = Remarks { notes, warnings: files.warnings() };
        Ok(Inputs { list: inputs.into(), remarks: remarks.into() })
    }

    /// Adds the inputs that a name stands for.
    fn add(&mut self, name: &str) -> Result<()> {
        let path = Path::new(name);
        if name == "-" {
            return self.add_stdin();
        }
        let exists = path.symlink_metadata().is_ok();
        if !exists && let Some(found) = self.lookup.find(name) {
            return self.add_objects(found?);
        }
        if let Some(error) = address::refusal(name).filter(|_| !exists) {
            return Err(error);
        }
        let (paths, notes) = if path.is_dir() {
            entries::directory(path)?
        } else if exists || !name.contains(GLOB) {
            (vec![path.to_owned()], Vec::new())
        } else {
            entries::pattern(name)?
        };
        self.notes.extend(notes);
        paths.iter().try_for_each(|path| self.add_file(path))
    }

    fn add_objects(&mut self, found: Found) -> Result<()> {
        match found {
            Found::Objects(objects, notes) => {
                self.notes.extend(notes);
                objects.into_iter().try_for_each(|object| self.add_object(object))
            }
            Found::Once(name, bytes) => {
                self.notes.push(format!(
                    "{name} is read once, because its server sends only whole files, or does not identify their versions"
                ));
                self.inputs.push(Input::from_reader(name, bytes));
                Ok(())
            }
        }
    }

    fn add_object(&mut self, object: Arc<dyn Object>) -> Result<()> {
        if !self.files.is_new_object(object.identity(), object.name()) {
            return Ok(());
        }
        let input = pipe(object.name().to_owned(), Place::Object(Arc::clone(&object)));
        let mut input = complete_stored(input, object.size(), object.start())?;
        // Addresses that differ only in their query, which is not shown.
        let same = self.inputs.iter().filter(|other| other.name == input.name).count();
        if same > 0 {
            input.name = format!("{} ({})", input.name, same + 1);
        }
        self.inputs.push(input);
        Ok(())
    }

    fn add_stdin(&mut self) -> Result<()> {
        if self.inputs.iter().any(|input| matches!(input.place, Place::Stdin)) {
            let message = "standard input can be given only once";
            return Err(Error::new(Kind::Usage, message));
        }
        self.inputs.push(stdin());
        Ok(())
    }

    fn add_file(&mut self, path: &Path) -> Result<()> {
        let metadata = path.metadata().map_err(|error| cannot_open(path, &error))?;
        if self.files.is_new(path, &metadata)? {
            self.inputs.push(file(path, &metadata)?);
        }
        Ok(())
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
        is_format_given: false,
        known: None,
        content: None,
        opening: Arc::default(),
    }
}

fn file(path: &Path, metadata: &Metadata) -> Result<Input> {
    let cannot_open = |error| cannot_open(path, &error);
    if metadata.file_type().is_socket() {
        return Err(cannot_open(io::Error::other("it is a socket")));
    }
    let input = pipe(path.display().to_string(), Place::File(path.to_owned()));
    if !metadata.is_file() {
        // A process that writes to a pipe would fail if the pipe were opened and closed again only to look.
        return Ok(input);
    }
    let mut start = Vec::with_capacity(MAGIC);
    open(path)?.take(MAGIC as u64).read_to_end(&mut start).map_err(cannot_open)?;
    complete_stored(input, metadata.len(), &start)
}

/// Completes an input that can be read from any place; `start` are its first bytes.
fn complete_stored(input: Input, size: u64, start: &[u8]) -> Result<Input> {
    let compression = compression(&input.name, start)?;
    let reread = if compression.is_some() { Reread::FromStart } else { Reread::Seek };
    let known = FileFormat::from_bytes(start);
    Ok(Input { size: Some(size), compression, reread, known, ..input })
}

/// Detects the compression of a file by its first bytes. Fails if its name says otherwise.
fn compression(name: &str, start: &[u8]) -> Result<Option<Compression>> {
    match (Compression::from_bytes(start), Compression::from_name(name)) {
        (None, Some(named)) if start.is_empty() => Ok(Some(named)),
        (None, Some(named)) => {
            let named = named.name();
            let message =
                format!("{name} is not compressed with {named}, although its name says so");
            Err(Error::new(Kind::Input, message).with_remedy(Remedy::program(
                "Load it as is",
                "cat {}",
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

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a directory");
        for name in files {
            std::fs::write(folder.path().join(name), "x").expect("a file");
        }
        folder
    }

    fn resolve(folder: &tempfile::TempDir, names: &[&str]) -> Result<Inputs> {
        let in_folder = |name: &&str| match *name {
            "-" => "-".to_owned(),
            name => folder.path().join(name).display().to_string(),
        };
        Inputs::resolve(names.iter().map(in_folder))
    }

    /// Returns the names of the inputs within the folder.
    fn found(folder: &tempfile::TempDir, names: &[&str]) -> Vec<String> {
        let prefix = format!("{}/", folder.path().display());
        let inputs = resolve(folder, names).expect("inputs");
        inputs.iter().map(|input| input.name.replace(&prefix, "")).collect()
    }

    #[test]
    fn finds_files_by_name_directory_and_pattern() {
        let folder = folder(&["b.csv", "a.csv", ".hidden", "_SUCCESS"]);
        assert_eq!(found(&folder, &[""]), ["a.csv", "b.csv"]);
        assert_eq!(found(&folder, &["*.csv"]), ["a.csv", "b.csv"]);
        assert_eq!(found(&folder, &["-", "b.csv"]), ["<stdin>", "b.csv"]);
        assert_eq!(found(&folder, &["_SUCCESS"]), ["_SUCCESS"]);
        assert_eq!(found(&folder, &["_*"]), ["_SUCCESS"]);
    }

    #[test]
    fn says_what_is_missing() {
        let folder = folder(&[]);
        std::os::unix::fs::symlink("nowhere", folder.path().join("link.csv")).expect("a link");
        let message = |name: &str| resolve(&folder, &[name]).expect_err("missing").to_string();
        assert!(message("no.csv").contains("for reading: No such file or directory\nHINT"));
        assert!(message("*.txt").contains("no file matches"));
        for name in ["", "*.csv", "link.csv", "link.*"] {
            let text = message(name);
            assert!(text.contains("link.csv\" for reading: No such file or directory\nDETAIL:  It is a symbolic link to \"nowhere\"."), "{name}: {text}");
        }
    }
}
