//! A source, and two identical tables: pgsluice loads `public.t`, and COPY loads `twin.t`.

use std::process::Stdio;

use crate::harness::{Bench, Ended, Placement, Running, Server, program};

/// A table with two levels of partitions.
pub(super) const TREE: &str = "
CREATE TABLE t (id int NOT NULL, day date, v text) PARTITION BY RANGE (day);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01') PARTITION BY HASH (id);
CREATE TABLE t_1_0 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE t_1_1 PARTITION OF t_1 FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2024-02-01') TO ('2024-03-01');
CREATE TABLE t_d PARTITION OF t DEFAULT";

/// Options that send rows in different ways.
pub(super) const WAYS: [&[&str]; 4] =
    [&["-j1"], &["-j3", "--few-rows=0"], &["--wire=text", "--few-rows=0"], &["--memory=1MiB"]];

/// A database with the tables to load, and optionally another one with the source.
pub(super) struct Case {
    pub(super) bench: Bench,
    other: Option<Bench>,
}

impl Case {
    /// Opens one database for the source and the tables.
    pub(super) fn here(server: Server) -> Self {
        Self::with_source(server, None)
    }

    /// Opens another database for the source, on another server if several are under test.
    pub(super) fn elsewhere(server: Server) -> Self {
        Self::with_source(server, Some(Bench::new(server.another())))
    }

    pub(super) fn both(server: Server) -> [Self; 2] {
        [Self::here(server), Self::elsewhere(server)]
    }

    /// Opens a database for the tables, and takes `other` for the source.
    pub(super) fn with_source(server: Server, other: Option<Bench>) -> Self {
        let bench = Bench::new(server);
        bench.session.run("SET client_min_messages = warning; CREATE SCHEMA twin");
        Self { bench, other }
    }

    /// Returns the database of the source.
    pub(super) fn source(&self) -> &Bench {
        self.other.as_ref().unwrap_or(&self.bench)
    }

    /// Creates the table `t` in both schemas.
    pub(super) fn make(&self, ddl: &str) {
        for schema in ["twin", "public"] {
            self.bench.session.run(&format!("SET search_path = {schema}, pg_catalog; {ddl}"));
        }
        self.bench.session.run("RESET search_path");
    }

    /// Creates the table `public.old`, with `count` rows for [`TREE`] and gaps between them.
    pub(super) fn make_old(&self, count: usize) {
        self.source().session.run("CREATE TABLE old (v text, day date, id int)");
        self.fill("old", count);
    }

    /// Fills a table of the source, and leaves dead rows in its pages.
    pub(super) fn fill(&self, table: &str, count: usize) {
        self.source().session.run(&format!(
            "INSERT INTO {table} (id, day, v)
             SELECT id, date '2024-01-01' + id % 70,
                    CASE WHEN id % 7 > 0 THEN repeat(md5(id::text), 1 + id % 9) END
             FROM generate_series(1, {count}) AS id;
             UPDATE {table} SET v = v || '!' WHERE id % 5 = 0;
             DELETE FROM {table} WHERE id % 11 = 0"
        ));
    }

    /// Returns the arguments that name the source, followed by `options`.
    pub(super) fn arguments(&self, relation: &str, options: &[&str]) -> Vec<String> {
        let mut all = vec!["--from-table", relation, "-t", "public.t"];
        if let Some(other) = &self.other {
            all.extend(["--from", &other.url]);
        }
        all.iter().chain(options).map(|argument| (*argument).to_owned()).collect()
    }

    pub(super) fn load(&self, relation: &str, options: &[&str]) -> Ended {
        self.start(relation, options).ended()
    }

    pub(super) fn start(&self, relation: &str, options: &[&str]) -> Running {
        self.start_with(relation, options, &[])
    }

    /// Starts a load with additional environment variables.
    pub(super) fn start_with(
        &self,
        relation: &str,
        options: &[&str],
        environment: &[(&str, &str)],
    ) -> Running {
        let mut load = program();
        load.args(["load", "-d", &self.bench.url, "--json", "-q"]);
        load.args(self.arguments(relation, options)).envs(environment.iter().copied());
        Running::start(load.current_dir(self.bench.folder.path()).stdin(Stdio::null()))
    }

    /// Runs a command other than `load`.
    pub(super) fn run(&self, command: &str, relation: &str, options: &[&str]) -> Ended {
        let mut process = program();
        process.args([command, "-d", &self.bench.url]).args(self.arguments(relation, options));
        Running::start(process.current_dir(self.bench.folder.path()).stdin(Stdio::null())).ended()
    }

    /// Copies the columns of `relation`, which may end with a condition, into `twin.t`.
    #[track_caller]
    pub(super) fn copy(&self, relation: &str, columns: &str) -> u64 {
        let query = format!("COPY (SELECT {columns} FROM {relation}) TO STDOUT");
        let rows = self.source().session.copy_out(&query);
        let into = format!("COPY twin.t ({columns}) FROM STDIN");
        self.bench.session.copy_in(&into, rows).unwrap()
    }

    pub(super) fn empty(&self) {
        self.bench.session.run("TRUNCATE public.t, twin.t");
    }

    /// Checks that both tables have the same rows in the same leaves.
    #[track_caller]
    pub(super) fn agree(&self, what: &str) {
        if let Some(difference) = self.difference() {
            panic!("{what}: {difference}");
        }
    }

    /// Returns the rows that are in only one of the tables, or in different leaves.
    pub(super) fn difference(&self) -> Option<String> {
        if self.leaves("twin") == self.leaves("public") {
            return None;
        }
        let [copied, loaded] = ["twin", "public"]
            .map(|side| Placement::read(&self.bench.session, side, &format!("{side}.t"), &[]));
        Some(copied.difference(&loaded).unwrap_or_default())
    }

    /// Returns the number of rows in each leaf, and a checksum of their content.
    fn leaves(&self, schema: &str) -> Vec<Vec<Option<String>>> {
        self.bench.session.rows(&format!(
            "SELECT c.relname, count(*), sum(hashtextextended(\"the row\"::text, 0))
             FROM {schema}.t AS \"the row\" JOIN pg_class c ON c.oid = \"the row\".tableoid
             GROUP BY 1 ORDER BY 1"
        ))
    }
}

/// Returns the notes of a summary, one per line.
pub(super) fn notes(summary: &serde_json::Value) -> String {
    let notes = summary["notes"].as_array().unwrap().iter();
    notes.map(|note| note.as_str().unwrap().to_owned() + "\n").collect()
}
