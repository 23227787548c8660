//! `--wait`: servers that do not accept connections yet or have no room yet, and errors for which waiting
//! does not help.

use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Address, Bench, Mode, Proxy, Server, free_port, on_each_server, rows};

on_each_server!([
    a_server_that_comes_later,
    a_server_that_hangs_up_at_first,
    connections_that_others_give_back,
    permanent_errors_end_the_wait,
    the_wait_has_an_end,
]);

/// Longer than anything here takes; a test that waits for all of it fails.
const LONG: &str = "--wait=10min";

/// Long enough for a few tries.
const A_WHILE: Duration = Duration::from_millis(1_500);

fn a_server_that_comes_later(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(1000, 10));
    let (port, own) = (free_port(), Address::from_url(&bench.url).port);
    let url = bench.url.replace(&format!(":{own}/"), &format!(":{port}/"));
    for options in [&["--few-rows=0"][..], &[], &["--exchange"], &["--create-partitions"]] {
        bench.session.run("TRUNCATE t");
        let all = [&["rows.csv", "-t", "t", "--json", "-q", LONG], options].concat();
        let mut load = bench.start_into(&url, all, Stdio::null());
        thread::sleep(A_WHILE);
        assert!(load.child.try_wait().unwrap().is_none(), "it does not wait: {:?}", load.ended());
        let _proxy = Proxy::before_at(&bench.url, port);
        assert_eq!(load.ended().summary()["rows_loaded"], 1000, "{options:?}");
    }
}

fn a_server_that_hangs_up_at_first(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(1000, 10));
    let proxy = Proxy::before(&bench.url);
    proxy.set(Mode::Cut);
    let options = ["rows.csv", "-t", "t", "--json", "-q", LONG];
    let mut load = bench.start_into(proxy.url(), options, Stdio::null());
    thread::sleep(A_WHILE);
    assert!(load.child.try_wait().unwrap().is_none(), "it does not wait: {:?}", load.ended());
    proxy.set(Mode::Pass);
    assert_eq!(load.ended().summary()["rows_loaded"], 1000);
}

fn connections_that_others_give_back(server: Server) {
    let bench = Bench::with_table(server);
    let database = bench.value("SELECT current_database()");
    let role = format!("few_{database}");
    bench.session.run(&format!(
        "ALTER DATABASE {database} CONNECTION LIMIT 3;
         CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT INSERT ON t TO {role}"
    ));
    let url = format!("postgresql://{role}:x@{}", bench.url.split_once('@').unwrap().1);
    bench.file("rows.csv", rows(100_000, 100));
    let options = ["rows.csv", "-t", "t", "-j", "8", "--json", "-q"];
    let others = [bench.other(), bench.other()];
    bench.load_into(&url, options).fails(1, &["(SQLSTATE 53300)"]);
    let waiting = options.into_iter().chain([LONG]);
    let load = bench.start_into(&url, waiting, Stdio::null());
    thread::sleep(A_WHILE);
    drop(others);
    assert_eq!(load.ended().summary()["rows_loaded"], 100_000);
    bench.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
}

fn permanent_errors_end_the_wait(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(10, 10));
    let password = Address::from_url(&bench.url).password;
    let (head, _) = bench.url.rsplit_once('/').unwrap();
    for (url, message) in [
        (bench.url.replace(&password, "wrong"), "(SQLSTATE 28P01)"),
        (format!("{head}/nowhere"), "(SQLSTATE 3D000)"),
        (format!("{}?sslmode=require", bench.url), "server does not support SSL"),
        (format!("{}?sslmode=verify-full&sslrootcert=/nowhere", bench.url), "root certificate"),
    ] {
        bench.load_into(&url, ["rows.csv", "-t", "t", LONG]).fails(1, &[message]);
    }
}

fn the_wait_has_an_end(server: Server) {
    let bench = Bench::with_table(server);
    bench.file("rows.csv", rows(10, 10));
    let url = format!("postgresql://u@127.0.0.1:{}/d", free_port());
    let began = Instant::now();
    let ended = bench.load_into(&url, ["rows.csv", "-t", "t", "--wait=1500ms"]);
    ended.fails(1, &["Connection refused", "HINT:  Is the server running"]);
    assert!(began.elapsed() >= A_WHILE, "it was waited for");
    bench.load_into(&url, ["rows.csv", "-t", "t", "--wait=soon"]).fails(2, &["error: ", "--wait"]);
}
