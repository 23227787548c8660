//! Loads that are killed, lose their sessions, or are overtaken: the next run ends them rightly.

use std::os::unix::process::ExitStatusExt;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use super::{MEMORY, ROWS, TABLE, Whole, prepared, sessions};
use crate::harness::{
    Mode, Place, Proxy, Running, Server, Session, WAITS, on_each_server, program, wait_until,
};

on_each_server!([
    single_connection,
    several_connections,
    what_is_in_doubt_is_said_and_settled,
    a_load_that_is_forgotten_is_settled,
    another_load_touches_nothing,
    a_load_that_was_overtaken_decides_nothing,
    two_runs_load_once,
    a_connection_that_is_cut,
    with_the_server,
]);

/// The points of a load over one connection, and of one over several.
const ALONE: [&str; 6] = [
    "load::begun",
    "payload::sent:3",
    "payload::committed:3",
    "atomic::ready",
    "atomic::committing",
    "atomic::committed",
];
const TOGETHER: [&str; 12] = [
    "payload::committed:3",
    "atomic::ready:1",
    "atomic::ready:3",
    "atomic::prepared:1",
    "atomic::prepared:2",
    "atomic::prepared:3",
    "atomic::deciding",
    "atomic::decided",
    "atomic::settled:1",
    "atomic::settled:2",
    "atomic::settled:3",
    "receipts::written",
];

/// As a load may be taken up by.
const NEXT: [&[&str]; 3] = [&["--atomic", "-j1"], &["--atomic", "-j4", MEMORY], &["-j2", MEMORY]];

fn kill_at_each(server: Server, jobs: &str, points: &[&str]) {
    let whole = Whole::new(server);
    for (number, point) in points.iter().enumerate() {
        let id = format!("--load-id=killed {number}");
        let load = ["--atomic", jobs, MEMORY, &id];
        let ended = whole.load(&load, &[("PGSLUICE_FAILPOINT", point)]);
        // Receipts are not written at all.
        let comes = *point != "receipts::written";
        assert_eq!(ended.status.signal() == Some(9), comes, "{point}: {ended:?}");
        let found = whole.bench.count("t");
        let is_decided = ["committed", "decided", "settled"].iter().any(|end| point.contains(end))
            && point.starts_with("atomic");
        match is_decided || !comes {
            false => assert_eq!(found, 0, "{point}"),
            true => assert!(point.starts_with("atomic::d") || found > 0, "{point}"),
        }
        let next = NEXT[number % NEXT.len()];
        let ended = whole.load(&[next, &[&id]].concat(), &[]);
        let again = ended.summary();
        whole.is_whole();
        let loaded = if is_decided || !comes { 0 } else { ROWS };
        assert_eq!(again["rows_loaded"], loaded, "{point}: {again}");
        whole.bench.session.run("TRUNCATE t");
    }
}

fn single_connection(server: Server) {
    kill_at_each(server, "-j1", &ALONE);
}

fn several_connections(server: Server) {
    kill_at_each(server, "-j3", &TOGETHER);
}

fn what_is_in_doubt_is_said_and_settled(server: Server) {
    let whole = Whole::new(server);
    for (point, is_decided) in [("atomic::deciding", false), ("atomic::settled:1", true)] {
        let load = ["--atomic", "-j3", MEMORY, "--load-id", point];
        whole.load(&load, &[("PGSLUICE_FAILPOINT", point)]);
        assert!(prepared(&whole.bench) > 0, "{point}");
        let show = program().args(["ledger", "show", point, "-d", &whole.bench.url]).output();
        let show = String::from_utf8(show.unwrap().stdout).unwrap();
        assert!(show.contains(&format!("load     {point}, in doubt")), "{show}");
        assert!(show.contains("\nin doubt pgsluice "), "{show}");
        let loaded = whole.load(&["--atomic", "-j2", "--load-id", point], &[]).summary();
        assert_eq!(loaded["rows_loaded"] == 0, is_decided, "{loaded}");
        whole.is_whole();
        whole.bench.session.run("TRUNCATE t");
    }
}

fn a_load_that_is_forgotten_is_settled(server: Server) {
    let whole = Whole::new(server);
    for (point, rows, said) in
        [("atomic::deciding", 0, "rolled back"), ("atomic::decided", ROWS as u64, "committed")]
    {
        let load = ["--atomic", "-j3", MEMORY, "--load-id", point];
        whole.load(&load, &[("PGSLUICE_FAILPOINT", point)]);
        let forget = program().args(["ledger", "forget", point, "-d", &whole.bench.url]).output();
        let forget = String::from_utf8(forget.unwrap().stderr).unwrap();
        assert!(forget.contains(&format!("is forgotten; its rows in doubt were {said}")));
        assert_eq!((whole.bench.count("t"), prepared(&whole.bench)), (rows, 0));
        whole.bench.session.run("TRUNCATE t");
    }
}

/// Another load leaves alone what is not its own.
fn another_load_touches_nothing(server: Server) {
    let whole = Whole::new(server);
    let load = ["--atomic", "-j3", MEMORY, "--load-id=one"];
    whole.load(&load, &[("PGSLUICE_FAILPOINT", "atomic::deciding")]);
    let before = prepared(&whole.bench);
    whole.load(&["--atomic", "-j1"], &[]).summary();
    assert_eq!((prepared(&whole.bench), whole.bench.count("t")), (before, ROWS as u64));
    whole.bench.session.run("BEGIN; DELETE FROM t; COMMIT");
    whole.load(&load, &[]).summary();
    whole.is_whole();
}

/// Who has lost all sessions while it was about to decide does not decide any more once another run has
/// begun.
fn a_load_that_was_overtaken_decides_nothing(server: Server) {
    let whole = Whole::new(server);
    let load = ["--atomic", "-j3", MEMORY, "--load-id=race"];
    let hold = whole.bench.hold("atomic::deciding");
    let first = whole.start(&load, &hold.environment());
    hold.wait();
    let waits = format!("{WAITS} AND mode = 'AccessExclusiveLock'");
    wait_until("a lock against readers", || whole.bench.count(&waits) > 0);
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

/// While a run is alive the next one waits for it.
fn two_runs_load_once(server: Server) {
    let whole = Whole::new(server);
    let load = ["--atomic", "-j3", MEMORY, "--load-id=twice"];
    let hold = whole.bench.hold("atomic::deciding");
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

/// The connection is cut anywhere, also where an answer about a commit is under way.
fn a_connection_that_is_cut(server: Server) {
    let whole = Whole::new(server);
    let proxy = Proxy::before(&whole.bench.url);
    let through = |options: &[&str]| {
        let mut load = program();
        load.args(["load", "rows.csv", "-t", "t", "-d", proxy.url(), "-q", "--json"]).args(options);
        load.current_dir(whole.bench.folder.path());
        Running::start(load.stdin(Stdio::null())).ended()
    };
    for jobs in ["-j1", "-j3"] {
        proxy.set(Mode::Pass);
        let before = proxy.sent();
        through(&["--atomic", jobs, MEMORY]).summary();
        let all = proxy.sent() - before;
        whole.bench.session.run("TRUNCATE t");
        // From the end, where it is decided, and anywhere else.
        let near = (0..8).map(|cut| all - 40 - 130 * cut);
        let far = (1..4).map(|cut| all * cut / 4);
        for (number, after) in near.chain(far).enumerate() {
            let id = format!("--load-id=cut {jobs} {number}");
            proxy.set(Mode::Pass);
            proxy.set_after(after, Mode::Cut);
            let ended = through(&["--atomic", jobs, MEMORY, &id]);
            whole.bench.end_orphans();
            let found = whole.bench.count("t");
            if ended.status.code() == Some(0) {
                assert_eq!(found, ROWS as u64, "{id}");
            } else if found > 0 {
                assert!(ended.stderr.contains(" more may be in the table: "), "{id}: {ended:?}");
            }
            whole.load(&["--atomic", "-j2", &id], &[]).summary();
            whole.is_whole();
            whole.bench.session.run("TRUNCATE t");
        }
    }
}

/// The load and the server both end in between.
fn with_the_server(server: Server) {
    let place = Place::of(server);
    let start = || place.start_with("max_prepared_transactions=8");
    let whole = Whole::new(server);
    let load = |url: &str, point: &str, environment: &[(&str, &str)]| {
        let mut load = program();
        load.args(["load", "rows.csv", "-t", "t", "-d", url, "-q", "--json", "--atomic", "-j3"]);
        load.args([MEMORY, "--load-id", point]).envs(environment.iter().copied());
        load.current_dir(whole.bench.folder.path());
        Running::start(load.stdin(Stdio::null())).ended()
    };
    Session::open(&start()).run(TABLE);
    for (point, is_decided) in [("atomic::deciding", false), ("atomic::settled:1", true)] {
        load(&start(), point, &[("PGSLUICE_FAILPOINT", point)]);
        place.stop_immediately();
        let url = start();
        let loaded = load(&url, point, &[]).summary();
        assert_eq!(loaded["rows_loaded"] == 0, is_decided, "{loaded}");
        let session = Session::open(&url);
        let rows = "SELECT count(*), (SELECT count(*) FROM pg_prepared_xacts) FROM t";
        assert_eq!(session.rows(rows), [[Some(ROWS.to_string()), Some("0".to_owned())]]);
        session.run("TRUNCATE t");
    }
}
