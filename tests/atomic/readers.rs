//! Readers of the table during a load see all rows or no rows.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use super::{MEMORY, ROWS, Whole};
use crate::harness::{Server, Session, on_each_server};

on_each_server!([
    a_reader_sees_all_or_nothing,
    without_the_option_a_reader_sees_parts,
    a_load_does_not_wait_for_readers,
]);

/// Reads until `done`. Returns each row count that it saw, and the number of reads.
fn watch(url: &str, statements: &str, done: &AtomicBool) -> (BTreeSet<u64>, usize) {
    let session = Session::open(url);
    let (mut seen, mut looks) = (BTreeSet::new(), 0);
    while !done.load(SeqCst) {
        for row in session.rows(statements) {
            seen.insert(row[0].as_ref().unwrap().parse().unwrap());
            looks += 1;
        }
    }
    (seen, looks)
}

/// Reads through the root in several ways during a load. Returns each row count that a reader saw, and the
/// number of reads.
fn observe(
    whole: &Whole,
    options: &[&str],
    environment: &[(&str, &str)],
) -> (BTreeSet<u64>, usize) {
    let count = "SELECT count(*) FROM t";
    let readers = [
        count.to_owned(),
        // Each leaf by its own name.
        "SELECT (SELECT count(*) FROM t_0) + (SELECT count(*) FROM t_1) + (SELECT count(*) FROM t_2_a)
             + (SELECT count(*) FROM t_2_b)"
            .to_owned(),
        // A transaction that keeps its lock on the table between two reads.
        format!(
            "BEGIN; {count}; {count}; {count}; SELECT pg_sleep(0) WHERE false; {count}; COMMIT"
        ),
        format!("BEGIN ISOLATION LEVEL REPEATABLE READ; {count}; {count}; COMMIT"),
    ];
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let (url, done) = (&*whole.bench.url, &done);
        let readers: Vec<_> = readers
            .iter()
            .map(|statements| scope.spawn(move || watch(url, statements, done)))
            .collect();
        let ended = whole.load(options, environment);
        done.store(true, SeqCst);
        ended.summary();
        let all = readers.into_iter().map(|reader| reader.join().unwrap());
        all.fold((BTreeSet::new(), 0), |(mut seen, looks), (more, times)| {
            seen.extend(more);
            (seen, looks + times)
        })
    })
}

fn a_reader_sees_all_or_nothing(server: Server) {
    let whole = Whole::new(server);
    // The load pauses at its commit, so that readers have time to read.
    let environment =
        [("PGSLUICE_FAILPOINT", "atomic::committing"), ("PGSLUICE_FAILPOINT_SLEEP", "700")];
    let (seen, looks) = observe(&whole, &["--atomic", "-j4", MEMORY], &environment);
    assert!(seen.is_subset(&[0, ROWS as u64].into()), "{seen:?}");
    assert!(looks > 25, "{looks}");
    whole.is_whole();
}

fn without_the_option_a_reader_sees_parts(server: Server) {
    let whole = Whole::new(server);
    let environment =
        [("PGSLUICE_FAILPOINT", "payload::committed:3"), ("PGSLUICE_FAILPOINT_SLEEP", "700")];
    let (seen, _) = observe(&whole, &["-j1", MEMORY], &environment);
    assert!(seen.iter().any(|rows| ![0, ROWS as u64].contains(rows)), "{seen:?}");
}

fn a_load_does_not_wait_for_readers(server: Server) {
    let whole = Whole::new(server);
    let reader = whole.bench.other();
    reader.run("BEGIN; SELECT count(*) FROM t");
    whole.load(&["--atomic"], &[]).summary();
    whole.is_whole();
    reader.run("COMMIT");
}
