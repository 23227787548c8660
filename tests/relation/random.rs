//! Random tables: columns of any type with awkward values, in pages with gaps, loaded into random trees by pgsluice and
//! by `INSERT INTO ... SELECT`.
//!
//! Each server runs a few fixed cases. `PROPTEST_CASES` changes their number, and `PROPTEST_RNG_SEED` the seed.

use std::fmt;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::case::Case;
use crate::harness::{Server, literal, on_each_server};
use crate::random::tree::{Tree, trees};
use crate::random::values::{CHOICES, TYPES};

on_each_server!([random_tables,]);

const CASES: u32 = 8;

/// Types of additional columns, and their values.
const EXTRAS: &[(&str, &[&str])] = &[
    ("json", &["{\"b\" : [1], \"b\": null}", "null"]),
    ("point", &["(1e300,-0)", "(NaN,Infinity)"]),
    ("interval(3)", &["-1 mon 2 days 00:00:00.125", "178000000 years"]),
    ("text[]", &["{\"a,b\",NULL,\"\\\\\",\"\\\"\",\"\"}", "[0:1][1:1]={{a},{b}}", "{}"]),
    ("bit(5)", &["00000", "10101"]),
    ("timestamptz(2)", &["infinity", "2024-02-29 23:59:59.99Z", "4713-01-01 00:00Z BC"]),
    ("float8[]", &["{NaN,-0,Infinity,5e-324}", "{NULL}"]),
    ("numeric(20,5)", &["NaN", "-0.00001", "123456789012345.00000"]),
    ("char(5)[]", &["{a,\"b  \",NULL}"]),
    ("tsvector", &["'a b':1A,2 'c'", ""]),
    ("public.pair[]", &["{\"(1,\\\"a \\\"\\\"b\\\")\",\"(,)\",NULL}"]),
    ("bytea", &["\\x", "\\x000a0d5c2cff"]),
    ("cidr", &["10.0.0.0/8", "::/0"]),
    ("tstzrange", &["empty", "(,)", "[2024-01-01 00:00Z,infinity)"]),
];

/// Options that can be combined with all others.
const OTHERS: &[&[&str]] =
    &[&[], &["--memory=1MiB"], &["--wire=text"], &["--no-native"], &["--atomic"]];

/// A tree, its rows, and the options to load them.
#[derive(Clone)]
struct Table {
    tree: Tree,
    /// Key fields; `None` is NULL.
    rows: Vec<Vec<Option<String>>>,
    extras: Vec<(&'static str, &'static [&'static str])>,
    options: Vec<String>,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:?}, {:?}\n{}", self.options, self.extras, self.tree.sql())?;
        f.write_str(&self.input())
    }
}

fn random_tables(server: Server) {
    let set = |name| std::env::var_os(name).is_some();
    let mut config =
        Config { failure_persistence: None, max_shrink_time: 60_000, ..Config::default() };
    if !set("PROPTEST_CASES") {
        config.cases = CASES;
    }
    if !set("PROPTEST_RNG_SEED") {
        config.rng_seed = RngSeed::Fixed(u64::from(server.major()));
    }
    let case = Case::here(server);
    case.bench.session.run(TYPES);
    let judged = TestRunner::new(config).run(&tables(), |table| {
        judge(&case, &table).map_err(|why| TestCaseError::fail(format!("{why}\n{table:?}")))
    });
    if let Err(error) = judged {
        panic!("{error}");
    }
}

fn tables() -> impl Strategy<Value = Table> {
    let rows = vec(vec((0..=CHOICES, any::<Index>()), 4), 1..50);
    (rows, vec(select(EXTRAS), 0..4), options(), trees()).prop_map(
        |(rows, extras, options, tree)| {
            let row = |choices: Vec<(u8, Index)>| -> Vec<Option<String>> {
                let keys = tree.kinds.iter().zip(&choices);
                keys.map(|(kind, (choice, which))| kind.field(*choice, which).text).collect()
            };
            let rows = rows.into_iter().map(row).collect();
            Table { tree, rows, extras, options }
        },
    )
}

fn options() -> impl Strategy<Value = Vec<String>> {
    let few = select(&["--few-rows=0", "--few-rows=300"][..]);
    (1u32..=4, few, select(OTHERS)).prop_map(|(jobs, few, others)| {
        let others = others.iter().map(|option| (*option).to_owned());
        [format!("-j{jobs}"), few.to_owned()].into_iter().chain(others).collect()
    })
}

impl Table {
    /// Returns the rows as CSV.
    fn input(&self) -> String {
        let field = |text: &Option<String>| {
            let quoted = |text: &String| format!("\"{}\"", text.replace('"', "\"\""));
            text.as_ref().map(quoted).unwrap_or_default()
        };
        let row = |row: &Vec<Option<String>>| row.iter().map(field).collect::<Vec<_>>().join(",");
        self.rows.iter().map(|fields| row(fields) + "\n").collect()
    }

    fn keys(&self) -> Vec<String> {
        (0..self.tree.kinds.len()).map(|number| format!("k{number}")).collect()
    }

    fn columns(&self) -> Vec<String> {
        let extras = (0..self.extras.len()).map(|number| format!("e{number}"));
        self.keys().into_iter().chain(["note".to_owned()]).chain(extras).collect()
    }

    /// Creates the tables to load.
    fn make(&self, case: &Case) {
        let extras = self.extras.iter().enumerate();
        let extras: String = extras
            .map(|(number, (kind, _))| format!("ALTER TABLE t ADD e{number} {kind};"))
            .collect();
        case.make(&format!("DROP TABLE IF EXISTS t; {}; {extras}", self.tree.sql()));
    }

    /// Creates the source, with columns in another order, many pages, gaps between rows, and out-of-line values.
    fn fill(&self, case: &Case) {
        let session = &case.bench.session;
        let mut columns = self.columns();
        columns.reverse();
        session.run(&format!(
            "DROP TABLE IF EXISTS public.old;
             CREATE TABLE public.old WITH (fillfactor = 20) AS SELECT {} FROM twin.t",
            columns.join(", ")
        ));
        let copy = format!("COPY public.old ({}) FROM STDIN (FORMAT csv)", self.keys().join(", "));
        session.copy_in(&copy, self.input().into_bytes()).unwrap();
        for _ in 0..3 {
            session.run("INSERT INTO public.old SELECT * FROM public.old");
        }
        for (number, (kind, values)) in self.extras.iter().enumerate() {
            let listed: String = values.iter().map(|value| literal(value) + ", ").collect();
            session.run(&format!(
                "UPDATE public.old SET e{number} = ((ARRAY[{listed}NULL])
                     [1 + (hashtext(ctid::text) & 255) % {}])::{kind}",
                values.len() + 1
            ));
        }
        session.run(
            "UPDATE public.old AS o SET note = (SELECT string_agg(md5(g || o.ctid::text), E'\\n\\\\')
                 FROM generate_series(1, 200) AS g) WHERE hashtext(ctid::text) & 15 = 0;
             DELETE FROM public.old WHERE hashtext(ctid::text) & 3 = 1",
        );
    }

    /// Inserts the rows of the source into `twin.t`, and deletes rows that have no partition from the source.
    fn insert(&self, case: &Case) {
        let columns = self.columns().join(", ");
        case.bench.session.run(&format!(
            "DO $$ DECLARE place tid; BEGIN
                 FOR place IN SELECT ctid FROM public.old LOOP
                     BEGIN
                         INSERT INTO twin.t ({columns})
                         SELECT {columns} FROM public.old WHERE ctid = place;
                     EXCEPTION WHEN check_violation THEN
                         DELETE FROM public.old WHERE ctid = place;
                     END;
                 END LOOP;
             END $$"
        ));
    }
}

fn judge(case: &Case, table: &Table) -> Result<(), String> {
    table.make(case);
    table.fill(case);
    table.insert(case);
    let options: Vec<&str> = table.options.iter().map(String::as_str).collect();
    let ended = case.load("public.old", &options);
    if !ended.status.success() {
        return Err(ended.stderr);
    }
    let summary = ended.summary();
    let rows = case.bench.count("public.old");
    if summary["rows_read"] != rows {
        return Err(format!("the source has {rows} rows: {summary}"));
    }
    if let Some(difference) = case.difference() {
        return Err(difference);
    }
    let verified = case.run("verify", "public.old", &[]);
    if verified.status.success() { Ok(()) } else { Err(format!("{verified:?}")) }
}
