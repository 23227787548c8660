//! The mapping of fields to columns, with a writer for each. A field that cannot be written is rejected here,
//! before the first row.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, FieldRef, Schema};
use pgsluice_core::types::Column;

use crate::admit;
use crate::bound::BoundBatch;
use crate::inexact::Inexact;
use crate::source::Source;
use crate::writer::ColumnWriter;

/// A mapping from the fields of a schema to the columns of a table.
///
/// The rows are for a session with `client_encoding` UTF8. If columns get strings, the session must also read
/// `Z` as the time zone UTC, and NULL in an array as NULL (`array_nulls`): a string is read as it would be from
/// a file.
#[derive(Debug)]
pub struct Mapping {
    columns: Vec<Mapped>,
    /// The number of columns, as in COPY BINARY.
    count: u16,
}

/// A column of the target.
#[derive(Debug)]
struct Mapped {
    column: Column,
    /// The index of its field in a batch; `None` if the column is NULL in all rows.
    place: Option<usize>,
    field: FieldRef,
    writer: ColumnWriter,
}

/// A field that cannot be written into its column, whatever its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldMismatch {
    /// The name of the column.
    pub column: String,
    /// The type of the column, as PostgreSQL names it.
    pub postgres: String,
    /// The type of the field, as Arrow names it.
    pub arrow: String,
    /// The reason why the field cannot be written into the column.
    pub why: String,
}

impl FieldMismatch {
    fn new(column: &Column, arrow: &impl ToString, why: String) -> Self {
        let (name, postgres) = (column.name.clone(), column.ty.name.clone());
        Self { column: name, postgres, arrow: arrow.to_string(), why }
    }
}

impl fmt::Display for FieldMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, postgres, arrow, why } = self;
        write!(
            f,
            "column {column:?} is of type {postgres} but its values are of type {arrow}: {why}"
        )
    }
}

impl std::error::Error for FieldMismatch {}

impl Mapping {
    /// Maps each column of the target, in order, to the field at its index in `schema`. A column without an
    /// index is NULL.
    pub fn new(
        schema: &Schema,
        fields: &[(impl Into<Option<usize>> + Copy, Column)],
    ) -> Result<Self, FieldMismatch> {
        Self::with_inexact(schema, fields, Inexact::Refuse)
    }

    /// Maps columns like [`Self::new`]. `inexact` says how to treat values that their columns cannot hold
    /// exactly.
    pub fn with_inexact(
        schema: &Schema,
        fields: &[(impl Into<Option<usize>> + Copy, Column)],
        inexact: Inexact,
    ) -> Result<Self, FieldMismatch> {
        let null = Arc::new(Field::new("", DataType::Null, true));
        let columns = fields.iter().map(|(place, column)| {
            let place: Option<usize> = (*place).into();
            let field = match place {
                Some(place) => schema.fields().get(place).ok_or_else(|| none(column, place))?,
                None => &null,
            };
            let writer = admit::writer(field, &column.ty, inexact)
                .map_err(|why| FieldMismatch::new(column, field.data_type(), why))?;
            Ok(Mapped { column: column.clone(), place, field: field.clone(), writer })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        // A table has at most 1,600 columns.
        let count = columns.len() as u16;
        Ok(Self { columns, count })
    }

    /// Returns the indexes of the fields that are written, in ascending order.
    #[must_use]
    pub fn places(&self) -> Vec<usize> {
        let places: BTreeSet<usize> = self.columns.iter().filter_map(|it| it.place).collect();
        places.into_iter().collect()
    }

    /// Returns the mapping for batches that contain only the fields at these [`Self::places`], in the same
    /// order.
    #[must_use]
    pub fn narrow(mut self, places: &[usize]) -> Self {
        for column in &mut self.columns {
            column.place = column.place.and_then(|place| places.binary_search(&place).ok());
        }
        self
    }

    /// Checks whether rows can be written in COPY BINARY. The error names the column that prevents it.
    pub fn has_binary(&self) -> Result<(), String> {
        for Mapped { column, writer, .. } in &self.columns {
            if let Some(ty) = writer.only_text() {
                return Err(format!("column {:?}: type {ty} is not encoded natively", column.name));
            }
        }
        Ok(())
    }

    /// Prepares the rows of a batch for writing. Its columns must have the types of the schema, or be views of
    /// such strings.
    pub fn bind<'b>(&'b self, batch: &'b RecordBatch) -> Result<BoundBatch<'b>, FieldMismatch> {
        let sources = self.columns.iter().map(|Mapped { column, place, field, writer }| {
            let Some(place) = place else {
                return Ok((writer, Source::null(batch.num_rows())));
            };
            let Some(array) = batch.columns().get(*place) else { return Err(none(column, *place)) };
            if !is_form_of(array.data_type(), field.data_type()) {
                let why = format!("the schema has {} at this position", field.data_type());
                return Err(FieldMismatch::new(column, array.data_type(), why));
            }
            let source = Source::bind(array, field).ok_or_else(|| {
                FieldMismatch::new(
                    column,
                    array.data_type(),
                    "such arrays are not supported".to_owned(),
                )
            })?;
            Ok((writer, source))
        });
        let sources = sources.collect::<Result<_, _>>()?;
        Ok(BoundBatch::new(self.count, sources, batch.num_rows()))
    }
}

/// Whether arrays of one type contain values of another.
fn is_form_of(array: &DataType, field: &DataType) -> bool {
    match (array, field) {
        (DataType::Utf8View, DataType::Utf8 | DataType::LargeUtf8)
        | (DataType::BinaryView, DataType::Binary | DataType::LargeBinary) => true,
        _ => array == field,
    }
}

fn none(column: &Column, place: usize) -> FieldMismatch {
    FieldMismatch::new(column, &"none", format!("field {place} does not exist"))
}
