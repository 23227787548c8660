//! Files that several names stand for. A directory, a pattern and a name may overlap, and a link may lie
//! beside its target. Such a file is read once. Two unrelated names of one file, such as hard links, may be
//! two copies that some program has merged, or one file that was given twice. This cannot be told apart, so
//! they are an error.

use std::collections::{HashMap, HashSet};
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::entries::{cannot_open, list_some};
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// The files that were found so far.
#[derive(Default)]
pub(super) struct Files {
    /// The path that each file was found by, by device and inode.
    known: HashMap<(u64, u64), PathBuf>,
    /// The objects that were found.
    objects: HashSet<String>,
    /// Names of files and objects that were already known.
    repeated: Vec<String>,
}

impl Files {
    /// Whether this file is not yet known by another path.
    pub(super) fn is_new(&mut self, path: &Path, metadata: &Metadata) -> Result<bool> {
        // The rows of a pipe cannot be read twice.
        if !metadata.is_file() {
            return Ok(true);
        }
        let known = self.known.entry((metadata.dev(), metadata.ino()));
        let first = match known {
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(path.to_owned());
                return Ok(true);
            }
            std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
        };
        if !leads_to(path, first).map_err(|error| cannot_open(path, &error))? {
            return Err(two_names(first, path));
        }
        self.repeated.push(match path == first {
            true => path.display().to_string(),
            false => format!("{} ({})", path.display(), first.display()),
        });
        Ok(false)
    }

    /// Whether this object is not yet known. `name` is shown to the user.
    pub(super) fn is_new_object(&mut self, identity: String, name: &str) -> bool {
        let is_new = self.objects.insert(identity);
        if !is_new {
            self.repeated.push(name.to_owned());
        }
        is_new
    }

    /// Returns a sentence about files that were given more than once, if there are any.
    pub(super) fn warnings(self) -> Vec<String> {
        let mut repeated = self.repeated;
        repeated.sort();
        repeated.dedup();
        let warning = |names: &[String]| {
            format!("given more than once, but read only once: {}", list_some(names))
        };
        (!repeated.is_empty()).then(|| warning(&repeated)).into_iter().collect()
    }
}

/// Whether two paths are the same directory entry, or one is a link to the other.
fn leads_to(one: &Path, other: &Path) -> io::Result<bool> {
    let (target, same) = (one.canonicalize()?, other.canonicalize()?);
    let (one, other) = (entry(one)?, entry(other)?);
    Ok(target == same && (one == other || one == target || other == target))
}

/// Resolves links in the path of the entry's directory, but not the entry itself.
fn entry(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().filter(|folder| *folder != Path::new(""));
    let folder = folder.unwrap_or(Path::new(".")).canonicalize()?;
    Ok(folder.join(path.file_name().unwrap_or_default()))
}

fn two_names(first: &Path, path: &Path) -> Error {
    let [first, path] = [first, path].map(Path::display);
    Error::new(Kind::Input, format!("\"{first}\" and \"{path}\" are two links to the same file"))
        .with_detail("Its rows would be loaded twice.")
        .with_hint("Leave one of them out. To load the rows twice, load a copy of the file.")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::super::Inputs;
    use super::*;

    fn resolved(folder: &Path, names: &[&str]) -> Result<Inputs> {
        Inputs::resolve(names.iter().map(|name| folder.join(name).display().to_string()))
    }

    #[test]
    fn a_file_is_read_once() {
        let folder = tempfile::tempdir().expect("a directory");
        let folder = folder.path();
        for name in ["a.csv", "b.csv"] {
            fs::write(folder.join(name), "x").expect("a file");
        }
        for names in [
            &["*.csv", "a.csv"][..],
            &["a.csv", "b.csv", "a*"],
            &["", "b.csv"],
            &["a.csv", "./a.csv", "b.csv"],
        ] {
            let inputs = resolved(folder, names).expect("inputs");
            assert_eq!((inputs.len(), inputs.warnings().len()), (2, 1), "{names:?}");
            assert!(inputs.warnings()[0].starts_with("given more than once, but read only once: "));
        }
        symlink("b.csv", folder.join("latest.csv")).expect("a link");
        let inputs = resolved(folder, &[""]).expect("inputs");
        assert_eq!(inputs.len(), 2);
        assert!(inputs.warnings()[0].contains("latest.csv ("), "{:?}", inputs.warnings());
        assert!(resolved(folder, &["*.csv"]).expect("inputs").len() == 2);
        assert!(resolved(folder, &["a.csv", "b.csv"]).expect("inputs").warnings().is_empty());
    }

    #[test]
    fn links_that_may_be_copies_are_refused() {
        let folder = tempfile::tempdir().expect("a directory");
        let folder = folder.path();
        fs::create_dir(folder.join("objects")).expect("a directory");
        fs::write(folder.join("objects/x"), "x").expect("a file");
        for name in ["a.csv", "b.csv"] {
            symlink("objects/x", folder.join(name)).expect("a link");
        }
        fs::write(folder.join("c.csv"), "y").expect("a file");
        fs::hard_link(folder.join("c.csv"), folder.join("d.csv")).expect("a link");
        for names in [["a.csv", "b.csv"], ["c.csv", "d.csv"]] {
            let message = resolved(folder, &names).expect_err("two links").to_string();
            assert!(message.contains("are two links to the same file\nDETAIL"), "{message}");
        }
        assert_eq!(resolved(folder, &["a.csv", "c.csv"]).expect("inputs").len(), 2);
    }
}
