//! The servers under test, and a scratch database for each test.
//!
//! The clusters are disposable, so the URLs are a superuser's.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Session, skip, with_database};

/// One of the servers under test, identified by its major version, in a particular test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    pub(crate) major: u32,
    test: &'static str,
}

impl Server {
    /// Returns the server of this major version for `test`, if `PGSLUICE_TEST_MAJORS` includes it.
    pub(crate) fn to_try(major: u32, test: &'static str) -> Option<Self> {
        let asked = asked();
        let found = asked.split_whitespace().any(|word| word.parse() == Ok(major));
        if !found {
            skip(test, &format!("PGSLUICE_TEST_MAJORS is {asked:?}"));
        }
        found.then_some(Self { major, test })
    }

    /// Returns another server under test, or this one if there is no other.
    pub(crate) fn another(self) -> Self {
        let majors = asked();
        let majors = majors.split_whitespace().filter_map(|word| word.parse().ok());
        let major = majors.filter(|major| *major != self.major).min().unwrap_or(self.major);
        Self { major, ..self }
    }

    /// Skips the test, or a part of it, on this server.
    pub(crate) fn skip(self, why: &str) {
        skip(self.test, why);
    }

    /// Whether the server is older than version `since`. Then the test is skipped.
    pub(crate) fn lacks(self, since: u32, what: &str) -> bool {
        let lacks = self.major < since;
        if lacks {
            self.skip(&format!("{what} came with PostgreSQL {since}"));
        }
        lacks
    }

    pub(crate) fn major(self) -> u32 {
        self.major
    }

    /// Returns the superuser's URL from the environment.
    pub(crate) fn url(self) -> String {
        let name = format!("PGSLUICE_TEST_URL_{}", self.major);
        std::env::var(&name).unwrap_or_else(|_| panic!("{name} is not set: run by `make test`"))
    }

    /// Returns the directory of the server's programs.
    pub(crate) fn bin(self) -> PathBuf {
        let name = format!("PGSLUICE_TEST_BIN_{}", self.major);
        let bin = std::env::var_os(&name);
        bin.unwrap_or_else(|| panic!("{name} is not set: run by `make test`")).into()
    }

    /// Creates an empty database, which is dropped with the value.
    pub(crate) fn scratch(self) -> Scratch {
        self.scratch_with(None)
    }

    /// Creates an empty database with a collation of libc.
    pub(crate) fn scratch_with(self, collation: Option<&str>) -> Scratch {
        let options = collation.map(|collation| self.libc(collation));
        self.create(&options.unwrap_or_default())
    }

    /// Creates an empty database with an encoding other than UTF-8.
    pub(crate) fn scratch_in(self, encoding: &str) -> Scratch {
        self.create(&format!("{} ENCODING '{encoding}'", self.libc("C")))
    }

    fn libc(self, collation: &str) -> String {
        let provider = if self.major < 15 { "" } else { "LOCALE_PROVIDER libc" };
        format!("TEMPLATE template0 {provider} LC_COLLATE '{collation}' LC_CTYPE '{collation}'")
    }

    fn create(self, options: &str) -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("sluice_{}_{count}", std::process::id());
        let admin = Session::open(&self.url());
        admin.run(&format!("CREATE DATABASE {name} {options}"));
        // Any role that loads may create a ledger.
        admin.run(&format!("GRANT CREATE ON DATABASE {name} TO PUBLIC"));
        Scratch { url: with_database(&self.url(), &name), name, admin }
    }
}

/// Returns the major versions to test.
fn asked() -> String {
    std::env::var("PGSLUICE_TEST_MAJORS").unwrap_or_else(|_| "15 18".into())
}

/// A database that lives as long as the test.
pub(crate) struct Scratch {
    admin: Session,
    name: String,
    url: String,
}

impl Scratch {
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    pub(crate) fn session(&self) -> Session {
        Session::open(&self.url)
    }

    /// Sets a parameter for every session that begins later, regardless of its role.
    pub(crate) fn set(&self, parameter: &str, value: &str) {
        let value = value.replace('\'', "''");
        self.admin.run(&format!("ALTER DATABASE {} SET {parameter} = '{value}'", self.name));
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let sql = format!("DROP DATABASE {} WITH (FORCE)", self.name);
        if let Err(error) = self.admin.try_run(&sql) {
            eprintln!("{sql}: {error}");
        }
    }
}
