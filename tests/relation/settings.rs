//! Settings of the source's database change how it formats values and when it times out, but not the values that a load
//! reads.

use std::thread;
use std::time::Duration;

use super::case::{Case, TREE};
use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    spellings,
    encodings,
    bytes_that_are_no_characters,
    names_that_others_own,
    time_outs,
]);

/// Changes settings for all sessions that begin later.
fn set(bench: &Bench, settings: &[(&str, &str)]) {
    for (name, value) in settings {
        let database = bench.value("SELECT quote_ident(current_database())");
        bench.session.run(&format!("ALTER DATABASE {database} SET {name} = '{value}'"));
    }
}

fn spellings(server: Server) {
    let case = Case::elsewhere(server);
    case.make(
        "CREATE TABLE t (id bigint, d date, s timestamptz, i interval, f float8, b bytea) PARTITION BY RANGE (d);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-07-01');
         CREATE TABLE t_d PARTITION OF t DEFAULT",
    );
    case.source().session.run(
        "CREATE TABLE old AS
         SELECT id, date '2024-01-01' + id AS d, timestamptz '2024-03-01 10:00Z' + id * interval '7 h' AS s,
                interval '1 mon -2 days 00:00:00.5' * id AS i, id / 3.0::float8 AS f, sha256(id::text::bytea) AS b
         FROM generate_series(1, 1000) AS id",
    );
    case.copy("old", "id, d, s, i, f, b");
    let settings = [
        ("datestyle", "SQL, DMY"),
        ("intervalstyle", "iso_8601"),
        ("timezone", "Asia/Kolkata"),
        ("extra_float_digits", "-9"),
        ("bytea_output", "escape"),
        ("default_transaction_read_only", "on"),
    ];
    set(case.source(), &settings);
    for options in [&[][..], &["--few-rows=0"]] {
        case.bench.session.run("TRUNCATE public.t");
        case.load("old", options).summary();
        case.agree("settings");
    }
}

fn encodings(server: Server) {
    let scratch = server.scratch_in("LATIN1");
    let case = Case::with_source(server, Some(Bench::from_url(scratch.url())));
    case.make(
        "CREATE TABLE t (v text, n bigint) PARTITION BY HASH (v);
         CREATE TABLE t_0 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 0);
         CREATE TABLE t_1 PARTITION OF t FOR VALUES WITH (MODULUS 2, REMAINDER 1)",
    );
    for of_number in ["int", "bigint"] {
        case.empty();
        case.source().session.run(&format!(
            "DROP TABLE IF EXISTS old;
             CREATE TABLE old AS SELECT chr(32 + n % 224) || n AS v, n::{of_number}
             FROM generate_series(1, 2000) AS n WHERE 32 + n % 224 NOT BETWEEN 127 AND 159"
        ));
        case.copy("old", "v, n");
        case.load("old", &[]).summary();
        case.agree(of_number);
    }
}

fn bytes_that_are_no_characters(server: Server) {
    let scratch = server.scratch_in("SQL_ASCII");
    let case = Case::with_source(server, Some(Bench::from_url(scratch.url())));
    case.make("CREATE TABLE t (id int, v text)");
    case.source().session.run(
        "CREATE TABLE old AS SELECT id, CASE id WHEN 7 THEN E'a\\xff' ELSE 'b' END AS v
         FROM generate_series(1, 1000) AS id",
    );
    for options in [&["-j1"][..], &["-j1", "--wire=text"]] {
        case.load("old", options).fails(1, &["(SQLSTATE 22021)"]);
        assert_eq!(case.bench.count("t"), 0);
    }
}

/// Functions and operators in the search path of the source's database, and types with names that PostgreSQL uses.
fn names_that_others_own(server: Server) {
    let case = Case::elsewhere(server);
    case.make(TREE);
    case.make_old(2000);
    case.copy("old", "id, day, v");
    case.source().session.run(
        "CREATE SCHEMA theirs;
         CREATE FUNCTION theirs.refuse(tid, tid) RETURNS bool LANGUAGE plpgsql AS
             $$ BEGIN RAISE 'called'; END $$;
         CREATE OPERATOR theirs.>= (LEFTARG = tid, RIGHTARG = tid, FUNCTION = theirs.refuse);
         CREATE OPERATOR theirs.< (LEFTARG = tid, RIGHTARG = tid, FUNCTION = theirs.refuse);
         CREATE VIEW theirs.pg_class AS SELECT 1 AS oid;
         CREATE DOMAIN theirs.tid AS text; CREATE DOMAIN theirs.text AS int",
    );
    let database = case.source().value("SELECT quote_ident(current_database())");
    let path = format!("ALTER DATABASE {database} SET search_path = theirs, public, pg_catalog");
    case.source().session.run(&path);
    case.load("old", &["--few-rows=0"]).summary();
    case.agree("names of others");
}

fn time_outs(server: Server) {
    let case = Case::elsewhere(server);
    case.make(TREE);
    case.make_old(60_000);
    case.copy("old", "id, day, v");
    let mut settings =
        vec![("statement_timeout", "300ms"), ("idle_in_transaction_session_timeout", "300ms")];
    if case.source().value("SHOW server_version_num").parse::<u32>().unwrap() >= 170_000 {
        settings.push(("transaction_timeout", "300ms"));
    }
    set(case.source(), &settings);
    let hold = case.bench.hold("payload::begun:2");
    let load = case.start_with("old", &["-j1", "--memory=1MiB"], &hold.environment());
    hold.wait();
    thread::sleep(Duration::from_secs(1));
    hold.let_go();
    load.ended().summary();
    case.agree("time-outs");
}
