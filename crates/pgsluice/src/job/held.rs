//! Inputs that are not files: rows in memory, or a table.

use std::sync::Arc;

#[cfg(feature = "arrow")]
use arrow_array::RecordBatch;
use pgsluice_core::parse::{Value, text_row};

use super::InputOptions;
#[cfg(feature = "arrow")]
use crate::error::Result;
use crate::source::{FileFormat, Input, Relation, Snapshots};

impl InputOptions {
    /// Takes rows of `columns` as text, in which `None` is NULL. The server reads each value as its column's type.
    ///
    /// A row with more or fewer values than columns is rejected when it is read, like a row of a file.
    pub fn from_rows<R, V>(columns: &[&str], rows: impl IntoIterator<Item = R>) -> Self
    where
        R: IntoIterator<Item = Option<V>>,
        V: AsRef<str>,
    {
        let (mut lines, mut line) = (Vec::new(), Vec::new());
        for row in rows {
            let row: Vec<Option<V>> = row.into_iter().collect();
            let values = row.iter().map(|value| match value {
                Some(text) => Value::Text(text.as_ref().as_bytes()),
                None => Value::Null,
            });
            text_row(values.enumerate(), &mut line);
            lines.append(&mut line);
            lines.push(b'\n');
        }
        Self {
            files: Input::from_bytes("rows", Arc::from(lines)).into(),
            columns: Some(columns.iter().map(|&column| column.to_owned()).collect()),
            ..Self::default()
        }
    }

    /// Takes the rows of a table, whose columns are matched to the target's by name.
    pub fn from_relation(relation: Relation) -> Self {
        let files = Input::from_relation(relation).into();
        Self { files, file_format: FileFormat::Table, ..Self::default() }
    }

    /// Takes the rows of a table, each range of pages under its own snapshot.
    pub(crate) fn from_changing(relation: Relation) -> Self {
        let files = Input::from_snapshots(relation, Snapshots::Each).into();
        Self { files, file_format: FileFormat::Table, ..Self::default() }
    }

    /// Takes record batches, whose columns are matched to the table's by name. Their buffers are shared, not
    /// copied.
    ///
    /// # Errors
    ///
    /// Fails if the batches cannot be read together.
    #[cfg(feature = "arrow")]
    pub fn from_batches(batches: impl IntoIterator<Item = RecordBatch>) -> Result<Self> {
        let files = Input::from_table("batches", batches.into_iter().map(Ok))?.into();
        Ok(Self { files, file_format: FileFormat::Arrow, ..Self::default() })
    }
}
