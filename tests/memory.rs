//! The memory of a command: `--memory` and a little more, even for a short file with long rows.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, DictionaryArray, Int32Array, RecordBatch, RunArray, StringArray,
};
use arrow_ipc::writer::FileWriter;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;

use crate::harness::{Bench, Running, Server, on_each_server, program};

on_each_server!([long_values_that_rows_share_take_little_memory,]);

/// Number of rows, and length in bytes of the value that they share.
const ROWS: usize = 300;
const LONG: usize = 1 << 20;

/// The allowed memory in MiB, and the limit of what a command takes in addition.
const MEMORY: u64 = 32;
const BESIDE: u64 = 64;

fn dictionary() -> ArrayRef {
    let values = StringArray::from(vec!["x".repeat(LONG)]);
    let keys = Int32Array::from(vec![0; ROWS]);
    Arc::new(DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values)).unwrap())
}

fn runs() -> ArrayRef {
    let values = StringArray::from(vec!["x".repeat(LONG)]);
    let ends = Int32Array::from(vec![ROWS as i32]);
    Arc::new(RunArray::<Int32Type>::try_new(&ends, &values).unwrap())
}

fn batch(values: ArrayRef) -> RecordBatch {
    let ids: ArrayRef = Arc::new(Int32Array::from_iter_values(0..values.len() as i32));
    RecordBatch::try_from_iter([("id", ids), ("v", values)]).unwrap()
}

fn write_arrow(batch: &RecordBatch, path: &Path) {
    let file = File::create(path).unwrap();
    let mut writer = FileWriter::try_new(file, &batch.schema()).unwrap();
    writer.write(batch).unwrap();
    writer.finish().unwrap();
}

/// With `is_plain`, the file does not record that the strings were in a dictionary.
fn write_parquet(batch: &RecordBatch, is_plain: bool, path: &Path) {
    let file = File::create(path).unwrap();
    let options = ArrowWriterOptions::new().with_skip_arrow_metadata(is_plain);
    let mut writer = ArrowWriter::try_new_with_options(file, batch.schema(), options).unwrap();
    writer.write(batch).unwrap();
    writer.close().unwrap();
}

/// Runs a command until it ends. Returns its peak memory in MiB.
fn peak(bench: &Bench, command: &str, arguments: &[&str]) -> u64 {
    let mut line = program();
    line.args([command, "-d", &bench.url, "-t", "t"]).args(arguments);
    line.current_dir(bench.folder.path()).stdin(Stdio::null());
    let mut running = Running::start(&mut line);
    let status = format!("/proc/{}/status", running.child.id());
    let mut max = 0;
    while running.child.try_wait().unwrap().is_none() {
        let message = fs::read_to_string(&status).unwrap_or_default();
        let high = message.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let high = high.and_then(|high| high.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        max = max.max(high.unwrap_or(0) >> 10);
        thread::sleep(Duration::from_millis(2));
    }
    let ended = running.ended();
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert!(max > 0, "the memory of {command} was not measured");
    max
}

fn long_values_that_rows_share_take_little_memory(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int, v text) PARTITION BY HASH (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
    );
    write_arrow(&batch(dictionary()), &bench.path("dictionary.arrow"));
    write_arrow(&batch(runs()), &bench.path("runs.arrow"));
    write_parquet(&batch(dictionary()), false, &bench.path("dictionary.parquet"));
    write_parquet(&batch(dictionary()), true, &bench.path("plain.parquet"));
    let memory = format!("{MEMORY}MB");
    for file in ["dictionary.arrow", "runs.arrow", "dictionary.parquet", "plain.parquet"] {
        let planned = peak(&bench, "plan", &[file]);
        let loaded = peak(&bench, "load", &[file, "-q", "-j", "1", "--memory", &memory]);
        let verified = peak(&bench, "verify", &[file]);
        for (command, peak) in [("plan", planned), ("load", loaded), ("verify", verified)] {
            assert!(peak <= MEMORY + BESIDE, "{command} {file}: {peak} MiB");
        }
        let stored = format!("t WHERE length(v) = {LONG}");
        assert_eq!(bench.count(&stored), ROWS as u64, "{file}");
        bench.session.run("TRUNCATE t");
    }
}
