//! Arrow IPC: files, and streams that were saved to a file.

use std::io::{BufReader, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use arrow_schema::{ArrowError, SchemaRef};
use pgsluice_arrow::Mapping;

use super::super::guard::catch_panic;
use super::super::parallel::ParallelReader;
use super::super::stream::CountedReader;
use super::super::{FileFormat, Input, ReadSeek};
use super::batches::{self, Batch, GiveRows, TypedPart};
use super::frames::Frames;
use super::unreadable;
use crate::error::{Error, Result};

/// The beginning of a file. A stream begins differently.
const MAGIC: &[u8] = b"ARROW1";

/// The beginning of a file in the old format of pandas and R.
const FEATHER_1: &[u8] = b"FEA1";

/// Returns the columns of an input.
pub(super) fn schema(input: &Input) -> Result<SchemaRef> {
    catch_panic(|| Ok(FrameReader::open(input)?.batches.schema()), || lost(input))
}

/// Begins to read an input.
pub(super) fn open(
    input: &Input,
    mapping: impl FnOnce(&SchemaRef) -> Result<Mapping>,
) -> Result<ParallelReader<Batch>> {
    let mapping = mapping(&schema(input)?)?;
    // Fields without a column are not decoded.
    let places = mapping.places();
    let mapping = Arc::new(mapping.narrow(&places));
    Ok(batches::begin(vec![ArrowPart { input: input.clone(), places }], &mapping, lost(input)))
}

fn lost(input: &Input) -> Error {
    unreadable(input, FileFormat::Arrow, "the file is damaged")
}

/// All batches of an input, reduced to the columns at these indexes.
struct ArrowPart {
    input: Input,
    places: Vec<usize>,
}

impl TypedPart for ArrowPart {
    fn read(&self, give: GiveRows<'_>) -> Result<()> {
        let Self { input, places } = self;
        let FrameReader { batches, raw_bytes } = FrameReader::open(input)?;
        let mut before = 0;
        for (number, batch) in batches.narrow(places.clone()).enumerate() {
            let batch = batch.map_err(|error| {
                let error = format!("batch {}: {}", number + 1, plain(&error));
                unreadable(input, FileFormat::Arrow, error)
            })?;
            let now = raw_bytes.load(Relaxed);
            if !give(batch, now - std::mem::replace(&mut before, now)) {
                break;
            }
        }
        Ok(())
    }

    fn lost(&self) -> Error {
        lost(&self.input)
    }
}

/// The batches of an input, and the number of bytes that were read for them.
struct FrameReader {
    batches: Frames<BufReader<CountedReader<Box<dyn ReadSeek>>>>,
    raw_bytes: Arc<AtomicU64>,
}

impl FrameReader {
    fn open(input: &Input) -> Result<Self> {
        let unreadable = |reason: &str| unreadable(input, FileFormat::Arrow, reason);
        let damaged = |error: ArrowError| unreadable(&plain(&error));
        let cannot_read = |error| input.cannot_read(&error);
        let stored = input.stored().ok_or_else(|| unreadable("it is not a file"))?;
        let mut file = stored.open().map_err(cannot_read)?;
        let mut start = Vec::new();
        file.by_ref().take(MAGIC.len() as u64).read_to_end(&mut start).map_err(cannot_read)?;
        file.rewind().map_err(cannot_read)?;
        if start.is_empty() {
            return Err(unreadable("it is empty"));
        }
        if start.starts_with(FEATHER_1) {
            return Err(unreadable(
                "it is a Feather version 1 file, which only pandas and R wrote",
            ));
        }
        let (file, raw_bytes) = CountedReader::new(file);
        let file = BufReader::new(file);
        let batches = match start == MAGIC {
            true => Frames::from_file(file),
            false => Frames::from_stream(file),
        };
        Ok(Self { batches: batches.map_err(damaged)?, raw_bytes })
    }
}

fn plain(error: &ArrowError) -> String {
    match error {
        ArrowError::ParseError(reason) | ArrowError::IpcError(reason) => reason.clone(),
        other => other.to_string(),
    }
}
