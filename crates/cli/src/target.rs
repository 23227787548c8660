//! `-d`: which server, and the embedded one where nothing says which.

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
}

impl TargetArgs {
    /// The server to connect to. Says on stderr, unless `quiet`, when it is the embedded one.
    pub(crate) fn resolve(&self, quiet: bool) -> Result<Target> {
        if let Some(target) = Target::resolve(self.conninfo.as_deref())? {
            target.warnings().iter().for_each(|warning| say(warning));
            return Ok(target);
        }
        let url = pgsluice::embedded::default_url()?;
        if !quiet {
            say(&format!("no server named, using the embedded one: {url}"));
        }
        Target::from_url(&url.with_password())
    }
}
