//! Two identical tables, one of which is loaded by `COPY root`.

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::Stdio;

use super::{Bench, Ended, Running};

/// A table to load, and its twin that `COPY root` has loaded.
pub(crate) struct Twins {
    pub(crate) bench: Bench,
    pub(crate) files: Vec<PathBuf>,
}

impl Twins {
    /// Creates the twins with `ddl`, which creates the table `t`. Each of `inputs` is CSV with a header.
    pub(crate) fn new(bench: Bench, ddl: &str, inputs: &[String]) -> Self {
        bench.session.run(&format!(
            "CREATE SCHEMA twin; SET search_path = twin; {ddl}; RESET search_path; {ddl}"
        ));
        let mut files = Vec::new();
        for (number, input) in inputs.iter().enumerate() {
            files.push(bench.file(&format!("{number}.csv"), input));
            let copied = bench
                .session
                .copy_in("COPY twin.t FROM STDIN (FORMAT csv, HEADER)", input.clone().into_bytes());
            assert!(copied.is_ok(), "{copied:?}");
        }
        Self { bench, files }
    }

    /// Starts a load of all files as `id`.
    pub(crate) fn start<S: AsRef<OsStr>>(&self, id: &str, options: &[S]) -> Running {
        self.start_into(&self.bench.url, id, options)
    }

    /// Starts a load of all files into another URL.
    pub(crate) fn start_into<S: AsRef<OsStr>>(
        &self,
        url: &str,
        id: &str,
        options: &[S],
    ) -> Running {
        let mut arguments: Vec<&OsStr> = self.files.iter().map(AsRef::as_ref).collect();
        arguments.extend(["-t", "public.t", "--json", "--load-id", id].map(OsStr::new));
        // Other formats name their columns themselves.
        let is_csv = self.files.iter().all(|file| file.to_string_lossy().contains(".csv"));
        arguments.extend(is_csv.then_some(OsStr::new("--header")));
        arguments.extend(options.iter().map(AsRef::as_ref));
        self.bench.start_into(url, arguments, Stdio::null())
    }

    pub(crate) fn load<S: AsRef<OsStr>>(&self, id: &str, options: &[S]) -> Ended {
        self.start(id, options).ended()
    }

    /// Checks that every row is there once, in the correct leaf.
    #[track_caller]
    pub(crate) fn are_equal(&self) {
        let [here, there] = ["public", "twin"].map(|schema| self.leaves(schema));
        assert_eq!(here, there);
    }

    /// Returns the number of rows of each leaf, and a checksum of their content.
    pub(crate) fn leaves(&self, schema: &str) -> String {
        let sql = format!(
            "SELECT c.relname, count(*)::text, sum(hashtextextended(t::text, 0))::text
             FROM {schema}.t AS t JOIN pg_class c ON c.oid = t.tableoid GROUP BY 1 ORDER BY 1"
        );
        let mut text = String::new();
        for row in self.bench.session.rows(&sql) {
            let cells: Vec<&str> = row.iter().map(|cell| cell.as_deref().unwrap_or("")).collect();
            let _ = writeln!(text, "{}", cells.join(" "));
        }
        text
    }
}

/// Returns `rows` rows of id, day and v, distributed over `files` files.
pub(crate) fn inputs(rows: usize, files: usize, row: impl Fn(usize) -> String) -> Vec<String> {
    let mut inputs = vec!["id,day,v\n".to_owned(); files];
    for number in 0..rows {
        let input = &mut inputs[number * files / rows];
        input.push_str(&row(number));
        input.push('\n');
    }
    inputs
}

/// Returns a plain row.
pub(crate) fn plain(number: usize) -> String {
    let id = number.wrapping_mul(2_654_435_761) % 1_000_003;
    let (month, day) = (1 + number % 12, 1 + number / 7 % 28);
    format!("{id},2024-{month:02}-{day:02},{}", "x".repeat(60 + number % 80))
}

/// Creates partitions of `t` by month, each divided into three by hash.
pub(crate) const MONTHS: &str = "
CREATE TABLE t (id int NOT NULL, day date NOT NULL, v text) PARTITION BY RANGE (day);
DO $$ BEGIN
    FOR m IN 1..12 LOOP
        EXECUTE format('CREATE TABLE t_%s PARTITION OF t FOR VALUES FROM (%L) TO (%L) '
                       'PARTITION BY HASH (id)', m, make_date(2024, m, 1),
                       make_date(2024, m, 1) + interval '1 month');
        FOR h IN 0..2 LOOP
            EXECUTE format('CREATE TABLE t_%s_%s PARTITION OF t_%s '
                           'FOR VALUES WITH (MODULUS 3, REMAINDER %s)', m, h, m, h);
        END LOOP;
    END LOOP;
END $$";

/// Returns the statements for partitions of `t` by the hash of `key`.
pub(crate) fn hashed(key: &str, leaves: usize) -> String {
    format!(
        "CREATE TABLE t (id int NOT NULL, day date NOT NULL, v text) PARTITION BY HASH ({key});
         DO $$ BEGIN
             FOR h IN 0..{leaves} - 1 LOOP
                 EXECUTE format('CREATE TABLE t_%s PARTITION OF t '
                                'FOR VALUES WITH (MODULUS {leaves}, REMAINDER %s)', h, h);
             END LOOP;
         END $$"
    )
}
