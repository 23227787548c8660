//! Neither writer allocates memory for a row once its buffers are warm.

use std::sync::Arc;

use allocation_counter::measure;
use arrow_array::*;
use arrow_schema::{Field, Schema};
use pgsluice_arrow::{BoundBatch, Mapping};
use pgsluice_core::types::{Column, ColumnType, TypeStructure};

const ROWS: usize = 1_000;

/// Returns a batch with columns of the most common types.
fn batch() -> (RecordBatch, Vec<u32>) {
    let numbers = || (0..ROWS as i64).map(|row| row * 7_919);
    let strings = || numbers().map(|number| format!("\t{number} and more\\"));
    let decimals = Decimal128Array::from_iter_values(numbers().map(i128::from));
    let columns: Vec<(ArrayRef, u32)> = vec![
        (Arc::new(Int64Array::from_iter_values(numbers())), 20),
        (Arc::new(Int64Array::from_iter_values(numbers())), 1700),
        (
            Arc::new(Int32Array::from_iter(
                (0..ROWS as i32).map(|row| (row % 3 > 0).then_some(row)),
            )),
            23,
        ),
        (Arc::new(decimals.with_precision_and_scale(15, 2).expect("a decimal")), 1700),
        (
            Arc::new(Float64Array::from_iter_values(numbers().map(|number| number as f64 / 8.0))),
            701,
        ),
        (
            Arc::new(Float64Array::from_iter_values(numbers().map(|number| number as f64 / 8.0))),
            1700,
        ),
        (Arc::new(StringArray::from_iter_values(strings())), 25),
        (Arc::new(StringViewArray::from_iter_values(strings())), 1043),
        (Arc::new(Date32Array::from_iter_values((0..ROWS as i32).map(|row| row * 7))), 1082),
        (Arc::new(TimestampMicrosecondArray::from_iter_values(numbers())), 1114),
        (
            Arc::new(TimestampMillisecondArray::from_iter_values(numbers()).with_timezone("UTC")),
            1184,
        ),
        (Arc::new(BooleanArray::from_iter((0..ROWS).map(|row| Some(row % 2 == 0)))), 16),
    ];
    let (arrays, oids): (Vec<ArrayRef>, _) = columns.into_iter().unzip();
    let field = |array: &ArrayRef| Field::new("f", array.data_type().clone(), true);
    let schema = Schema::new(arrays.iter().map(field).collect::<Vec<_>>());
    (RecordBatch::try_new(schema.into(), arrays).expect("a batch"), oids)
}

fn allocations(
    bound: &BoundBatch<'_>,
    mut put: impl FnMut(&BoundBatch<'_>, usize, &mut Vec<u8>),
) -> u64 {
    let mut out = Vec::with_capacity(1 << 20);
    let counted = measure(|| (0..ROWS).for_each(|row| put(bound, row, &mut out)));
    assert!(out.len() > 100 * ROWS);
    counted.count_total
}

#[test]
fn no_row_is_allocated_for() {
    let (batch, oids) = batch();
    let column = |oid| {
        let ty =
            ColumnType { oid, modifier: -1, name: String::new(), structure: TypeStructure::Plain };
        Column { name: String::new(), ty }
    };
    let fields: Vec<_> = oids.into_iter().map(column).enumerate().collect();
    let mapping = Mapping::new(&batch.schema(), &fields).expect("it fits");
    let bound = mapping.bind(&batch).expect("the schema's");
    let binary =
        allocations(&bound, |bound, row, out| bound.put_binary(row, out).expect("it fits"));
    let text = allocations(&bound, |bound, row, out| bound.put_text(row, out).expect("it fits"));
    assert_eq!([binary, text], [0, 0], "for {ROWS} rows in binary, and as text");
}
