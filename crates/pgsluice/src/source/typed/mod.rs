//! Files whose columns have names and types. They are read as batches of rows. The thread that takes a split
//! converts its batch to rows of COPY.

mod arrow;
mod batches;
#[cfg(feature = "parquet")]
mod chunks;
#[cfg(feature = "parquet")]
mod footer;
mod frames;
mod memory;
#[cfg(feature = "parquet")]
mod pages;
#[cfg(feature = "parquet")]
mod parquet;
mod rows;
mod size;
#[cfg(feature = "parquet")]
mod statistics;

use std::collections::HashMap;
use std::sync::Arc;

use arrow_schema::SchemaRef;
use pgsluice_arrow::{FieldMismatch, Inexact, Mapping};
use pgsluice_core::catalog::label;
use pgsluice_core::column_lookup::ColumnLookup;
use pgsluice_json::{KeyTarget, MissingKey, Objects, UnknownKeys};

pub(super) use self::batches::Batch;
pub(super) use self::memory::CallerBatches;
pub(super) use self::rows::KeyText;
use super::interruptible::unless_stopped;
use super::parallel::ParallelReader;
use super::row_form::RowForm;
use super::{ByName, FileFormat, Input, InputNames, Inputs};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, Unit};

/// The mapping from the columns of files to the columns of a table.
#[derive(Clone, Debug)]
pub(crate) struct Typed {
    /// The format of the files.
    format: FileFormat,
    /// The columns of the table that are written, each with the treatment of files that lack it.
    columns: Arc<[KeyTarget]>,
    /// The mapping from names in each file to columns of the table.
    by_name: ByName,
    lookup: Arc<ColumnLookup>,
    /// Treatment of values that their columns cannot hold exactly.
    inexact: Inexact,
    /// The writer of rejected rows.
    objects: Objects,
    form: RowForm,
}

/// Returns the names of the columns in all inputs.
pub(crate) fn names(
    inputs: &Inputs,
    format: FileFormat,
    control: &Arc<Control>,
) -> Result<InputNames> {
    let (inputs, of_thread) = (inputs.clone(), Arc::clone(control));
    unless_stopped(control, move || {
        let mut names = InputNames { are_all: true, ..InputNames::default() };
        for input in inputs.iter() {
            if of_thread.stop.is_stopped() {
                return Err(Error::interrupted());
            }
            names.add(&input.name, names_of(&schema(input, format)?));
        }
        Ok(names)
    })
}

fn names_of(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|field| field.name().clone()).collect()
}

fn schema(input: &Input, format: FileFormat) -> Result<SchemaRef> {
    if let Some(batches) = input.caller_batches() {
        return batches.schema(input);
    }
    if let Some(compression) = input.compressed_by() {
        let program = if compression == "gzip" { "zcat {}" } else { "zstdcat {}" };
        let error = unreadable(input, format, format!("the file is compressed with {compression}"));
        return Err(error.with_remedy(Remedy::program("Load its contents", program, &input.name)));
    }
    match format {
        #[cfg(feature = "parquet")]
        FileFormat::Parquet => parquet::schema(input),
        #[cfg(not(feature = "parquet"))]
        FileFormat::Parquet => Err(missing(input, format)),
        _ => arrow::schema(input),
    }
}

/// Returns the unit in which row number `row` of an input is counted, starting at 1, and its number in that
/// unit.
pub(super) fn unit(input: &Input, row: u64) -> (Unit, u64) {
    let mut row = row;
    for (number, rows) in (1..).zip(groups(input)) {
        match row.checked_sub(rows) {
            None | Some(0) => return (Unit::Group(number), row),
            Some(rest) => row = rest,
        }
    }
    (Unit::Rows, row)
}

/// Returns the number of rows in each row group of an input; empty if it has no row groups or cannot be read.
fn groups(input: &Input) -> Vec<u64> {
    match input.format {
        #[cfg(feature = "parquet")]
        FileFormat::Parquet => parquet::groups(input).unwrap_or_default(),
        _ => Vec::new(),
    }
}

impl Typed {
    /// Creates a mapping to `columns`; `lookup` and `by_name` match the names in the files to them.
    pub(crate) fn new(
        format: FileFormat,
        columns: Vec<KeyTarget>,
        by_name: ByName,
        lookup: Arc<ColumnLookup>,
    ) -> Self {
        let nullable =
            |target: &KeyTarget| KeyTarget { missing: MissingKey::Null, ..target.clone() };
        let objects = Objects::new(columns.iter().map(nullable).collect(), UnknownKeys::Refuse);
        let columns = columns.into();
        let (inexact, form) = (Inexact::Refuse, RowForm::Text);
        Self { format, columns, by_name, lookup, inexact, objects, form }
    }

    /// Sets whether values that their columns cannot hold exactly are rounded.
    pub(crate) fn rounding(self, rounds: bool) -> Self {
        Self { inexact: Inexact::from_rounds(rounds), ..self }
    }

    /// Returns the writer of rejected rows.
    pub(super) fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Sets the form in which rows are written.
    pub(crate) fn writing(self, form: RowForm) -> Self {
        Self { form, ..self }
    }

    /// Returns the form in which rows are written, mutably.
    pub(super) fn form_mut(&mut self) -> &mut RowForm {
        &mut self.form
    }

    /// Returns the number of columns of a row.
    pub(super) fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Rejects an input whose columns do not fit the table.
    pub(super) fn check(&self, input: &Input) -> Result<()> {
        self.mapping(&schema(input, self.format)?, input).map(|_| ())
    }

    /// Begins to read an input.
    pub(super) fn open(&self, input: &Input) -> Result<ParallelReader<Batch>> {
        if let Some(batches) = input.caller_batches() {
            return batches.open(input, |schema| self.mapping(schema, input));
        }
        match self.format {
            #[cfg(feature = "parquet")]
            FileFormat::Parquet => parquet::open(input, |schema| self.mapping(schema, input)),
            _ => arrow::open(input, |schema| self.mapping(schema, input)),
        }
    }

    /// Returns the mapping of an input's columns.
    fn mapping(&self, schema: &SchemaRef, input: &Input) -> Result<Mapping> {
        let names = names_of(schema);
        let found = self.by_name.match_fields(&names, &self.lookup, &input.name)?;
        let selected = found
            .selected
            .iter()
            .enumerate()
            .filter(|(_, selected)| **selected)
            .map(|(place, _)| place);
        let mut places: HashMap<&String, usize> = found.columns.iter().zip(selected).collect();
        let field = |target: &KeyTarget| match (places.remove(&target.column.name), &target.missing)
        {
            (None, MissingKey::Null) => Ok((None, target.column.clone())),
            (None, missing) => Err(lacks(input, target, missing)),
            (place, _) => Ok((place, target.column.clone())),
        };
        let fields = self.columns.iter().map(field).collect::<Result<Vec<_>>>()?;
        if let Some(column) = found.columns.iter().find(|column| places.contains_key(column)) {
            let message = format!("{} has column {}", input.name, label(column));
            let detail = "The inputs that were inspected before the load do not have it.";
            let error = Error::new(Kind::Data, message).with_sqlstate("42703");
            return Err(error.with_detail(detail).with_hint("Load the file separately."));
        }
        #[cfg(feature = "parquet")]
        if self.format == FileFormat::Parquet {
            parquet::check(input, found.names.iter())?;
        }
        let mapping = Mapping::with_inexact(schema, &fields, self.inexact);
        mapping.map_err(|misfit| {
            let error = misfitting(&misfit, input);
            match Mapping::with_inexact(schema, &fields, Inexact::Round) {
                Ok(_) => error.with_remedy(Remedy::round()),
                Err(_) => error,
            }
        })
    }
}

/// Returns the error for a file that lacks a column of other files, if its rows would not get NULL there.
fn lacks(input: &Input, target: &KeyTarget, missing: &MissingKey) -> Error {
    let (why, hint) = match missing {
        MissingKey::Refused(reason) => (&*reason.why, reason.hint.clone()),
        MissingKey::Null | MissingKey::Default => (
            "its column has a default",
            "Load the files that lack it by themselves: their rows then get the default.".into(),
        ),
    };
    let message = format!("{} has no \"{}\", and {why}", input.name, target.key);
    let error = Error::new(Kind::Data, message).with_sqlstate("42703");
    error.with_detail("Another input of the load has it.").with_hint(hint)
}

/// Returns the error for a column whose values do not fit.
fn misfitting(misfit: &FieldMismatch, input: &Input) -> Error {
    let FieldMismatch { column, postgres, arrow, why } = misfit;
    let message = format!(
        "column {} is of type {postgres} but its values in {} are of type {arrow}: {why}",
        label(column),
        input.name
    );
    Error::new(Kind::Data, message).with_sqlstate("42804").with_hint(
        "Change the column to a type that can store such values, or write them as \
                    another type.",
    )
}

/// Returns the error for a format that this program was built without.
#[cfg(not(feature = "parquet"))]
fn missing(input: &Input, format: FileFormat) -> Error {
    unreadable(input, format, "this program was built without support for it")
}

/// Returns the error for a file that is damaged or in another format.
fn unreadable(input: &Input, format: FileFormat, reason: impl std::fmt::Display) -> Error {
    let message = format!("could not read {} as {}: {reason}", input.name, format.name());
    Error::new(Kind::Input, message)
}

#[cfg(test)]
mod tests;
