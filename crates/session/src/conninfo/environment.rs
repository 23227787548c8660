//! What the process's surroundings say: variables, home directory, operating-system user, sockets.
//!
//! Apart, and handed in, so that tests bring surroundings of their own.

use std::ffi::OsString;
use std::path::PathBuf;

use nix::unistd::{User, geteuid};

use super::keywords::KEYWORDS;
use super::settings::{Settings, usage};
use crate::Result;

/// Where servers put their sockets: Debian's and Red Hat's directory, then PostgreSQL's own
/// default.
pub(super) const DEFAULT_SOCKET_DIRECTORIES: [&str; 2] = ["/var/run/postgresql", "/tmp"];

/// The variables that say where to connect to.
const PLACE_VARIABLES: [&str; 6] =
    ["PGHOST", "PGHOSTADDR", "PGPORT", "PGUSER", "PGDATABASE", "PGSERVICE"];

/// The surroundings that a target is resolved in.
pub(super) struct Environment<'a> {
    /// Looks a variable up.
    pub(super) variable: &'a dyn Fn(&str) -> Option<OsString>,
    pub(super) home: Option<PathBuf>,
    /// The operating-system user's name.
    pub(super) user: Option<String>,
    /// Whether an input can be in the encoding of this name.
    pub(super) reads: fn(&str) -> bool,
    /// Searched in order for a socket when no host is given.
    pub(super) socket_directories: Vec<PathBuf>,
}

impl<'a> Environment<'a> {
    /// This process's surroundings.
    pub(super) fn of_process(
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

    /// A variable's value; an empty one counts as unset.
    pub(super) fn get(&self, name: &str) -> Result<Option<String>> {
        let Some(value) = (self.variable)(name).filter(|value| !value.is_empty()) else {
            return Ok(None);
        };
        value
            .into_string()
            .map(Some)
            .map_err(|_| usage(format!("environment variable {name} is not valid UTF-8")))
    }

    /// Whether a `PG*` variable says where to connect to.
    pub(super) fn names_a_server(&self) -> Result<bool> {
        for name in PLACE_VARIABLES {
            if self.get(name)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The options that variables give.
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

    /// Where the system-wide service file lies; Debian's place unless told.
    pub(super) fn system_directory(&self) -> Result<PathBuf> {
        let told = self.get("PGSYSCONFDIR")?;
        Ok(told.unwrap_or_else(|| "/etc/postgresql-common".to_owned()).into())
    }

    /// A file in libpq's directory below the home directory.
    pub(super) fn own_file(&self, name: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(".postgresql").join(name))
    }
}
