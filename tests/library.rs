//! The Rust library as a program uses it: a job, a loader, a handle, and an error with accessors.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow_array::{ArrayRef, Int32Array, RecordBatch};
use pgsluice::core::format::Format;
use pgsluice::source::{FileFormat, Input};
use pgsluice::{
    Control, Durability, Header, InputOptions, Inputs, Job, Kind, Load, Summary, Target, Writer,
};
use tempfile::TempDir;

use crate::harness::{Scratch, Server, on_each_server};

on_each_server!(
    with super::Case::new,
    [a_file_is_loaded, an_error_is_read, a_handle_is_used_again, a_stop_comes_before_the_load, batches_are_loaded, a_writer_takes_rows, a_writer_takes_batches,]
);

const TREE: &str = "
CREATE TABLE t (id int NOT NULL CHECK (id > 0), name text) PARTITION BY LIST (id);
CREATE TABLE t_1 PARTITION OF t FOR VALUES IN (1);
CREATE TABLE t_d PARTITION OF t DEFAULT";

struct Case {
    scratch: Scratch,
    folder: TempDir,
}

impl Case {
    fn new(server: Server) -> Self {
        let scratch = server.scratch();
        scratch.session().run(TREE);
        Self { scratch, folder: tempfile::tempdir().expect("a folder") }
    }

    /// Returns a job that loads these rows.
    fn job(&self, rows: &str) -> Job {
        let file = self.folder.path().join("rows.csv");
        std::fs::write(&file, rows).expect("the rows are written");
        let mut job = Job::new("t");
        job.input.files = Inputs::resolve([file.display().to_string()]).expect("inputs");
        job.input.format = Format::csv();
        job.input.header = Header::Match;
        job
    }

    fn run(&self, job: Job, control: &Arc<Control>) -> pgsluice::Result<Summary> {
        let target = Target::from_url(self.scratch.url()).expect("a target");
        Load::new(job, target).run(control)
    }

    fn rows(&self) -> usize {
        self.scratch.session().rows("SELECT FROM t").len()
    }
}

fn a_file_is_loaded(case: &Case) {
    let control = Arc::default();
    let summary = case.run(case.job("id,name\n1,a\n2,b\n"), &control).expect("a summary");
    assert_eq!((summary.rows_read, summary.rows_loaded, case.rows()), (2, 2, 2));
    assert_eq!(control.progress.rows_loaded.load(Relaxed), 2);
}

fn an_error_is_read(case: &Case) {
    let error = case.run(case.job("id,name\n1,a\n-2,b\n"), &Arc::default()).expect_err("an error");
    assert_eq!((error.kind(), error.sqlstate()), (Kind::Data, Some("23514")), "{error}");
    assert!(error.message().contains("violates check constraint"), "{error}");
    assert!(error.detail().is_some_and(|detail| detail.contains("(-2, b)")), "{error}");
    let place = error.place().expect("a place");
    assert_eq!((place.line, place.offset), (3, 12), "{error}");
    assert!(place.source.ends_with("rows.csv"), "{error}");
    let error = case.run(Job::new("t"), &Arc::default()).expect_err("no input");
    assert_eq!((error.kind(), error.message()), (Kind::Usage, "no input file given"));
}

/// Neither the rows nor the failure of one load affect the next one.
fn a_handle_is_used_again(case: &Case) {
    let control = Arc::default();
    let bad = case.run(case.job("id,name\nx,a\n"), &control).expect_err("an error");
    assert_eq!(bad.sqlstate(), Some("22P02"), "{bad}");
    for _ in 0..2 {
        let summary = case.run(case.job("id,name\n1,a\n2,b\n"), &control).expect("a summary");
        assert_eq!((summary.rows_loaded, control.progress.rows_loaded.load(Relaxed)), (2, 2));
        assert_eq!(control.progress.rows_read.load(Relaxed), 2);
    }
    assert_eq!(case.rows(), 4);
}

/// A stop that was requested before a load ends that load, and no other.
fn a_stop_comes_before_the_load(case: &Case) {
    let control = Arc::<Control>::default();
    control.stop.interrupt();
    let stopped = case.run(case.job("id,name\n1,a\n"), &control).expect_err("stopped");
    assert_eq!((stopped.kind(), case.rows()), (Kind::Interrupted, 0), "{stopped}");
    case.run(case.job("id,name\n1,a\n"), &control).expect("a summary");
    assert_eq!(case.rows(), 1);
}

/// A table and a stream of batches in memory are loaded like files.
fn batches_are_loaded(case: &Case) {
    let batch = |ids: [i32; 2]| {
        let ids: ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
        RecordBatch::try_from_iter([("id", ids)]).expect("a batch")
    };
    let job = |input: Input| {
        let mut job = Job::new("t");
        job.input.files = input.into();
        job.input.file_format = FileFormat::Arrow;
        job
    };
    let table = Input::from_table("table", [Ok(batch([1, 2]))]);
    let summary = case.run(job(table.expect("a table")), &Arc::default()).expect("a summary");
    assert_eq!((summary.rows_loaded, case.rows()), (2, 2));
    let stream = Input::from_stream("stream", [Ok(batch([3, 4])), Ok(batch([5, 6]))].into_iter());
    let summary = case.run(job(stream), &Arc::default()).expect("a summary");
    assert_eq!((summary.rows_loaded, case.rows()), (4, 6));
    let bad = Input::from_stream("stream", [Ok(batch([7, 8])), Ok(batch([9, -1]))].into_iter());
    let error = case.run(job(bad), &Arc::default()).expect_err("a bad row");
    assert_eq!((error.sqlstate(), case.rows()), (Some("23514"), 6), "{error}");
    let place = error.place().expect("a place");
    assert_eq!((place.to_string(), place.offset), ("stream:4".to_owned(), 3), "{error}");
}

/// Tabs, backslashes and line ends are part of a value. If one row of a call is refused, none of its rows is stored.
fn a_writer_takes_rows(case: &Case) {
    let control = Arc::default();
    let mut writer = writer(case, &control);
    let rows = [[Some("1"), Some("a\tb\\c\nd")], [Some("2"), None], [Some("3"), Some("\\N")]];
    let rows = InputOptions::from_rows(&["id", "name"], rows);
    let receipt = writer.write(&rows, None, 0, &control).expect("a receipt");
    assert_eq!((receipt.counts.inserted, case.rows()), (3, 3));
    let found = case.scratch.session().rows("SELECT id, name FROM t ORDER BY id");
    let text = |text: &str| Some(text.to_owned());
    let expected = [(1, text("a\tb\\c\nd")), (2, None), (3, text("\\N"))];
    assert_eq!(found, expected.map(|(id, name)| vec![Some(id.to_string()), name]));
    for rows in [vec![Some("4"), Some("x"), Some("y")], vec![Some("x"), None], vec![Some("5")]] {
        let rows = InputOptions::from_rows(&["id", "name"], [vec![Some("6"), None], rows]);
        let error = writer.write(&rows, None, 0, &control).expect_err("a bad row");
        assert_eq!((error.kind(), case.rows()), (Kind::Data, 3), "{error}");
        assert_eq!(error.place().expect("a place").to_string(), "rows:2", "{error}");
    }
    let none = InputOptions::from_rows(&["id"], [] as [[Option<&str>; 1]; 0]);
    assert_eq!(writer.write(&none, None, 0, &control).expect("a receipt").counts.inserted, 0);
}

/// Batches are stored by the names of their columns.
fn a_writer_takes_batches(case: &Case) {
    let control = Arc::default();
    let mut writer = writer(case, &control);
    let batch = |ids: [i32; 2]| {
        let ids: ArrayRef = Arc::new(Int32Array::from(ids.to_vec()));
        RecordBatch::try_from_iter([("id", ids)]).expect("a batch")
    };
    let batches = InputOptions::from_batches([batch([1, 2]), batch([3, 4])]).expect("an input");
    let receipt = writer.write(&batches, None, 0, &control).expect("a receipt");
    assert_eq!((receipt.counts.inserted, case.rows()), (4, 4));
    let bad = InputOptions::from_batches([batch([5, -1])]).expect("an input");
    let error = writer.write(&bad, None, 0, &control).expect_err("a bad row");
    assert_eq!((error.sqlstate(), case.rows()), (Some("23514"), 4), "{error}");
}

fn writer(case: &Case, control: &Control) -> Writer {
    let target = Target::from_url(case.scratch.url()).expect("a target");
    Writer::open(Job::new("t"), target, Durability::Commit, control).expect("a writer")
}
