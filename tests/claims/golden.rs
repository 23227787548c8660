//! The layouts that the ledger stores, compared with a file.
//!
//! If this file has to change, the way in which rows are routed to their nodes or its encoding has changed.
//! Then raise the number of the routing rules (`RULES` in `ledger/begin.rs`), so that a load that another
//! program began is refused instead of looked for in the wrong place.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::rows;
use crate::harness::{Bench, Running, Server, on_each_server, program};

on_each_server!([layouts_are_what_they_were,]);

/// The environment variable that makes the test write the file instead of comparing it.
const WRITE: &str = "PGSLUICE_WRITE_LAYOUTS";

const TREES: [(&str, &str); 7] = [
    ("range", "at int) PARTITION BY RANGE (at); CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (0) TO (9)"),
    ("hash", "at uuid) PARTITION BY HASH (id, at); CREATE TABLE t0 PARTITION OF t FOR VALUES WITH (MODULUS 1, REMAINDER 0)"),
    ("list", "at text COLLATE \"C\") PARTITION BY LIST (at); CREATE TABLE t0 PARTITION OF t FOR VALUES IN ('a', NULL)"),
    (
        "levels",
        "at timestamptz) PARTITION BY RANGE (at);
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') PARTITION BY LIST (id);
         CREATE TABLE t1 PARTITION OF t DEFAULT PARTITION BY LIST (id);
         CREATE TABLE t00 PARTITION OF t0 DEFAULT; CREATE TABLE t10 PARTITION OF t1 FOR VALUES IN (1, 2)",
    ),
    ("expression", "at date) PARTITION BY LIST (date_part('year'::text, at)); CREATE TABLE t0 PARTITION OF t DEFAULT"),
    (
        "asked",
        "at few) PARTITION BY RANGE (f(id), at);
         CREATE TABLE t0 PARTITION OF t FOR VALUES FROM (1, MINVALUE) TO (5, MAXVALUE)",
    ),
    ("opaque", "at regtype) PARTITION BY LIST (at); CREATE TABLE t0 PARTITION OF t DEFAULT"),
];

fn layouts_are_what_they_were(server: Server) {
    let bench = &Bench::new(server);
    bench.session.run(
        "CREATE DOMAIN few AS money CHECK (VALUE >= '0'::money);
         CREATE FUNCTION f(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END'",
    );
    bench.file("rows.csv", rows(1, |_| String::new()));
    let mut found = String::new();
    for (name, ddl) in TREES {
        bench.session.run(&format!("CREATE TABLE t (id int, v text, {ddl}"));
        // The layouts of a finished load are removed.
        let mut load = program();
        load.args(["load", "rows.csv", "-t", "t", "-d", &bench.url, "--few-rows=300", "-q"]);
        load.args(["--load-id", name]).env("PGSLUICE_FAILPOINT", "load::begun:1");
        Running::start(load.current_dir(bench.folder.path()).stdin(Stdio::null())).ended();
        bench.session.run("DROP TABLE t");
        let layout = format!("SELECT layout::text FROM pgsluice.tree WHERE load = '{name}'");
        let layout: serde_json::Value = serde_json::from_str(&bench.value(&layout)).unwrap();
        let _ = writeln!(found, "{name}: {}\n", serde_json::to_string_pretty(&layout).unwrap());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/claims/layouts.txt");
    if std::env::var_os(WRITE).is_some() {
        fs::write(&path, &found).unwrap();
    }
    let known = fs::read_to_string(&path).unwrap();
    assert!(known == found, "{WRITE}=1 writes them anew; then RULES must be raised:\n{found}");
}
