//! Loads that are killed, lose their sessions, or are overtaken by another run: the next run completes them
//! correctly.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::{MEMORY, ROWS, TABLE, Whole, sessions};
use crate::harness::{
    Mode, Place, Proxy, Running, Server, Session, on_each_server, program, wait_until,
};

on_each_server!([
    at_each_point,
    a_load_that_was_overtaken_commits_nothing,
    two_runs_load_once,
    a_connection_that_is_cut,
    with_the_server,
]);

/// The points at which a load is killed, and whether it is committed there. It writes no receipts.
const POINTS: [(&str, bool); 7] = [
    ("load::begun", false),
    ("payload::sent:3", false),
    ("payload::committed:3", false),
    ("atomic::ready", false),
    ("atomic::committing", false),
    ("atomic::committed", true),
    ("receipts::written", true),
];

/// Options of the runs that take the load over.
const NEXT: [&[&str]; 3] = [&["--atomic", "-j1"], &["--atomic", "-j4", MEMORY], &["-j2", MEMORY]];

fn at_each_point(server: Server) {
    let whole = Whole::new(server);
    for (number, (point, is_committed)) in POINTS.into_iter().enumerate() {
        let id = format!("--load-id=killed {number}");
        let load = ["--atomic", MEMORY, &id];
        let ended = whole.load(&load, &[("PGSLUICE_FAILPOINT", point)]);
        let comes = point != "receipts::written";
        assert_eq!(ended.status.signal() == Some(9), comes, "{point}: {ended:?}");
        let rows = if is_committed { ROWS as u64 } else { 0 };
        assert_eq!(whole.bench.count("t"), rows, "{point}");
        let next = NEXT[number % NEXT.len()];
        let again = whole.load(&[next, &[&id]].concat(), &[]).summary();
        whole.is_whole();
        assert_eq!(again["rows_loaded"], ROWS as u64 - rows, "{point}: {again}");
        whole.bench.session.run("TRUNCATE t");
    }
}

/// A run that lost its sessions before its commit does not commit after another run has started.
fn a_load_that_was_overtaken_commits_nothing(server: Server) {
    let whole = Whole::new(server);
    let load = ["--atomic", MEMORY, "--load-id=race"];
    let hold = whole.bench.hold("atomic::ready");
    let first = whole.start(&load, &hold.environment());
    hold.wait();
    whole.bench.session.run(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
         WHERE datname = current_database() AND application_name = 'pgsluice'",
    );
    wait_until("no session", || sessions(&whole.bench, "true") == 0);
    let second = whole.load(&load, &[]).summary();
    assert_eq!(second["rows_loaded"], ROWS, "{second}");
    hold.let_go();
    first.ended().fails(1, &["error: "]);
    whole.is_whole();
}

/// A second run waits while the first one is alive.
fn two_runs_load_once(server: Server) {
    let whole = Whole::new(server);
    let load = ["--atomic", MEMORY, "--load-id=twice"];
    let hold = whole.bench.hold("atomic::ready");
    let first = whole.start(&load, &hold.environment());
    hold.wait();
    let second = whole.start(&load, &[]);
    thread::sleep(Duration::from_secs(1));
    hold.let_go();
    let second = second.ended().summary();
    assert_eq!((&second["rows_loaded"], &second["rows_already_loaded"]), (&0.into(), &ROWS.into()));
    assert_eq!(first.ended().summary()["rows_loaded"], ROWS);
    whole.is_whole();
}

/// The connection is cut at any position, even while the answer to a commit is in transit.
fn a_connection_that_is_cut(server: Server) {
    let whole = Whole::new(server);
    let proxy = Proxy::before(&whole.bench.url);
    let through = |options: &[&str]| {
        let mut load = program();
        load.args(["load", "rows.csv", "-t", "t", "-d", proxy.url(), "-q", "--json"]).args(options);
        load.current_dir(whole.bench.folder.path());
        Running::start(load.stdin(Stdio::null())).ended()
    };
    let before = proxy.sent();
    through(&["--atomic", MEMORY]).summary();
    let all = proxy.sent() - before;
    whole.bench.session.run("TRUNCATE t");
    // Near the end, where the commit is, and at evenly spaced positions.
    let near = (0..8).map(|cut| all - 40 - 130 * cut);
    let far = (1..4).map(|cut| all * cut / 4);
    for (number, after) in near.chain(far).enumerate() {
        let id = format!("--load-id=cut {number}");
        proxy.set(Mode::Pass);
        proxy.set_after(after, Mode::Cut);
        let ended = through(&["--atomic", MEMORY, &id]);
        whole.bench.end_orphans();
        let found = whole.bench.count("t");
        if ended.status.code() == Some(0) {
            assert_eq!(found, ROWS as u64, "{id}");
        } else if found > 0 {
            assert!(ended.stderr.contains(" more may be in the table: "), "{id}: {ended:?}");
        }
        whole.load(&["--atomic", &id], &[]).summary();
        whole.is_whole();
        whole.bench.session.run("TRUNCATE t");
    }
}

/// The load and the server both die during the load.
fn with_the_server(server: Server) {
    let place = Place::new(server);
    let start = || place.start_with("max_connections=20");
    let whole = Whole::new(server);
    let load = |url: &str, point: &str, environment: &[(&str, &str)]| {
        let mut load = program();
        load.args(["load", "rows.csv", "-t", "t", "-d", url, "-q", "--json", "--atomic"]);
        load.args([MEMORY, "--load-id", point]).envs(environment.iter().copied());
        load.current_dir(whole.bench.folder.path());
        Running::start(load.stdin(Stdio::null())).ended()
    };
    Session::open(&start()).run(TABLE);
    for (point, is_committed) in [("atomic::committing", false), ("atomic::committed", true)] {
        load(&start(), point, &[("PGSLUICE_FAILPOINT", point)]);
        place.stop_immediately();
        let url = start();
        let loaded = load(&url, point, &[]).summary();
        assert_eq!(loaded["rows_loaded"] == 0, is_committed, "{loaded}");
        let session = Session::open(&url);
        assert_eq!(session.rows("SELECT count(*) FROM t"), [[Some(ROWS.to_string())]]);
        session.run("TRUNCATE t");
    }
}
