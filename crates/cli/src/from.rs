//! Options for reading a table instead of files.

use pgsluice::pg::conninfo::{Login, Target};
use pgsluice::source::{Encoding, Relation};
use pgsluice::{Error, Kind, Result};

use crate::options::{InputArgs, ReadingArgs};
use crate::output::say;
use crate::spec::Given;

impl InputArgs {
    /// Fails if options contradict each other.
    pub(crate) fn check_table(&self, reading: &ReadingArgs) -> Result<()> {
        let table = Given("from-table", self.from_table.is_some());
        Given("from", self.from.is_some()).requires(&table)?;
        Given("where", self.filter.is_some()).requires(&table)?;
        if table.1 && !self.files.is_empty() {
            let message = "files and a table cannot be read together";
            return Err(Error::new(Kind::Usage, message));
        }
        reading.list_file_options().iter().try_for_each(|option| table.excludes(option))
    }

    /// Returns the table to read, if one was given.
    pub(crate) fn relation(&self) -> Result<Option<Relation>> {
        let Some(name) = self.from_table.clone() else { return Ok(None) };
        let reads = |name: &str| Encoding::from_name(name).is_some();
        let resolve = |conninfo: &String| Target::resolve(Some(conninfo), &Login::default(), reads);
        let server = self.from.as_ref().map(resolve).transpose()?.flatten();
        let warnings = server.iter().flat_map(Target::warnings);
        warnings.for_each(|warning| say(&format!("warning: {warning}")));
        Ok(Some(Relation { name, server, filter: self.filter.clone() }))
    }
}
