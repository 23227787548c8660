//! Bad rows among existing ones: either the load names one of them and changes nothing, or the reject file
//! has all of them and every other row is applied.

use std::collections::BTreeMap;
use std::fs;

use super::row_counts;
use crate::harness::{Bench, Server, on_each_server};

on_each_server!([a_bad_row_is_named, bad_rows_are_rejected,]);

const TABLE: &str = "
CREATE TABLE t (id int, day date, v int NOT NULL, w text CHECK (w <> 'bad'), PRIMARY KEY (id, day))
    PARTITION BY RANGE (day);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')";

/// Rows of an input. Four of them are bad, each in a different way.
struct Input {
    rows: usize,
}

impl Input {
    fn bad(&self) -> [(usize, String); 4] {
        let [one, two, three, four] = [3, 9, 13, 19].map(|part| self.rows * part / 20);
        [
            (one, format!("{one},2024-01-10,1,bad")),
            (two, format!("{two},2024-02-10,,new")),
            (three, format!("{three},2024-01-10,x,new")),
            (four, format!("{four},2025-01-10,1,new")),
        ]
    }

    fn text(&self) -> String {
        let bad = BTreeMap::from(self.bad());
        let good = |id| format!("{id},2024-0{}-10,{id},new", 1 + id % 2);
        let row = |id| bad.get(&id).cloned().unwrap_or_else(|| good(id));
        (1..=self.rows).map(|id| row(id) + "\n").collect()
    }

    /// Opens a database with a table that has half of the keys.
    fn bench(&self, server: Server) -> Bench {
        let bench = Bench::new(server);
        bench.session.run(TABLE);
        self.begin_anew(&bench);
        bench.file("rows.csv", self.text());
        bench
    }

    fn begin_anew(&self, bench: &Bench) {
        let there = self.rows / 2;
        bench.session.run(&format!(
            "TRUNCATE t; INSERT INTO t SELECT id, make_date(2024, 1 + id % 2, 10), 0, 'old'
             FROM generate_series(1, {there}) AS id"
        ));
    }
}

fn a_bad_row_is_named(server: Server) {
    let all_or_nothing: &[&str] = &["--atomic", "--memory=1MiB"];
    for (rows, options) in [(200, &[][..]), (3_000, all_or_nothing)] {
        let input = Input { rows };
        let bench = input.bench(server);
        let there =
            || bench.session.rows("SELECT tableoid::regclass, t::text FROM t ORDER BY 1, 2");
        let before = there();
        for action in ["skip", "update"] {
            let load = ["rows.csv", "-t", "t", "-q", "--on-conflict", action];
            let ended = bench.load(load.iter().chain(options));
            ended.fails(1, &["rows.csv:"]);
            let is_at = |line: usize| {
                [": ", ".\n"]
                    .iter()
                    .any(|end| ended.stderr.contains(&format!("rows.csv:{line}{end}")))
            };
            assert!(input.bad().iter().any(|(line, _)| is_at(*line)), "{ended:?}");
            assert!(there() == before, "{action} of {rows} rows: {ended:?}");
        }
    }
}

fn bad_rows_are_rejected(server: Server) {
    for (rows, options) in [(200, &[][..]), (3_000, &["-j4"]), (3_000, &["-j1", "--few-rows=0"])] {
        let input = Input { rows };
        let bench = input.bench(server);
        for action in ["skip", "update"] {
            input.begin_anew(&bench);
            let file = format!("{action}.bad");
            let load = ["rows.csv", "-t", "t", "-q", "--json", "--on-conflict", action];
            let load = load.iter().chain(options).chain(&["--max-rejects", "10"]);
            let ended = bench.load(load.chain(&["--reject-file", &file]));
            let existing = if action == "skip" { "skipped" } else { "updated" };
            let half = rows as u64 / 2 - 2;
            let wanted = [("inserted", half), (existing, half), ("rejected", 4)];
            let wanted = wanted.map(|(counts, rows)| (counts.to_owned(), rows));
            assert_eq!(row_counts(&ended, 3), BTreeMap::from(wanted), "{ended:?}");
            let rejected = fs::read_to_string(bench.path(&file)).unwrap();
            let mut rejected: Vec<&str> = rejected.lines().collect();
            rejected.sort_unstable();
            let bad = input.bad();
            let mut bad: Vec<&str> = bad.iter().map(|(_, row)| &**row).collect();
            bad.sort_unstable();
            assert_eq!(rejected, bad);
            // Two of the existing rows are affected by bad rows.
            let (old, zero) = if action == "skip" { (half + 2, half + 2) } else { (2, 2) };
            let found = [bench.count("t WHERE w = 'old'"), bench.count("t WHERE v = 0")];
            assert_eq!(found, [old, zero], "{action}");
            assert_eq!(bench.count("t WHERE w = 'new' AND v <> id"), 0);
            assert_eq!(bench.count("t"), 2 * half + 2);
            fs::remove_file(bench.path(&file)).unwrap();
            fs::remove_file(bench.path(&format!("{file}.log"))).unwrap();
        }
    }
}
