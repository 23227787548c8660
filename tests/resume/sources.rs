//! The input of a resumed load must be the original one: files are compared by fingerprints, streams by their bytes.

use std::fs::{self, File};
use std::process::Stdio;
use std::time::{Duration, SystemTime};

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program, rows, wait_until};

on_each_server!([
    a_stream_is_resumed_if_it_is_the_same,
    a_part_of_a_stream_may_be_unknown,
    another_stream_is_refused,
    a_file_that_was_written_to_is_refused,
]);

/// Returns a stream of several splits.
fn stream() -> Vec<u8> {
    rows(90_000, 100)
}

/// Loads `bytes` from standard input.
fn load(bench: &Bench, id: &str, bytes: &[u8], options: &[&str]) -> Ended {
    let path = bench.file("stream.csv", bytes);
    let given = ["-", "-t", "t", "--format=csv", "--json", "--load-id", id];
    let stdin = Stdio::from(File::open(path).unwrap());
    bench.start(given.iter().chain(options), stdin).ended()
}

/// Starts to load `bytes`, and dies when some rows are committed and all are read.
fn die(bench: &Bench, id: &str, bytes: &[u8]) {
    let given = ["-", "-t", "t", "--format=csv", "--memory=1MiB", "--load-id", id];
    let mut load = bench.start(given, Stdio::piped());
    load.feed(bytes);
    wait_until("a commit", || bench.count("t") > 0);
    load.kill();
}

fn is_whole(bench: &Bench, rows: u64) {
    let per_id = "SELECT count(*) FROM (SELECT FROM t GROUP BY id HAVING count(*) <> 900) x";
    assert_eq!((bench.count("t"), bench.value(per_id)), (rows, "0".to_owned()));
}

fn a_stream_is_resumed_if_it_is_the_same(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    for (round, part) in [2, 3, 5, 8].into_iter().enumerate() {
        bench.session.run("TRUNCATE t");
        let (id, bytes) = (format!("round {round}"), stream());
        die(bench, &id, &bytes[..bytes.len() * part / 9]);
        let summary = load(bench, &id, &bytes, &["-j", "3"]).summary();
        assert!(summary["rows_already_loaded"].as_u64() > Some(0), "{summary}");
        is_whole(bench, 90_000);
        let again = load(bench, &id, &bytes, &[]).summary();
        assert_eq!(again["rows_already_loaded"], 90_000);
    }
}

/// Rows after a split are committed when the run is killed, but the bytes of the split were never examined.
fn a_part_of_a_stream_may_be_unknown(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    let bytes = stream();
    let hold = bench.hold("split::taken:2");
    let mut command = program();
    command.args(["load", "-d", &bench.url, "-", "-t", "t", "--format=csv", "--memory=1MiB"]);
    command.args(["--threads=2", "--load-id=l"]).envs(hold.environment());
    let mut running = Running::start(command.stdin(Stdio::piped()));
    running.feed(&bytes[..bytes.len() * 8 / 9]);
    hold.wait();
    // More than the first split has.
    wait_until("commits", || bench.count("t") > 20_000);
    running.kill();
    let mut other = bytes.clone();
    other[3 << 20] ^= 1;
    load(bench, "l", &other, &[]).fails(1, &["the input differs from the one"]);
    load(bench, "l", &bytes, &[]).summary();
    is_whole(bench, 90_000);
}

fn another_stream_is_refused(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    let bytes = stream();
    die(bench, "l", &bytes[..bytes.len() * 8 / 9]);
    let before = bench.count("t");
    let mut other = bytes.clone();
    // A byte within the first split.
    let at = 500_000 + other[500_000..].iter().position(|&byte| byte == b'x').unwrap();
    other[at] = b'y';
    let refused = load(bench, "l", &other, &[]);
    refused.fails(
        1,
        &[
            "the input differs from the one that this load began with",
            "<stdin> differs from what was read before, at byte 0 or soon after.",
            "pgsluice ledger forget l",
        ],
    );
    // Within the second split, and after the first one.
    let split = bytes[..1 << 20].iter().rposition(|&byte| byte == b'\n').unwrap() + 1;
    let shorter = load(bench, "l", &bytes[..1 << 20], &[]);
    shorter.fails(
        1,
        &[&format!("<stdin> differs from what was read before, at byte {split} or soon after")],
    );
    let shorter = load(bench, "l", &bytes[..split], &[]);
    shorter.fails(1, &[&format!("<stdin> ends at byte {split}, but was longer before")]);
    load(bench, "l", b"", &[]).fails(1, &["<stdin> ends at byte 0, but was longer before"]);
    assert!(bench.count("t") >= before);
    load(bench, "l", &bytes, &[]).summary();
    is_whole(bench, 90_000);
    let longer = [&bytes[..], b"5,x\n"].concat();
    load(bench, "l", &longer, &[]).fails(1, &["the input differs from the one"]);
    load(bench, "l", &bytes[..2 << 20], &[]).fails(1, &["the input differs from the one"]);
    is_whole(bench, 90_000);
}

fn a_file_that_was_written_to_is_refused(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    let bytes = rows(2000, 10);
    let path = bench.file("rows.csv", &bytes);
    let time = SystemTime::now() - Duration::from_secs(3600);
    let at = |bytes: &[u8], time| {
        fs::write(&path, bytes).unwrap();
        File::options().append(true).open(&path).unwrap().set_modified(time).unwrap();
        bench.load(["rows.csv", "-t", "t", "--load-id", "l", "--json"])
    };
    assert_eq!(at(&bytes, time).summary()["rows_loaded"], 2000);
    let mut other = bytes.clone();
    other[0] = b'9';
    at(&other, time).fails(1, &["rows.csv was modified."]);
    at(&bytes, SystemTime::now()).fails(1, &["rows.csv was modified."]);
    // Another name of the same file.
    at(&bytes, time);
    fs::rename(&path, bench.path("renamed.csv")).unwrap();
    let again = bench.load(["renamed.csv", "-t", "t", "--load-id", "l", "--json"]);
    assert_eq!(again.summary()["rows_already_loaded"], 2000);
}
