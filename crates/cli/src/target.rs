//! `-d`: which server, and the embedded one where nothing says which.

use std::time::Duration;

use clap::Args;
use pgsluice::Result;
use pgsluice::pg::conninfo::Target;

use crate::output::say;

#[derive(Args, Debug)]
pub(crate) struct TargetArgs {
    /// Database name, conninfo string or URL, as psql takes it; PG* variables, service and
    /// password files count as well [default: the embedded server]
    #[arg(short = 'd', long = "dbname", value_name = "CONNINFO")]
    conninfo: Option<String>,
    /// Try again for so long, a load from where it was, where the server cannot be reached, is starting,
    /// or has no connection, memory or disk left: 30s, 5min [default: not at all]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    wait: Option<Duration>,
}

impl TargetArgs {
    /// The server to connect to. Says on stderr, unless `quiet`, when it is the embedded one.
    pub(crate) fn resolve(&self, quiet: bool) -> Result<Target> {
        if let Some(target) = Target::resolve(self.conninfo.as_deref())? {
            target.warnings().iter().for_each(|warning| say(warning));
            return Ok(target.waiting(self.wait.unwrap_or_default()));
        }
        let url = pgsluice::embedded::default_url()?;
        if !quiet {
            say(&format!("no server named, using the embedded one: {url}"));
        }
        Target::from_url(&url.with_password())
    }
}

/// A time in PostgreSQL's units, or a number of seconds.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| "a time begins with a number".to_owned())?;
    let milliseconds: u64 = match unit.trim() {
        "ms" => 1,
        "" | "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err("a time is a number with ms, s, min, h or d".to_owned()),
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
