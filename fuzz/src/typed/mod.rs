//! Arrow batches of any types, and the properties of each.

mod arrays;
mod columns;
pub mod files;
mod rows;
mod values;

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, TimeUnit};

pub use self::rows::check;
use crate::choices::Choices;

const UNITS: [TimeUnit; 4] =
    [TimeUnit::Second, TimeUnit::Millisecond, TimeUnit::Microsecond, TimeUnit::Nanosecond];

/// Returns a batch of up to four columns.
pub fn batch(c: &mut Choices<'_>) -> RecordBatch {
    let (length, columns) = (c.below(6), 1 + c.below(4));
    let columns: Vec<ArrayRef> = (0..columns).map(|_| arrays::array(c, length, 3)).collect();
    let fields = columns.iter().enumerate();
    let fields: Vec<Field> =
        fields.map(|(place, column)| arrays::field(c, &format!("f{place}"), column)).collect();
    let options = RecordBatchOptions::new().with_row_count(Some(length));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
        .expect("columns of one length")
}
