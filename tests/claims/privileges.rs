//! Questions to the server that some roles may not ask, or may not ask later.

use std::process::Stdio;

use super::{ROWS, as_role, comes_to, die, load, role_of, rows};
use crate::harness::{Bench, Server, on_each_server, wait_until};

on_each_server!([
    usage_is_granted_between_two_runs,
    a_right_is_revoked_between_two_runs,
    another_user_goes_on,
    missing_privileges_are_listed_as_a_fallback,
    a_right_that_is_revoked_in_the_middle_ends_the_load,
    a_type_that_may_not_be_named_does_not_keep_rows_out,
]);

/// Creates a table `t` that is partitioned by a function of the schema `s`.
fn make(bench: &Bench) {
    bench.session.run(
        "CREATE SCHEMA s;
         CREATE FUNCTION s.f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1 % 4; END';
         CREATE TABLE t (id int, day text, v text) PARTITION BY LIST (s.f(id));
         CREATE TABLE t0 PARTITION OF t FOR VALUES IN (0);
         CREATE TABLE t1 PARTITION OF t FOR VALUES IN (1);
         CREATE TABLE t2 PARTITION OF t DEFAULT",
    );
    bench.file("rows.csv", rows(ROWS, |id| id.to_string()));
}

fn usage_is_granted_between_two_runs(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    let role = role_of(bench, "loader");
    let url = as_role(bench, &role);
    die(bench, &url, &[]);
    bench.session.run(&format!("GRANT USAGE ON SCHEMA s TO {role}"));
    let ended = comes_to(bench, &url, ROWS as u64);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

fn a_right_is_revoked_between_two_runs(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    let role = role_of(bench, "loader");
    let url = as_role(bench, &role);
    bench.session.run(&format!("GRANT USAGE ON SCHEMA s TO {role}"));
    die(bench, &url, &[]);
    for (revoke, grant, refusal) in [
        ("USAGE ON SCHEMA s FROM", "USAGE ON SCHEMA s TO", "permission denied for schema s"),
        (
            "ALL ON FUNCTION s.f FROM PUBLIC,",
            "ALL ON FUNCTION s.f TO PUBLIC,",
            "permission denied for function f",
        ),
    ] {
        bench.session.run(&format!("REVOKE {revoke} {role}"));
        let ended = comes_to(bench, &url, ROWS as u64);
        ended.fails(1, &[
            "public.t: the server evaluated its key when the load began, but cannot evaluate it \
             now",
            refusal,
            "(SQLSTATE 0A000)",
            "pgsluice ledger forget l",
        ]);
        bench.session.run(&format!("GRANT {grant} {role}"));
    }
    assert_eq!(comes_to(bench, &url, ROWS as u64).status.code(), Some(0));
}

fn another_user_goes_on(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    let url = as_role(bench, &role_of(bench, "loader"));
    die(bench, &url, &[]);
    let ended = comes_to(bench, &bench.url, ROWS as u64);
    assert_eq!(ended.status.code(), Some(0), "{ended:?}");
}

fn missing_privileges_are_listed_as_a_fallback(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    let url = as_role(bench, &role_of(bench, "loader"));
    let ended = load(bench, &url, &["--json"]);
    let summary = ended.summary();
    let message = "and the server cannot be asked: permission denied for schema s";
    assert!(summary["fallbacks"].to_string().contains(message), "{summary}");
    assert_eq!(summary["lanes"]["routed_by_server"], ROWS, "{summary}");
}

fn a_right_that_is_revoked_in_the_middle_ends_the_load(server: Server) {
    let bench = &Bench::new(server);
    make(bench);
    let role = role_of(bench, "loader");
    let url = as_role(bench, &role);
    bench.session.run(&format!("GRANT USAGE ON SCHEMA s TO {role}"));
    let arguments = ["-", "-t", "public.t", "--format=csv", "-j1", "-q", "--memory=1MiB"];
    let mut load = bench.start_into(&url, arguments, Stdio::piped());
    load.feed(rows(ROWS, |id| id.to_string()).as_bytes());
    wait_until("a commit", || bench.count("t") > 0);
    // COPY works without this privilege.
    bench.session.run(&format!("REVOKE USAGE ON SCHEMA s FROM {role}"));
    let more: String =
        (0..ROWS).map(|id| format!("{},1,{}\n", id + ROWS, "x".repeat(99))).collect();
    load.feed(more.as_bytes());
    drop(load.child.stdin.take());
    load.ended().fails(1, &[
        "permission denied for schema s (SQLSTATE 42501)",
        "DETAIL:  The server no longer evaluates keys that it could evaluate when the load began.",
        "HINT:  Restore the privileges",
    ]);
}

fn a_type_that_may_not_be_named_does_not_keep_rows_out(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE SCHEMA s;
         CREATE DOMAIN s.day AS date CHECK (VALUE >= '2000-01-01');
         CREATE TYPE s.pair AS (a int, b int);
         CREATE TABLE t (id int, day s.day, v text) PARTITION BY RANGE (day);
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-01-05');
         CREATE TABLE t1 PARTITION OF t DEFAULT PARTITION BY LIST ((ROW(id, id)::s.pair));
         CREATE TABLE t2 PARTITION OF t1 DEFAULT",
    );
    let url = as_role(bench, &role_of(bench, "loader"));
    bench.file("rows.csv", rows(1000, |id| format!("{} Jan 2024", id % 8 + 1)));
    // The self-test reads values of all columns.
    let ended = load(bench, &url, &["--json", "--no-self-test"]);
    ended.summary();
    assert_eq!((bench.count("t0"), bench.count("t2")), (500, 500));
    let message = "the value, but it cannot be asked: permission denied for schema s";
    assert!(ended.stdout.contains(message), "{ended:?}");
}
