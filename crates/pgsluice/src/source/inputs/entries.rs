//! The files that a directory or a pattern stands for, and the entries that are skipped. An entry that cannot
//! be read is an error, because its rows would be missing.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::kind::Kind;
use crate::error::{Error, Result, plain_io};

/// The characters that make a name a pattern.
pub(super) const GLOB: [char; 3] = ['*', '?', '['];

/// The number of names that one sentence lists.
const LISTED: usize = 5;

/// Files, and sentences about entries that are skipped.
type FoundFiles = (Vec<PathBuf>, Vec<String>);

/// Finds the files of a directory, sorted by name. Skips subdirectories and names that begin with `_` or `.`,
/// like Spark, Hive and pyarrow.
pub(super) fn directory(path: &Path) -> Result<FoundFiles> {
    let (mut files, mut left_out, mut folders) = (Vec::new(), Vec::new(), Vec::new());
    for entry in sorted_entries(path)? {
        let name = entry.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if is_left_out(&name) {
            left_out.push(name);
            continue;
        }
        let metadata = entry.metadata().map_err(|error| cannot_open(&entry, &error))?;
        if metadata.is_dir() {
            folders.push(name);
        } else if metadata.is_file() {
            files.push(entry);
        } else {
            return Err(special(path, &name, &files));
        }
    }
    let shown = path.display().to_string();
    if files.is_empty() {
        return Err(no_files(&shown));
    }
    Ok((files, notes(&shown, &left_out, &folders)))
}

/// Whether a file in a directory is not data, by its name.
pub(super) fn is_left_out(name: &str) -> bool {
    name.starts_with(['_', '.'])
}

/// Returns sentences about the entries of a directory that are not read.
pub(super) fn notes(shown: &str, left_out: &[String], folders: &[String]) -> Vec<String> {
    let notes = [
        (left_out, format!("not read in {shown}, because their names begin with _ or .")),
        (folders, format!("subdirectories of {shown} that are not read")),
    ];
    let notes = notes.into_iter().filter(|(names, _)| !names.is_empty());
    notes.map(|(names, what)| format!("{what}: {}", list_some(names))).collect()
}

fn sorted_entries(path: &Path) -> Result<Vec<PathBuf>> {
    let cannot_open = |error| cannot_open(path, &error);
    let entries = std::fs::read_dir(path).map_err(cannot_open)?;
    let entries = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut entries = entries.collect::<std::io::Result<Vec<_>>>().map_err(cannot_open)?;
    entries.sort();
    Ok(entries)
}

/// Finds the files that a pattern matches, sorted by name. Skips directories.
pub(super) fn pattern(pattern: &str) -> Result<FoundFiles> {
    let (mut files, mut folders) = (Vec::new(), Vec::new());
    for path in glob::glob(pattern).map_err(|error| invalid(pattern, &error))? {
        let path = path.map_err(|error| cannot_open(error.path(), error.error()))?;
        let metadata = path.metadata().map_err(|error| cannot_open(&path, &error))?;
        if metadata.is_dir() {
            folders.push(path);
        } else {
            files.push(path);
        }
    }
    if files.is_empty() {
        return Err(Error::new(Kind::Input, format!("no file matches \"{pattern}\""))
            .with_hint("Relative names are looked up in the current directory."));
    }
    files.sort();
    // If the pattern also matches files in a directory, the directory need not be mentioned.
    folders.retain(|folder| !files.iter().any(|file| file.starts_with(folder)));
    let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
    let note = format!("directories that match \"{pattern}\" are not read: {}", list_some(&names));
    Ok((files, (!names.is_empty()).then_some(note).into_iter().collect()))
}

/// Returns the error for an invalid pattern.
pub(super) fn invalid(pattern: &str, error: &glob::PatternError) -> Error {
    Error::new(Kind::Usage, format!("invalid pattern \"{pattern}\": {error}"))
}

/// Lists the first names and the number of the others.
pub(super) fn list_some(names: &[String]) -> String {
    let shown = names[..names.len().min(LISTED)].join(", ");
    match names.len().saturating_sub(LISTED) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// Returns the error for a directory without files.
pub(super) fn no_files(shown: &str) -> Error {
    Error::new(Kind::Input, format!("directory \"{shown}\" has no files"))
        .with_detail("Subdirectories are not read, nor files whose names begin with _ or a dot.")
        .with_hint("Name the files, or use a pattern such as 'dir/**/*.csv'.")
}

fn special(path: &Path, name: &str, files: &[PathBuf]) -> Error {
    let folder = path.display();
    let message = format!("\"{name}\" in directory \"{folder}\" is a pipe, a socket or a device");
    let error = Error::new(Kind::Input, message).with_detail(
        "A directory stands for its regular files. A pipe that nobody writes to never ends.",
    );
    match pattern_of(files.iter().map(|file| file.to_string_lossy())) {
        Some(pattern) => {
            error.with_hint(format!("Name the files, or use the pattern '{pattern}'."))
        }
        None => error.with_hint("Name the files."),
    }
}

/// Returns the pattern that matches most of some files in one directory, by the ends of their names:
/// `days/*.csv`. Returns `None` if two patterns match equally many.
pub(in crate::source) fn pattern_of<N: AsRef<str>>(
    names: impl IntoIterator<Item = N>,
) -> Option<String> {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for name in names {
        let (folder, file) = name.as_ref().rsplit_once('/')?;
        let (_, end) = file.split_once('.')?;
        *counts.entry(format!("{folder}/*.{end}")).or_default() += 1;
    }
    let max = counts.values().copied().max()?;
    let mut patterns = counts.into_iter().filter(|(_, files)| *files == max);
    patterns.next().map(|(pattern, _)| pattern).filter(|_| patterns.next().is_none())
}

/// Returns the error for a file or a directory that cannot be opened.
pub(super) fn cannot_open(path: &Path, error: &io::Error) -> Error {
    let reason = plain_io(error);
    let message = format!("could not open file \"{}\" for reading: {reason}", path.display());
    let cannot = Error::new(Kind::Input, message);
    match (path.read_link(), error.kind()) {
        (Ok(target), _) => {
            cannot.with_detail(format!("It is a symbolic link to \"{}\".", target.display()))
        }
        (Err(_), io::ErrorKind::NotFound) => {
            cannot.with_hint("Relative names are looked up in the current directory.")
        }
        _ => cannot,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().expect("a directory");
        for name in ["part-0.csv", "_SUCCESS", ".part-0.csv.crc"] {
            std::fs::write(folder.path().join(name), "x").expect("a file");
        }
        for name in ["_delta_log", "day=1", ".cache"] {
            std::fs::create_dir(folder.path().join(name)).expect("a directory");
        }
        folder
    }

    #[test]
    fn entries_that_are_not_read_are_named() {
        let folder = folder();
        let (files, notes) = directory(folder.path()).expect("files");
        assert_eq!(files, [folder.path().join("part-0.csv")]);
        let shown = folder.path().display();
        let because = format!("not read in {shown}, because their names begin with _ or .");
        let expected = [
            format!("{because}: .cache, .part-0.csv.crc, _SUCCESS, _delta_log"),
            format!("subdirectories of {shown} that are not read: day=1"),
        ];
        assert_eq!(notes, expected);
        let (files, notes) = pattern(&format!("{shown}/[dp]*")).expect("files");
        assert_eq!(files.len(), 1);
        let expected =
            format!("directories that match \"{shown}/[dp]*\" are not read: {shown}/day=1");
        assert_eq!(notes, [expected]);
        assert_eq!(list_some(&["a"; 7].map(str::to_owned)), "a, a, a, a, a and 2 more");
    }

    #[test]
    fn entries_that_cannot_be_read_are_errors() {
        let folder = folder();
        let path = |name: &str| folder.path().join(name);
        nix::unistd::mkfifo(&path("pipe"), nix::sys::stat::Mode::S_IRWXU).expect("a pipe");
        let message = directory(folder.path()).expect_err("a pipe").to_string();
        assert!(message.starts_with("\"pipe\" in directory"), "{message}");
        assert_eq!(
            pattern_of(["d/a.csv.gz", "d/b.csv.gz", "d/c.md"]).as_deref(),
            Some("d/*.csv.gz")
        );
        assert_eq!(pattern_of(["d/a.csv", "d/b.md"]), None);
        assert_eq!(pattern_of(["a.csv"]), None);
        std::fs::remove_file(path("pipe")).expect("the pipe");
        std::os::unix::fs::symlink("loop", path("loop")).expect("a link");
        let all = format!("{}/*", folder.path().display());
        for error in [directory(folder.path()).err(), pattern(&all).err()] {
            let message = error.expect("a link to itself").to_string();
            assert!(message.contains("/loop\" for reading: "), "{message}");
        }
        // Editors lock files with hidden links that lead nowhere.
        std::fs::remove_file(path("loop")).expect("the link");
        std::os::unix::fs::symlink("nowhere", path(".#part")).expect("a link");
        assert!(directory(folder.path()).is_ok());
    }
}
