//! Batches that the calling program passes in memory, as a table or as a stream, without a file.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, BufWriter, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pgsluice_arrow::Mapping;
use pgsluice_core::hash::bytes_extended;
use tempfile::NamedTempFile;

use super::super::guard::catch_panic;
use super::super::parallel::{Counted as _, ParallelReader};
use super::batches::{self, Batch, GiveRows, TypedPart, batch_of, in_pieces};
use super::size::bytes_of;
use super::unreadable;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::source::spool::{SpoolFile, no_room};
use crate::source::{FileFormat, Input, Inputs};

/// The maximum size in bytes of a table that is read without a thread, which would cost more than the
/// reading.
const UNTHREADED_BYTES: u64 = 256 << 10;

/// Batches from the calling program.
#[derive(Clone, Debug)]
pub(in crate::source) enum CallerBatches {
    /// A table, which can be read again.
    Table { schema: SchemaRef, batches: Arc<[RecordBatch]> },
    /// A stream of batches, which can be read once.
    Stream(Arc<Mutex<ExaminedStream>>),
}

/// A stream, and the part of it that was already examined.
pub(in crate::source) struct ExaminedStream {
    schema: Option<SchemaRef>,
    first: Option<RecordBatch>,
    rest: Option<RemainingBatches>,
}

type RemainingBatches = Box<dyn Iterator<Item = Result<RecordBatch>> + Send>;

impl fmt::Debug for ExaminedStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Stream")
    }
}

impl Input {
    /// Creates an input from a table in memory. The name is shown to the user. The buffers are shared, not
    /// copied, and the table can be read again.
    ///
    /// The first batch defines the columns. A later batch with other columns fails the load when it is read.
    ///
    /// # Errors
    ///
    /// Fails with the first error of `batches`, which are all collected at once.
    pub fn from_table(
        name: impl Into<String>,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
    ) -> Result<Self> {
        let name = name.into();
        let table = |batches: Arc<[RecordBatch]>| {
            let schema = schema_of(batches.first());
            let size = batches.iter().map(|batch| bytes_of(batch) as u64).sum();
            Self::from_batches(name.clone(), CallerBatches::Table { schema, batches }, Some(size))
        };
        let collect = || batches.into_iter().collect::<Result<_>>();
        catch_panic(collect, || lost(&table(Arc::default()))).map(table)
    }

    /// Creates inputs from tables in memory. Consecutive batches with the same columns form one table. The
    /// name is shown to the user.
    ///
    /// # Errors
    ///
    /// Fails with the first error of `batches`, which are all collected at once.
    pub fn from_tables(
        name: impl Into<String>,
        batches: impl IntoIterator<Item = Result<RecordBatch>>,
    ) -> Result<Inputs> {
        let name = name.into();
        let collect = || batches.into_iter().collect::<Result<Vec<_>>>();
        let nothing = Self::from_batches(
            name.clone(),
            CallerBatches::Table { schema: schema_of(None), batches: Arc::default() },
            Some(0),
        );
        let batches = catch_panic(collect, || lost(&nothing))?;
        let tables = batches.chunk_by(|one, next| one.schema() == next.schema());
        let table = |batches: &[RecordBatch]| {
            Self::from_table(name.clone(), batches.iter().cloned().map(Ok))
        };
        Ok(Inputs::new(tables.map(table).collect::<Result<_>>()?))
    }

    /// Creates an input from a stream of batches. The name is shown to the user. One thread takes the
    /// batches, a few ahead of the rows that are sent.
    ///
    /// The first batch defines the columns. An error of the stream ends the load with that error. To resume a
    /// failed load, pass the same stream, in the same batches, under the same load id.
    pub fn from_stream(
        name: impl Into<String>,
        batches: impl Iterator<Item = Result<RecordBatch>> + Send + 'static,
    ) -> Self {
        let stream = ExaminedStream { schema: None, first: None, rest: Some(Box::new(batches)) };
        Self::from_batches(name.into(), CallerBatches::Stream(Arc::new(Mutex::new(stream))), None)
    }
}

impl CallerBatches {
    /// Whether it can be read again.
    pub(in crate::source) fn is_rereadable(&self) -> bool {
        matches!(self, Self::Table { .. })
    }

    /// Returns the columns. Waits for the first batch of a stream.
    pub(super) fn schema(&self, input: &Input) -> Result<SchemaRef> {
        match self {
            Self::Table { schema, .. } => Ok(Arc::clone(schema)),
            Self::Stream(stream) => lock_stream(stream).schema(input),
        }
    }

    /// Begins to read the batches.
    pub(super) fn open(
        &self,
        input: &Input,
        mapping: impl FnOnce(&SchemaRef) -> Result<Mapping>,
    ) -> Result<ParallelReader<Batch>> {
        let mapping = Arc::new(mapping(&self.schema(input)?)?);
        if self.is_rereadable() && input.size.is_some_and(|bytes| bytes <= UNTHREADED_BYTES) {
            let mut ready = VecDeque::new();
            self.read(input, &mut |batch| {
                Ok(in_pieces(&batch, bytes_of(&batch) as u64, &mapping, &mut |piece, raw_bytes| {
                    ready.push_back((batch_of(piece, &mapping), raw_bytes));
                    true
                }))
            })?;
            ready.retain(|(batch, _)| batch.count() > 0);
            return Ok(ParallelReader::from_memory(ready, lost(input)));
        }
        Ok(batches::begin(vec![MemoryPart(input.clone(), self.clone())], &mapping, lost(input)))
    }

    /// Passes all batches to `give`, until it returns false.
    fn read(&self, input: &Input, give: &mut dyn FnMut(RecordBatch) -> Result<bool>) -> Result<()> {
        let schema = self.schema(input)?;
        let mut number = 0;
        let mut give = |batch: RecordBatch| {
            number += 1;
            check(&schema, &batch, number, input)?;
            give(batch)
        };
        match self {
            Self::Table { batches, .. } => {
                for batch in batches.iter() {
                    if !give(batch.clone())? {
                        break;
                    }
                }
            }
            Self::Stream(stream) => {
                let (first, rest) = lock_stream(stream).take(input)?;
                for batch in first.into_iter().map(Ok).chain(rest) {
                    if !give(batch?)? {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// Writes a stream to a file of Arrow IPC.
    pub(in crate::source) fn spool(&self, input: &Input, control: &Control) -> Result<SpoolFile> {
        catch_panic(|| self.write(input, control), || lost(input))
    }

    fn write(&self, input: &Input, control: &Control) -> Result<SpoolFile> {
        let no_room = |error: ArrowError| match error {
            ArrowError::IoError(_, error) => no_room(input, &error),
            other => unreadable(input, FileFormat::Arrow, other),
        };
        let file = NamedTempFile::new().map_err(|error| self::no_room(input, &error))?;
        let hashing = Hashing { file, bytes: 0, hash: 0 };
        let (schema, buffered) = (self.schema(input)?, BufWriter::with_capacity(1 << 20, hashing));
        let mut writer = StreamWriter::try_new(buffered, &schema).map_err(no_room)?;
        self.read(input, &mut |batch| {
            writer.write(&batch).map_err(no_room)?;
            Ok(!control.stop.is_stopped())
        })?;
        let buffered = writer.into_inner().map_err(no_room)?;
        let written = buffered.into_inner().map_err(|error| self::no_room(input, error.error()))?;
        let Hashing { file, bytes, hash } = written;
        Ok((file.into_temp_path(), bytes, format!("{hash:016x}")))
    }
}

impl ExaminedStream {
    fn schema(&mut self, input: &Input) -> Result<SchemaRef> {
        if let Some(schema) = &self.schema {
            return Ok(Arc::clone(schema));
        }
        let rest = self.rest.as_mut().ok_or_else(|| once(input))?;
        self.first = catch_panic(|| rest.next().transpose(), || lost(input))?;
        let schema = schema_of(self.first.as_ref());
        self.schema = Some(Arc::clone(&schema));
        Ok(schema)
    }

    fn take(&mut self, input: &Input) -> Result<(Option<RecordBatch>, RemainingBatches)> {
        let rest = self.rest.take().ok_or_else(|| once(input))?;
        Ok((self.first.take(), rest))
    }
}

/// Returns the columns of the first batch, or an empty schema without a batch.
fn schema_of(first: Option<&RecordBatch>) -> SchemaRef {
    first.map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema)
}

fn lock_stream(stream: &Mutex<ExaminedStream>) -> MutexGuard<'_, ExaminedStream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

fn once(input: &Input) -> Error {
    input.cannot_read(&io::Error::other("it can be read only once"))
}

fn lost(input: &Input) -> Error {
    unreadable(input, FileFormat::Arrow, "its producer ended unexpectedly")
}

struct MemoryPart(Input, CallerBatches);

impl TypedPart for MemoryPart {
    fn read(&self, give: GiveRows<'_>) -> Result<()> {
        let Self(input, batches) = self;
        batches.read(input, &mut |batch| {
            let bytes = bytes_of(&batch) as u64;
            Ok(give(batch, bytes))
        })
    }

    fn lost(&self) -> Error {
        lost(&self.0)
    }
}

/// Rejects a batch whose columns differ from the first batch's.
fn check(schema: &SchemaRef, batch: &RecordBatch, number: usize, input: &Input) -> Result<()> {
    let this = batch.schema();
    if Arc::ptr_eq(schema, &this) {
        return Ok(());
    }
    let columns = |schema: &SchemaRef| {
        let fields = schema.fields().iter();
        fields
            .map(|field| format!("\"{}\" {}", field.name(), field.data_type()))
            .collect::<Vec<_>>()
    };
    let (first, this) = (columns(schema), columns(&this));
    if first == this {
        return Ok(());
    }
    let differ = first.iter().zip(&this).find(|(first, this)| first != this);
    let error = Error::new(
        Kind::Data,
        format!("batch {number} of {} has different columns from the first", input.name),
    );
    Err(error.with_sqlstate("42P16").permanent().with_detail(match differ {
        Some((first, this)) => format!("The first has {first} where this one has {this}."),
        None => format!("The first has {} columns, this one has {}.", first.len(), this.len()),
    }))
}

/// A file, and the hash of the bytes written to it.
struct Hashing {
    file: NamedTempFile,
    bytes: u64,
    hash: u64,
}

impl Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write_all(bytes)?;
        self.bytes += bytes.len() as u64;
        self.hash = bytes_extended(bytes, self.hash);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

#[cfg(test)]
mod tests {
    use arrow_array::{ArrayRef, Int32Array, StringArray};
    use pgsluice_core::types::Column;

    use super::*;

    fn batch(values: &[i32]) -> RecordBatch {
        let array: ArrayRef = Arc::new(Int32Array::from(values.to_vec()));
        RecordBatch::try_from_iter([("a", array)]).expect("a batch")
    }

    fn caller_batches(input: &Input) -> &CallerBatches {
        input.caller_batches().expect("batches")
    }

    /// Counts the rows of all batches.
    fn rows(input: &Input) -> Result<usize> {
        let mut rows = 0;
        caller_batches(input).read(input, &mut |batch| {
            rows += batch.num_rows();
            Ok(true)
        })?;
        Ok(rows)
    }

    #[test]
    fn a_table_is_read_again_and_a_stream_is_not() {
        let batches = || [Ok(batch(&[1, 2])), Ok(batch(&[])), Ok(batch(&[3]))];
        let table = Input::from_table("t", batches()).expect("a table");
        assert!(table.is_rereadable() && !table.is_file() && table.size == Some(12));
        assert_eq!((rows(&table).expect("rows"), rows(&table).expect("rows")), (3, 3));
        let stream = Input::from_stream("s", batches().into_iter());
        assert!(!stream.is_rereadable() && stream.size.is_none());
        for _ in 0..2 {
            let schema = caller_batches(&stream).schema(&stream).expect("columns");
            assert_eq!(schema.field(0).name(), "a");
        }
        assert_eq!(rows(&stream).expect("rows"), 3);
        let text = rows(&stream).expect_err("read").to_string();
        assert!(text.contains("it can be read only once"), "{text}");
        assert_eq!(rows(&Input::from_stream("s", std::iter::empty())).expect("none"), 0);
    }

    #[test]
    fn a_batch_has_the_columns_of_the_first() {
        let other: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
        let other = RecordBatch::try_from_iter([("a", other)]).expect("a batch");
        let stream = Input::from_stream("s", [Ok(batch(&[1])), Ok(other)].into_iter());
        let text = rows(&stream).expect_err("another").to_string();
        assert!(text.starts_with("batch 2 of s has different columns from the first"), "{text}");
        assert!(
            text.contains("The first has \"a\" Int32 where this one has \"a\" Utf8."),
            "{text}"
        );
    }

    #[test]
    fn errors_and_panics_end_a_stream() {
        let error = || Error::new(Kind::Input, "gone");
        let stream = Input::from_stream("s", [Ok(batch(&[1])), Err(error())].into_iter());
        assert_eq!(rows(&stream).expect_err("gone").message(), "gone");
        let first = Input::from_stream("s", [Err(error())].into_iter());
        assert_eq!(caller_batches(&first).schema(&first).expect_err("gone").message(), "gone");
        let panics = std::iter::from_fn(|| -> Option<Result<RecordBatch>> { panic!("too far") });
        let text = Input::from_table("t", panics).expect_err("lost").to_string();
        assert!(text.contains("ended unexpectedly"), "{text}");
        let panics = std::iter::from_fn(|| -> Option<Result<RecordBatch>> { panic!("too far") });
        let stream = Input::from_stream("s", panics);
        let text = caller_batches(&stream).schema(&stream).expect_err("lost").to_string();
        assert!(text.contains("ended unexpectedly"), "{text}");
    }

    #[test]
    fn a_stream_is_spooled_to_a_file() {
        let batches = || [Ok(batch(&[1, 2])), Ok(batch(&[3]))].into_iter();
        let spool = || {
            let inputs = Inputs::from(Input::from_stream("s", batches()));
            inputs.spool(&Arc::default()).expect("a file")
        };
        let [one, other] = [spool(), spool()];
        assert!(one.are_files() && one.are_rereadable() && one[0].caller_batches().is_none());
        assert_eq!((one[0].size, &one[0].content), (other[0].size, &other[0].content));
        let mut read = super::super::arrow::open(&one[0], |schema| {
            assert_eq!(schema.field(0).name(), "a");
            let mapping = Mapping::new(schema, &[] as &[(usize, Column)]);
            mapping.map_err(|misfit| Error::new(Kind::Data, misfit.to_string()))
        })
        .expect("a file");
        let mut rows = 0;
        while let Some((batch, _)) = read.next().expect("batches") {
            rows += batch.count();
        }
        assert_eq!(rows, 3);
    }
}
