//! The order of a leaf's rows: by the index over which the input is the most scattered, or the order of the input.

use std::fmt::Write as _;

use crate::harness::{Bench, Server, on_each_server};

on_each_server!([rows_are_sorted_for_the_index_that_they_scatter_over,]);

/// Number of rows. With their text, they are too large for a small load without a plan.
const ROWS: u32 = 50_000;

/// Returns a pseudo-random number.
fn scattered(number: u32) -> u32 {
    number.wrapping_mul(0x9E37_79B9) >> 1
}

/// Returns how many rows of the leaf are stored directly after a row with a greater value.
fn descents(bench: &Bench, column: &str) -> usize {
    let pairs = format!(
        "(SELECT {column} < lag({column}) OVER (ORDER BY ctid) AS descends FROM t_1) AS pairs \
         WHERE descends"
    );
    bench.count(&pairs) as usize
}

fn rows_are_sorted_for_the_index_that_they_scatter_over(server: Server) {
    let bench = &Bench::new(server);
    let mut rows = String::new();
    for id in 0..ROWS {
        writeln!(rows, "{id},{},{}", scattered(id), "x".repeat(300)).unwrap();
    }
    bench.file("rows.csv", &rows);
    // A leaf has few payloads. Without sorting, every second row would descend.
    let (sorted, unsorted) = (100, ROWS as usize / 4);
    for (indexes, in_order) in [
        ("CREATE INDEX ON t (id); CREATE INDEX ON t (key)", "key"),
        ("ALTER TABLE t ADD PRIMARY KEY (id); CREATE INDEX ON t (key)", "key"),
        ("CREATE INDEX ON t (key) WHERE key > 0", "id"),
        ("ALTER TABLE t ADD PRIMARY KEY (id)", "id"),
    ] {
        bench.session.run(&format!(
            "DROP TABLE IF EXISTS t;
             CREATE TABLE t (id int, key int, v text) PARTITION BY RANGE (id);
             CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM (0) TO (1000000); {indexes}"
        ));
        let ended = bench.load(["rows.csv", "-t", "t", "-q", "-j1", "--no-ledger"]);
        assert!(ended.status.success(), "{ended:?}");
        let [ids, keys] = ["id", "key"].map(|column| descents(bench, column));
        let (ordered, other) = if in_order == "id" { (ids, keys) } else { (keys, ids) };
        assert!(ordered < sorted && other > unsorted, "{indexes}: {ids} {keys}");
    }
}
