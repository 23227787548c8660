//! The batches of one input, decoded by threads of their own, some batches ahead.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use arrow_array::RecordBatch;
use pgsluice_arrow::Mapping;

use super::guard::guarded;
use crate::error::{Error, Result};

/// Batches that each thread may be ahead.
const AHEAD: usize = 4;

/// About the bytes of the rows of a batch, once they are written.
const BATCH_BYTES: usize = 1 << 20;

/// Rows of a batch.
const MOST_ROWS: usize = 16 << 10;

/// Some rows of an input, which stand one behind the other there.
#[derive(Debug)]
pub(crate) struct Batch {
    pub(super) rows: RecordBatch,
    pub(super) mapping: Arc<Mapping>,
}

impl Batch {
    /// Its rows.
    pub(in crate::source) fn count(&self) -> usize {
        self.rows.num_rows()
    }
}

/// What takes batches, each with the bytes of the input that it stands for; false when no more are wanted.
pub(super) type Give<'g> = &'g mut dyn FnMut(RecordBatch, u64) -> bool;

/// A part of an input that is read by itself, as a row group.
pub(super) trait InputPart {
    /// Hands over all batches of the part.
    fn read(&self, give: Give<'_>) -> Result<()>;

    /// What is said when that panics.
    fn lost(&self) -> Error;
}

/// A batch and its bytes; None behind the last one of a part.
type Read = Result<Option<(RecordBatch, u64)>>;

/// Reads the parts of one input in their order.
pub(crate) struct Batches {
    /// Those that come first.
    ready: VecDeque<(RecordBatch, u64)>,
    lanes: Vec<Receiver<Read>>,
    /// The part whose batches come, of so many.
    part: usize,
    parts: usize,
    mapping: Arc<Mapping>,
    /// What is said when a thread has ended before its part has.
    lost: Error,
}

impl Batches {
    /// Begins to read `parts`, by as many threads as may be of use.
    pub(super) fn begin<P: InputPart + Send + 'static>(
        parts: Vec<P>,
        mapping: Arc<Mapping>,
        lost: Error,
    ) -> Self {
        let processors = thread::available_parallelism().map_or(1, usize::from);
        let (count, threads) = (parts.len(), processors.min(parts.len()));
        let mut of_thread: Vec<Vec<P>> = (0..threads).map(|_| Vec::new()).collect();
        for (number, part) in parts.into_iter().enumerate() {
            of_thread[number % threads].push(part);
        }
        let begin = |parts: Vec<P>| {
            let (full, batches) = sync_channel(AHEAD);
            let mapping = Arc::clone(&mapping);
            thread::spawn(move || parts.iter().all(|part| hand_over(part, &mapping, &full)));
            batches
        };
        let lanes = of_thread.into_iter().map(begin).collect();
        Self { ready: VecDeque::new(), lanes, part: 0, parts: count, mapping, lost }
    }

    /// Takes batches that are there, each with its bytes.
    pub(super) fn of(
        ready: VecDeque<(RecordBatch, u64)>,
        mapping: Arc<Mapping>,
        lost: Error,
    ) -> Self {
        Self { ready, lanes: Vec::new(), part: 0, parts: 0, mapping, lost }
    }

    /// The next batch, and how many bytes of the input it stands for; None at the end.
    pub(in crate::source) fn next(&mut self) -> Result<Option<(Batch, u64)>> {
        if let Some((rows, taken)) = self.ready.pop_front() {
            return Ok(Some((Batch { rows, mapping: Arc::clone(&self.mapping) }, taken)));
        }
        while self.part < self.parts {
            let lane = &self.lanes[self.part % self.lanes.len()];
            match lane.recv().unwrap_or_else(|_| Err(self.lost.clone()))? {
                None => self.part += 1,
                Some((rows, _)) if rows.num_rows() == 0 => {}
                Some((rows, taken)) => {
                    return Ok(Some((Batch { rows, mapping: Arc::clone(&self.mapping) }, taken)));
                }
            }
        }
        Ok(None)
    }
}

/// Reads one part to its end; false if it is not whole, or nobody takes its batches any more.
fn hand_over(part: &impl InputPart, mapping: &Mapping, full: &SyncSender<Read>) -> bool {
    let mut is_taken = true;
    let mut send = |piece, taken| full.send(Ok(Some((piece, taken)))).is_ok();
    let mut give = |batch: RecordBatch, taken| {
        is_taken = in_pieces(&batch, taken, mapping, &mut send);
        is_taken
    };
    let read = guarded(|| part.read(&mut give), || part.lost());
    let is_whole = read.is_ok();
    is_taken && full.send(read.map(|()| None)).is_ok() && is_whole
}

/// Cuts a batch so that each piece takes about [`BATCH_BYTES`] once its rows are written. Returns false once
/// `give` does.
pub(super) fn in_pieces(
    batch: &RecordBatch,
    taken: u64,
    mapping: &Mapping,
    give: Give<'_>,
) -> bool {
    // The writer refuses a batch that does not fit.
    let Ok(bound) = mapping.bind(batch) else { return give(batch.clone(), taken) };
    let ranges = bound.ranges(BATCH_BYTES, MOST_ROWS);
    let pieces = ranges.len().max(1) as u64;
    ranges.into_iter().all(|rows| give(batch.slice(rows.start, rows.len()), taken / pieces))
}

/// How many of `rows` rows that take so many bytes are a batch.
#[cfg(feature = "parquet")]
pub(super) fn rows_of(bytes: u64, rows: u64) -> usize {
    let each = (bytes / rows.max(1)).max(1);
    (BATCH_BYTES as u64 / each).clamp(1, MOST_ROWS as u64) as usize
}

#[cfg(test)]
mod tests {
    use arrow_array::types::Int32Type;
    use arrow_array::{ArrayRef, DictionaryArray, Int32Array, StringArray};
    use pgsluice_core::types::{Column, ColumnType, Made};

    use super::*;

    fn rows_of_pieces(values: ArrayRef) -> Vec<usize> {
        let batch = RecordBatch::try_from_iter([("v", values)]).expect("a batch");
        let ty = ColumnType { oid: 25, modifier: -1, name: "text".to_owned(), made: Made::Alone };
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
        assert!(rows[3..].iter().all(|rows| *rows <= MOST_ROWS), "{rows:?}");
        let longer = StringArray::from(vec!["x".repeat(2 * BATCH_BYTES); 3]);
        assert_eq!(rows_of_pieces(Arc::new(longer)), [1, 1, 1]);
        assert_eq!(rows_of_pieces(Arc::new(StringArray::from(vec![""; 3]))), [3]);
    }
}
