//! How often a load waits for the server's answer: over a network, that is the time that it takes longer.

use std::ops::Range;
use std::process::Stdio;

use crate::harness::{Bench, Proxy, Running, Server, on_each_server, program, rows};

on_each_server!([
    a_small_load_waits_twice_more_than_psql,
    a_transaction_begins_while_the_last_one_ends,
    what_is_begun_is_not_in_if_the_last_one_fails,
]);

/// How often psql waits for `\\copy` behind its login: until COPY begins, and until it is done.
const OF_COPY: u64 = 2;

/// How often a load waits. It ends with this status.
fn answers(bench: &Bench, url: &str, status: i32, arguments: &[&str]) -> u64 {
    let proxy = Proxy::before(url);
    let ended = bench.load_into(proxy.url(), [&["-t", "t", "-q"], arguments].concat());
    assert_eq!(ended.status.code(), Some(status), "{ended:?}");
    proxy.answers()
}

/// How often it waits until it is logged in, or refused.
fn of_login(bench: &Bench) -> u64 {
    let (server, _) = bench.url.rsplit_once('/').unwrap();
    answers(bench, &format!("{server}/no_such_database"), 1, &["new.csv"])
}

fn a_small_load_waits_twice_more_than_psql(server: Server) {
    let bench = &Bench::with_table(server);
    bench.file("first.csv", rows(5, 10));
    assert!(bench.load(["first.csv", "-t", "t", "-q"]).status.success());
    bench.file("new.csv", rows(50, 10));
    let most = of_login(bench) + OF_COPY + 2;
    assert_eq!(answers(bench, &bench.url, 0, &["new.csv"]), most);
    // Whether the table still has its rows is asked in the same breath.
    assert_eq!(answers(bench, &bench.url, 0, &["new.csv"]), most);
}

fn a_transaction_begins_while_the_last_one_ends(server: Server) {
    let bench = &Bench::with_table(server);
    bench.file("rows.csv", rows(200_000, 100));
    // The rows come faster than the server takes them.
    (0..4).for_each(|_| bench.session.run("CREATE INDEX ON t (v, id)"));
    let hold = bench.hold("payload::committed:8");
    let mut load = program();
    load.args(["load", "rows.csv", "-d", &bench.url, "-t", "t", "-q", "-j1", "--memory=16MB"]);
    let load = load.current_dir(bench.folder.path()).envs(hold.environment());
    let load = Running::start(load.stdin(Stdio::null()));
    hold.wait();
    let begun = "SELECT count(*) FROM pg_stat_activity
                 WHERE datname = current_database() AND state = 'active' AND query LIKE 'COPY%'";
    let begun = bench.value(begun);
    hold.let_go();
    assert_eq!(load.ended().status.code(), Some(0));
    assert_eq!(begun, "1");
    assert_eq!(bench.count("t"), 200_000);
}

fn what_is_begun_is_not_in_if_the_last_one_fails(server: Server) {
    let bench = &Bench::with_table(server);
    bench.session.run("ALTER TABLE t ADD CHECK (v <> 'bad')");
    bench.session.run("ALTER TABLE t ADD UNIQUE (id, v) DEFERRABLE INITIALLY DEFERRED");
    let row = |number: usize| format!("{},{number:0100}\n", number % 100);
    let rows = |numbers: Range<usize>| numbers.map(row).collect::<String>();
    let again = row(7);
    // The one is refused by COPY, the other by COMMIT.
    for (bad, said) in [("5,bad\n", "violates check constraint"), (&*again, "duplicate key")] {
        bench.session.run("TRUNCATE t");
        bench.file("rows.csv", [&rows(0..150_000), bad, &rows(150_000..200_000)].concat());
        let ended = bench.load(["rows.csv", "-t", "t", "-q", "-j1", "--memory=16MB"]);
        ended.fails(1, &[said]);
        assert!(ended.committed() > 50_000, "{ended:?}");
        assert_eq!(bench.count("t"), ended.committed(), "{ended:?}");
    }
}
