//! The size of a batch in bytes. Arrow reports the size of the underlying buffers, which may belong to a whole
//! table while the batch is only a slice of it.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

/// Returns the approximate size of the values in a batch.
pub(super) fn bytes_of(batch: &RecordBatch) -> usize {
    batch.columns().iter().map(measure_array).sum()
}

fn measure_array(array: &ArrayRef) -> usize {
    let among = |values: &ArrayRef, first: usize, last: usize| {
        let last = last.min(values.len());
        let first = first.min(last);
        measure_array(&values.slice(first, last - first))
    };
    let rows = array.len();
    match array.data_type() {
        // All batches share the values.
        DataType::Dictionary(..) => rows * size_of::<u32>(),
        DataType::Utf8View => array.as_string_view().views().iter().map(measure_view).sum(),
        DataType::BinaryView => array.as_binary_view().views().iter().map(measure_view).sum(),
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let at = |index: usize| list.value_offsets()[index] as usize;
            among(list.values(), at(0), at(rows)) + rows * size_of::<i32>()
        }
        DataType::LargeList(_) => {
            let list = array.as_list::<i64>();
            let at = |index: usize| list.value_offsets()[index] as usize;
            among(list.values(), at(0), at(rows)) + rows * size_of::<i64>()
        }
        DataType::Map(..) => {
            let map = array.as_map();
            let at = |index: usize| map.value_offsets()[index] as usize;
            map.entries().columns().iter().map(|column| among(column, at(0), at(rows))).sum()
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(measure_array).sum(),
        _ => {
            let slice = array.to_data().get_slice_memory_size();
            slice.unwrap_or_else(|_| array.get_array_memory_size())
        }
    }
}

/// Returns the size of a view and its value: the lowest bits are the length.
fn measure_view(view: &u128) -> usize {
    size_of::<u128>() + (*view as u32) as usize
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int64Type;
    use arrow_array::{Int32Array, ListArray, StringArray, StringViewArray};

    use super::*;

    #[test]
    fn slices_are_as_large_as_their_values() {
        let text = |row: usize| "x".repeat(row % 40);
        let lists = (0..1000).map(|row| Some(vec![Some(1_i64); row % 5]));
        let columns: [(&str, ArrayRef); 4] = [
            ("a", Arc::new(Int32Array::from_iter_values(0..1000))),
            ("b", Arc::new(StringArray::from_iter_values((0..1000).map(text)))),
            ("c", Arc::new(StringViewArray::from_iter_values((0..1000).map(text)))),
            ("d", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(lists))),
        ];
        let whole = RecordBatch::try_from_iter(columns).expect("a batch");
        let size = bytes_of(&whole);
        let values = 1000 * 4 + 1000 * 4 + 19_500 + 1000 * 16 + 19_500 + 1000 * 4 + 2000 * 8;
        assert!(size.abs_diff(values) < 200, "{size} and {values}");
        let parts: usize = (0..10).map(|part| bytes_of(&whole.slice(part * 100, 100))).sum();
        assert!(parts.abs_diff(size) < 200, "{parts} and {size}");
    }
}
