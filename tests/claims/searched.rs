//! The search before the first row: the input must contain the rows that receipts claim.

use std::process::Stdio;

use super::{ROWS, die, load, rows, start};
use crate::harness::{Bench, Server, on_each_server, wait_until};

on_each_server!([
    receipts_that_do_not_match_are_refused_before_a_row_is_sent,
    a_search_can_be_stopped,
    rows_of_a_pipe_are_not_searched,
]);

fn make(bench: &Bench) {
    bench.session.run(
        "CREATE TABLE t (id int, n int, v text) PARTITION BY HASH (id);
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    bench.file("rows.csv", rows(ROWS, |id| id.to_string()));
}

const SAID: &str = "the rows found in the input do not match the ledger (SQLSTATE 55000)";

fn receipts_that_do_not_match_are_refused_before_a_row_is_sent(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    die(bench, &bench.url, &[]);
    let before = bench.count("t");
    bench.session.run("CREATE TABLE kept AS SELECT * FROM pgsluice.receipt");
    for change in [
        "UPDATE pgsluice.receipt SET rows = rows + 1",
        "UPDATE pgsluice.receipt SET rows = rows - 1",
        "UPDATE pgsluice.receipt SET upto = 1000000000, starts = '{}', stops = '{}'",
        "UPDATE pgsluice.receipt SET node = 3 - node",
    ] {
        bench.session.run(change);
        let refused = load(bench, &bench.url, &[]);
        let parts =
            [SAID, "DETAIL:  Table public.t", " found, ", " in the ledger.", "ledger forget l"];
        refused.fails(1, &parts);
        assert!(!refused.stderr.contains("To load the rest"), "{refused:?}");
        assert_eq!(bench.count("t"), before, "{change}");
        bench
            .session
            .run("DELETE FROM pgsluice.receipt; INSERT INTO pgsluice.receipt SELECT * FROM kept");
    }
    assert_eq!(load(bench, &bench.url, &[]).status.code(), Some(0));
    assert_eq!(bench.count("t"), ROWS as u64);
}

fn a_search_can_be_stopped(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE FUNCTION slowly(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
             'BEGIN PERFORM pg_sleep(current_setting(''s.sleep'', true)::float8); RETURN $1 % 4; END';
         CREATE TABLE t (id int, n int, v text) PARTITION BY LIST (slowly(id));
         CREATE TABLE t0 PARTITION OF t FOR VALUES IN (0);
         CREATE TABLE t1 PARTITION OF t DEFAULT",
    );
    bench.file("rows.csv", rows(ROWS, |id| id.to_string()));
    die(bench, &bench.url, &[]);
    let before = bench.count("t");
    let database = bench.value("SELECT quote_ident(current_database())");
    bench.session.run(&format!("ALTER DATABASE {database} SET s.sleep = '60'"));
    let running = start(bench, &bench.url, "", &[]);
    let asking = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
                      AND application_name = 'pgsluice' AND wait_event = 'PgSleep'";
    wait_until("a question", || bench.value(asking) != "0");
    running.signal("-INT");
    running.ended().fails(130, &["interrupted\nDETAIL:  ", "rows of this load were committed"]);
    assert_eq!(bench.count("t"), before);
}

fn rows_of_a_pipe_are_not_searched(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    let rows = rows(3 * ROWS, |id| id.to_string());
    let (first, second) = rows.split_at(rows.find("\n20000,").unwrap() + 1);
    bench.file("rows.csv", first);
    let arguments = ["rows.csv", "-", "-t", "t", "--format=csv", "--load-id=l", "--memory=1MiB"];
    let mut running = bench.start(arguments, Stdio::piped());
    running.feed(&second.as_bytes()[..second.len() - 500_000]);
    wait_until("commits", || bench.count("t") > 25_000);
    running.kill();
    let mut running = bench.start(arguments.iter().chain(&["--json"]), Stdio::piped());
    running.feed(second.as_bytes());
    drop(running.child.stdin.take());
    running.ended().summary();
    assert_eq!(bench.count("t"), 3 * ROWS as u64);
    assert_eq!(bench.value("SELECT count(DISTINCT id) FROM t"), (3 * ROWS).to_string());
}
