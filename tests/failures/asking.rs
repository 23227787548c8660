//! Problems while the server evaluates keys: it is slow, it refuses, or it goes away.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::harness::{Bench, Server, on_each_server, wait_until};

on_each_server!([
    a_signal_ends_a_load_that_waits_for_an_answer,
    a_session_that_is_terminated_while_it_evaluates_ends_the_load,
    a_question_that_is_refused_leaves_the_rows_to_the_server,
    a_key_that_is_refused_leaves_the_keys_beside_it_where_they_belong,
]);

/// The session that evaluates keys.
const ASKING: &str = "FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = 'pgsluice'
      AND state = 'active' AND wait_event = 'PgSleep'";

/// Creates a table `t` that is partitioned by an expression that takes a minute for a row with a 1.
fn make_table(bench: &Bench) {
    bench.session.run(
        "CREATE FUNCTION slowly(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
             'BEGIN IF $1 = 1 THEN PERFORM pg_sleep(60); END IF; RETURN $1; END';
         CREATE TABLE t (id int, v text) PARTITION BY HASH (slowly(id));
         CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    bench.file("rows.csv", "2,a\n3,b\n1,c\n4,d\n");
}

fn is_asking(bench: &Bench) -> bool {
    bench.value(&format!("SELECT count(*) {ASKING}")) != "0"
}

fn a_signal_ends_a_load_that_waits_for_an_answer(server: Server) {
    let bench = &Bench::new(server);
    make_table(bench);
    let load = bench.start(["rows.csv", "-t", "t"], Stdio::null());
    wait_until("a question", || is_asking(bench));
    load.signal("-INT");
    let asked = Instant::now();
    load.ended().fails(130, &["interrupted\nDETAIL:  No row of this load is in the table."]);
    assert!(asked.elapsed() < Duration::from_secs(4), "{:?}", asked.elapsed());
    wait_until("the server's giving up", || !is_asking(bench));
}

fn a_session_that_is_terminated_while_it_evaluates_ends_the_load(server: Server) {
    let bench = &Bench::new(server);
    make_table(bench);
    let load = bench.start(["rows.csv", "-t", "t"], Stdio::null());
    wait_until("a question", || is_asking(bench));
    bench.session.run(&format!("SELECT pg_terminate_backend(pid) {ASKING}"));
    let ended = load.ended();
    ended.fails(1, &["terminating connection due to administrator command (SQLSTATE 57P01)"]);
    assert!(ended.stderr.contains("\nHINT:  "), "{ended:?}");
    assert_eq!(bench.count("t"), 0);
}

fn a_question_that_is_refused_leaves_the_rows_to_the_server(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE FUNCTION once() RETURNS text LANGUAGE sql
             AS 'SELECT current_setting(''plan_cache_mode'')';
         CREATE FUNCTION picky(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
             'BEGIN IF once() <> ''auto'' THEN RAISE ''not here''; END IF; RETURN $1; END';
         CREATE TABLE t (id int, v text) PARTITION BY LIST (picky(id));
         CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1);
         CREATE TABLE t2 PARTITION OF t DEFAULT",
    );
    bench.file("rows.csv", "1,a\n2,b\n");
    let ended = bench.load(["rows.csv", "-t", "t", "--few-rows=300"]);
    assert_eq!((ended.status.code(), bench.count("t1"), bench.count("t2")), (Some(0), 1, 1));
    let message =
        "key LIST (public.picky(id)) of public.t: the server could not evaluate it: 2 rows";
    assert!(ended.stderr.contains(message), "{ended:?}");
}

fn a_key_that_is_refused_leaves_the_keys_beside_it_where_they_belong(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE FUNCTION once() RETURNS text LANGUAGE sql
             AS 'SELECT current_setting(''plan_cache_mode'')';
         CREATE FUNCTION picky(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
             'BEGIN IF once() <> ''auto'' AND $1 % 500 = 7 THEN RAISE ''not here''; END IF;
                    RETURN $1; END';
         CREATE TABLE t (id int) PARTITION BY RANGE (picky(id));
         CREATE TABLE t1 PARTITION OF t FOR VALUES FROM (0) TO (1500);
         CREATE TABLE t2 PARTITION OF t DEFAULT",
    );
    let rows: String = (0..3000).map(|id| format!("{id}\n")).collect();
    bench.file("rows.csv", rows);
    let ended = bench.load(["rows.csv", "-t", "t", "--json"]);
    let summary = ended.summary();
    assert_eq!((bench.count("t1"), bench.count("t2")), (1500, 1500));
    let lanes = ["routed_by_query", "routed_by_server"].map(|lane| summary["lanes"][lane].as_u64());
    assert_eq!(lanes, [Some(2994), Some(6)], "{summary}");
}
