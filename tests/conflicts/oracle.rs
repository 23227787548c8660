//! The oracle test: random tables, rows and options are compared with the reference, row by row and count by
//! count. Some loads are killed and resumed.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use pgsluice::testing::failpoint::NAMES;

use super::case::{Case, Form, names};
use super::columns::Column;
use super::{number, reference, row_counts};
use crate::harness::{
    Bench, Cell, Chance, Ended, Running, Server, identifier, on_each_server, program,
};

on_each_server!([rows_do_what_they_do_one_by_one,]);

const CASES: u64 = 40;

/// A collation that ignores case, if the server has ICU.
pub(super) const CASELESS: &str = "
DO $$ BEGIN
    CREATE COLLATION public.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
EXCEPTION WHEN feature_not_supported THEN NULL; END $$";

/// The row counts, with the ledger's column names.
const COUNTS: [&str; 10] = [
    "inserted",
    "updated",
    "deleted",
    "unchanged",
    "not_newer",
    "not_found",
    "duplicate",
    "skipped",
    "dropped",
    "rejected",
];

/// Maximum number of kills of one load.
const KILLS: usize = 4;

/// Number of cases in one database. A session becomes slow after it has used the tables of thousands of cases.
const CASES_OF_A_DATABASE: usize = 100;

fn rows_do_what_they_do_one_by_one(server: Server) {
    let first = number("PGSLUICE_SEED", u64::from(server.major()) * 1_000_000);
    let cases = number("CONFLICT_CASES", CASES);
    let seeds: Vec<u64> = (first..first + cases).collect();
    let kills: usize = seeds.chunks(CASES_OF_A_DATABASE).map(|seeds| judge(server, seeds)).sum();
    eprintln!("{kills} times a load was killed");
    assert!(kills > 0 || cases < CASES, "no load was killed");
}

/// Compares loads with the reference in a new database. Returns the number of kills.
fn judge(server: Server, seeds: &[u64]) -> usize {
    let bench = Bench::new(server);
    bench.session.run("SET client_min_messages = warning");
    bench.session.run(CASELESS);
    let has_icu = bench.value("SELECT to_regcollation('public.ci') IS NOT NULL") == "t";
    let judge = |seed: &u64| {
        let mut chance = Chance::from_seed(*seed);
        let case = Case::random(&mut chance, [server.major() >= 15, has_icu]);
        let trial = Trial { bench: &bench, case: &case, id: format!("case {seed}") };
        // If the test fails, the last printed case is the one that failed.
        eprintln!("PGSLUICE_SEED={seed} CONFLICT_CASES=1: {}", trial.words());
        trial.judge(&mut chance)
    };
    seeds.iter().map(judge).sum()
}

/// A case in its database.
struct Trial<'a> {
    bench: &'a Bench,
    case: &'a Case,
    /// The id of the load.
    id: String,
}

impl Trial<'_> {
    /// Compares a load with the reference. Returns the number of kills.
    fn judge(&self, chance: &mut Chance) -> usize {
        self.prepare();
        let (kills, ended) = self.load(chance);
        if self.case.form == Form::Refused {
            assert_eq!(ended.status.code(), Some(1), "{}{}", ended.stdout, ended.stderr);
            self.compare_rows();
            return kills;
        }
        assert_eq!(ended.status.code(), Some(0), "{}", ended.stderr);
        self.bench.session.run("SELECT twin.apply()");
        self.compare_rows();
        let wanted = self.count("SELECT counts, count(*) FROM twin.input GROUP BY counts");
        let columns: Vec<String> =
            COUNTS.iter().map(|counts| format!("('{counts}', rows_{counts})")).collect();
        let ledger = format!(
            "SELECT counts, coalesce(n, 0) FROM pgsluice.load, (VALUES (0)) AS x,
                 LATERAL (VALUES {}) AS f (counts, n) WHERE id = '{}'",
            columns.join(", "),
            self.id
        );
        assert_eq!(
            self.count(&ledger),
            wanted,
            "the row_counts in the ledger, and those of the reference"
        );
        assert_eq!(
            row_counts(&ended, 0),
            wanted,
            "the row_counts in the summary, and those of the reference"
        );
        let read = self.bench.value(&format!(
            "SELECT rows_read - (SELECT count(*) FROM twin.input) FROM pgsluice.load WHERE id = '{}'",
            self.id
        ));
        assert_eq!(read, "0", "the rows that were read");
        self.verify();
        kills
    }

    /// Creates the tables with the existing rows, the input, and the reference.
    fn prepare(&self) {
        let (session, case) = (&self.bench.session, self.case);
        for schema in ["ours", "twin", "shape"] {
            session.run(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"));
            let uniques = case.table.uniques.iter().filter(|_| schema != "shape");
            for sql in case.table.ddl.iter().chain(uniques) {
                session.run(&sql.replace("{s}", schema));
            }
        }
        let all = names(&case.columns);
        session.run("CREATE TABLE twin.before AS SELECT * FROM twin.t");
        self.copy("twin.before", &all, &case.before);
        // Each row refers to the next one, or to no row.
        let key = identifier(case.key[0].name);
        let refer = format!(
            "UPDATE twin.t SET up = next FROM (SELECT {key} AS this, lead({key}) OVER (ORDER BY {key}::text) AS next
             FROM twin.t WHERE {key} IS NOT NULL) AS l WHERE {key} = this;"
        );
        let refer = if case.table.refers { refer } else { String::new() };
        session.run(&format!(
            "INSERT INTO twin.t ({all}) SELECT {all} FROM twin.before ON CONFLICT DO NOTHING; {refer}
             INSERT INTO ours.t ({all}, up) SELECT {all}, up FROM twin.t"
        ));
        session.run(&reference::tables(case));
        session.run(&reference::function(case));
        for (number, rows) in case.files.iter().enumerate() {
            self.copy("twin.input", &names(&case.input), rows);
            self.bench.file(&format!("{number}.csv"), self.written(number));
        }
    }

    /// Returns the content of a file.
    fn written(&self, number: usize) -> Vec<u8> {
        let Case { files, input, may_lack, form, .. } = self.case;
        let rows = &files[number];
        let lacks = |column: &Column| may_lack.contains(&column.name);
        match form {
            Form::Csv => csv(rows),
            Form::Objects => {
                // One object decides which columns there are.
                let last = files.iter().rposition(|rows| !rows.is_empty()) == Some(number);
                objects(input, rows, |row, column, cell| {
                    cell.is_none() && !(last && row == 0) && lacks(column)
                })
            }
            Form::Refused => {
                let first = files.iter().position(|rows| !rows.is_empty()) == Some(number);
                let set = self.case.set[0].name;
                objects(input, rows, |row, column, _| first && row == 0 && column.name == set)
            }
        }
    }

    fn copy(&self, table: &str, columns: &str, rows: &[Vec<Cell>]) {
        let sql = format!("COPY {table} ({columns}) FROM STDIN (FORMAT csv)");
        self.bench.session.copy_in(&sql, csv(rows)).unwrap();
    }

    /// Loads, and resumes until the load is done. Returns the number of kills.
    fn load(&self, chance: &mut Chance) -> (usize, Ended) {
        if self.case.is_piped {
            let csv = (self.case.form == Form::Csv).then(|| "--format=csv".to_owned());
            let names: Vec<String> = std::iter::once("-".to_owned()).chain(csv).collect();
            let mut load = self.command("load", &names);
            let mut load = Running::start(load.stdin(Stdio::piped()));
            let files = 0..self.case.files.len();
            let input: Vec<u8> = files.flat_map(|number| self.written(number)).collect();
            let mut stdin = load.child.stdin.take().unwrap();
            let feeding = std::thread::spawn(move || stdin.write_all(&input));
            let ended = load.ended();
            let _ = feeding.join();
            return (0, ended);
        }
        let mut kills = 0;
        while self.case.is_killed && kills < KILLS {
            let ended = self.strike(chance);
            if ended.status.signal() != Some(9) {
                return (kills, ended);
            }
            kills += 1;
            self.bench.end_orphans();
        }
        (kills, Running::start(&mut self.command("load", &self.files())).ended())
    }

    /// Runs a load that is killed at a failpoint or at a random moment, unless it ends earlier.
    fn strike(&self, chance: &mut Chance) -> Ended {
        let mut load = self.command("load", &self.files());
        if chance.is_one_in(3) {
            return Running::start(&mut load).kill_after(chance.moment(Duration::from_secs(1)));
        }
        let others = ["exchange::", "atomic::", "rejects::", "moving::"];
        let points: Vec<&str> = NAMES
            .into_iter()
            .filter(|name| !others.iter().any(|other| name.starts_with(other)))
            .collect();
        let point = format!("{}:{}", chance.one_of(&points), 1 + chance.below(4));
        Running::start(load.env("PGSLUICE_FAILPOINT", point)).ended()
    }

    /// Runs `verify` with the options that decide the result.
    fn verify(&self) {
        let Case { table, key, .. } = self.case;
        let is_of_root = table.uniques.iter().all(|sql| sql.contains("{s}.t "));
        if self.case.is_piped || !is_of_root || key.is_empty() || self.case.is_by_any() {
            return;
        }
        let ended = Running::start(&mut self.command("verify", &self.files())).ended();
        assert_eq!(ended.status.code(), Some(0), "{}{}", ended.stdout, ended.stderr);
    }

    fn files(&self) -> Vec<String> {
        (0..self.case.files.len()).map(|number| format!("{number}.csv")).collect()
    }

    fn command(&self, verb: &str, files: &[String]) -> Command {
        let mut command = program();
        command.args([verb, "-t", "ours.t", "-d", &self.bench.url]);
        command.args(files).args(&self.case.meaning);
        if verb == "load" {
            command.args(["-q", "--json", "--load-id", &self.id]).args(&self.case.speed);
        }
        command.current_dir(self.bench.folder.path()).stdin(Stdio::null());
        command
    }

    /// Checks that all rows are the same, in the same leaves.
    fn compare_rows(&self) {
        let [ours, twin] = ["ours", "twin"].map(|schema| {
            self.bench.session.rows(&format!(
                "SELECT c.relname, ROW({}, d, up)::text FROM {schema}.t AS t JOIN pg_class c ON c.oid = t.tableoid
                 ORDER BY 1, 2",
                names(&self.case.columns)
            ))
        });
        let only = |these: &[Vec<Cell>], those: &[Vec<Cell>]| -> Vec<Vec<Cell>> {
            these.iter().filter(|row| !those.contains(row)).take(5).cloned().collect()
        };
        if ours != twin {
            let [more, missing] = [only(&ours, &twin), only(&twin, &ours)];
            panic!(
                "{} rows instead of {}: only here {more:#?} only there {missing:#?}",
                ours.len(),
                twin.len()
            );
        }
    }

    /// Returns the nonzero counts by name.
    fn count(&self, sql: &str) -> BTreeMap<String, u64> {
        let rows = self.bench.session.rows(sql).into_iter();
        let counts = rows.map(|row| (row[0].clone().unwrap(), row[1].clone().unwrap()));
        let counts = counts.map(|(name, rows)| (name, rows.parse().unwrap()));
        counts.filter(|(_, rows)| *rows > 0).collect()
    }

    fn words(&self) -> String {
        let Case { table, files, before, is_piped, is_killed, .. } = self.case;
        let rows: Vec<usize> = files.iter().map(Vec::len).collect();
        let options = [&self.case.meaning[..], &self.case.speed[..]].concat().join(" ");
        let ddl = [&table.ddl[..], &table.uniques[..]].concat().join(";\n");
        format!(
            "{options}, files of {rows:?} rows, {} before, piped {is_piped}, killed {is_killed}\n{ddl}",
            before.len()
        )
    }
}

/// Writes rows as objects, without the cells in `lacks`.
fn objects(
    columns: &[Column],
    rows: &[Vec<Cell>],
    lacks: impl Fn(usize, &Column, &Cell) -> bool,
) -> Vec<u8> {
    let member = |column: &Column, cell: &Cell| {
        let value = match cell {
            None => "null".to_owned(),
            Some(text) if column.ty == "jsonb" => text.clone(),
            Some(text) => serde_json::Value::from(text.as_str()).to_string(),
        };
        format!("{}:{value}", serde_json::Value::from(column.name))
    };
    let object = |(number, row): (usize, &Vec<Cell>)| {
        let cells = columns.iter().zip(row);
        let kept = cells.filter(|(column, cell)| !lacks(number, column, cell));
        let members = kept.map(|(column, cell)| member(column, cell)).collect::<Vec<_>>();
        format!("{{{}}}\n", members.join(","))
    };
    rows.iter().enumerate().map(object).collect::<String>().into_bytes()
}

fn csv(rows: &[Vec<Cell>]) -> Vec<u8> {
    let field = |cell: &Cell| {
        cell.as_ref().map_or_else(String::new, |text| format!("\"{}\"", text.replace('"', "\"\"")))
    };
    let line = |row: &Vec<Cell>| row.iter().map(field).collect::<Vec<_>>().join(",") + "\n";
    rows.iter().map(line).collect::<String>().into_bytes()
}
