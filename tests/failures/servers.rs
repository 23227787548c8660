//! Servers that refuse the login, are unreachable, or go away during a load.

use std::process::{Command, Stdio};

use crate::harness::{
    Bench, Ended, Place, Running, Server, Session, on_each_server, program, rows, wait_until,
};

on_each_server!([
    a_server_that_is_stopped,
    a_session_that_is_killed,
    a_server_that_is_killed,
    a_server_that_is_killed_with_unlogged_leaves,
    a_login_that_fails_says_why,
    a_session_that_is_terminated_ends_the_load,
    too_few_connections_leave_nothing_half_done,
]);

fn a_login_that_fails_says_why(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", "1,a\n");
    let password = bench.url.split([':', '@']).nth(2).unwrap();
    let nobody = bench.url.replace("//postgres:", "//nobody:");
    let (head, _) = bench.url.rsplit_once('/').unwrap();
    let cases = [
        (bench.url.replace(password, "geheim"), "(SQLSTATE 28P01)"),
        (nobody, "(SQLSTATE 28P01)"),
        (format!("{head}/nowhere"), "database \"nowhere\" does not exist (SQLSTATE 3D000)"),
        ("postgresql://u:geheim@127.0.0.1:1/d".to_owned(), "port 1 failed: Connection refused"),
        ("host=/nowhere password=geheim dbname=d".to_owned(), "No such file or directory"),
        ("host=nowhere.invalid password=geheim".to_owned(), "could not translate host name"),
    ];
    for (url, message) in cases {
        let ended = bench.load_into(&url, ["rows.csv", "-t", "t"]);
        ended.fails(1, &[message, "\nHINT:  "]);
        assert!(!ended.stderr.contains("geheim") && !ended.stderr.contains(password), "{ended:?}");
    }
}

fn a_session_that_is_terminated_ends_the_load(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    let mut load = bench.start(["-", "-t", "t", "--format", "csv", "-j", "2"], Stdio::piped());
    load.feed(&rows(120_000, 100));
    let sessions = "FROM pg_stat_activity
                    WHERE datname = current_database() AND application_name = 'pgsluice'";
    // Sessions are idle between two payloads too, but for a shorter time.
    let paused = "bool_and(state = 'idle' AND now() - state_change > '500 ms')";
    wait_until("a pause", || {
        bench.count("t") > 0 && bench.value(&format!("SELECT {paused} {sessions}")) == "t"
    });
    bench.session.run(&format!("SELECT pg_terminate_backend(pid) {sessions}"));
    // No input arrives, so the loss itself must be noticed.
    let stdin = load.child.stdin.take();
    let ended = load.ended();
    drop(stdin);
    ended.fails(1, &["terminating connection due to administrator command (SQLSTATE 57P01)"]);
    assert!(ended.stderr.contains("\nHINT:  "), "{ended:?}");
    assert_eq!(ended.committed(), bench.count("t"));
}

fn too_few_connections_leave_nothing_half_done(server: Server) {
    let bench = &Bench::new(server);
    bench.make_table();
    bench.session.run(&format!(
        "ALTER DATABASE {} CONNECTION LIMIT 4",
        bench.value("SELECT current_database()")
    ));
    let role = format!("few_{}", bench.value("SELECT current_database()"));
    bench
        .session
        .run(&format!("CREATE ROLE {role} LOGIN PASSWORD 'geheim'; GRANT INSERT ON t TO {role}"));
    let url = format!("postgresql://{role}:geheim@{}", bench.url.split_once('@').unwrap().1);
    bench.file("rows.csv", rows(200_000, 100));
    let load = ["rows.csv", "-t", "t", "-j", "20"];
    let others = [bench.other(), bench.other()];
    let ended = bench.load_into(&url, load);
    ended.fails(1, &["too many connections for database", "(SQLSTATE 53300)", "(-j)"]);
    assert!(!ended.stderr.contains("geheim"));
    assert_eq!(ended.committed(), bench.count("t"));
    drop(others);
    let ended = bench.load_into(&url, load);
    assert_eq!((ended.status.code(), bench.count("t")), (Some(0), 200_000), "{ended:?}");
    bench.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

/// Number of rows, enough for several payloads. One of them is committed when the server goes away.
const ROWS: usize = 200_000;

/// Loads, stops the server with `end` meanwhile, starts it again, and compares. Then it resumes the load.
/// Returns how that ended, and the number of rows in the table.
fn lose_server(server: Server, leaves: &str, end: impl Fn(&Place, &Session)) -> (Ended, u64) {
    let bench = Bench::new(server);
    bench.file("rows.csv", rows(ROWS, 10));
    let place = Place::new(server);
    let url = place.start();
    let session = Session::open(&url);
    session.run("CREATE TABLE t (id int, v text) PARTITION BY HASH (id)");
    for leaf in 0..4 {
        session.run(&format!(
            "CREATE {leaves} TABLE t{leaf} PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER {leaf})"
        ));
    }
    let count = |session: &Session| -> u64 {
        session.rows("SELECT count(*) FROM t")[0][0].as_ref().unwrap().parse().unwrap()
    };
    let options = ["rows.csv", "-t", "t", "-j", "2", "--memory", "1MiB", "--load-id", "l"];
    let hold = bench.hold("payload::committed");
    let mut load = program();
    load.args(["load", "-d", &url]).args(options).envs(hold.environment());
    let load = Running::start(load.current_dir(bench.folder.path()).stdin(Stdio::null()));
    hold.wait();
    end(&place, &session);
    hold.let_go();
    drop(session);
    let ended = load.ended();
    ended.fails(1, &["\nHINT:  "]);
    let password = url.split([':', '@']).nth(2).unwrap();
    assert!(!ended.stderr.contains(password), "{ended:?}");
    let kinds = ["57P01", "57P02", "57P03", "closed the connection", "Connection refused"];
    assert!(kinds.iter().any(|kind| ended.stderr.contains(kind)), "{ended:?}");

    place.start();
    let found = count(&Session::open(&url));
    // synchronous_commit is off during a load, so a crash may lose the last transactions.
    let possible = ended.committed() + ended.in_doubt();
    assert!(found <= possible, "{found} rows\n{}", ended.stderr);

    let resumed = bench.load_into(&url, options.iter().chain(&["--json"]));
    let session = Session::open(&url);
    let distinct = "SELECT count(*) FROM (SELECT count(*) FROM t GROUP BY id) x GROUP BY count";
    assert!(resumed.status.code() != Some(0) || session.rows(distinct).len() == 1);
    (resumed, count(&session))
}

#[track_caller]
fn is_whole((resumed, rows): &(Ended, u64)) {
    resumed.summary();
    assert_eq!(*rows, ROWS as u64);
}

fn a_server_that_is_stopped(server: Server) {
    is_whole(&lose_server(server, "", |place, _| {
        place.run("stop");
    }));
}

fn a_session_that_is_killed(server: Server) {
    is_whole(&lose_server(server, "", |_, session| {
        let pid = session.rows(
            "SELECT pid FROM pg_stat_activity
             WHERE application_name = 'pgsluice' AND backend_type = 'client backend' LIMIT 1",
        );
        kill(pid[0][0].as_ref().unwrap());
    }));
}

fn a_server_that_is_killed(server: Server) {
    is_whole(&lose_server(server, "", |place, _| kill(&place.postmaster())));
}

fn a_server_that_is_killed_with_unlogged_leaves(server: Server) {
    let (resumed, rows) = lose_server(server, "UNLOGGED", |place, session| {
        // Without it, the server might forget the load too.
        session.run("CHECKPOINT");
        kill(&place.postmaster());
    });
    resumed.fails(1, &[
        "a partition is unlogged, and the server has crashed since this load began (SQLSTATE",
        "\nDETAIL:  The rows that were loaded into it are gone, but the receipts still count them.",
        "pgsluice ledger forget l",
    ]);
    assert_eq!(rows, 0);
}

fn kill(pid: &str) {
    assert!(Command::new("kill").args(["-9", pid]).status().unwrap().success());
}
