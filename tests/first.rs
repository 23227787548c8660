//! The first transaction of a load: an input that fits into it is committed completely or not at all, and so
//! is an input with a mistake in its format, for any number of connections and inputs.

use std::process::Stdio;
use std::thread;
use std::time::Duration;

use crate::harness::{
    Bench, Ended, Running, Server, WAITS, on_each_server, program, rows, wait_until,
};

on_each_server!([
    a_mistake_leaves_nothing,
    a_mistake_in_a_later_input_leaves_nothing,
    an_input_that_ends_in_it_is_all_or_nothing,
    rows_that_grow_are_loaded_as_a_whole,
    nothing_is_committed_before_it,
    a_key_in_two_transactions_is_no_deadlock,
    a_killed_load_is_resumed,
    a_connection_that_is_lost_is_replaced,
    a_slow_input_is_not_waited_for,
    triggers_see_each_row,
]);

/// Number of rows, more than two first transactions have.
const ROWS: usize = 200_000;

/// Options with which a load begins.
const WAYS: [&[&str]; 4] = [&["-j1"], &["-j4"], &["-j4", "--wire=text"], &["-j2", "--no-ledger"]];

/// Loads several files, one with a mistake in its format.
fn fails(bench: &Bench, files: &[&str], options: &[&str], message: &str) {
    for way in WAYS {
        let ended = bench.load([files, &["-t", "t", "-q"], options, way].concat());
        ended.fails(1, &[message]);
        assert_eq!(bench.count("t"), 0, "{files:?} {options:?} {way:?}: {}", ended.stderr);
    }
}

fn with_header(header: &str) -> Vec<u8> {
    [header.as_bytes(), b"\n", &rows(ROWS, 100)].concat()
}

fn a_mistake_leaves_nothing(server: Server) {
    let bench = &Bench::with_table(server);
    bench.file("headed.csv", with_header("id,v"));
    fails(bench, &["headed.csv"], &[], "invalid input syntax for type integer: \"id\"");
    bench.file("rows.csv", rows(ROWS, 100));
    fails(bench, &["rows.csv"], &["--delimiter=;"], "(SQLSTATE 22P0");
    fails(bench, &["rows.csv"], &["--format=text"], "(SQLSTATE 22P0");
    fails(bench, &["rows.csv"], &["--columns=v,id"], "invalid input syntax for type integer");
    let latin = [&b"1,\xe9\n"[..], &rows(ROWS, 100)].concat();
    bench.file("latin.csv", latin);
    fails(bench, &["latin.csv"], &[], "invalid byte sequence for encoding \"UTF8\"");
    bench.file("missing.csv", [&b"100,x\n"[..], &rows(ROWS, 100)].concat());
    fails(bench, &["missing.csv"], &[], "no partition of relation \"t\" found for row");
    bench.file("packed.csv", [&b"BZh91AY&SY"[..], &rows(ROWS, 100)].concat());
    fails(bench, &["packed.csv"], &[], "packed.csv is compressed with bzip2 (SQLSTATE 0A000)");
    bench.file("damaged.csv", [&b"\x1f\x8b\x08"[..], &rows(ROWS, 100)].concat());
    fails(bench, &["damaged.csv"], &[], "its gzip data is damaged");
}

fn a_mistake_in_a_later_input_leaves_nothing(server: Server) {
    let bench = &Bench::with_table(server);
    bench.file("1.csv", with_header("id,v"));
    let later: [(&[u8], &str); 6] = [
        (b"id;v\n1;x\n", "wrong number of fields in header line: got 1, expected 2"),
        (b"v,id\nx,1\n", "column name mismatch in header line field 1"),
        (b"id,v\n1\n", "2.csv:2: missing data for column \"v\" (SQLSTATE 22P04)"),
        (b"id,v\n1,2,3\n", "2.csv:2: extra data after last expected column"),
        (b"\x28\xb5\x2f\xfdxyz", "file \"2.csv\": its zstd data"),
        (b"PAR1\x15\x04", "2.csv is parquet"),
    ];
    for (content, message) in later {
        bench.file("2.csv", content);
        bench.file("3.csv", b"id,v\n1,x\n");
        let files = ["1.csv", "2.csv", "3.csv"];
        fails(bench, &files, &["--header=match"], message);
    }
}

fn an_input_that_ends_in_it_is_all_or_nothing(server: Server) {
    let bench = &Bench::with_table(server);
    for (count, last) in [(1, "x,1"), (1000, "7"), (50_000, "100,x")] {
        bench.file("rows.csv", [&rows(count, 100)[..], last.as_bytes()].concat());
        for way in WAYS {
            let ended = bench.load([&["rows.csv", "-t", "t", "-q"], way].concat());
            ended.fails(1, &[&format!("rows.csv:{}:", count + 1)]);
            assert_eq!(bench.count("t"), 0, "{count} {way:?}: {}", ended.stderr);
        }
    }
}

/// Rows that are four times as long after encoding.
fn rows_that_grow_are_loaded_as_a_whole(server: Server) {
    let bench = &Bench::new(server);
    let columns: Vec<String> = (0..20).map(|column| format!("c{column} int")).collect();
    let columns = columns.join(", ");
    bench.session.run(&format!("CREATE TABLE t ({columns}) PARTITION BY LIST (c0)"));
    for leaf in 0..10 {
        bench.session.run(&format!("CREATE TABLE t{leaf} PARTITION OF t FOR VALUES IN ({leaf})"));
    }
    let row = |key: usize| format!("{key}{}\n", ",1".repeat(19));
    let good: String = (0..150_000).map(|number| row(number % 10)).collect();
    assert!(good.len() < 8 << 20);
    bench.file("rows.csv", good + &row(77));
    for way in WAYS {
        let ended = bench.load([&["rows.csv", "-t", "t", "-q"], way].concat());
        ended.fails(1, &["no partition of relation \"t\" found for row"]);
        assert_eq!(bench.count("t"), 0, "{way:?}: {}", ended.stderr);
    }
}

fn nothing_is_committed_before_it(server: Server) {
    let bench = &Bench::with_table(server);
    bench.file("rows.csv", rows(ROWS, 100));
    let other = bench.other();
    other.run("BEGIN; LOCK TABLE t9 IN SHARE MODE");
    let load = bench.start(["rows.csv", "-t", "t", "-j4", "-q"], Stdio::null());
    wait_until("the lock is waited for", || bench.count(WAITS) > 0);
    // The other connections roll back their rows and send them again.
    thread::sleep(Duration::from_secs(6));
    assert_eq!(bench.count("t"), 0);
    other.run("COMMIT");
    assert_eq!(load.ended().status.code(), Some(0));
    assert_eq!(bench.count("t"), ROWS as u64);
}

/// The first transaction waits for a key that another connection has stored, and that connection waits for
/// the first transaction.
fn a_key_in_two_transactions_is_no_deadlock(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run("CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY HASH (id)");
    for leaf in 0..4 {
        let of = format!("FOR VALUES WITH (MODULUS 4, REMAINDER {leaf})");
        bench.session.run(&format!("CREATE TABLE t{leaf} PARTITION OF t {of}"));
    }
    let ids = (0..ROWS).chain([70_000]);
    let input: Vec<u8> = ids.flat_map(|id| format!("{id},{:60}\n", "").into_bytes()).collect();
    bench.file("rows.csv", input);
    for options in [["-j4", "--memory=512MiB"], ["-j2", "--memory=16MiB"]] {
        bench.session.run("TRUNCATE t");
        let ended = bench.load([&["rows.csv", "-t", "t", "-q"], &options[..]].concat());
        ended.fails(1, &["duplicate key value violates unique constraint"]);
        assert_eq!(ended.committed(), bench.count("t"));
    }
}

/// Runs a load that is killed at a failpoint.
fn killed(bench: &Bench, point: &str, options: &[&str]) -> Ended {
    let mut load = program();
    load.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "--load-id=l", "-q"]);
    load.args(options).env("PGSLUICE_FAILPOINT", point).current_dir(bench.folder.path());
    Running::start(load.stdin(Stdio::null())).ended()
}

fn a_killed_load_is_resumed(server: Server) {
    let bench = &Bench::with_table(server);
    bench.file("rows.csv", rows(ROWS, 100));
    for (point, has_rows) in [
        ("load::begun", false),
        ("payload::closed", false),
        ("payload::begun", false),
        ("payload::sent", false),
        ("payload::committing", false),
        ("payload::copied", false),
        ("payload::committed", true),
        ("payload::begun:2", true),
        ("payload::copied:2", true),
    ] {
        for way in [&["-j1"][..], &["-j4"]] {
            bench.session.run("TRUNCATE t");
            let ended = killed(bench, point, way);
            assert_eq!(ended.status.code(), None, "{point} {way:?}: {}", ended.stderr);
            bench.end_orphans();
            bench.wait_for_sessions();
            let before = bench.count("t");
            // A commit that was requested may have happened, and another connection does not wait for the first one.
            if point != "payload::copied" && (!point.ends_with(":2") || way == ["-j1"]) {
                assert_eq!(before > 0, has_rows, "{point} {way:?}");
            }
            let load = [&["rows.csv", "-t", "t", "--load-id=l", "--json", "-q"], way].concat();
            let summary = bench.load(&load).summary_of(0);
            assert_eq!(summary["rows_already_loaded"], before, "{point} {way:?}");
            assert_eq!(bench.count("t"), ROWS as u64, "{point} {way:?}");
            bench.session.run("DELETE FROM pgsluice.load");
        }
    }
}

fn a_connection_that_is_lost_is_replaced(server: Server) {
    let bench = &Bench::with_table(server);
    bench.file("rows.csv", rows(ROWS, 100));
    let other = bench.other();
    other.run("BEGIN; LOCK TABLE t9 IN SHARE MODE");
    let load = ["rows.csv", "-t", "t", "-j4", "-q", "--wait=60s"];
    let load = bench.start(load, Stdio::null());
    wait_until("the lock is waited for", || bench.count(WAITS) > 0);
    // Other sessions may start to wait for it.
    let pid = bench.value(&format!("SELECT pid FROM {WAITS} LIMIT 1"));
    bench.session.run(&format!("SELECT pg_terminate_backend({pid})"));
    let is_there = format!("pg_stat_activity WHERE pid = {pid}");
    wait_until("the end of the session", || bench.count(&is_there) == 0);
    other.run("COMMIT");
    assert_eq!(load.ended().status.code(), Some(0));
    assert_eq!(bench.count("t"), ROWS as u64);
}

fn a_slow_input_is_not_waited_for(server: Server) {
    let bench = &Bench::with_table(server);
    let mut load = bench.start(["-", "-t", "t", "--format=csv", "-q"], Stdio::piped());
    load.feed(&rows(20_000, 100));
    wait_until("a commit", || bench.count("t") > 0);
    drop(load.child.stdin.take());
    assert_eq!(load.ended().status.code(), Some(0));
    assert_eq!(bench.count("t"), 20_000);
}

fn triggers_see_each_row(server: Server) {
    let bench = &Bench::with_table(server);
    bench.session.run(
        "CREATE TABLE seen (id int);
         CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO seen VALUES (NEW.id);
             IF NEW.id = 7 THEN RETURN NULL; END IF;
             IF NEW.id = 3 THEN INSERT INTO t VALUES (50, 'of the trigger'); END IF;
             RETURN NEW;
         END $$;
         CREATE TRIGGER see BEFORE INSERT ON t0 FOR EACH ROW EXECUTE FUNCTION see()",
    );
    for count in [1000, 20_000] {
        bench.file("rows.csv", rows(count, 10));
        for way in WAYS {
            bench.session.run("TRUNCATE t; TRUNCATE seen");
            let load = [&["rows.csv", "-t", "t", "-q", "--json"], way].concat();
            let summary = bench.load(&load).summary_of(0);
            let each = count as u64 / 100;
            assert_eq!(summary["rows_dropped"], each, "{count} {way:?}");
            assert_eq!(bench.count("seen"), 10 * each, "{count} {way:?}");
            assert_eq!(bench.count("t"), count as u64, "{count} {way:?}");
        }
    }
}
