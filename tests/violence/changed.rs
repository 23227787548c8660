//! SIGKILL and stopped servers while existing rows are updated: in the end each key has the value of its last
//! row, and the counts equal those of an undisturbed load.

use std::collections::BTreeMap;

use super::stopped;
use crate::harness::{
    Bench, Chance, Ended, Ordeal, Place, Running, Server, Subject, kill, on_each_server, size,
};

on_each_server!([killed_while_it_updates, stopped_while_it_updates,]);

fn killed_while_it_updates(server: Server) {
    let subject = Changed::new(Bench::new(server), size().rows);
    let url = subject.bench.url.clone();
    let mut ordeal = Ordeal::new(subject, Chance::new(), &url, &["--on-conflict=update"]);
    ordeal.endure(size().kills, kill).tell("kills", ordeal.subject.rows());
}

fn stopped_while_it_updates(server: Server) {
    let place = Place::new(server);
    let subject = Changed::new(Bench::from_url(&place.start()), size().rows);
    stopped::endure(&place, subject, Chance::new(), &["--on-conflict=update"]);
}

/// A row of the input as a function of its number: an id that comes twice, and a value that is the existing
/// one for some rows.
const ROW: &str =
    "n * 7919 % :keys AS id, CASE WHEN n % 3 = 0 THEN n * 7919 % :keys ELSE n END AS v";

/// A load into a table that has half of the keys.
struct Changed {
    bench: Bench,
    rows: u64,
    files: Vec<String>,
    /// Number of rows before and after a load.
    in_table: [u64; 2],
    /// The counts of the summary, by name.
    row_counts: BTreeMap<String, u64>,
}

impl Changed {
    fn new(bench: Bench, rows: usize) -> Self {
        let keys = rows / 2;
        let row = ROW.replace(":keys", &keys.to_string());
        let leaves: String = (0..8)
            .map(|leaf| {
                format!("CREATE TABLE t{leaf} PARTITION OF t FOR VALUES WITH (MODULUS 8, REMAINDER {leaf});")
            })
            .collect();
        bench.session.run(&format!(
            "CREATE TABLE t (id bigint PRIMARY KEY, v bigint, w text) PARTITION BY HASH (id); {leaves}
             CREATE TABLE input AS SELECT n, id, v, repeat('w', (1 + v % 50)::int) AS w
                 FROM (SELECT n, {row} FROM generate_series(1::bigint, {rows}) AS n) AS rows;
             CREATE TABLE before AS SELECT id, id AS v, repeat('w', (1 + id % 50)::int) AS w
                 FROM generate_series(0::bigint, {keys} + 999, 2) AS id;
             CREATE TABLE counting AS SELECT DISTINCT ON (id) id, v, w FROM input ORDER BY id, n DESC;
             CREATE TABLE wanted AS
                 SELECT * FROM counting UNION ALL
                 SELECT * FROM before b WHERE NOT EXISTS (SELECT FROM counting c WHERE c.id = b.id)"
        ));
        let row_counts = bench.session.rows(
            "SELECT CASE WHEN b.id IS NULL THEN 'inserted' WHEN (b.v, b.w) = (c.v, c.w) THEN 'unchanged'
                         ELSE 'updated' END, count(*)
             FROM counting c LEFT JOIN before b USING (id) GROUP BY 1
             UNION ALL SELECT 'duplicate', (SELECT count(*) FROM input) - (SELECT count(*) FROM counting)",
        );
        let row_counts: BTreeMap<String, u64> = row_counts
            .into_iter()
            .map(|row| (row[0].clone().unwrap(), row[1].as_ref().unwrap().parse().unwrap()))
            .collect();
        assert!(
            row_counts.values().all(|rows| *rows > 0) && row_counts.len() == 4,
            "{row_counts:?}"
        );
        let files = (0..3).map(|file| {
            let lines = bench.session.rows(&format!(
                "SELECT concat_ws(',', id, v, w) FROM input WHERE n * 3 / ({rows} + 1) = {file} ORDER BY n"
            ));
            let lines: String =
                lines.iter().map(|line| format!("{}\n", line[0].as_ref().unwrap())).collect();
            let name = format!("{file}.csv");
            bench.file(&name, lines);
            name
        });
        let files = files.collect();
        let in_table = [bench.count("before"), bench.count("wanted")];
        Self { bench, rows: rows as u64, files, in_table, row_counts }
    }
}

impl Subject for Changed {
    fn bench(&mut self) -> &mut Bench {
        &mut self.bench
    }

    fn begin_anew(&self) {
        self.bench.session.run("TRUNCATE t; INSERT INTO t SELECT * FROM before");
    }

    fn start(&self, url: &str, id: &str, options: &[String]) -> Running {
        let mut arguments = self.files.clone();
        arguments.extend(["-t", "t", "-q", "--json", "--load-id", id].map(str::to_owned));
        arguments.extend(options.iter().cloned());
        self.bench.start_into(url, arguments, std::process::Stdio::null())
    }

    fn check(&self, ended: &Ended) -> u64 {
        let summary = ended.summary();
        assert_eq!(summary["rows_read"], self.rows, "{summary}");
        let differing = self.bench.value(
            "SELECT count(*) FROM ((TABLE t EXCEPT ALL TABLE wanted)
                                   UNION ALL (TABLE wanted EXCEPT ALL TABLE t)) AS d",
        );
        assert_eq!(differing, "0", "rows that are not as the input says: {summary}");
        let row_counts: BTreeMap<String, u64> = summary["counts"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(counts, rows)| (counts.clone(), rows.as_u64().unwrap()))
            .filter(|(_, rows)| *rows > 0)
            .collect();
        assert_eq!(row_counts, self.row_counts, "{summary}");
        summary["rows_already_loaded"].as_u64().unwrap()
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn in_table(&self) -> [u64; 2] {
        self.in_table
    }
}
