//! Ctrl-C and SIGTERM: the program ends soon with status 130, whatever it waits for, and reports the state of
//! the table correctly.

use std::fs::File;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Bench, Server, WAITS, on_each_server, rows, wait_until};

on_each_server!([
    a_signal_ends_a_load_from_a_pipe_that_stays_open,
    a_signal_ends_a_load_that_waits_for_its_first_byte,
    a_signal_ends_a_load_from_a_pipe_that_nobody_has_opened,
    a_signal_ends_a_load_that_waits_for_a_lock,
    a_signal_in_the_middle_of_a_file_leaves_the_reported_rows,
    one_statement_is_stopped_as_a_whole,
    a_second_signal_ends_at_once,
    closed_outputs_do_not_hurt,
    a_reader_that_has_gone_is_no_error,
    an_input_that_is_closed_has_no_rows,
]);

/// Acceptable time to end after Ctrl-C on a busy machine.
const SOON: Duration = Duration::from_secs(4);

fn a_signal_ends_a_load_from_a_pipe_that_stays_open(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    for signal in ["-INT", "-TERM"] {
        let before = bench.count("t");
        let mut load = bench.start(["-", "-t", "t", "--format", "csv"], Stdio::piped());
        load.feed(&rows(120_000, 100));
        wait_until("a commit", || bench.count("t") > before);
        load.signal(signal);
        // The pipe stays open until the process ends.
        let stdin = load.child.stdin.take();
        let asked = Instant::now();
        let ended = load.ended();
        drop(stdin);
        assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
        let left = " rows of this load were committed before and are in the table.";
        ended.fails(130, &["pgsluice: error: interrupted\n", left, "\nHINT:"]);
        assert_eq!(ended.committed(), bench.count("t") - before);
    }
}

fn a_signal_ends_a_load_that_waits_for_its_first_byte(server: Server) {
    let bench = Bench::with_table(server);
    let mut load = bench.start(["-", "-t", "t"], Stdio::piped());
    wait_until("the login", || {
        let query = "SELECT count(*) FROM pg_stat_activity
                     WHERE datname = current_database() AND application_name = 'pgsluice'";
        bench.value(query) != "0"
    });
    load.signal("-INT");
    let stdin = load.child.stdin.take();
    let asked = Instant::now();
    let ended = load.ended();
    drop(stdin);
    assert!(asked.elapsed() < SOON);
    ended.fails(130, &["interrupted\nDETAIL:  No row of this load is in the table."]);
}

fn a_signal_ends_a_load_from_a_pipe_that_nobody_has_opened(server: Server) {
    let bench = Bench::with_table(server);
    assert!(Command::new("mkfifo").arg(bench.path("pipe")).status().unwrap().success());
    let load = bench.start(["pipe", "-t", "t"], Stdio::null());
    thread::sleep(Duration::from_millis(500));
    load.signal("-INT");
    load.ended().fails(130, &["interrupted"]);
    assert_eq!(bench.count("t"), 0);
}

fn a_signal_ends_a_load_that_waits_for_a_lock(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(1000, 10));
    // SHARE allows reading the catalogue, but not storing a row.
    for lock in ["t IN ACCESS EXCLUSIVE", "t3 IN ACCESS EXCLUSIVE", "t3 IN SHARE"] {
        bench.session.run(&format!("BEGIN; LOCK TABLE {lock} MODE"));
        let load = bench.start(["rows.csv", "-t", "t"], Stdio::null());
        wait_until("waiting for the lock", || bench.count(WAITS) > 0);
        load.signal("-INT");
        let asked = Instant::now();
        let ended = load.ended();
        assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());
        ended.fails(130, &["interrupted"]);
        wait_until("the server's giving up", || bench.count(WAITS) == 0);
        bench.session.run("COMMIT");
        if ended.stderr.contains("DETAIL") {
            assert_eq!(ended.committed(), bench.count("t"));
        }
        bench.session.run("TRUNCATE t");
    }
}

fn a_signal_in_the_middle_of_a_file_leaves_the_reported_rows(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(400_000, 100));
    for jobs in ["1", "3"] {
        let before = bench.count("t");
        let options = ["-t", "t", "-j", jobs, "--memory", "4MiB"];
        let load = bench.start(["rows.csv"].into_iter().chain(options), Stdio::null());
        wait_until("a commit", || bench.count("t") > before);
        load.signal("-INT");
        let ended = load.ended();
        ended.fails(130, &["interrupted"]);
        assert_eq!(ended.committed(), bench.count("t") - before);
    }
}

fn one_statement_is_stopped_as_a_whole(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.session.run(
        "CREATE FUNCTION nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
         CREATE TRIGGER whole AFTER INSERT ON t EXECUTE FUNCTION nothing()",
    );
    let mut load = bench.start(["-", "-t", "t", "--format", "csv"], Stdio::piped());
    load.feed(&rows(60_000, 100));
    thread::sleep(Duration::from_millis(500));
    load.signal("-INT");
    let stdin = load.child.stdin.take();
    load.ended().fails(130, &["interrupted\nDETAIL:  No row of this load is in the table."]);
    drop(stdin);
    assert_eq!(bench.count("t"), 0);
}

fn a_second_signal_ends_at_once(server: Server) {
    let bench = Bench::with_table(server);
    // A server that no longer answers does not answer the cancel request either.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let silent = format!("postgresql://u@{}/d?connect_timeout=0", listener.local_addr().unwrap());
    bench.file("rows.csv", "1,a\n");
    let load = bench.start_into(&silent, ["rows.csv", "-t", "t"], Stdio::null());
    let _accepted = listener.accept().unwrap();
    load.signal("-INT");
    thread::sleep(Duration::from_millis(10));
    load.signal("-INT");
    let asked = Instant::now();
    assert_eq!(load.ended().status.code(), Some(130));
    assert!(asked.elapsed() < SOON);
}

fn closed_outputs_do_not_hurt(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(1000, 10));
    let program = env!("CARGO_BIN_EXE_pgsluice");
    for closing in ["--json | head -c0", "--json >&-", "2>&-", "--json >/dev/full"] {
        let before = bench.count("t");
        let script =
            format!("set -o pipefail; '{program}' load rows.csv -t t -d '{}' {closing}", bench.url);
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(bench.folder.path()).stdin(Stdio::null());
        let errors = File::create(bench.path("errors")).unwrap();
        let status = command.stdout(Stdio::null()).stderr(errors).status().unwrap();
        let errors = std::fs::read_to_string(bench.path("errors")).unwrap();
        assert!(!errors.contains("panicked"), "{closing}: {errors}");
        let full = closing.contains("full");
        assert_eq!(status.code(), Some(i32::from(full)), "{closing}: {errors}");
        assert_eq!(errors.contains("could not write to standard output"), full, "{errors}");
        assert_eq!(bench.count("t") - before, 1000, "{closing}");
    }
}

fn a_reader_that_has_gone_is_no_error(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(1000, 10));
    let program = env!("CARGO_BIN_EXE_pgsluice");
    let of_table = format!("-t t -d '{}'", bench.url);
    for (arguments, status) in [
        (format!("plan rows.csv {of_table}"), 0),
        (format!("tree {of_table}"), 0),
        (format!("load rows.csv --json {of_table}"), 0),
        (format!("verify rows.csv --json {of_table}"), 0),
        // The exit status still tells the result.
        (format!("verify rows.csv --columns v,id {of_table}"), 1),
        ("--help".to_owned(), 0),
    ] {
        // The reader of the pipe is gone by then.
        let script = format!("set -o pipefail; (sleep 0.2; exec '{program}' {arguments}) | true");
        let mut command = Command::new("bash");
        command.args(["-c", &script]).current_dir(bench.folder.path()).stdin(Stdio::null());
        let ended = crate::harness::Running::start(&mut command).ended();
        assert_eq!(ended.status.code(), Some(status), "{arguments}: {ended:?}");
        assert!(!ended.stderr.contains("panicked"), "{arguments}: {ended:?}");
        assert!(!ended.stderr.contains("ipe"), "{arguments}: {ended:?}");
    }
}

fn an_input_that_is_closed_has_no_rows(server: Server) {
    let bench = Bench::with_table(server);
    let program = env!("CARGO_BIN_EXE_pgsluice");
    let script = format!("'{program}' load - -t t -d '{}' --json -q <&-", bench.url);
    let mut command = Command::new("bash");
    let ended = crate::harness::Running::start(command.args(["-c", &script])).ended();
    assert_eq!(ended.summary()["rows_read"], 0);
}
