//! The options of the input: checks, and names that are read from the inputs.

use std::sync::Arc;

use super::{InputOptions, Job};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, Words, option};
use pgsluice_core::format::Format;
use pgsluice_session::conninfo::Target;

use crate::source::{FileFormat, Header, OpenRelation, typed};

impl InputOptions {
    /// Rejects invalid combinations of options.
    pub(super) fn check(&self) -> Result<()> {
        let usage = |message: Words| Err(Error::new(Kind::Usage, message));
        if self.columns.as_ref().is_some_and(Vec::is_empty) {
            return usage("the list of columns is empty".into());
        }
        if self.header == Header::Map && self.columns.is_some() {
            let [columns, by_name] = [option("columns"), option("header").with("map")];
            let message = columns.clone() + " and " + by_name.clone() + " cannot be used together";
            return Err(Error::new(Kind::Usage, message).with_hint(
                "Leave one of them out: "
                    + columns
                    + " is for fields in a fixed order, "
                    + by_name
                    + " for any order.",
            ));
        }
        let has_names = !matches!(self.file_format, FileFormat::Delimited | FileFormat::Rows);
        let is_named = self.header == Header::Map || has_names;
        if !is_named && !self.by_name.is_empty() {
            return usage(
                option("map")
                    + " and "
                    + option("ignore-extra")
                    + " need "
                    + option("header").with("map"),
            );
        }
        if self.file_format != FileFormat::Delimited {
            self.check_named()?;
        }
        self.format.check().map_err(|refused| Error::new(Kind::Usage, refused.0))?;
        self.fields.check(&self.format).map_err(|refused| self.refused_fields(refused))
    }

    /// Returns the error for options about single fields. If DEFAULT and NULL have the same spelling, it
    /// suggests another one for NULL.
    fn refused_fields(&self, refused: String) -> Error {
        let error = Error::new(Kind::Usage, refused);
        if self.fields.default.as_ref() != Some(&self.format.null) {
            return error;
        }
        let other = if self.format.null.is_empty() { "\\N" } else { "" };
        error.with_remedy(Remedy::options(
            "To represent NULL differently",
            [option("null").with(other)],
        ))
    }

    /// Rejects options that apply only to delimited rows: other formats name their columns, and have their
    /// own types or syntax.
    fn check_named(&self) -> Result<()> {
        let name = self.file_format.name();
        let others = match self.file_format {
            FileFormat::Table => "a table".to_owned(),
            _ => format!("files of format {name}"),
        };
        let refuse = |what: Words| {
            let message = what + format!(" cannot be used with {others}");
            Err(Error::new(Kind::Usage, message))
        };
        if self.columns.is_some() && self.file_format != FileFormat::Rows {
            let message = format!("the columns of {others} are matched by name");
            return Err(Error::new(Kind::Usage, message).with_hint(
                "Leave out "
                    + option("columns")
                    + "; use "
                    + option("map")
                    + " and "
                    + option("ignore-extra")
                    + " for names that match no column.",
            ));
        }
        if self.header != Header::Absent {
            return refuse("a header".into());
        }
        if !self.fields.is_empty() {
            return refuse(
                option("default")
                    + ", "
                    + option("force-null")
                    + " and "
                    + option("force-not-null"),
            );
        }
        if self.format != Format::text() {
            return refuse(
                option("delimiter")
                    + ", "
                    + option("null")
                    + ", "
                    + option("quote")
                    + " and "
                    + option("escape"),
            );
        }
        if self.file_format.is_typed() && !self.encoding.is_utf8() {
            return refuse(option("encoding").into());
        }
        Ok(())
    }

    /// Returns sentences about the compression and encoding of the inputs, and about entries of directories
    /// that are not read.
    pub(crate) fn notes(&self) -> Vec<String> {
        let compressed = self.files.compressions().into_iter().map(|(name, inputs)| match inputs {
            1 => format!("1 input is compressed with {name}"),
            inputs => format!("{inputs} inputs are compressed with {name}"),
        });
        let encoded =
            (!self.encoding.is_utf8()).then(|| format!("the input is in {}", self.encoding.name()));
        let is_told = !matches!(self.file_format, FileFormat::Delimited | FileFormat::Table);
        let format = is_told.then(|| format!("the input is read as {}", self.file_format.name()));
        let table = self.files.table().and_then(OpenRelation::note);
        let not_read = self.files.notes().iter().cloned();
        format.into_iter().chain(table).chain(compressed).chain(encoded).chain(not_read).collect()
    }
}

impl Job {
    /// Opens the inputs. Returns the job with them in their encoding, and with the column names in them. Must be
    /// called only once. A table without a server is read from `target`.
    pub fn open(&self, target: &Target, control: &Arc<Control>) -> Result<Self> {
        let mut job = self.clone();
        let readers = job.speed.jobs;
        let input = &mut job.input;
        input.files = input.files.read_as(input.file_format, input.is_format_given, input.encoding);
        if input.file_format == FileFormat::Table {
            let (files, names) = input.files.open_tables(target, control, readers)?;
            input.files = files;
            input.names = Some(names);
        } else if input.file_format.is_typed() {
            // The metadata of such a file is at its end.
            input.files = input.files.keep_as_files(control)?;
            input.names = Some(typed::names(&input.files, input.file_format, control)?);
        } else if input.file_format.has_objects() {
            let wanted = input.by_name.map.iter().filter(|(name, column)| name != column);
            let wanted = wanted.map(|(name, _)| name.clone()).collect();
            let (files, names) = input.files.keys(wanted, control)?;
            input.files = files;
            input.names = Some(names);
        } else if input.header == Header::Map {
            let (files, names) = input.files.header(&input.format, control)?;
            input.files = files;
            input.names = Some(names);
        }
        Ok(job)
    }
}
