//! Poolers: pgsluice refuses transaction mode with a clear message before it does harm, and works in session
//! mode as with the server itself. The pooler is pgbouncer.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::harness::{
    Bench, Ended, Place, Pool, Running, Server, Session, WAITS, on_each_server, program, rows,
    wait_until, wait_within,
};

on_each_server!([
    a_crash_behind_a_pool_is_no_success,
    a_pool_by_the_transaction_is_refused_before_a_row_is_sent,
    a_session_that_changes_hands_is_refused_at_its_next_transaction,
    a_pool_by_the_session_is_as_good_as_the_server,
    a_load_through_a_pool_by_the_session_goes_on_where_it_was_killed,
    a_waiting_statement_is_cancelled_through_a_pool,
]);

const REFUSED: &str =
    "error: the connection goes through a pooler in transaction mode (SQLSTATE 0A000)";

/// Loads of every kind, with their options.
const LOADS: [&[&str]; 7] = [
    &["few.csv"],
    &["rows.csv"],
    &["rows.csv", "--no-ledger"],
    &["rows.csv", "--no-ledger", "--wire=text"],
    &["rows.csv", "--atomic"],
    &["rows.csv", "--exchange"],
    &["bad.csv", "--reject-file=rejected", "--max-rejects=10"],
];

const ROWS: u64 = 3000;

const PATIENCE: Duration = Duration::from_secs(60);

const ADVISORY: &str = "pg_locks WHERE locktype = 'advisory' AND database = \
                        (SELECT oid FROM pg_database WHERE datname = current_database())";

fn with_files(bench: &Bench) {
    bench.make_table();
    bench.file("few.csv", rows(20, 10));
    bench.file("rows.csv", rows(ROWS as usize, 10));
    bench.file("bad.csv", [rows(ROWS as usize, 10), b"x,y\n".to_vec()].concat());
}

/// Runs a command other than `load`.
fn run(bench: &Bench, url: &str, arguments: &[&str]) -> Ended {
    let mut command = program();
    command.args(arguments).args(["-d", url]).current_dir(bench.folder.path());
    Running::start(command.stdin(Stdio::null())).ended()
}

/// Returns the state that sessions behind the pool have kept.
fn left_behind(bench: &Bench, pool: &Pool, size: usize) -> Vec<String> {
    let sessions: Vec<Session> = (0..size).map(|_| Session::open(&pool.url())).collect();
    sessions.iter().for_each(|session| session.run("BEGIN"));
    let kept = "SELECT name FROM pg_settings WHERE source = 'session' AND name = ANY ('{
                    statement_timeout,lock_timeout,idle_in_transaction_session_timeout,search_path,
                    synchronous_commit,jit,plan_cache_mode,row_security}')
                UNION ALL SELECT name FROM pg_prepared_statements";
    let mut left: Vec<String> =
        sessions.iter().flat_map(|session| session.rows(kept)).flatten().flatten().collect();
    if bench.count(ADVISORY) > 0 {
        left.push("an advisory lock".to_owned());
    }
    left
}

fn a_pool_by_the_transaction_is_refused_before_a_row_is_sent(server: Server) {
    let bench = &Bench::new(server);
    with_files(bench);
    for size in [1, 2, 20] {
        let pool = Pool::before(&bench.url, "transaction", size);
        for options in LOADS {
            let ended = bench.load_into(&pool.url(), [options, &["-t", "t"]].concat());
            let parts = [
                REFUSED,
                "\nDETAIL:  ",
                "server process ",
                "\nHINT:  Connect directly to the server",
            ];
            ended.fails(1, &parts);
            assert_eq!(bench.count("t"), 0, "{options:?}");
        }
        // These commands also set what they rely on, and `verify` has a temporary table.
        for command in [
            &["plan", "rows.csv", "-t", "t"][..],
            &["verify", "rows.csv", "-t", "t"],
            &["tree", "-t", "t"],
            &["ledger", "list"],
        ] {
            run(bench, &pool.url(), command).fails(1, &[REFUSED]);
        }
        assert_eq!(left_behind(bench, &pool, size.min(3)), [""; 0], "{size}");
        assert_eq!(bench.value("SELECT to_regnamespace('pgsluice') IS NULL"), "t");
    }
}

/// Crashes the server when all rows are sent. The pool mode is `mode` until rows are committed, if that
/// happens at all, and then transaction mode.
fn crash_behind(server: Server, mode: &str, options: &[&str]) {
    let place = Place::new(server);
    let mut bench = Bench::from_url(&place.start());
    // Nothing else makes the server write what no session waited for.
    bench.session.run("ALTER SYSTEM SET wal_writer_delay = '10s'");
    bench.session.run("SELECT pg_reload_conf()");
    bench.make_table();
    let pool = Pool::before(&bench.url, mode, 20);
    let mut load = program();
    load.args(["load", "-", "-t", "t", "--format=csv", "-j1", "-d", &pool.url()]).args(options);
    let hold = bench.hold("load::flushing");
    load.envs(hold.environment());
    let mut load = Running::start(load.stdin(Stdio::piped()));
    load.feed(&rows(120_000, 100));
    wait_for(&bench, &mut load, 1);
    if mode == "session" {
        pool.set_mode("transaction");
    }
    load.feed(&rows(120_000, 100));
    drop(load.child.stdin.take());
    wait_for(&bench, &mut load, 240_000);
    place.stop_immediately();
    place.start();
    bench.come_back();
    if bench.path("held").exists() {
        hold.let_go();
    }
    let ended = load.ended();
    let in_table = bench.count("t");
    assert_eq!(ended.status.code(), Some(1), "{mode}: {in_table} rows are in: {ended:?}");
}

fn wait_for(bench: &Bench, load: &mut Running, rows: u64) {
    let mut has_ended = || load.child.try_wait().unwrap().is_some();
    wait_within(PATIENCE, "rows", || bench.count("t") >= rows || has_ended());
}

fn a_crash_behind_a_pool_is_no_success(server: Server) {
    for options in [&["--no-ledger", "--wire=text"][..], &["--no-ledger"], &[]] {
        crash_behind(server, "transaction", options);
        crash_behind(server, "session", options);
    }
}

fn a_session_that_changes_hands_is_refused_at_its_next_transaction(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    let pool = Pool::before(&bench.url, "session", 20);
    let options = ["-", "-t", "t", "--format=csv", "-j1", "--no-ledger", "--wire=text"];
    let mut load = bench.start_into(&pool.url(), options, Stdio::piped());
    load.feed(&rows(120_000, 100));
    wait_until("rows", || bench.count("t") > 0);
    let of_load = "SELECT pid FROM pg_stat_activity
                   WHERE datname = current_database() AND application_name = 'pgsluice'";
    let of_load = bench.value(of_load);
    pool.set_mode("transaction");
    load.feed(&rows(120_000, 100));
    // Other clients take all sessions of the pool, including those that the load had, and keep them.
    let mut others = Vec::new();
    wait_until("the session is taken", || {
        let other = Session::open(&pool.url());
        other.run("BEGIN");
        let taken = other.rows("SELECT pg_backend_pid()")[0][0].clone();
        others.push(other);
        if others.len() == 8 && taken.as_ref() != Some(&of_load) {
            others.clear();
        }
        taken.as_ref() == Some(&of_load)
    });
    load.feed(&rows(120_000, 100));
    drop(load.child.stdin.take());
    let ended = load.ended();
    ended.fails(1, &[REFUSED, "\nDETAIL:  "]);
    assert_eq!(ended.committed(), bench.count("t"));
}

fn a_pool_by_the_session_is_as_good_as_the_server(server: Server) {
    let bench = &Bench::new(server);
    with_files(bench);
    for size in [8, 20] {
        let pool = Pool::before(&bench.url, "session", size);
        for options in LOADS {
            bench.session.run("TRUNCATE t");
            for name in ["rejected", "rejected.log"] {
                let _ = fs::remove_file(bench.path(name));
            }
            let rows_in = if options[0] == "few.csv" { 20 } else { ROWS };
            let status = if options[0] == "bad.csv" { 3 } else { 0 };
            let arguments = [&["-t", "t", "--json", "-q"], options].concat();
            let ended = bench.load_into(&pool.url(), arguments);
            assert_eq!(ended.summary_of(status)["rows_loaded"], rows_in, "{options:?}");
            assert_eq!(bench.count("t"), rows_in, "{options:?}");
        }
        bench.session.run("TRUNCATE t");
        bench.load_into(&pool.url(), ["rows.csv", "-t", "t", "-q"]);
        let verified = run(bench, &pool.url(), &["verify", "rows.csv", "-t", "t"]);
        assert_eq!(verified.status.code(), Some(0), "{verified:?}");
        assert_eq!(left_behind(bench, &pool, 1), [""; 0], "{size}");
    }
}

fn a_load_through_a_pool_by_the_session_goes_on_where_it_was_killed(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(60_000, 10));
    let pool = Pool::before(&bench.url, "session", 20);
    for options in [&[][..], &["--atomic"], &["--exchange"]] {
        bench.session.run("TRUNCATE t");
        let id = format!("load {}", options.concat());
        let load = ["rows.csv", "-t", "t", "--load-id", &id, "-q", "--json", "--few-rows=0"];
        let all = [&load[..], options].concat();
        let mut killed = Command::new(env!("CARGO_BIN_EXE_pgsluice"));
        killed.args(["load", "-d", &pool.url()]).args(&all).stdin(Stdio::null());
        killed.env("PGSLUICE_FAILPOINT", "payload::sent:3").current_dir(bench.folder.path());
        assert_eq!(Running::start(&mut killed).ended().status.code(), None, "{options:?}");
        let ended = bench.load_into(&pool.url(), all);
        assert_eq!(ended.status.code(), Some(0), "{options:?}: {ended:?}");
        assert_eq!(bench.count("t"), 60_000, "{options:?}");
    }
}

fn a_waiting_statement_is_cancelled_through_a_pool(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.file("rows.csv", rows(3000, 10));
    let pool = Pool::before(&bench.url, "session", 20);
    let other = bench.other();
    other.run("BEGIN; LOCK TABLE t IN ACCESS EXCLUSIVE MODE");
    let load = bench.start_into(&pool.url(), ["rows.csv", "-t", "t"], Stdio::null());
    wait_until("the lock is waited for", || bench.count(WAITS) > 0);
    load.signal("-INT");
    load.ended().fails(130, &["interrupted"]);
    // A pool may drop the request with the connection that sent it. Since 14, the server checks for its client.
    if server.major >= 14 {
        wait_until("the statement is cancelled", || bench.count(WAITS) == 0);
    }
    other.run("ROLLBACK");
}
