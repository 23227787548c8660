//! Batches of typed columns, cut so that all are about the same size once written.

use std::sync::Arc;
use std::thread;

use arrow_array::RecordBatch;
use pgsluice_arrow::Mapping;

use super::super::parallel::{BATCH_BYTES, Counted, Give, InputPart, MAX_ROWS, ParallelReader};
use crate::error::{Error, Result};

/// Consecutive rows of an input.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(super) rows: RecordBatch,
    pub(super) mapping: Arc<Mapping>,
}

impl Counted for Batch {
    fn count(&self) -> usize {
        self.rows.num_rows()
    }
}

/// A callback that receives each batch with the number of input bytes that it covers, and returns false to stop.
pub(super) type GiveRows<'g> = &'g mut dyn FnMut(RecordBatch, u64) -> bool;

/// A part of an input that can be read independently, such as a row group.
pub(super) trait TypedPart {
    /// Requests the data of a part that is read soon, if that takes time.
    fn prepare(&self) {}

    /// Passes each batch of the part to `give`.
    fn read(&self, give: GiveRows<'_>) -> Result<()>;

    /// Returns the error for a panic in `read`.
    fn lost(&self) -> Error;
}

/// A part whose batches are cut to size.
struct CutPart<P> {
    part: P,
    mapping: Arc<Mapping>,
}

impl<P: TypedPart> InputPart<Batch> for CutPart<P> {
    fn prepare(&self) {
        self.part.prepare();
    }

    fn read(&self, give: Give<'_, Batch>) -> Result<()> {
        let Self { part, mapping } = self;
        part.read(&mut |batch, raw_bytes| {
            in_pieces(&batch, raw_bytes, mapping, &mut |rows, raw_bytes| {
                give(batch_of(rows, mapping), raw_bytes)
            })
        })
    }

    fn lost(&self) -> Error {
        self.part.lost()
    }
}

/// Starts reading `parts`, with at most one thread per processor.
pub(super) fn begin<P: TypedPart + Send + 'static>(
    parts: Vec<P>,
    mapping: &Arc<Mapping>,
    lost: Error,
) -> ParallelReader<Batch> {
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let cut = |part| CutPart { part, mapping: Arc::clone(mapping) };
    ParallelReader::begin(parts.into_iter().map(cut).collect(), processors, lost)
}

/// Returns rows as a batch.
pub(super) fn batch_of(rows: RecordBatch, mapping: &Arc<Mapping>) -> Batch {
    Batch { rows, mapping: Arc::clone(mapping) }
}

/// Cuts a batch so that each piece takes about [`BATCH_BYTES`] once its rows are written. Returns false once
/// `give` does.
pub(super) fn in_pieces(
    batch: &RecordBatch,
    raw_bytes: u64,
    mapping: &Mapping,
    give: GiveRows<'_>,
) -> bool {
    // The writer rejects a batch that does not fit.
    let Ok(bound) = mapping.bind(batch) else { return give(batch.clone(), raw_bytes) };
    let ranges = bound.ranges(BATCH_BYTES, MAX_ROWS);
    let pieces = ranges.len().max(1) as u64;
    ranges.into_iter().all(|rows| give(batch.slice(rows.start, rows.len()), raw_bytes / pieces))
}

/// Returns how many rows make a batch, if `rows` rows take `bytes` bytes.
#[cfg(feature = "parquet")]
pub(super) fn rows_of(bytes: u64, rows: u64) -> usize {
    let each = (bytes / rows.max(1)).max(1);
    (BATCH_BYTES as u64 / each).clamp(1, MAX_ROWS as u64) as usize
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
    use pgsluice_core::types::{Column, ColumnType, TypeStructure};

    use super::*;

    fn rows_of_pieces(values: ArrayRef) -> Vec<usize> {
        let batch = RecordBatch::try_from_iter([("v", values)]).expect("a batch");
        let ty = ColumnType {
            oid: 25,
            modifier: -1,
            name: "text".to_owned(),
            structure: TypeStructure::Plain,
        };
        let column = Column { name: "v".to_owned(), ty };
        let mapping = Mapping::new(&batch.schema(), &[(0, column)]).expect("a mapping");
        let mut rows = Vec::new();
        assert!(in_pieces(&batch, 0, &mapping, &mut |piece, _| {
            rows.push(piece.num_rows());
            true
        }));
        rows
    }

    #[test]
    fn pieces_are_as_long_as_their_rows_are_written() {
        let values = StringArray::from(vec!["x".repeat(BATCH_BYTES / 4), "y".to_owned()]);
        let keys = Int32Array::from_iter_values((0..40_010).map(|row| i32::from(row >= 10)));
        let long = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values)).expect("keys");
        let rows = rows_of_pieces(Arc::new(long));
        assert_eq!(rows[..3], [3, 3, 3], "{rows:?}");
        assert_eq!(rows.iter().sum::<usize>(), 40_010);
        assert!(rows[3..].iter().all(|rows| *rows <= MAX_ROWS), "{rows:?}");
        let longer = StringArray::from(vec!["x".repeat(2 * BATCH_BYTES); 3]);
        assert_eq!(rows_of_pieces(Arc::new(longer)), [1, 1, 1]);
        assert_eq!(rows_of_pieces(Arc::new(StringArray::from(vec![""; 3]))), [3]);
    }
}
