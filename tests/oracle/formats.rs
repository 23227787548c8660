//! The rows of a case in files of other formats: the table must be the same as after COPY of these rows.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::columns::{Columns, read};
use super::trial::Trial;
use crate::harness::{CopyOptions, Load, Session, identifier};

/// The schema into which COPY stores the rows.
const COPIED_SIDE: &str = "copied_side";
/// The schema into which the server stores the rows from their objects.
const POPULATED_SIDE: &str = "populated_side";

/// The formats and the functions that write them. The case selects one of two variants of each.
const FORMATS: [(&str, Format); 4] = [
    ("ndjson_side", Format::Ndjson),
    ("parquet_side", Format::Parquet),
    ("parquet_text_side", Format::Parquet),
    ("arrow_side", Format::Arrow),
];

#[derive(Clone, Copy, PartialEq)]
enum Format {
    Ndjson,
    Parquet,
    Arrow,
}

/// Loads the rows in the case's table from files of each format, and compares.
pub(super) fn must_agree(trial: &Trial<'_>, name: &str) {
    let session = trial.judge();
    let columns = Columns::read(session, trial);
    if columns.is_empty() || !can_be_copied(trial, session, &columns) {
        return;
    }
    // A pseudo-random choice that is the same in every run.
    let number = name.bytes().map(usize::from).sum();
    let folder = tempfile::tempdir().expect("a folder");
    for (side, format) in FORMATS {
        let as_text = side == "parquet_text_side";
        let Some(expected) = expected_side(trial, session, &columns, format) else { continue };
        trial.make(side);
        let file = write(session, &columns, (format, number), folder.path());
        let options = CopyOptions::default();
        let load = Load {
            url: trial.url(),
            table: trial.table(side),
            files: &[file],
            stdin: false,
            copy: &options,
            jobs: if as_text { 1 } else { 2 },
            memory: None,
            by_leaf: !as_text,
            as_text,
        };
        let outcome = load.run_guessed();
        let fail = |why: String| -> ! { panic!("{name}, {side}: {why}\n{}", outcome.stderr) };
        outcome.summary().unwrap_or_else(|error| fail(error));
        if let Some(difference) = trial.placement(expected).difference(&trial.placement(side)) {
            fail(difference);
        }
    }
}

/// Whether the rows in the table can be copied into an identical table. Values that a trigger or a default
/// has set may not be accepted.
fn can_be_copied(trial: &Trial<'_>, session: &Session, columns: &Columns) -> bool {
    trial.make(COPIED_SIDE);
    let rows = session.copy_out(&format!("COPY ({}) TO STDOUT", columns.select("*")));
    let into = format!("COPY {} ({}) FROM STDIN", trial.table(COPIED_SIDE), columns.list());
    session.copy_in(&into, rows).is_ok()
}

/// Returns the side with the expected rows. JSON cannot represent some values, such as the bounds of an
/// array, so for it the server reads the objects. Returns `None` if the table refuses the server's reading.
fn expected_side(
    trial: &Trial<'_>,
    session: &Session,
    columns: &Columns,
    format: Format,
) -> Option<&'static str> {
    if format != Format::Ndjson {
        return Some(COPIED_SIDE);
    }
    trial.make(POPULATED_SIDE);
    let (table, names) = (trial.table(POPULATED_SIDE), columns.list());
    let objects = columns.select("pg_catalog.row_to_json(\"the row\")");
    let insert = format!(
        "INSERT INTO {table} ({names}) OVERRIDING SYSTEM VALUE SELECT {names} FROM ({objects}) AS line (object), \
         LATERAL pg_catalog.json_populate_record(NULL::{table}, object)"
    );
    session.try_run(&insert).is_ok().then_some(POPULATED_SIDE)
}

fn write(
    session: &Session,
    columns: &Columns,
    (format, number): (Format, usize),
    folder: &Path,
) -> PathBuf {
    match format {
        Format::Ndjson => {
            let rows = session.rows(&columns.select("pg_catalog.row_to_json(\"the row\")::text"));
            let lines = rows.into_iter().map(|mut row| {
                // Within a value, a newline is escaped.
                row.remove(0).expect("an object").replace('\n', " ") + "\n"
            });
            let text: String = lines.collect();
            let (name, bytes) = match number % 2 {
                0 => ("rows.ndjson", text.into_bytes()),
                _ => ("rows.jsonl.zst", zstd::encode_all(text.as_bytes(), 1).expect("memory")),
            };
            let path = folder.join(name);
            fs::write(&path, bytes).expect("a file");
            path
        }
        Format::Parquet => {
            let path = folder.join("rows.parquet");
            let batch = read(session, columns, number);
            write_parquet(&batch, &path, number);
            path
        }
        Format::Arrow => {
            let path = folder.join("rows.arrow");
            let batch = read(session, columns, number + 1);
            write_arrow(&batch, &path, number);
            path
        }
    }
}

fn write_parquet(batch: &RecordBatch, path: &Path, number: usize) {
    let compression = match number % 3 {
        0 => Compression::ZSTD(ZstdLevel::default()),
        1 => Compression::SNAPPY,
        _ => Compression::UNCOMPRESSED,
    };
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_dictionary_enabled(number.is_multiple_of(2))
        .set_max_row_group_row_count(Some([3, 100, 1 << 20][number % 3]))
        .build();
    let file = File::create(path).expect("a file");
    let mut writer =
        ArrowWriter::try_new(file, batch.schema(), Some(properties)).expect("a writer");
    writer.write(batch).expect("rows");
    writer.close().expect("an end");
}

fn write_arrow(batch: &RecordBatch, path: &Path, number: usize) {
    let file = File::create(path).expect("a file");
    let max = [2, 1000][number % 2];
    let pieces = (0..batch.num_rows())
        .step_by(max)
        .map(|start| batch.slice(start, max.min(batch.num_rows() - start)));
    if number.is_multiple_of(3) {
        let mut writer = StreamWriter::try_new(file, &batch.schema()).expect("a writer");
        pieces.for_each(|piece| writer.write(&piece).expect("rows"));
        writer.finish().expect("an end");
    } else {
        let mut writer = FileWriter::try_new(file, &batch.schema()).expect("a writer");
        pieces.for_each(|piece| writer.write(&piece).expect("rows"));
        writer.finish().expect("an end");
    }
}

impl Columns {
    /// Returns a query for the rows, with the alias "the row".
    pub(super) fn select(&self, what: &str) -> String {
        let what = if what == "*" { "\"the row\".*" } else { what };
        format!("SELECT {what} FROM (SELECT {} FROM {}) AS \"the row\"", self.list(), self.table)
    }

    /// Returns the names of the columns, as in SQL.
    pub(super) fn list(&self) -> String {
        let names = self.columns.iter().map(|(name, _)| identifier(name));
        names.collect::<Vec<_>>().join(", ")
    }
}
