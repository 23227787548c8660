//! Types, defaults and functions that change between two runs: the load continues as it began, or is refused.

use super::{ROWS, comes_to, die, load, rows};
use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    a_function_is_replaced,
    a_clause_of_a_domain_is_dropped,
    rows_are_not_rejected_and_loaded,
    a_label_is_added,
    a_default_is_changed,
]);

/// Lets a load die, makes a change, and resumes the load. Checks that it is refused and names the change.
fn is_refused(
    bench: &Bench,
    ddl: &str,
    value: fn(usize) -> String,
    change: &str,
    expected: &[&str],
) {
    bench.session.run(ddl);
    bench.file("rows.csv", rows(ROWS, value));
    die(bench, &bench.url, &[]);
    bench.session.run(change);
    let ended = comes_to(bench, &bench.url, ROWS as u64);
    let expected = [&["public.t: its key was read by "], expected, &["(SQLSTATE 0A000)"]].concat();
    ended.fails(1, &expected);
}

fn a_function_is_replaced(server: Server) {
    let bench = &Bench::new(server);
    let function = |body: &str| {
        format!(
            "CREATE OR REPLACE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS
                 'BEGIN RETURN {body}; END';"
        )
    };
    let ddl = function("$1 % 2")
        + "CREATE TABLE t (id int, n int, v text) PARTITION BY LIST (f(id));
           CREATE TABLE t0 PARTITION OF t FOR VALUES IN (0);
           CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1)";
    let message =
        ["function public.f(integer) ", " when the load began, and is now read by function "];
    is_refused(bench, &ddl, |id| id.to_string(), &function("($1 + 1) % 2"), &message);
    // The function is the original one again.
    bench.session.run(&function("$1 % 2"));
    assert_eq!(comes_to(bench, &bench.url, ROWS as u64).status.code(), Some(0));
}

fn a_clause_of_a_domain_is_dropped(server: Server) {
    let bench = &Bench::new(server);
    is_refused(
        bench,
        "CREATE DOMAIN few AS int CONSTRAINT few CHECK (VALUE < 15000);
         CREATE TABLE t (id int, n few, v text) PARTITION BY RANGE (((n)::int # 0));
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (MINVALUE) TO (5000);
         CREATE TABLE t1 PARTITION OF t DEFAULT",
        |id| (id % 15_000).to_string(),
        "ALTER DOMAIN few DROP CONSTRAINT few",
        &[
            "domain public.few over integer CHECK ((VALUE < 15000))",
            "domain public.few over integer",
        ],
    );
}

fn rows_are_not_rejected_and_loaded(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE DOMAIN few AS int CONSTRAINT few CHECK (VALUE < 15000);
         CREATE TABLE t (id int, n few, v text) PARTITION BY RANGE (((n)::int # 0));
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (MINVALUE) TO (5000);
         CREATE TABLE t1 PARTITION OF t DEFAULT",
    );
    bench.file("rows.csv", rows(ROWS, |id| (id * 7919 % ROWS).to_string()));
    let reject = ["--reject-file=bad", "--max-rejects=100%"];
    die(bench, &bench.url, &reject);
    bench.session.run("ALTER DOMAIN few DROP CONSTRAINT few");
    let before = bench.count("t");
    load(bench, &bench.url, &reject).fails(1, &["its key was read by domain public.few"]);
    assert_eq!(bench.count("t"), before);
    bench.session.run("ALTER DOMAIN few ADD CONSTRAINT few CHECK (VALUE < 15000)");
    load(bench, &bench.url, &[&reject[..], &["--json"]].concat()).summary_of(3);
    let rejected = std::fs::read_to_string(bench.path("bad")).unwrap().lines().count();
    assert_eq!((bench.count("t"), rejected), (15_000, 5_000));
}

fn a_label_is_added(server: Server) {
    let bench = &Bench::new(server);
    is_refused(
        bench,
        "CREATE TYPE mood AS ENUM ('sad', 'happy');
         CREATE TABLE t (id int, m mood, v text) PARTITION BY RANGE (m);
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM ('sad') TO ('happy');
         CREATE TABLE t1 PARTITION OF t DEFAULT",
        |id| ["sad", "happy"][id % 2].to_owned(),
        "ALTER TYPE mood ADD VALUE 'glum' BEFORE 'happy'",
        &["enum public.mood 'sad', 'happy'", "enum public.mood 'sad', 'glum', 'happy'"],
    );
}

fn a_default_is_changed(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE TABLE t (id int, n int, v text, w int DEFAULT 1) PARTITION BY LIST (w);
         CREATE TABLE t0 PARTITION OF t FOR VALUES IN (1);
         CREATE TABLE t1 PARTITION OF t FOR VALUES IN (2)",
    );
    bench.file("rows.csv", rows(ROWS, |id| id.to_string()));
    let columns = ["--columns=id,n,v"];
    die(bench, &bench.url, &columns);
    bench.session.run("ALTER TABLE t ALTER w SET DEFAULT 2");
    // All rows stop at the root, whatever the default is.
    let ended = load(bench, &bench.url, &columns);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
    assert_eq!(bench.count("t"), ROWS as u64);
    let doubled = "SELECT count(*) FROM (SELECT FROM t GROUP BY id HAVING count(*) > 1) d";
    assert_eq!(bench.value(doubled), "0");
}
