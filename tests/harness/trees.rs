//! The cases under `tests/trees/`: the content of a case's folder, and its description.
//!
//! A folder holds `schema.sql`, which creates the table `t` and its partitions, the rows, and `case.toml`. In
//! the schema, `@side@` stands for the schema of the current side, and `@host@`, `@port@`, `@database@`,
//! `@user@` and `@password@` for the parts of a connection to the same database. The rows are `rows.csv`,
//! `rows.txt`, or `rows.sql`: a query whose result is the input.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::{Address, CopyOptions, Server, Session};

/// A case as described by its `case.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    #[serde(skip)]
    folder: PathBuf,
    pub(crate) about: String,
    min_version: Option<u32>,
    max_version: Option<u32>,
    needs: Option<Need>,
    /// The database's libc collation, or the server's own collation if absent.
    pub(crate) database_collation: Option<String>,
    #[serde(default)]
    pub(crate) stdin: bool,
    table: Option<String>,
    #[serde(default)]
    files: Vec<String>,
    #[serde(default)]
    pub(crate) copy: CopyOptions,
    /// Parameters of every session that loads.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, String>,
    #[serde(default)]
    pub(crate) compare: Compare,
    #[serde(rename = "expect")]
    pub(crate) expected: Expected,
}

/// A feature that a server may lack.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Need {
    Icu,
    PostgresFdw,
    #[serde(rename = "c_utf8")]
    CUtf8,
}

/// The comparison of the two sides.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compare {
    /// Columns whose values depend on the order of the rows.
    #[serde(default)]
    pub(crate) without: Vec<String>,
    /// Queries that must return the same on both sides.
    #[serde(default)]
    pub(crate) queries: Vec<String>,
}

/// The expected outcome on both sides.
#[derive(Debug, Deserialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Expected {
    Refused { error: Refusal },
    Loaded(Loaded),
}

/// A successful load.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Loaded {
    /// Number of rows in the table.
    pub(crate) rows: u64,
    /// Number of rows in the input, if triggers drop some.
    pub(crate) read: Option<u64>,
    /// The rows that must be routed natively.
    pub(crate) native: Option<Share>,
    /// The rows that must be routed by keys that the server evaluates.
    pub(crate) server: Option<Share>,
    /// A part of each expected fallback's text, with `|` between alternatives.
    #[serde(default)]
    pub(crate) fallbacks: Vec<String>,
}

/// A number of rows, or all or none of them.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Share {
    /// `all` or `none`.
    Word(String),
    Count(u64),
    Between {
        #[serde(default)]
        min: u64,
        max: Option<u64>,
    },
}

/// An input that both sides must refuse.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Refusal {
    pub(crate) sqlstate: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u64>,
    pub(crate) offset: Option<u64>,
    pub(crate) contains: String,
}

impl Share {
    /// Whether it is more than zero rows.
    pub(crate) fn asks_for_some(&self) -> bool {
        !self.admits(0, u64::MAX)
    }

    pub(crate) fn admits(&self, share: u64, rows: u64) -> bool {
        match self {
            Self::Word(word) if word == "all" => share == rows,
            Self::Word(word) if word == "none" => share == 0,
            Self::Word(word) => panic!("neither all nor none: {word:?}"),
            Self::Count(count) => share == *count,
            Self::Between { min, max } => *min <= share && max.is_none_or(|max| share <= max),
        }
    }
}

impl Case {
    pub(crate) fn read(name: &str) -> Self {
        let folder = root().join(name);
        let text = fs::read_to_string(folder.join("case.toml")).expect("the case has a case.toml");
        let case: Self = toml::from_str(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        Self { folder, ..case }
    }

    /// Returns the reason to skip this case on this server, if any.
    pub(crate) fn skipped(&self, server: Server, session: &Session) -> Option<&'static str> {
        if self.min_version.is_some_and(|min| server.major() < min) {
            return Some("the server is too old");
        }
        if self.max_version.is_some_and(|max| server.major() > max) {
            return Some("the server is too new");
        }
        let (found, why) = match self.needs? {
            Need::Icu => (
                "SELECT 1 FROM pg_collation WHERE collname = 'en-x-icu'",
                "the server is built without ICU",
            ),
            Need::PostgresFdw => (
                "SELECT 1 FROM pg_available_extensions WHERE name = 'postgres_fdw'",
                "the server comes without postgres_fdw",
            ),
            Need::CUtf8 => (
                "SELECT 1 FROM pg_collation WHERE collname = 'C.utf8'",
                "the system has no collation C.UTF-8",
            ),
        };
        session.rows(found).is_empty().then_some(why)
    }

    pub(crate) fn needs_icu(&self) -> bool {
        matches!(self.needs, Some(Need::Icu))
    }

    /// Returns the schema of a side, for the database at `url`.
    pub(crate) fn schema(&self, side: &str, url: &str) -> String {
        let sql = fs::read_to_string(self.folder.join("schema.sql")).expect("a schema.sql");
        let place = Address::from_url(url);
        [
            ("@side@", side),
            ("@host@", &place.host),
            ("@port@", &place.port),
            ("@database@", &place.database),
            ("@user@", &place.user),
            ("@password@", &place.password),
        ]
        .into_iter()
        .fold(sql, |sql, (name, value)| sql.replace(name, value))
    }

    /// Returns the loaded table of a side, as in SQL.
    pub(crate) fn table(&self, side: &str) -> String {
        self.table.as_ref().map_or_else(
            || format!("{}.t", super::copy_options::identifier(side)),
            |table| table.replace("@side@", side),
        )
    }

    /// Returns the inputs in order. The result of a query is written to `scratch` first.
    pub(crate) fn inputs(&self, session: &Session, scratch: &Path) -> Vec<PathBuf> {
        if !self.files.is_empty() {
            return self.files.iter().map(|file| self.folder.join(file)).collect();
        }
        let query = self.folder.join("rows.sql");
        if query.exists() {
            let query = fs::read_to_string(query).expect("the query is read");
            let input = scratch.join("rows.csv");
            fs::write(&input, session.copy_out(&self.copy.copy_to(&query))).expect("rows.csv");
            return vec![input];
        }
        let extension = if self.copy.format() == "text" { "txt" } else { "csv" };
        vec![self.folder.join("rows").with_extension(extension)]
    }
}

/// Returns the names of the folders, sorted.
pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(root()).expect("tests/trees is read");
    let folders = entries.map(|entry| entry.expect("an entry")).filter(|e| e.path().is_dir());
    let mut names: Vec<_> =
        folders.map(|entry| entry.file_name().into_string().expect("a UTF-8 name")).collect();
    names.sort();
    names
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/trees")
}
