//! The end of a load's sessions: the time-outs of a role do not end them, but the end of the client does,
//! however it happens.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::harness::{
    Address, Bench, Mode, Proxy, Running, Server, WAITS, on_each_server, rows, wait_until,
};

on_each_server!([
    time_outs_of_a_role,
    a_killed_load_waits_for_nothing,
    both_sides_ask_whether_the_other_lives,
    swallowed_rows_are_sent_again,
    a_server_that_is_busy_is_waited_for,
]);

/// Each time-out is shorter than the input takes to arrive.
fn time_outs_of_a_role(server: Server) {
    let bench = &Bench::with_table(server);
    let role = format!("hasty_{}", bench.value("SELECT current_database()"));
    let time_outs = [
        (13, "statement_timeout"),
        (13, "lock_timeout"),
        (13, "idle_in_transaction_session_timeout"),
        (14, "idle_session_timeout"),
        (17, "transaction_timeout"),
    ];
    bench.session.run(&format!("CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'x'"));
    for (_, name) in time_outs.iter().filter(|(since, _)| server.major() >= *since) {
        bench.session.run(&format!("ALTER ROLE {role} SET {name} = '200ms'"));
    }
    let url = format!("postgresql://{role}:x@{}", bench.url.split_once('@').unwrap().1);
    let begin = ["-", "-t", "t", "--format=csv", "--json", "-q"];
    for options in [
        &[][..],
        &["-j1", "--no-ledger", "--wire=text"],
        &["--atomic"],
        &["--exchange"],
        &["--reject-file=rejected", "--max-rejects=10"],
    ] {
        bench.session.run("TRUNCATE t");
        let mut load = bench.start_into(&url, [&begin, options].concat(), Stdio::piped());
        for _ in 0..3 {
            load.feed(&rows(20_000, 100));
            thread::sleep(Duration::from_millis(500));
        }
        drop(load.child.stdin.take());
        assert_eq!(load.ended().summary()["rows_loaded"], 60_000, "{options:?}");
        assert_eq!(bench.count("t"), 60_000, "{options:?}");
    }
    // A load waits for a lock, is killed, and is resumed.
    bench.file("rows.csv", rows(60_000, 100));
    let all = ["rows.csv", "-t", "t", "--load-id", "l", "--json", "-q", "--few-rows=0"];
    bench.session.run("TRUNCATE t");
    let mut killed = Command::new(env!("CARGO_BIN_EXE_pgsluice"));
    killed.args(["load", "-d", &url]).args(all).env("PGSLUICE_FAILPOINT", "payload::sent:3");
    killed.current_dir(bench.folder.path()).stdin(Stdio::null());
    assert_eq!(Running::start(&mut killed).ended().status.code(), None);
    let other = bench.other();
    other.run("BEGIN; LOCK TABLE t IN SHARE MODE");
    let load = bench.start_into(&url, all, Stdio::null());
    wait_until("the lock is waited for", || bench.count(WAITS) > 0);
    thread::sleep(Duration::from_millis(500));
    other.run("COMMIT");
    load.ended().summary();
    assert_eq!(bench.count("t"), 60_000);
    bench.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

/// By itself, a session that waits for a lock does not check its connection.
fn a_killed_load_waits_for_nothing(server: Server) {
    if server.lacks(14, "client_connection_check_interval") {
        return;
    }
    let bench = &Bench::with_table(server);
    bench.file("rows.csv", rows(3000, 10));
    let other = bench.other();
    other.run("BEGIN; LOCK TABLE t IN SHARE MODE");
    let options = ["rows.csv", "-t", "t", "--load-id", "l", "--json", "-q"];
    let load = bench.start(options, Stdio::null());
    wait_until("the lock is waited for", || bench.count(WAITS) > 0);
    assert_eq!(load.kill().status.code(), None);
    wait_until("the end of its sessions", || bench.count(WAITS) == 0);
    other.run("COMMIT");
    assert_eq!(bench.load(options).summary()["rows_loaded"], 3000);
}

/// Whether the system will soon probe a silent connection, given the port `own` at its end.
fn is_asked_after(own: u16, other: u16) -> bool {
    let [own, other] = [own, other].map(|port| format!(":{port:04X}"));
    let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
    table.lines().any(|line| {
        let parts: Vec<&str> = line.split_whitespace().collect();
        // A timer of kind 2 is the probe timer, with the remaining time in hundredths of a second.
        let left = parts[5].strip_prefix("02:").map(|left| u64::from_str_radix(left, 16).unwrap());
        parts[1].ends_with(&own) && parts[2].ends_with(&other) && left.is_some_and(|it| it <= 1_000)
    })
}

fn both_sides_ask_whether_the_other_lives(server: Server) {
    let bench = &Bench::with_table(server);
    let options = ["-", "-t", "t", "--format=csv", "-j1", "--no-ledger", "-q"];
    let mut load = bench.start(options, Stdio::piped());
    load.feed(&rows(120_000, 100));
    wait_until("rows", || bench.count("t") > 0);
    let client = "SELECT max(client_port) FROM pg_stat_activity
                  WHERE datname = current_database() AND application_name = 'pgsluice'";
    let client = bench.value(client).parse().unwrap();
    let server = Address::from_url(&bench.url).port.parse().unwrap();
    wait_until("questions of the client's side", || is_asked_after(client, server));
    wait_until("questions of the server's side", || is_asked_after(server, client));
    drop(load.child.stdin.take());
    assert_eq!(load.ended().status.code(), Some(0));
}

/// The network accepts all data, and delivers nothing.
fn swallowed_rows_are_sent_again(server: Server) {
    let bench = &Bench::with_table(server);
    bench.file("rows.csv", rows(60_000, 100));
    let proxy = Proxy::before(&bench.url);
    let options = ["rows.csv", "-t", "t", "--load-id", "l", "-j2", "--memory=1MiB", "--json", "-q"];
    proxy.set_after(2_000_000, Mode::Swallow);
    let load = bench.start_into(proxy.url(), options, Stdio::null());
    wait_until("all is swallowed", || proxy.mode() == Mode::Swallow);
    load.signal("-INT");
    load.ended().fails(130, &["--load-id l"]);
    let before = bench.count("t");
    let summary = bench.load(options).summary();
    assert_eq!((before > 0, &summary["rows_already_loaded"]), (true, &before.into()));
    assert_eq!(bench.count("t"), 60_000);
}

/// A server that accepts no rows for longer than the limit for silence is not gone.
fn a_server_that_is_busy_is_waited_for(server: Server) {
    let bench = Bench::with_table(server);
    bench.session.run(
        "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN IF NEW.v = 'wait' THEN PERFORM pg_sleep(35); END IF; RETURN NEW; END $$;
         CREATE TRIGGER f BEFORE INSERT ON t0 FOR EACH ROW EXECUTE FUNCTION f()",
    );
    // More than the system buffers for a server that reads nothing.
    let long = format!("5,{}\n", "x".repeat(300));
    bench.file("rows.csv", ["5,wait\n", &long.repeat(100_000)].concat());
    bench.load(["rows.csv", "-t", "t", "-j1", "--json", "-q"]).summary();
    assert_eq!(bench.count("t"), 100_001);
}
