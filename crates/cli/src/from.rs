//! Options for reading a table in place of files.

use clap::Args;
use pgsluice::pg::conninfo::{Login, Target};
use pgsluice::source::{Encoding, Relation};
use pgsluice::{Error, Kind, Result};
use serde::Deserialize;

use crate::options::ReadingArgs;
use crate::output::say;
use crate::spec::Given;

#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "Table as input")]
#[serde(default)]
pub(crate) struct FromArgs {
    /// Read the rows of this table in place of files: orders_old, archive.orders
    #[arg(long, value_name = "TABLE")]
    from_table: Option<String>,
    /// Server to read that table from, as for -d [default: the server and database of the target]
    #[arg(long, value_name = "CONNINFO")]
    from: Option<String>,
    /// Read only the rows that satisfy this SQL condition; qualify names outside pg_catalog
    #[arg(long = "where", value_name = "SQL")]
    #[serde(rename = "where")]
    filter: Option<String>,
}

impl FromArgs {
    /// Refuses options that contradict each other.
    pub(crate) fn check(&self, has_files: bool, reading: &ReadingArgs) -> Result<()> {
        let table = Given("from-table", self.from_table.is_some());
        Given("from", self.from.is_some()).requires(&table)?;
        Given("where", self.filter.is_some()).requires(&table)?;
        if table.1 && has_files {
            let message = "files and a table cannot be read together";
            return Err(Error::new(Kind::Usage, message));
        }
        reading.of_files().iter().try_for_each(|option| table.excludes(option))
    }

    /// Returns the table to read, if one was given.
    pub(crate) fn relation(&self) -> Result<Option<Relation>> {
        let Some(name) = self.from_table.clone() else { return Ok(None) };
        let reads = |name: &str| Encoding::named(name).is_some();
        let resolve = |conninfo: &String| Target::resolve(Some(conninfo), &Login::default(), reads);
        let server = self.from.as_ref().map(resolve).transpose()?.flatten();
        let warnings = server.iter().flat_map(Target::warnings);
        warnings.for_each(|warning| say(&format!("warning: {warning}")));
        Ok(Some(Relation { name, server, filter: self.filter.clone() }))
    }
}
