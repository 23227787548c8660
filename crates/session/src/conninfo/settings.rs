//! The options of one source, and how a later source fills in missing ones.

use std::collections::BTreeMap;
use std::time::Duration;

use super::keywords;
use crate::error::Words;
use crate::{Error, Kind, Result};

/// Connection options by libpq's names, at most one value each.
#[derive(Default)]
pub(super) struct Settings(BTreeMap<&'static str, String>);

/// The values of psql's options `-h`, `-p`, `-U` and `-W`.
#[derive(Clone, Default)]
pub struct Login {
    /// The host, or the directory of the socket.
    pub host: Option<String>,
    /// The port.
    pub port: Option<String>,
    /// The user to log in as.
    pub user: Option<String>,
    /// The password that was typed.
    pub password: Option<String>,
}

impl Login {
    /// Whether any of the options names a server or a user.
    pub(super) fn is_given(&self) -> bool {
        [&self.host, &self.port, &self.user].iter().any(|given| given.is_some())
    }

    /// Converts the options to settings.
    pub(super) fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in [
            ("host", &self.host),
            ("port", &self.port),
            ("user", &self.user),
            ("password", &self.password),
        ] {
            if let Some(value) = value {
                settings.set(name, value);
            }
        }
        settings
    }
}

impl Settings {
    /// Returns the value, unless it is absent or empty: libpq treats both as not given.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str).filter(|value| !value.is_empty())
    }

    /// Returns the number of a numeric option; libpq's are C ints.
    pub(super) fn integer(&self, name: &str) -> Result<Option<i32>> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.trim().parse().map(Some).map_err(|_| {
            usage(format!("invalid integer value \"{value}\" for connection option \"{name}\""))
        })
    }

    /// Returns a positive number; zero and less leave the default.
    pub(super) fn positive(&self, name: &str) -> Result<Option<u32>> {
        let value = self.integer(name)?.filter(|value| *value > 0);
        Ok(value.map(i32::unsigned_abs))
    }

    /// Returns a positive number of seconds; zero and less mean the default.
    pub(super) fn seconds(&self, name: &str) -> Result<Option<Duration>> {
        Ok(self.positive(name)?.map(|value| Duration::from_secs(value.into())))
    }

    /// Returns the choice for an option's value; the first choice is the default.
    pub(super) fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)]) -> Result<T> {
        let Some(value) = self.get(name) else { return Ok(choices[0].1) };
        choices.iter().find(|(known, _)| *known == value).map(|(_, choice)| *choice).ok_or_else(
            || {
                let known: Vec<&str> = choices.iter().map(|(known, _)| *known).collect();
                usage(format!("invalid {name} value: \"{value}\""))
                    .with_hint(format!("Valid values are: {}.", known.join(", ")))
            },
        )
    }

    /// Sets an option, replacing an earlier value. Returns false if libpq has no such option.
    pub(super) fn set(&mut self, name: &str, value: &str) -> bool {
        if name == "requiressl" {
            return self.set("sslmode", if value.starts_with('1') { "require" } else { "prefer" });
        }
        let Some(keyword) = keywords::find(name) else { return false };
        self.0.insert(keyword.name, value.to_owned());
        true
    }

    /// Takes the options from `other` that are not set here.
    pub(super) fn fill_from(&mut self, other: Settings) {
        for (name, value) in other.0 {
            self.0.entry(name).or_insert(value);
        }
    }

    /// Rejects values that ask for something pgsluice cannot do.
    pub(super) fn check(&self) -> Result<()> {
        for keyword in keywords::KEYWORDS {
            if let Some(value) = self.get(keyword.name) {
                keyword.check(value)?;
            }
        }
        Ok(())
    }
}

pub(super) fn usage(message: impl Into<Words>) -> Error {
    Error::new(Kind::Usage, message)
}

pub(super) fn unknown_option(name: &str) -> Error {
    usage(format!("invalid connection option \"{name}\""))
}
