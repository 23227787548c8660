//! The environment of the process: variables, home directory, operating-system user, sockets.
//!
//! It is a separate module, passed as a value, so that tests can provide their own.

use std::ffi::OsString;
use std::path::PathBuf;

use nix::unistd::{User, geteuid};

use super::keywords::KEYWORDS;
use super::settings::{Settings, usage};
use crate::Result;

/// Directories where servers put their sockets: Debian's and Red Hat's, then PostgreSQL's own default.
pub(super) const DEFAULT_SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The variables that choose a server.
const PLACE_VARIABLES: [&str; 6] =
    ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE"];

/// The environment in which a target is resolved.
pub(super) struct Environment<'a> {
    /// Looks up a variable.
    pub(super) variable: &'a dyn Fn(&str) -> Option<OsString>,
    pub(super) home: Option<PathBuf>,
    /// The operating-system user's name.
    pub(super) user: Option<String>,
    /// Whether an input may have the encoding of this name.
    pub(super) reads: fn(&str) -> bool,
    /// Directories to search in order for a socket when no host is given.
    pub(super) socket_directories: Vec<PathBuf>,
}

impl<'a> Environment<'a> {
    /// Returns the environment of this process.
    pub(super) fn from_process(
        variable: &'a dyn Fn(&str) -> Option<OsString>,
        reads: fn(&str) -> bool,
    ) -> Self {
        let account = User::from_uid(geteuid()).ok().flatten();
        let home = variable("HOME").filter(|home| !home.is_empty()).map(PathBuf::from);
        Self {
            variable,
            home: home.or_else(|| account.as_ref().map(|account| account.dir.clone())),
            user: account.map(|account| account.name),
            reads,
            socket_directories: DEFAULT_SOCKET_DIRECTORIES.iter().map(PathBuf::from).collect(),
        }
    }

    /// Returns a variable's value; an empty value counts as unset.
    pub(super) fn get(&self, name: &str) -> Result<Option<String>> {
        let Some(value) = (self.variable)(name).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        value
            .into_string()
            .map(Some)
            .map_err(|_| usage(format!("environment variable {name} is not valid UTF-8")))
    }

    /// Whether a `PG*` variable chooses a server.
    pub(super) fn names_a_server(&self) -> Result<bool> {
        for name in PLACE_VARIABLES {
            if self.get(name)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Returns the options that variables set.
    pub(super) fn settings(&self) -> Result<Settings> {
        let mut settings = Settings::default();
        for keyword in KEYWORDS.iter().filter(|keyword| !keyword.variable.is_empty()) {
            if let Some(value) = self.get(keyword.variable)? {
                settings.set(keyword.name, &value);
            }
        }
        if settings.get("sslmode").is_none() && self.get("PGREQUIRESSL")?.as_deref() == Some("1") {
            settings.set("sslmode", "require");
        }
        Ok(settings)
    }

    /// Returns the directory of the system-wide service file; Debian's by default.
    pub(super) fn system_directory(&self) -> Result<PathBuf> {
        let directory = self.get("PGSYSCONFDIR")?;
        Ok(directory.unwrap_or_else(|| "/etc/postgresql-common".to_owned()).into())
    }

    /// Returns a file in libpq's directory below the home directory.
    pub(super) fn user_file(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(".postgresql").join(name))
    }
}
