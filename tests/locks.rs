//! Locks that others hold, and replicas that lag: the message names the holder, the load waits as long as it
//! was told, and then continues.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Bench, Server, WAITS, on_each_server, rows, wait_until};

on_each_server!(with super::table, [
    the_holder_of_a_lock_is_reported,
    a_lock_timeout_names_the_holder,
    a_lock_timeout_of_the_swap,
    a_lock_timeout_of_new_partitions,
    the_rest_is_loaded_when_the_lock_is_free,
    a_slot_that_is_behind,
    a_user_who_does_not_see_replicas,
    fewer_connections_than_jobs,
]);

fn table(server: Server) -> Bench {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(1000, 10));
    bench
}

const LOCK: &str =
    "SET application_name = 'the nightly report'; BEGIN; LOCK TABLE t3 IN SHARE MODE";

/// Options of large and of small loads.
const SIZES: [&str; 2] = ["--few-rows=0", "--few-rows=300"];

fn the_holder_of_a_lock_is_reported(bench: &Bench) {
    for size in SIZES {
        let other = bench.other();
        other.run(LOCK);
        let load = bench.start(["rows.csv", "-t", "t", "-j", "2", size], Stdio::null());
        wait_until("a wait", || bench.value(&format!("SELECT count(*) FROM {WAITS}")) != "0");
        thread::sleep(Duration::from_millis(3500));
        other.run("COMMIT");
        let ended = load.ended();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        let expected = [
            "waiting for a lock on public.t",
            " of user \"postgres\" (the nightly report) holds it, or waits ahead of this load, \
             since ",
            "idle in transaction: SET application_name",
            "the load continues",
        ];
        let mut rest = ended.stderr.as_str();
        for words in expected {
            let at = rest.find(words).unwrap_or_else(|| panic!("{words} is not in {ended:?}"));
            rest = &rest[at..];
        }
        bench.session.run("TRUNCATE t");
    }
}

fn a_lock_timeout_names_the_holder(bench: &Bench) {
    for size in SIZES {
        let other = bench.other();
        other.run(LOCK);
        let pid = other.rows("SELECT pg_backend_pid()")[0][0].clone().unwrap();
        let began = Instant::now();
        let ended = bench.load(["rows.csv", "-t", "t", "-j", "1", "--lock-timeout=1s", "-q", size]);
        ended.fails(
            1,
            &[
                "canceling statement due to lock timeout (SQLSTATE 55P03)",
                "DETAIL:  The load waited for a lock on public.t",
                &format!("process {pid} of user \"postgres\" (the nightly report)"),
                &format!(
                    "HINT:  Wait until it ends, end it with SELECT pg_terminate_backend({pid})"
                ),
            ],
        );
        assert!(began.elapsed() < Duration::from_secs(10), "{:?}", began.elapsed());
        other.run("COMMIT");
        bench.session.run("TRUNCATE t");
    }
}

fn a_lock_timeout_of_the_swap(bench: &Bench) {
    let other = bench.other();
    other.run("BEGIN; LOCK TABLE t3 IN ACCESS SHARE MODE");
    let options = ["--exchange", "--lock-timeout=1500ms", "-q", "--few-rows=0"];
    let ended = bench.load([&["rows.csv", "-t", "t"], &options[..]].concat());
    ended.fails(1, &["lock timeout (SQLSTATE 55P03)", "process ", "HINT"]);
    assert_eq!(
        bench.value("SELECT count(*) FROM pg_class WHERE relname LIKE 'pgsluice_new%'"),
        "0"
    );
    assert_eq!(bench.count("t"), 0);
}

fn a_lock_timeout_of_new_partitions(bench: &Bench) {
    bench.file("more.csv", "500,x\n");
    let other = bench.other();
    other.run("BEGIN; LOCK TABLE t IN ACCESS SHARE MODE");
    let options = ["--create-partitions", "--lock-timeout=1s", "-q"];
    let ended = bench.load([&["more.csv", "-t", "t"], &options[..]].concat());
    ended.fails(1, &["lock timeout (SQLSTATE 55P03)", "process ", "HINT"]);
}

/// Rows of the other leaves are committed, and the rest follows when the lock is free.
fn the_rest_is_loaded_when_the_lock_is_free(bench: &Bench) {
    // The first transaction has no row of the locked leaf.
    let others = (0..100_000).flat_map(|row| format!("{},{:50}\n", row % 90, "first").into_bytes());
    bench.file("many.csv", others.chain(rows(100_000, 10)).collect::<Vec<_>>());
    let other = bench.other();
    other.run("BEGIN; LOCK TABLE t9 IN SHARE MODE");
    let load = ["many.csv", "-t", "t", "-j", "2", "--load-id", "night", "-q"];
    let ended = bench.load([&load[..], &["--lock-timeout=1s", "--memory=1MB"]].concat());
    ended.fails(1, &["55P03", "--load-id night"]);
    let loaded = bench.count("t");
    assert!(loaded > 0 && loaded < 200_000, "{loaded}");
    other.run("COMMIT");
    assert_eq!(bench.load(load).status.code(), Some(0));
    assert_eq!(bench.count("t"), 200_000);
}

fn a_slot_that_is_behind(bench: &Bench) {
    let slot = format!("behind_{}", bench.value("SELECT current_database()"));
    bench.session.run(&format!(
        "SELECT pg_create_physical_replication_slot('{slot}', true),
                pg_logical_emit_message(false, 'pgsluice', repeat('x', 20000000))"
    ));
    let options = ["rows.csv", "-t", "t", "-j", "2", "--few-rows=0", "--max-lag=10MB"];
    let load = bench.start(options, Stdio::null());
    thread::sleep(Duration::from_secs(4));
    assert_eq!(bench.count("t"), 0, "nothing comes while the slot is behind");
    bench.session.run(&format!("SELECT pg_drop_replication_slot('{slot}')"));
    let ended = load.ended();
    assert_eq!((ended.status.code(), bench.count("t")), (Some(0), 1000), "{ended:?}");
    let paused = format!("paused: replication slot {slot} is ");
    assert!(ended.stderr.contains(&paused), "{ended:?}");
    assert!(ended.stderr.contains("the load continues"), "{ended:?}");
}

fn a_user_who_does_not_see_replicas(bench: &Bench) {
    let role = format!("blind_{}", bench.value("SELECT current_database()"));
    bench.session.run(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT INSERT, SELECT ON t TO {role}"
    ));
    let url = format!("postgresql://{role}:x@{}", bench.url.split_once('@').unwrap().1);
    let load = ["rows.csv", "-t", "t", "--max-lag=30s", "--few-rows=0", "-q"];
    let hint = format!("HINT:  GRANT pg_read_all_stats TO {role};");
    bench.load_into(&url, load).fails(1, &["pg_stat_replication (SQLSTATE 42501)", &hint]);
    assert_eq!(bench.count("t"), 0);
    bench.session.run(&format!("GRANT pg_read_all_stats TO {role}"));
    assert_eq!(bench.load_into(&url, load).status.code(), Some(0));
    bench.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

/// The load opens no more connections than the server has room for.
fn fewer_connections_than_jobs(bench: &Bench) {
    let role = format!("few_{}", bench.value("SELECT current_database()"));
    bench.session.run(&format!(
        "CREATE ROLE {role} LOGIN PASSWORD 'x' CONNECTION LIMIT 6; GRANT INSERT, SELECT ON t TO {role}"
    ));
    let url = format!("postgresql://{role}:x@{}", bench.url.split_once('@').unwrap().1);
    bench.file("many.csv", rows(100_000, 100));
    let ended = bench.load_into(&url, ["many.csv", "-t", "t", "-j", "8"]);
    assert_eq!((ended.status.code(), bench.count("t")), (Some(0), 100_000), "{ended:?}");
    assert!(ended.stderr.contains(&format!("role {role} may have 6 connections")), "{ended:?}");
    bench.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}
