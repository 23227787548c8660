//! Statistics: what Parquet files state about the values of a column.

use ::parquet::arrow::arrow_reader::statistics::StatisticsConverter;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::Schema;
use pgsluice_arrow::Mapping;
use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;

use super::super::guard::catch_panic;
use super::{Typed, names_of, parquet, unreadable};
use crate::source::{FileFormat, Input};

impl Typed {
    /// Returns the least and the greatest value of a column in each row group of an input, as text; `None` if
    /// they are not known for every row group.
    pub(crate) fn extremes(&self, input: &Input, column: usize) -> Option<Vec<Vec<u8>>> {
        if self.format != FileFormat::Parquet {
            return None;
        }
        let lost = || unreadable(input, FileFormat::Parquet, "its statistics are damaged");
        catch_panic(|| Ok(self.read_extremes(input, column)), lost).ok().flatten()
    }

    fn read_extremes(&self, input: &Input, column: usize) -> Option<Vec<Vec<u8>>> {
        let metadata = parquet::metadata(input).ok()?;
        let (schema, groups) = (metadata.schema(), metadata.metadata().row_groups());
        let column = &self.columns.get(column)?.column;
        let fields =
            self.by_name.match_fields(&names_of(schema), &self.lookup, &input.name).ok()?;
        let place = fields.columns.iter().position(|name| *name == column.name)?;
        let name = &fields.names[place];
        let converter =
            StatisticsConverter::try_new(name, schema, metadata.parquet_schema()).ok()?;
        let ends =
            [converter.row_group_mins(groups).ok()?, converter.row_group_maxes(groups).ok()?];
        let mut texts = Vec::new();
        for array in ends {
            let field = converter.arrow_field().clone();
            let schema = Schema::new(vec![field]);
            let mapping =
                Mapping::with_inexact(&schema, &[(0, column.clone())], self.inexact).ok()?;
            texts.extend(to_texts(&mapping, schema, array)?);
        }
        Some(texts)
    }
}

/// Returns the values as text; `None` if one is NULL, which means that it is unknown.
fn to_texts(mapping: &Mapping, schema: Schema, array: ArrayRef) -> Option<Vec<Vec<u8>>> {
    let batch = RecordBatch::try_new(schema.into(), vec![array]).ok()?;
    let bound = mapping.bind(&batch).ok()?;
    let parser = Parser::new(&Format::text(), Vec::new());
    let spell = |row| {
        let mut text = Vec::new();
        bound.put_text(row, &mut text).ok()?;
        parser.all(&text).pop()?
    };
    (0..batch.num_rows()).map(spell).collect()
}
