//! Any bytes as a file or stream of Arrow IPC, read as pgsluice does: its rows are written, or an error
//! reports the damage.
#![no_main]

#[path = "../../crates/pgsluice/src/source/typed/frames.rs"]
mod frames;

use std::io::Cursor;

use arrow_array::RecordBatch;
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::ArrowError;
use frames::Frames;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use pgsluice_fuzz::choices::Choices;
use pgsluice_fuzz::typed::files::{check_batches, let_decoders_panic, replace_file, try_decode};

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    replace_file(seed, data, max_size, write).unwrap_or_else(|| fuzzer_mutate(data, size, max_size))
});

fuzz_target!(init: let_decoders_panic(), |bytes: &[u8]| {
    let open = match bytes.starts_with(b"ARROW1") {
        true => Frames::from_file,
        false => Frames::from_stream,
    };
    if let Some(batches) = try_decode(|| open(Cursor::new(bytes))) {
        let _ = batches.schema();
        check_batches(bytes, batches);
    }
});

/// Writes a small file or stream.
fn write(c: &mut Choices<'_>, batch: &RecordBatch) -> Option<Vec<u8>> {
    let compressions = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
    let compression = c.pick(&compressions);
    try_decode(|| {
        let options = IpcWriteOptions::default().try_with_compression(compression)?;
        let (schema, mut file) = (batch.schema(), Vec::new());
        if c.once_in(2) {
            let mut writer = FileWriter::try_new_with_options(&mut file, &schema, options)?;
            writer.write(batch)?;
            writer.write(&batch.slice(0, batch.num_rows() / 2))?;
            writer.finish()?;
        } else {
            let mut writer = StreamWriter::try_new_with_options(&mut file, &schema, options)?;
            writer.write(batch)?;
            writer.write(&batch.slice(0, batch.num_rows() / 2))?;
            writer.finish()?;
        }
        Ok::<_, ArrowError>(file)
    })
}
