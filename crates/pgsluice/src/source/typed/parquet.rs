//! Parquet: row groups, each of which is read independently.

use std::fmt::Display;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use arrow_schema::SchemaRef;
use bytes::Bytes;
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::{ARROW_SCHEMA_META_KEY, ProjectionMask};
use parquet::basic::ConvertedType;
use parquet::file::metadata::{ColumnChunkMetaData, RowGroupMetaData};
use parquet::file::reader::Length;
use pgsluice_arrow::Mapping;

use super::super::guard::catch_panic;
use super::super::parallel::ParallelReader;
use super::super::{FileFormat, Input, Stored};
use super::batches::{self, Batch, GiveRows, TypedPart, rows_of};
use super::chunks::Chunks;
use super::pages::read_group;
use super::{footer, unreadable};
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// The number of bytes after the footer: its length, and the magic bytes.
const END: u64 = 8;

/// The size of a value, or of the view of a string, in memory.
const VALUE: u64 = 8;

/// The most bytes of a row group that is requested before its turn. Larger ones take long enough to decode to
/// hide the round trip, and would take too much memory.
const AHEAD: u64 = 4 << 20;

/// Returns the columns of a file.
pub(super) fn schema(input: &Input) -> Result<SchemaRef> {
    Ok(Arc::clone(metadata(input)?.schema()))
}

/// Returns the names of columns with values that cannot be read. The library reads only the days and
/// milliseconds of an INTERVAL, unless an Arrow schema in the file shows that it has no months.
fn unread(metadata: &ArrowReaderMetadata) -> Vec<String> {
    let file = metadata.metadata().file_metadata();
    let mut pairs = file.key_value_metadata().into_iter().flatten();
    if pairs.any(|pair| pair.key == ARROW_SCHEMA_META_KEY) {
        return Vec::new();
    }
    let leaves = file.schema_descr().columns().iter();
    let intervals = leaves.filter(|leaf| leaf.converted_type() == ConvertedType::INTERVAL);
    intervals.filter_map(|leaf| leaf.path().parts().first().cloned()).collect()
}

/// Rejects a file if one of these columns has values that cannot be read.
pub(super) fn check<'n>(input: &Input, mut names: impl Iterator<Item = &'n String>) -> Result<()> {
    let unread = unread(&metadata(input)?);
    let Some(name) = names.find(|name| unread.contains(name)) else { return Ok(()) };
    let message =
        format!("\"{name}\" in {} is a Parquet INTERVAL, whose months cannot be read", input.name);
    Err(Error::new(Kind::Data, message)
        .with_sqlstate("0A000")
        .with_hint("Write it as text, or as an Arrow IPC interval."))
}

/// Begins to read a file.
pub(super) fn open(
    input: &Input,
    mapping: impl FnOnce(&SchemaRef) -> Result<Mapping>,
) -> Result<ParallelReader<Batch>> {
    let metadata = metadata(input)?;
    let mapping = mapping(metadata.schema())?;
    // Fields without a column are not decoded.
    let places = mapping.places();
    let mapping = Arc::new(mapping.narrow(&places));
    let mask = ProjectionMask::roots(metadata.parquet_schema(), places);
    let groups = metadata.metadata().row_groups();
    let parts = groups.iter().enumerate().map(|(group, of_group)| {
        let bytes = of_group.compressed_size().unsigned_abs();
        let rows = of_group.num_rows().unsigned_abs();
        let max = rows_of(decoded_bytes(of_group, &mask), rows);
        let (input, metadata, mask) = (input.clone(), metadata.clone(), mask.clone());
        let bytes_a_row = bytes as f64 / rows.max(1) as f64;
        RowGroup { input, metadata, mask, group, max, bytes_a_row, requested: Mutex::new(None) }
    });
    Ok(batches::begin(parts.collect(), &mapping, lost(input)))
}

/// Returns the approximate size in memory of the decoded columns of a row group. Repeated values take few
/// bytes in the file but not in memory.
fn decoded_bytes(group: &RowGroupMetaData, mask: &ProjectionMask) -> u64 {
    let (values, packed) = columns(group, mask).fold((0_u64, 0_u64), |(values, packed), column| {
        let width = u64::try_from(column.column_descr().type_length()).unwrap_or(0);
        let of_column = column.num_values().unsigned_abs().saturating_mul(width.max(VALUE));
        let bytes = column.uncompressed_size().unsigned_abs();
        (values.saturating_add(of_column), packed.saturating_add(bytes))
    });
    values.max(packed)
}

/// Returns the columns of a row group that are decoded.
fn columns<'g>(
    group: &'g RowGroupMetaData,
    mask: &'g ProjectionMask,
) -> impl Iterator<Item = &'g ColumnChunkMetaData> {
    let columns = group.columns().iter().enumerate();
    columns.filter(|(leaf, _)| mask.leaf_included(*leaf)).map(|(_, column)| column)
}

/// Returns the number of rows in each row group of a file.
pub(super) fn groups(input: &Input) -> Result<Vec<u64>> {
    let metadata = metadata(input)?;
    let groups = metadata.metadata().row_groups().iter();
    Ok(groups.map(|group| group.num_rows().unsigned_abs()).collect())
}

/// Reads the metadata of a file from its footer.
pub(super) fn metadata(input: &Input) -> Result<ArrowReaderMetadata> {
    let stored = stored_of(input)?;
    let cannot_read = |error| input.cannot_read(&error);
    let file = Chunks::open(stored).map_err(cannot_read)?;
    let footer = footer_of(stored, file.len()).map_err(cannot_read)?;
    let damaged = |error: &dyn Display| unreadable(input, FileFormat::Parquet, error);
    footer.map_or(Ok(()), |footer| footer::check(&footer)).map_err(|why| damaged(&why))?;
    let load = || ArrowReaderMetadata::load(&file, Default::default());
    catch_panic(|| load().map_err(|error| damaged(&error)), || lost(input))
}

/// Reads the footer of a file of `length` bytes, if it has one.
fn footer_of(stored: Stored<'_>, length: u64) -> io::Result<Option<Bytes>> {
    let Some(end) = length.checked_sub(END) else { return Ok(None) };
    let last = stored.read_at(end, END)?;
    let Some((count, b"PAR1")) = last.split_first_chunk() else { return Ok(None) };
    let Some(start) = end.checked_sub(u32::from_le_bytes(*count).into()) else { return Ok(None) };
    stored.read_at(start, end - start).map(Some)
}

fn lost(input: &Input) -> Error {
    unreadable(input, FileFormat::Parquet, "the file is damaged")
}

fn stored_of(input: &Input) -> Result<Stored<'_>> {
    input.stored().ok_or_else(|| unreadable(input, FileFormat::Parquet, "it is not a file"))
}

struct RowGroup {
    input: Input,
    metadata: ArrowReaderMetadata,
    /// The fields that are decoded.
    mask: ProjectionMask,
    group: usize,
    /// The number of rows in a batch.
    max: usize,
    bytes_a_row: f64,
    /// The columns, if they were requested ahead.
    requested: Mutex<Option<Chunks>>,
}

impl RowGroup {
    /// Opens the columns that are decoded. Those of an object are requested at once.
    fn request(&self) -> Result<Chunks> {
        let columns = columns(self.metadata.metadata().row_group(self.group), &self.mask);
        let chunks = Chunks::open_group(stored_of(&self.input)?, columns);
        chunks.map_err(|error| self.input.cannot_read(&error))
    }

    /// Returns the number of bytes of the columns that are decoded.
    fn bytes(&self) -> u64 {
        let columns = columns(self.metadata.metadata().row_group(self.group), &self.mask);
        let sizes = columns.map(|column| column.compressed_size().unsigned_abs());
        sizes.fold(0, u64::saturating_add)
    }

    fn requested(&self) -> MutexGuard<'_, Option<Chunks>> {
        self.requested.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TypedPart for RowGroup {
    fn prepare(&self) {
        let mut requested = self.requested();
        if requested.is_none() && self.bytes() <= AHEAD {
            // A failure is reported when the row group is read.
            *requested = self.request().ok();
        }
    }

    fn read(&self, give: GiveRows<'_>) -> Result<()> {
        let Self { input, metadata, mask, group, max, bytes_a_row, .. } = self;
        let damaged = |error: String| {
            unreadable(input, FileFormat::Parquet, format!("row group {}: {error}", group + 1))
        };
        let requested = self.requested().take();
        let file = Arc::new(requested.map_or_else(|| self.request(), Ok)?);
        let batches = read_group(file, metadata, mask.clone(), *group, *max);
        for batch in batches.map_err(|error| damaged(error.to_string()))? {
            let batch = batch.map_err(|error| damaged(error.to_string()))?;
            let raw_bytes = (batch.num_rows() as f64 * bytes_a_row) as u64;
            if !give(batch, raw_bytes) {
                break;
            }
        }
        Ok(())
    }

    fn lost(&self) -> Error {
        let why = format!("row group {} is damaged", self.group + 1);
        unreadable(&self.input, FileFormat::Parquet, why)
    }
}
