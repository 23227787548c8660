//! Conversion of CSV rows without quotes to files of other formats.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Date32Array, Int32Array, RecordBatch, StringArray};
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// Formats, named by their file extensions.
pub(crate) const FORMATS: [&str; 5] = ["ndjson", "ndjson.gz", "jsonl.zst", "parquet", "arrow"];

/// Number of rows of a row group or batch.
const AT_ONCE: usize = 1000;

/// Writes rows of CSV with a header in `format`, to a file beside `path`. The column `id` has integers, `day`
/// dates, and all others text.
pub(crate) fn write(csv: &str, path: &Path, format: &str) -> PathBuf {
    let path = path.with_extension(format);
    match format {
        "parquet" => write_parquet(csv, &path),
        "arrow" => write_arrow(csv, &path),
        _ => {
            let text = objects(csv);
            let bytes = match format.rsplit_once('.') {
                Some((_, "gz")) => gzip(text.as_bytes()),
                Some(_) => zstd::encode_all(text.as_bytes(), 1).expect("memory"),
                None => text.into_bytes(),
            };
            std::fs::write(&path, bytes).expect("a file");
        }
    }
    path
}

fn gzip(text: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(text).expect("memory");
    encoder.finish().expect("memory")
}

/// Returns each row as an object.
fn objects(csv: &str) -> String {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().into_iter().flat_map(|header| header.split(',')).collect();
    let object = |line: &str| {
        let pairs = names.iter().zip(line.split(',')).map(|(name, value)| match *name {
            "id" => format!("\"id\":{value}"),
            _ => format!("\"{name}\": {}", serde_json::Value::from(value)),
        });
        format!("{{{}}}\n", pairs.collect::<Vec<_>>().join(","))
    };
    lines.map(object).collect()
}

fn batch(csv: &str) -> RecordBatch {
    let mut lines = csv.lines();
    let names: Vec<&str> = lines.next().into_iter().flat_map(|header| header.split(',')).collect();
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let columns = names.iter().enumerate().map(|(place, name)| {
        let values = rows.iter().map(|row| row[place]);
        let array: ArrayRef = match *name {
            "id" => Arc::new(values.map(|value| value.parse().ok()).collect::<Int32Array>()),
            "day" => Arc::new(values.map(|value| Some(days(value))).collect::<Date32Array>()),
            _ => Arc::new(values.map(Some).collect::<StringArray>()),
        };
        (*name, array)
    });
    RecordBatch::try_from_iter(columns).expect("columns of one length")
}

/// Returns the days from 1970 to a date of this century.
fn days(date: &str) -> i32 {
    let part = |at: std::ops::Range<usize>| date[at].parse::<i32>().expect("a number");
    let (year, month, day) = (part(0..4), part(5..7), part(8..10));
    let before = [0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334][month as usize - 1];
    let leap = i32::from(month > 2 && year % 4 == 0);
    (year - 1970) * 365 + (year - 1969) / 4 + before + leap + day - 1
}

fn write_parquet(csv: &str, path: &Path) {
    let batch = batch(csv);
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(AT_ONCE)).build();
    let file = File::create(path).expect("a file");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.close().expect("an end");
}

fn write_arrow(csv: &str, path: &Path) {
    let batch = batch(csv);
    let file = File::create(path).expect("a file");
    let mut writer = FileWriter::try_new(file, &batch.schema()).expect("a writer");
    for start in (0..batch.num_rows()).step_by(AT_ONCE) {
        let piece = batch.slice(start, AT_ONCE.min(batch.num_rows() - start));
        writer.write(&piece).expect("rows");
    }
    writer.finish().expect("an end");
}
