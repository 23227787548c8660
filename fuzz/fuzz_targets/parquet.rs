//! Any bytes as a Parquet file, read as pgsluice does: its rows are written, or an error reports the damage.
#![no_main]

#[path = "../../crates/pgsluice/src/source/typed/footer.rs"]
mod footer;
#[path = "../../crates/pgsluice/src/source/typed/pages.rs"]
mod pages;

use std::io::{BufReader, Cursor, Read};
use std::sync::Arc;

use arrow_array::RecordBatch;
use bytes::Bytes;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use parquet::arrow::arrow_reader::ArrowReaderMetadata;
use parquet::arrow::{ArrowWriter, ProjectionMask};
use parquet::basic::Compression;
use parquet::errors::{ParquetError, Result};
use parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use parquet::file::reader::{ChunkReader, Length};
use pgsluice_fuzz::choices::Choices;
use pgsluice_fuzz::typed::files::{check_batches, let_decoders_panic, replace_file, try_decode};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    replace_file(seed, data, max_size, write).unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});

fuzz_target!(init: let_decoders_panic(), |bytes: &[u8]| {
    if footer_of(bytes).is_some_and(|footer| footer::check(footer).is_err()) {
        return;
    }
    let file = File(Bytes::copy_from_slice(bytes));
    let Some(metadata) = try_decode(|| ArrowReaderMetadata::load(&file, Default::default())) else {
        return;
    };
    for group in 0..metadata.metadata().num_row_groups().min(8) {
        let file = Arc::new(file.clone());
        let Some(reader) = try_decode(|| pages::read_group(file, &metadata, ProjectionMask::all(), group, 64)) else {
            continue;
        };
        check_batches(bytes, reader);
    }
});

fn footer_of(bytes: &[u8]) -> Option<&[u8]> {
    let (rest, count) = bytes.strip_suffix(b"PAR1")?.split_last_chunk()?;
    rest.get(rest.len().checked_sub(u32::from_le_bytes(*count) as usize)?..)
}

/// Writes a small file. Returns `None` for types that cannot be written.
fn write(c: &mut Choices<'_>, batch: &RecordBatch) -> Option<Vec<u8>> {
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::ZSTD(Default::default()),
        Compression::LZ4_RAW,
        Compression::GZIP(Default::default()),
        Compression::BROTLI(Default::default()),
    ];
    let versions = [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0];
    let statistics = [EnabledStatistics::None, EnabledStatistics::Page];
    let properties = WriterProperties::builder()
        .set_compression(c.pick(&compressions))
        .set_writer_version(c.pick(&versions))
        .set_statistics_enabled(c.pick(&statistics))
        .set_dictionary_enabled(c.once_in(2))
        .set_max_row_group_row_count(c.once_in(3).then_some(2))
        .build();
    try_decode(|| {
        let mut file = Vec::new();
        let mut writer = ArrowWriter::try_new(&mut file, batch.schema(), Some(properties))?;
        writer.write(batch)?;
        writer.close()?;
        Ok::<_, ParquetError>(file)
    })
}

/// Bytes that are read like a [`std::fs::File`], into memory of the requested length.
#[derive(Clone)]
struct File(Bytes);

impl Length for File {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }
}

impl ChunkReader for File {
    type T = BufReader<Cursor<Bytes>>;

    fn get_read(&self, start: u64) -> Result<Self::T> {
        let mut cursor = Cursor::new(self.0.clone());
        cursor.set_position(start);
        Ok(BufReader::new(cursor))
    }

    fn get_bytes(&self, start: u64, length: usize) -> Result<Bytes> {
        let mut buffer = Vec::with_capacity(length);
        let read = self.get_read(start)?.take(length as u64).read_to_end(&mut buffer)?;
        match read == length {
            true => Ok(buffer.into()),
            false => Err(ParquetError::EOF("the end".to_owned())),
        }
    }
}
