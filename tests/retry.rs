//! Temporary failures: the load waits, continues where it stopped, and every row is there once.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::harness::{Bench, Mode, Proxy, Server, on_each_server, rows, wait_until};

on_each_server!([
    a_load_outlives_its_sessions,
    a_transaction_that_was_in_the_way_is_no_end,
    loads_that_cannot_be_resumed_are_not_tried_again,
    a_pause_ends_at_a_signal,
]);

/// Number of rows of the input; the table has 100 ids.
const ROWS: usize = 200_000;

fn is_whole(bench: &Bench) {
    let ids = format!(
        "SELECT count(*) FROM (SELECT FROM t GROUP BY id HAVING count(*) = {}) x",
        ROWS / 100
    );
    assert_eq!((bench.count("t"), &*bench.value(&ids)), (ROWS as u64, "100"));
}

fn terminate(bench: &Bench) {
    bench.session.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'pgsluice'",
    );
}

fn a_load_outlives_its_sessions(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(ROWS, 100));
    let load =
        ["rows.csv", "-t", "t", "-j", "2", "--memory", "1MB", "--wait", "1min", "--json", "-q"];
    let load = bench.start(load, Stdio::null());
    for round in 1..=3 {
        let before = bench.count("t");
        wait_until("a commit", || bench.count("t") > before);
        terminate(bench);
        assert!(bench.count("t") < ROWS as u64, "too late in round {round}");
    }
    let summary = load.ended().summary();
    assert!(summary["rows_already_loaded"].as_u64() > Some(0), "{summary}");
    is_whole(bench);
}

fn a_transaction_that_was_in_the_way_is_no_end(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.session.run(
        "CREATE SEQUENCE s;
         CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             IF nextval('s') = 150000 THEN
                 RAISE 'could not serialize access' USING ERRCODE = '40001';
             END IF;
             RETURN new;
         END $$;
         CREATE TRIGGER fail_once BEFORE INSERT ON t FOR EACH ROW EXECUTE FUNCTION fail_once()",
    );
    bench.file("rows.csv", rows(ROWS, 100));
    bench.load(["rows.csv", "-t", "t", "--memory", "1MB", "--json", "-q"]).summary();
    is_whole(bench);
}

fn loads_that_cannot_be_resumed_are_not_tried_again(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(ROWS, 100));
    let without = ["rows.csv", "--no-ledger"];
    for inputs in [&["-", "--format=csv"][..], &without] {
        bench.session.run("TRUNCATE t");
        let load = ["-t", "t", "-q", "--memory=1MB", "--wait=1min", "-j2"];
        let stdin = if inputs[0] == "-" { Stdio::piped() } else { Stdio::null() };
        let mut load = bench.start(inputs.iter().chain(&load), stdin);
        if inputs[0] == "-" {
            load.feed(&rows(ROWS, 100)[..10 << 20]);
        }
        wait_until("a commit", || bench.count("t") > 0);
        terminate(bench);
        load.child.stdin.take();
        let ended = load.ended();
        assert_eq!(
            (ended.status.code(), ended.committed()),
            (Some(1), bench.count("t")),
            "{ended:?}"
        );
    }
}

fn a_pause_ends_at_a_signal(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(ROWS, 100));
    let proxy = Proxy::before(&bench.url);
    let load = ["rows.csv", "-t", "t", "-q", "--memory=1MB", "--wait=10min"];
    let load = bench.start_into(proxy.url(), load, Stdio::null());
    wait_until("a commit", || bench.count("t") > 0);
    proxy.set(Mode::Cut);
    std::thread::sleep(Duration::from_secs(2));
    let asked = Instant::now();
    load.signal("-INT");
    let ended = load.ended();
    assert_eq!(ended.status.code(), Some(130), "{ended:?}");
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    assert!(ended.stderr.contains("--load-id"), "{ended:?}");
}
