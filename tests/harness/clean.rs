//! Rows that are all valid, and the same rows loaded by `COPY root`.

use super::{Bench, Ended, MONTHS, Running, Subject, Twins, inputs, plain};

/// Twins, one of which is loaded again and again.
pub(crate) struct Clean {
    pub(crate) twins: Twins,
    rows: u64,
    /// The leaves of the other twin.
    wanted: String,
}

impl Clean {
    /// Creates the twins. Their rows are sorted by a key before they are sent; the server is asked about some
    /// of them, and some are sent as text.
    pub(crate) fn new(bench: Bench, rows: usize) -> Self {
        let row = |number: usize| match number % 97 {
            3 => with_slashes(&plain(number)),
            5 => format!(" {}", plain(number).replacen(",2024-01-", ",January 2024 ", 1)),
            _ => plain(number),
        };
        let ddl = format!("{MONTHS}; ALTER TABLE t ADD PRIMARY KEY (id, day)");
        Self::from_twins(Twins::new(bench, &ddl, &inputs(rows, 3, row)), rows)
    }

    /// Returns the rows that are in only one of the twins, or in one of them twice.
    fn differences(&self) -> String {
        let count = |schema: &str, sign: i32| {
            format!(
                "SELECT tableoid::regclass::text AS leaf, t::text, {sign} AS n FROM {schema}.t AS t"
            )
        };
        let sql = format!(
            "SELECT replace(leaf, 'twin.', ''), t, sum(n) FROM ({} UNION ALL {}) x
             GROUP BY 1, 2 HAVING sum(n) <> 0 LIMIT 20",
            count("public", 1),
            count("twin", -1)
        );
        format!("{:#?}", self.twins.bench.session.rows(&sql))
    }

    pub(crate) fn from_twins(twins: Twins, rows: usize) -> Self {
        let wanted = twins.leaves("twin");
        Self { twins, rows: rows as u64, wanted }
    }
}

/// Returns a row with its date in the form 2024/01/31.
fn with_slashes(row: &str) -> String {
    let (id, rest) = row.split_once(',').unwrap();
    format!("{id},{}", rest.replacen('-', "/", 2))
}

impl Subject for Clean {
    fn bench(&mut self) -> &mut Bench {
        &mut self.twins.bench
    }

    fn begin_anew(&self) {
        self.twins.bench.session.run("TRUNCATE t");
    }

    fn start(&self, url: &str, id: &str, options: &[String]) -> Running {
        self.twins.start_into(url, id, options)
    }

    fn check(&self, ended: &Ended) -> u64 {
        let summary = ended.summary();
        assert_eq!(summary["rows_read"], self.rows, "{summary}");
        if self.twins.leaves("public") != self.wanted {
            panic!("{}\n{summary}", self.differences());
        }
        summary["rows_already_loaded"].as_u64().unwrap()
    }

    fn rows(&self) -> u64 {
        self.rows
    }

    fn in_table(&self) -> [u64; 2] {
        [0, self.rows]
    }
}
