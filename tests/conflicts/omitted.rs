//! Key columns that the input lacks: the server fills them, so the server decides which rows are skipped.

use super::row_counts;
use crate::harness::{Bench, Server, on_each_server};

on_each_server!([
    rows_are_skipped_as_the_server_fills_their_key,
    keys_that_the_input_lacks_are_refused,
]);

/// Definitions of the column `d` and of the only key. The input has `id` and `v`.
const COLUMNS: [&str; 7] = [
    "d int DEFAULT 7, UNIQUE (id, d)",
    "d int DEFAULT 7, UNIQUE (d)",
    "d bigint DEFAULT nextval('numbers'), UNIQUE (id, d)",
    "d timestamptz DEFAULT now(), UNIQUE (id, d)",
    "d int GENERATED ALWAYS AS (id % 3) STORED, UNIQUE (d)",
    "d int GENERATED ALWAYS AS IDENTITY, UNIQUE (id, d)",
    "d int, UNIQUE (id, d)",
];

const IDS: [u32; 8] = [1, 2, 1, 3, 4, 4, 9, 2];

fn bench(server: Server) -> Bench {
    let bench = Bench::new(server);
    bench.session.run("SET client_min_messages = warning; CREATE SEQUENCE numbers");
    let rows = IDS.iter().zip(0..).map(|(id, value)| format!("{id},{value}\n"));
    bench.file("rows.csv", rows.collect::<String>());
    bench
}

fn make(bench: &Bench, table: &str, columns: &str) {
    bench.session.run(&format!(
        "DROP TABLE IF EXISTS {table}; CREATE TABLE {table} (id int, v int, {columns});
         INSERT INTO {table} (id, v) VALUES (2, 100)"
    ));
}

fn rows_are_skipped_as_the_server_fills_their_key(server: Server) {
    let bench = bench(server);
    let joined = (server.major() >= 15).then_some("d int, UNIQUE NULLS NOT DISTINCT (id, d)");
    for columns in COLUMNS.into_iter().chain(joined) {
        make(&bench, "ours", columns);
        make(&bench, "twin", columns);
        // All rows get the same timestamp, as in the load.
        bench.session.run("BEGIN");
        for (id, value) in IDS.iter().zip(0..) {
            bench.session.run(&format!(
                "INSERT INTO twin (id, v) VALUES ({id}, {value}) ON CONFLICT DO NOTHING"
            ));
        }
        bench.session.run("COMMIT");
        let rows =
            |table: &str| bench.session.rows(&format!("SELECT id, v FROM {table} ORDER BY v"));
        let load = ["rows.csv", "-t", "ours", "--columns", "id,v", "--on-conflict=skip"];
        let ended = bench.load(load.iter().chain(&["-q", "--json"]));
        let row_counts = row_counts(&ended, 0);
        assert_eq!(rows("ours"), rows("twin"), "{columns}: {row_counts:?}");
        let inserted = row_counts.get("inserted").copied().unwrap_or_default();
        let skipped = row_counts.get("skipped").copied().unwrap_or_default();
        assert_eq!(inserted, rows("twin").len() as u64 - 1, "{columns}: {row_counts:?}");
        assert_eq!(inserted + skipped, IDS.len() as u64, "{columns}: {row_counts:?}");
    }
}

fn keys_that_the_input_lacks_are_refused(server: Server) {
    let bench = bench(server);
    for columns in COLUMNS {
        let columns = columns.replace("UNIQUE", "PRIMARY KEY");
        if columns.starts_with("d int, ") {
            continue;
        }
        make(&bench, "ours", &columns);
        for action in ["update", "delete"] {
            let load = ["rows.csv", "-t", "ours", "--columns", "id,v", "--on-conflict", action];
            bench.load(load).fails(2, &[
                "column d: the input omits the column, so its default determines the key (SQLSTATE \
                 0A000)",
            ]);
            let load = load.iter().chain(&["--key", "id,d"]);
            bench.load(load).fails(2, &["column d is not in the input (SQLSTATE 42703)"]);
        }
        assert_eq!(bench.count("ours"), 1, "{columns}");
    }
}
