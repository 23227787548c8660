//! The server to connect to, from psql's options, or the embedded one by default.

use std::io::{IsTerminal, stderr};
use std::time::Duration;

use clap::Args;
use pgsluice::pg::conninfo::{Login, Target};
use pgsluice::source::Encoding;
use pgsluice::{Error, Result};
use pgsluice_embedded::{Embedded, Options};
use serde::{Deserialize, Deserializer};

use crate::output::say;
use crate::password::ask;
use crate::spec::{parsed, text};

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "Connection (as in psql)")]
#[serde(default)]
pub(crate) struct TargetArgs {
    /// Database name, connection string or URL; PG* variables, service and password files also apply
    /// [default: the embedded server]
    #[arg(short = 'd', long = "dbname", value_name = "CONNINFO")]
    conninfo: Option<String>,
    /// Server host, or directory of its socket
    #[arg(short = 'h', long)]
    host: Option<String>,
    /// Server port
    #[arg(short, long)]
    #[serde(deserialize_with = "text")]
    port: Option<String>,
    /// User to connect as
    #[arg(short = 'U', long = "username", value_name = "USER")]
    #[serde(rename = "username")]
    user: Option<String>,
    /// Ask for the password before connecting [default: only if the server wants one and there is a
    /// terminal]
    #[arg(short = 'W', long = "password", conflicts_with = "never")]
    #[serde(skip)]
    always: bool,
    /// Never ask for a password
    #[arg(short = 'w', long = "no-password")]
    #[serde(skip, default = "is_unattended")]
    never: bool,
    /// Keep retrying for TIME while the server is unreachable, starting, or out of connections, memory
    /// or disk: 30s, 5min. A load resumes where it stopped [default: do not retry]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    #[serde(deserialize_with = "time")]
    wait: Option<Duration>,
}

impl TargetArgs {
    /// Runs `work` with the server to connect to. If it is the embedded one, prints that on stderr, unless
    /// `quiet`. If the server requires an unknown password, asks for it and runs `work` again, which is safe
    /// because the login comes first.
    pub(crate) fn with<T>(&self, quiet: bool, work: impl Fn(Target) -> Result<T>) -> Result<T> {
        let password = if self.always { Some(ask(self.user.as_deref())?) } else { None };
        let target = self.resolve(quiet, password)?;
        let user = target.user().to_owned();
        match work(target) {
            Err(error) if self.may_ask(&error) => {
                work(self.resolve(true, Some(ask(Some(&user))?))?)
            }
            outcome => outcome,
        }
    }

    /// Whether to run work that failed with `error` again with a typed password. It must not have committed
    /// rows.
    fn may_ask(&self, error: &Error) -> bool {
        let has_rows = error.left().is_some_and(|left| left.committed + left.in_doubt > 0);
        error.lacks_password() && !has_rows && !self.never && stderr().is_terminal()
    }

    fn resolve(&self, quiet: bool, password: Option<String>) -> Result<Target> {
        let Self { host, port, user, .. } = self;
        let login = Login { host: host.clone(), port: port.clone(), user: user.clone(), password };
        let reads = |name: &str| Encoding::from_name(name).is_some();
        if let Some(target) = Target::resolve(self.conninfo.as_deref(), &login, reads)? {
            target.warnings().iter().for_each(|warning| say(&format!("warning: {warning}")));
            return Ok(target.waiting(self.wait.unwrap_or_default()));
        }
        let server = Embedded::open(Options::default())?;
        let was_running = server.is_running();
        let url = server.start()?;
        if !quiet {
            say(&format!("no server specified, using the embedded one: {url}"));
            if !was_running {
                say("it was started and keeps running; to stop it: pgsluice server stop");
            }
        }
        Target::from_url(&url.with_password())
    }
}

/// Returns `true`: if the options come from another language, passwords are never asked for.
fn is_unattended() -> bool {
    true
}

/// Reads a time.
fn time<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Duration>, D::Error> {
    parsed(from, parse_time)
}

/// Parses a time with PostgreSQL's units, or a number of seconds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| "a time must begin with a number".to_owned())?;
    let milliseconds: u64 = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => {
            return Err(
                "a time must be a number with an optional unit: ms, s, min, h or d".to_owned()
            );
        }
    };
    let time = number.checked_mul(milliseconds).map(Duration::from_millis);
    time.ok_or_else(|| "the time is too long".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_postgresqls_units() {
        let seconds = |text: &str| parse_time(text).map(|time| time.as_millis() / 1000);
        assert_eq!(["5", "5000ms", "5 s"].map(seconds), [const { Ok(5) }; 3]);
        assert_eq!(["5min", "2h", "1d"].map(seconds), [Ok(300), Ok(7200), Ok(86400)]);
        assert!(
            ["", "s", "-1", "1m", "1.5s", "99999999999999999999", "999999999999999999d"]
                .into_iter()
                .all(|text| parse_time(text).is_err())
        );
    }
}
