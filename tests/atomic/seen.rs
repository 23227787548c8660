//! What readers see while a load runs, and while its transactions are committed.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;

use super::{MEMORY, ROWS, Whole};
use crate::harness::{Server, Session, WAITS, on_each_server, wait_until};

on_each_server!([
    a_reader_sees_all_or_nothing,
    commits_that_take_long_are_waited_for,
    nobody_waits_for_a_program_that_is_killed,
    without_the_option_a_reader_sees_parts,
    a_reader_that_does_not_end_is_waited_for_and_then_not,
]);

/// All numbers of rows that a reader has seen until `done`, and how often it has looked.
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

/// Reads through the root in several ways while a load runs; what was seen, and how often.
fn seen(whole: &Whole, options: &[&str], environment: &[(&str, &str)]) -> (BTreeSet<u64>, usize) {
    let count = "SELECT count(*) FROM t";
    let readers = [
        count.to_owned(),
        // It holds its lock on the table between two looks.
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
    let mut looks = 0;
    for (jobs, point) in [("-j1", "atomic::committing"), ("-j4", "atomic::settled:2")] {
        // There is time to look where it matters.
        let environment = [("PGSLUICE_FAILPOINT", point), ("PGSLUICE_FAILPOINT_SLEEP", "700")];
        let (seen, times) = seen(&whole, &["--atomic", jobs, MEMORY], &environment);
        assert!(seen.is_subset(&[0, ROWS as u64].into()), "{jobs}: {seen:?}");
        whole.is_whole();
        whole.bench.session.run("TRUNCATE t");
        looks += times;
    }
    assert!(looks > 50, "{looks}");
}

/// Longer than any limit that a session might have for a lock.
fn commits_that_take_long_are_waited_for(server: Server) {
    let whole = Whole::new(server);
    let environment =
        [("PGSLUICE_FAILPOINT", "atomic::settled:2"), ("PGSLUICE_FAILPOINT_SLEEP", "12000")];
    let (seen, _) = seen(&whole, &["--atomic", "-j4", MEMORY], &environment);
    assert!(seen.is_subset(&[0, ROWS as u64].into()), "{seen:?}");
    whole.is_whole();
}

fn nobody_waits_for_a_program_that_is_killed(server: Server) {
    if server.lacks(14, "client_connection_check_interval") {
        return;
    }
    let whole = Whole::new(server);
    let environment =
        [("PGSLUICE_FAILPOINT", "atomic::settled:2"), ("PGSLUICE_FAILPOINT_SLEEP", "60000")];
    let running = whole.start(&["--atomic", "-j4", MEMORY], &environment);
    let waits = format!("{WAITS} AND mode = 'AccessExclusiveLock'");
    wait_until("a lock against readers", || whole.bench.count(&waits) > 0);
    running.signal("-KILL");
    running.ended();
    wait_until("the end of the session", || whole.bench.count(&waits) == 0);
}

fn without_the_option_a_reader_sees_parts(server: Server) {
    let whole = Whole::new(server);
    let environment =
        [("PGSLUICE_FAILPOINT", "payload::committed:3"), ("PGSLUICE_FAILPOINT_SLEEP", "700")];
    let (seen, _) = seen(&whole, &["-j1", MEMORY], &environment);
    assert!(seen.iter().any(|rows| ![0, ROWS as u64].contains(rows)), "{seen:?}");
}

fn a_reader_that_does_not_end_is_waited_for_and_then_not(server: Server) {
    let whole = Whole::new(server);
    let reader = whole.bench.other();
    reader.run("BEGIN; SELECT count(*) FROM t");
    let load = ["--atomic", "-j2", "--load-id=held"];
    let ended = whole.load(&[&load[..], &["--swap-patience=0"]].concat(), &[]);
    ended.fails(1, &["other sessions held locks on table public.t", "No row", "--swap-patience"]);
    whole.is_empty();
    // A single connection needs no lock against readers.
    whole.load(&["--atomic", "-j1"], &[]).summary();
    whole.is_whole();
    reader.run("COMMIT");
    whole.bench.session.run("TRUNCATE t");
    reader.run("BEGIN; SELECT count(*) FROM t");
    let running = whole.start(&load, &[]);
    let waits = format!("{WAITS} AND mode = 'AccessExclusiveLock'");
    wait_until("a lock against readers", || whole.bench.count(&waits) > 0);
    reader.run("COMMIT");
    running.ended().summary();
    whole.is_whole();
}
