//! `--on-conflict`: random tables, rows and options do what a reference does row by row in PL/pgSQL, and every row
//! has the fate that it has there. So do loads that are killed and resumed. What cannot be done is refused by name, and
//! two loads of the same keys leave each key as one of them would.
//!
//! `CONFLICT_CASES` asks for another number of cases than 40, `CONFLICT_ROUNDS` of rounds than 3.

mod case;
mod reference;

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};
use std::thread;

use self::case::{Case, Column};
use crate::harness::{Bench, Cell, Chance, Ended, Running, Server, identifier, on_each_server};

on_each_server!([
    changes_are_those_of_the_reference,
    bad_rows_are_named_or_left_out,
    others_may_write_meanwhile,
    what_cannot_be_done_is_refused,
]);

/// The fates in the ledger, besides the rows that were read.
const FATES: [&str; 10] = [
    "inserted",
    "updated",
    "deleted",
    "unchanged",
    "stale",
    "absent",
    "duplicate",
    "skipped",
    "dropped",
    "rejected",
];

/// Where loads are killed.
const POINTS: [&str; 7] = [
    "payload::closed",
    "payload::sent",
    "payload::committing",
    "stage::taken",
    "stage::settled",
    "payload::committed",
    "load::closing",
];

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().expect(name))
}

fn changes_are_those_of_the_reference(server: Server) {
    let major = u64::from(server.major());
    let bench = Bench::new(server);
    for case in 0..number("CONFLICT_CASES", 40) {
        let seed = major * 1_000_000 + case;
        let mut chance = Chance::of(seed);
        let case = Case::random(&mut chance);
        let judged = Trial { bench: &bench, case: &case, seed }.judge(&mut chance);
        if let Err(why) = judged {
            panic!("case {seed}: {why}\n{:?}\n{}", case.options, case.ddl.join(";\n"));
        }
    }
}

/// A case in a database.
struct Trial<'a> {
    bench: &'a Bench,
    case: &'a Case,
    seed: u64,
}

impl Trial<'_> {
    fn judge(&self, chance: &mut Chance) -> Result<(), String> {
        self.prepare();
        let id = format!("case {}", self.seed);
        self.load(&id, chance)?;
        self.bench.session.run(&reference::block(self.case));
        let [ours, twin] = ["ours", "twin"].map(|schema| self.rows(schema));
        if ours != twin {
            let only = |one: &[Vec<Cell>], other: &[Vec<Cell>]| -> Vec<String> {
                one.iter()
                    .filter(|row| !other.contains(row))
                    .take(5)
                    .map(|row| format!("{row:?}"))
                    .collect()
            };
            return Err(format!(
                "rows differ: {:#?} / {:#?}",
                only(&ours, &twin),
                only(&twin, &ours)
            ));
        }
        let columns = FATES.map(|fate| format!("rows_{fate}")).join(", ");
        let found = self
            .bench
            .session
            .rows(&format!("SELECT {columns} FROM pgsluice.load WHERE id = '{id}'"));
        let counted = |cell: &Cell| cell.as_ref().map_or(0, |count| count.parse::<u64>().unwrap());
        let found: BTreeMap<&str, u64> = FATES
            .into_iter()
            .zip(found[0].iter().map(counted))
            .filter(|(_, rows)| *rows > 0)
            .collect();
        let fates = self.bench.session.rows("SELECT fate, count(*) FROM twin.input GROUP BY 1");
        let wanted: BTreeMap<&str, u64> =
            fates.iter().map(|row| (row[0].as_deref().unwrap(), counted(&row[1]))).collect();
        if found == wanted {
            Ok(())
        } else {
            Err(format!("fates are {found:?}, and not {wanted:?}"))
        }
    }

    /// Makes both tables with what is there before, and the input as a file and as a table.
    fn prepare(&self) {
        let (session, case) = (&self.bench.session, self.case);
        for schema in ["ours", "twin", "shape"] {
            session.run(&format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}"));
            case.ddl.iter().for_each(|ddl| session.run(&ddl.replace("{s}", schema)));
        }
        let names = |columns: &mut dyn Iterator<Item = Column>| {
            columns.map(|column| identifier(column.0)).collect::<Vec<_>>().join(", ")
        };
        let all = names(&mut case.columns.iter().copied());
        session.run("CREATE TABLE twin.before AS SELECT * FROM twin.t");
        let before = csv(&case.before);
        session
            .copy_in(&format!("COPY twin.before ({all}) FROM STDIN (FORMAT csv)"), before)
            .unwrap();
        // Rows whose key is there are left out.
        session.run(&format!(
            "INSERT INTO twin.t ({all}) SELECT {all} FROM twin.before ON CONFLICT DO NOTHING"
        ));
        session.run(&format!("INSERT INTO ours.t ({all}) SELECT {all} FROM twin.t"));
        let typed: Vec<String> = case
            .input_columns()
            .map(|column| format!("{} {}", identifier(column.0), column.1))
            .collect();
        session.run(&format!(
            "CREATE TABLE twin.input (n serial, leaf text, fate text, {})",
            typed.join(", ")
        ));
        let given = names(&mut case.input_columns());
        for (number, rows) in case.files.iter().enumerate() {
            self.bench.file(&format!("{number}.csv"), csv(rows));
            session
                .copy_in(&format!("COPY twin.input ({given}) FROM STDIN (FORMAT csv)"), csv(rows))
                .unwrap();
        }
        let known = names(
            &mut case.input_columns().filter(|column| !(case.is_besides && column.0 == "gone")),
        );
        let values =
            known.split(", ").map(|name| format!("r.{name}")).collect::<Vec<_>>().join(", ");
        session.run(&format!(
            "DO $$
             DECLARE r record; found_leaf oid;
             BEGIN
                 FOR r IN SELECT * FROM twin.input LOOP
                     DELETE FROM shape.t;
                     INSERT INTO shape.t ({known}) VALUES ({values}) RETURNING tableoid INTO found_leaf;
                     UPDATE twin.input SET leaf = (SELECT relname FROM pg_class WHERE oid = found_leaf) WHERE n = r.n;
                 END LOOP;
             END $$"
        ));
    }

    /// Loads, and goes on until it is done.
    fn load(&self, id: &str, chance: &mut Chance) -> Result<(), String> {
        let files = self.case.files.len();
        if self.case.is_piped {
            let input: Vec<u8> = self.case.files.iter().flat_map(|rows| csv(rows)).collect();
            let command =
                &mut self.command(id, chance, &["-".to_owned(), "--format=csv".to_owned()]);
            let mut load = Running::start(command.stdin(Stdio::piped()));
            load.child.stdin.take().unwrap().write_all(&input).unwrap();
            return done(&load.ended());
        }
        let files: Vec<String> = (0..files).map(|number| format!("{number}.csv")).collect();
        if self.case.is_struck {
            for _ in 0..3 {
                let point = format!("{}:{}", chance.one_of(&POINTS), 1 + chance.below(3));
                let command = &mut self.command(id, chance, &files);
                Running::start(command.env("PGSLUICE_FAILPOINT", point)).ended();
            }
        }
        done(&Running::start(&mut self.command(id, chance, &files)).ended())
    }

    fn command(&self, id: &str, chance: &mut Chance, files: &[String]) -> Command {
        // Only this program has failpoints.
        let mut command = Command::new(env!("CARGO_BIN_EXE_pgsluice"));
        command.args(["load", "-t", "ours.t", "-q", "-d", &self.bench.url, "--load-id", id]);
        command.args(files).args(&self.case.options).arg(format!("-j{}", chance.one_of(&[1, 4])));
        command.current_dir(self.bench.folder.path()).stdin(Stdio::null());
        command
    }

    /// All rows, with their leaf.
    fn rows(&self, schema: &str) -> Vec<Vec<Cell>> {
        let columns: Vec<String> =
            self.case.columns.iter().map(|column| format!("t.{}", identifier(column.0))).collect();
        self.bench.session.rows(&format!(
            "SELECT c.relname, ROW({}, t.d)::text FROM {schema}.t AS t JOIN pg_class c ON c.oid = t.tableoid
             ORDER BY 1, 2",
            columns.join(", ")
        ))
    }
}

fn done(ended: &Ended) -> Result<(), String> {
    if ended.status.success() { Ok(()) } else { Err(ended.stderr.clone()) }
}

fn csv(rows: &[Vec<Cell>]) -> Vec<u8> {
    let field = |cell: &Cell| {
        cell.as_ref().map_or_else(String::new, |text| format!("\"{}\"", text.replace('"', "\"\"")))
    };
    let line = |row: &Vec<Cell>| row.iter().map(field).collect::<Vec<_>>().join(",") + "\n";
    rows.iter().map(line).collect::<String>().into_bytes()
}

const ORDERS: &str = "
CREATE TABLE t (id int, day date, v int NOT NULL, w text CHECK (w <> 'bad'), PRIMARY KEY (id, day))
    PARTITION BY RANGE (day);
CREATE TABLE t_1 PARTITION OF t FOR VALUES FROM ('2024-01-01') TO ('2024-02-01');
CREATE TABLE t_2 PARTITION OF t FOR VALUES FROM ('2024-02-01') TO ('2024-03-01')";

/// Of three thousand rows four are bad, each in another way; half of the others are there before.
fn bad_rows_are_named_or_left_out(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(ORDERS);
    let row = |id: i32| match id {
        700 => "700,2024-01-10,700,bad\n".to_owned(),
        1400 => "1400,2024-02-10,,new\n".to_owned(),
        2100 => "2100,2024-01-10,x,new\n".to_owned(),
        2800 => "2800,2025-01-10,2800,new\n".to_owned(),
        id => format!("{id},2024-0{}-10,{id},new\n", 1 + id % 2),
    };
    bench.file("rows.csv", (1..=3000).map(row).collect::<String>());
    let before = "INSERT INTO t SELECT id, make_date(2024, 1 + id % 2, 10), 0, 'old' FROM generate_series(1, 1500) id";
    for action in ["skip", "update"] {
        bench.session.run(&format!("TRUNCATE t; {before}"));
        let load = ["rows.csv", "-t", "t", "-q", "--on-conflict", action];
        let ended = bench.load(load);
        assert_eq!(ended.status.code(), Some(1), "{ended:?}");
        let is_named = ["700", "1400", "2100", "2800"]
            .iter()
            .any(|line| ended.stderr.contains(&format!("rows.csv:{line}: ")));
        assert!(is_named, "{ended:?}");
        assert_eq!(bench.count("t WHERE w = 'old'"), 1500, "{ended:?}");
        let rejects = format!("{action}.bad");
        let more = ["--reject-file", &rejects, "--max-rejects", "4", "--json"];
        let summary = bench.load(load.iter().chain(&more)).summary_of(3);
        let of_before = if action == "skip" { "skipped" } else { "updated" };
        for (fate, rows) in [("rejected", 4), ("inserted", 1498), (of_before, 1498)] {
            assert_eq!(summary["fate"][fate], rows, "{summary}");
        }
        let kept = std::fs::read_to_string(bench.path(&rejects)).unwrap();
        let mut kept: Vec<&str> =
            kept.lines().map(|line| line.split(',').next().unwrap()).collect();
        kept.sort_unstable();
        assert_eq!(kept, ["1400", "2100", "2800", "700"]);
    }
}

/// Two loads update the same keys, and a writer inserts, updates and deletes them all the time.
fn others_may_write_meanwhile(server: Server) {
    let bench = Bench::new(server);
    bench.session.run("CREATE TABLE t (id int PRIMARY KEY, v text) PARTITION BY HASH (id)");
    for leaf in 0..4 {
        bench.session.run(&format!(
            "CREATE TABLE t_{leaf} PARTITION OF t FOR VALUES WITH (MODULUS 4, REMAINDER {leaf})"
        ));
    }
    const KEYS: i32 = 4000;
    let rows = |who: &str, step: i32| -> String {
        (0..KEYS).map(|n| format!("{},{who}\n", n * step % KEYS)).collect()
    };
    bench.file("one.csv", rows("one", 7));
    bench.file("two.csv", rows("two", 3));
    for round in 0..number("CONFLICT_ROUNDS", 3) {
        let action = if round % 3 == 2 { "skip" } else { "update" };
        bench.session.run(
            "TRUNCATE t; INSERT INTO t SELECT id, 'before' FROM generate_series(0, 3999, 2) AS id",
        );
        let load = |file: &str| {
            let wait = ["-t", "t", "-q", "--json", "--on-conflict", action, "--few-rows=0", "-j2"];
            bench.start([&[file], &wait[..]].concat(), Stdio::null())
        };
        let loads = [load("one.csv"), load("two.csv")];
        let other = bench.other();
        let writing = thread::spawn(move || {
            for step in 0..200 {
                let id = step * 37 % KEYS;
                other.run(&format!(
                    "INSERT INTO t VALUES ({id}, 'writer') ON CONFLICT (id) DO UPDATE SET v = 'writer'"
                ));
                other.run(&format!("DELETE FROM t WHERE id = {}", (id + 11) % KEYS));
            }
        });
        let sums = loads.map(|load| load.ended().summary());
        writing.join().unwrap();
        assert_eq!(sums[0]["rows_read"], KEYS, "{sums:?}");
        let strange = bench.count("t WHERE v NOT IN ('one', 'two', 'writer', 'before')");
        let untouched = bench.count("t WHERE v = 'before'");
        assert_eq!(strange, 0);
        if action == "update" {
            assert_eq!(untouched, 0, "every key was set by a load, or deleted since");
        }
        let deleted = bench.count(&format!(
            "generate_series(0, {KEYS} - 1) AS id WHERE id NOT IN (SELECT id FROM t)"
        ));
        assert!(
            deleted <= 200,
            "{deleted} keys are gone, of which the writer has deleted 200 at most"
        );
    }
}

fn what_cannot_be_done_is_refused(server: Server) {
    let bench = Bench::new(server);
    bench.session.run(ORDERS);
    bench.session.run(
        "CREATE UNIQUE INDEX ON t_1 (v);
         CREATE VIEW seen AS SELECT * FROM t;
         CREATE TABLE later (id int UNIQUE DEFERRABLE, v int);
         CREATE TABLE part (id int, v int);
         CREATE UNIQUE INDEX ON part (id) WHERE v > 0;
         CREATE TABLE computed (id int, v int);
         CREATE UNIQUE INDEX ON computed (abs(id));
         CREATE TABLE ruled (id int PRIMARY KEY, v int);
         CREATE RULE none AS ON INSERT TO ruled DO ALSO NOTHING",
    );
    bench.file("t.csv", "1,2024-01-01,1,x\n1,2024-01-01,2,y\n");
    bench.file("two.csv", "1,1\n");
    let refused = [
        ("t.csv -t t --on-conflict update --key nope", "42703"),
        (
            "t.csv -t t --on-conflict update --key v",
            "no unique index of public.t_2 is on (v) (SQLSTATE 42P10)",
        ),
        (
            "t.csv -t t --on-conflict skip",
            "HINT:  Name the columns by which rows are the same with --key.",
        ),
        (
            "two.csv -t t --on-conflict update --columns id,v",
            "column day is of the key, and is not in the input",
        ),
        ("two.csv -t later --on-conflict update --key id", "of a deferrable constraint"),
        ("two.csv -t part --on-conflict update --key id", "of a part of the rows"),
        ("two.csv -t computed --on-conflict update --key id", "an expression"),
        ("two.csv -t ruled --on-conflict update", "it has rules (SQLSTATE 0A000)"),
        ("t.csv -t seen --on-conflict update --key id", "it is a view (SQLSTATE 42809)"),
        ("t.csv -t t --on-conflict update --exchange", "cannot be met in an exchange"),
        ("t.csv -t t --on-conflict update --newer v --duplicates last", "Leave out --duplicates."),
        ("t.csv -t t --on-conflict skip --no-insert", "Give --on-conflict update as well."),
        ("t.csv -t t --newer v", "Give --on-conflict update as well."),
        ("t.csv -t t --on-conflict update --update id", "cannot be updated"),
    ];
    for (line, why) in refused {
        let ended = bench.load(line.split(' '));
        assert!(!ended.status.success() && ended.stderr.contains(why), "{line}: {ended:?}");
    }
    let twice =
        bench.load(["t.csv", "-t", "t", "--on-conflict", "update", "--duplicates", "error"]);
    twice.fails(
        1,
        &["t.csv:2: the input has a key (id, day) more than once (SQLSTATE 21000)", "t.csv:1"],
    );
    assert_eq!(bench.count("t"), 0);
}
