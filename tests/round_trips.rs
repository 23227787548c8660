//! The number of times that a load waits for the server's answer, which is the cost of a network.

use crate::harness::{Bench, Proxy, Server, on_each_server, rows};

on_each_server!([a_small_load_waits_twice_more_than_psql,]);

/// The number of times that psql waits for `\copy` after its login: until COPY begins, and until it is done.
const OF_COPY: u64 = 2;

/// Returns the number of times that a load waits. It must end with this status.
fn answers(bench: &Bench, url: &str, status: i32, arguments: &[&str]) -> u64 {
    let proxy = Proxy::before(url);
    let ended = bench.load_into(proxy.url(), [&["-t", "t", "-q"], arguments].concat());
    assert_eq!(ended.status.code(), Some(status), "{ended:?}");
    proxy.answers()
}

/// Returns the number of waits until the load is logged in, or refused.
fn count_login(bench: &Bench) -> u64 {
    let (server, _) = bench.url.rsplit_once('/').unwrap();
    answers(bench, &format!("{server}/no_such_database"), 1, &["new.csv"])
}

fn a_small_load_waits_twice_more_than_psql(server: Server) {
    let bench = &Bench::with_table(server);
    bench.file("first.csv", rows(5, 10));
    assert!(bench.load(["first.csv", "-t", "t", "-q"]).status.success());
    bench.file("new.csv", rows(50, 10));
    let max = count_login(bench) + OF_COPY + 2;
    assert_eq!(answers(bench, &bench.url, 0, &["new.csv"]), max);
    // The query whether the table still has its rows costs no additional round trip.
    assert_eq!(answers(bench, &bench.url, 0, &["new.csv"]), max);
}
