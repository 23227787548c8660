//! Names and values that would be SQL if they were not quoted, wherever a table has a name, in every command.
//! Sessions use both of the server's rules for string literals.

use std::path::Path;
use std::process::Stdio;

use crate::harness::{Bench, Ended, Running, Server, on_each_server, program};

on_each_server!(
    each crate::names::check,
    [
        load,
        small_load,
        load_as_text,
        load_as_somebody,
        load_through_the_root,
        exchange,
        create_partitions,
        plan,
        plan_of_partitions,
        tree,
        verify,
        verify_of_other_rows,
        refusals,
        ledger,
    ]
);

/// Text that would end an unquoted name or literal in each way, followed by SQL, and a placeholder for a
/// schema in pgsluice's own statements.
const ENDS: &str = r#"{ledger}a"b'c\'d; DROP TABLE x; --"#;

/// `?` stands for [`ENDS`] as a part of an identifier, `!` for it as a part of a literal, and `^` for it in
/// upper case.
const TABLE: &str = r#"
CREATE TABLE public.x (is_there bool);
CREATE SCHEMA "s?";
SET search_path = "s?", public;
CREATE TYPE "e?" AS ENUM ('!', 'b');
CREATE DOMAIN "o?" AS text CONSTRAINT "do?" CHECK (VALUE <> 'no!');
CREATE FUNCTION "f?"(text) RETURNS text LANGUAGE sql IMMUTABLE AS $$ SELECT pg_catalog.upper($1) $$;
CREATE FUNCTION "g?"() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE COLLATION "l?" (provider = libc, locale = 'C');
CREATE ROLE "~?" LOGIN PASSWORD 'x';
GRANT USAGE ON SCHEMA "s?" TO "~?";
CREATE TABLE "t?" (
    "k?" text COLLATE "l?" NOT NULL,
    "i?" int NOT NULL,
    "e?" "e?" DEFAULT '!',
    "d?" "o?" DEFAULT '!',
    CONSTRAINT "c?" CHECK ("d?" IS DISTINCT FROM 'not!')
) PARTITION BY LIST ("k?");
CREATE TABLE "p?1" PARTITION OF "t?" FOR VALUES IN ('!1', '!2') PARTITION BY RANGE ("i?");
CREATE TABLE "p?11" PARTITION OF "p?1" FOR VALUES FROM (0) TO (100);
CREATE TABLE "p?12" PARTITION OF "p?1" FOR VALUES FROM (100) TO (200)
    PARTITION BY LIST ("f?"("d?" || '!'));
CREATE TABLE "p?121" PARTITION OF "p?12" FOR VALUES IN ('\', '); DROP TABLE x; --', 'OK\^');
CREATE TABLE "p?122" PARTITION OF "p?12" DEFAULT;
CREATE TABLE "p?3" PARTITION OF "t?" FOR VALUES IN ('!3') PARTITION BY LIST ("e?");
CREATE TABLE "p?31" PARTITION OF "p?3" FOR VALUES IN ('!');
CREATE TABLE "p?32" PARTITION OF "p?3" FOR VALUES IN ('b', NULL);
CREATE INDEX "ix?" ON "t?" ("d?" COLLATE "l?") WHERE "d?" <> '!';
CREATE UNIQUE INDEX "u?" ON "p?11" ("i?", "f?"("d?"));
ALTER TABLE "p?11" ADD CONSTRAINT "own?" CHECK ("d?" <> '!!');
CREATE TRIGGER "tr?" BEFORE INSERT ON "p?31" FOR EACH ROW WHEN (NEW."d?" <> '!') EXECUTE FUNCTION "g?"();
ALTER TABLE "p?31" DISABLE TRIGGER "tr?";
CREATE STATISTICS "st?" ON "k?", "i?" FROM "p?11";
COMMENT ON TABLE "p?11" IS '!';
COMMENT ON COLUMN "p?11"."k?" IS '!';
COMMENT ON CONSTRAINT "own?" ON "p?11" IS '!';
COMMENT ON INDEX "u?" IS '!';
GRANT SELECT, INSERT ON ALL TABLES IN SCHEMA "s?" TO "~?";
GRANT UPDATE ("i?") ON "p?11" TO "~?";
"#;

type Test = fn(&Case);

const TESTS: &[(&str, Test)] = &[
    ("load", load),
    ("small_load", small_load),
    ("load_as_text", load_as_text),
    ("load_as_somebody", load_as_somebody),
    ("load_through_the_root", load_through_the_root),
    ("exchange", exchange),
    ("create_partitions", create_partitions),
    ("plan", plan),
    ("plan_of_partitions", plan_of_partitions),
    ("tree", tree),
    ("verify", verify),
    ("verify_of_other_rows", verify_of_other_rows),
    ("refusals", refusals),
    ("ledger", ledger),
];

fn check(name: &str, server: Server) {
    let test = TESTS.iter().find(|(known, _)| *known == name).expect("the test has a name");
    for conforming in ["on", "off"] {
        let case = Case::new(server, conforming);
        test.1(&case);
        assert_eq!(case.bench.value("SELECT count(*) FROM public.x"), "0", "x is still there");
        let role = case.spelled(r#""~?""#);
        case.bench.session.run(&format!("DROP OWNED BY {role}; DROP ROLE {role}"));
    }
}

/// Returns the text with [`ENDS`] in place of `?` and `!`.
fn spelled(text: &str) -> String {
    let literal = ENDS.replace('\'', "''");
    let text = text.replace('?', &ENDS.replace('"', "\"\""));
    text.replace('!', &literal).replace('^', &literal.to_uppercase())
}

/// Returns a CSV field.
fn field(text: &str) -> String {
    format!("\"{}\"", text.replace('!', ENDS).replace('"', "\"\""))
}

struct Case {
    bench: Bench,
    table: String,
    database: String,
}

impl Case {
    fn new(server: Server, conforming: &str) -> Self {
        let bench = Bench::new(server);
        let database = bench.value("SELECT current_database()");
        bench.session.run(&format!(
            "ALTER DATABASE {database} SET standard_conforming_strings = {conforming}"
        ));
        let case = Self { table: spelled(r#""s?"."t?""#), bench, database };
        case.bench.session.run(&case.spelled(TABLE));
        case
    }

    /// Returns the text with the database in place of `~`, because roles are shared by all databases.
    fn spelled(&self, text: &str) -> String {
        spelled(text).replace('~', &self.database)
    }

    /// Returns distinct rows for each leaf, `times` as many.
    fn rows(&self, times: usize) -> String {
        let row = |number: usize| {
            let (key, id, label, text) = match number % 6 {
                0 => ("!1", number % 100, "!", "ok!"),
                1 => ("!2", 100 + number % 100, "b", "ok!"),
                2 => ("!1", 100 + number % 100, "b", "ok\\"),
                3 => ("!3", number, "!", "!"),
                4 => ("!3", number, "b", "ok"),
                _ => ("!1", 100, "!", "); drop table x; --"),
            };
            // The index of this leaf is unique.
            let text =
                if key == "!1" && id < 100 { format!("{text}{number}") } else { text.to_owned() };
            [key, &id.to_string(), label, &text].map(field).join(",") + "\n"
        };
        (0..6 * times).map(row).collect()
    }

    fn run(&self, command: &str, options: &[&str]) -> Ended {
        let mut program = program();
        program.args([command, "-t", &self.table, "-d", &self.bench.url]).args(options);
        program.current_dir(self.bench.folder.path()).stdin(Stdio::null());
        Running::start(&mut program).ended()
    }

    /// Loads these rows and compares the leaves with those of COPY.
    fn loads(&self, times: usize, options: &[&str]) {
        let rows = self.rows(times);
        let columns = spelled(r#"tableoid::regclass::text, "k?", "i?", "e?", "d?""#);
        let placed = format!("SELECT {columns} FROM {} ORDER BY 1, 2, 3, 4, 5", self.table);
        let copy = format!("COPY {} FROM STDIN (FORMAT csv)", self.table);
        self.bench.session.copy_in(&copy, rows.clone().into()).unwrap();
        let wanted = self.bench.session.rows(&placed);
        self.bench.session.run(&format!("TRUNCATE {}", self.table));
        self.bench.file("rows.csv", rows);
        let named = ["rows.csv", "--json", "-q", "--load-id", ENDS];
        let summary = self.run("load", &[&named, options].concat()).summary();
        assert_eq!(
            (&summary["rows_loaded"], &summary["load_id"]),
            (&(6 * times).into(), &ENDS.into())
        );
        let to_root = options.contains(&"--no-native") || options.is_empty();
        let lanes = ["routed_natively", "routed_by_query", "routed_by_server"]
            .map(|lane| summary["lanes"][lane].as_u64());
        let half = Some(3 * times as u64);
        assert!(to_root || lanes == [half, half, Some(0)], "{summary}");
        assert!(self.bench.session.rows(&placed) == wanted, "the same rows in the same leaves");
    }

    fn succeeds(&self, command: &str, options: &[&str]) -> Ended {
        let ended = self.run(command, options);
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        ended
    }
}

fn load(case: &Case) {
    case.loads(1000, &["--few-rows=0"]);
}

fn small_load(case: &Case) {
    case.loads(10, &[]);
}

fn load_as_text(case: &Case) {
    let columns = spelled(r#""k?","i?","e?","d?""#);
    case.loads(1000, &["--wire=text", "--few-rows=0", "--columns", &columns]);
}

/// A role with such a name, which may only insert.
fn load_as_somebody(case: &Case) {
    let role: String =
        case.spelled("~").bytes().chain(ENDS.bytes()).map(|byte| format!("%{byte:02x}")).collect();
    let url = format!("postgresql://{role}:x@{}", case.bench.url.split_once('@').unwrap().1);
    case.bench.file("rows.csv", case.rows(1000));
    let options = ["rows.csv", "--few-rows=0", "--json", "-q", "-t", &case.table];
    assert_eq!(case.bench.load_into(&url, options).summary()["rows_loaded"], 6000);
}

fn load_through_the_root(case: &Case) {
    case.loads(1000, &["--no-native"]);
}

fn exchange(case: &Case) {
    case.loads(1000, &["--exchange"]);
}

fn create_partitions(case: &Case) {
    let more = ["'\\!4", "!5"].map(|key| format!("{},7,b,x\n", field(key))).concat();
    case.bench.file("rows.csv", case.rows(10) + &more);
    let options = ["rows.csv", "--json", "-q", "--create-partitions", "--step=100"];
    let summary = case.run("load", &options).summary();
    assert_eq!(summary["partitions_created"].as_array().map(Vec::len), Some(2), "{summary}");
    let leaves = format!("SELECT count(DISTINCT tableoid) FROM {}", case.table);
    assert_eq!(case.bench.value(&leaves), "7");
    let keys = format!(
        "SELECT count(DISTINCT pg_get_partkeydef(relid)) FROM pg_partition_tree('{}')",
        case.table.replace('\'', "''")
    );
    case.bench.session.run("SET standard_conforming_strings = on");
    assert_eq!(case.bench.value(&keys), "4", "the new ones are like their siblings");
}

fn plan(case: &Case) {
    case.bench.file("rows.csv", case.rows(10));
    let plan = case.succeeds("plan", &["rows.csv"]);
    assert!(plan.stdout.contains(ENDS.split('"').next_back().unwrap()), "{plan:?}");
}

fn plan_of_partitions(case: &Case) {
    case.bench.file("rows.csv", format!("{},7,b,x\n", field("!4")));
    let plan = case.succeeds("plan", &["rows.csv", "--full"]);
    // The printed statements can be run.
    let start = plan.stdout.find("CREATE TABLE").unwrap_or_else(|| panic!("{plan:?}"));
    let statements: Vec<&str> = plan.stdout[start..].lines().map(str::trim).collect();
    case.bench.session.run("RESET search_path; SET standard_conforming_strings = off");
    case.bench.session.run(&statements.join("\n"));
    case.bench.session.run("RESET standard_conforming_strings");
}

fn tree(case: &Case) {
    let tree = case.succeeds("tree", &[]);
    assert_eq!(tree.stdout.lines().count(), 9, "{tree:?}");
}

fn verify(case: &Case) {
    load(case);
    case.succeeds("verify", &["rows.csv"]);
}

fn verify_of_other_rows(case: &Case) {
    load(case);
    case.bench.file("rows.csv", case.rows(1001));
    assert_eq!(case.run("verify", &["rows.csv"]).status.code(), Some(1));
}

/// Errors name the correct object.
fn refusals(case: &Case) {
    for (text, constraint) in [("no!", "do?"), ("not!", "c?")] {
        case.bench
            .file("rows.csv", case.rows(1) + &format!("{},1,b,{}\n", field("!1"), field(text)));
        let ended = case.run("load", &["rows.csv", "--few-rows=0"]);
        ended.fails(1, &["rows.csv:7:", &constraint.replace('?', ENDS), "(SQLSTATE 23514)"]);
    }
    let absent = case.table.replace("\"s", "\"absent");
    let load = [Path::new("rows.csv").as_os_str(), "-t".as_ref(), absent.as_ref()];
    case.bench.load(load).fails(1, &["does not exist"]);
}

/// A load with such an id can be found, resumed and forgotten.
fn ledger(case: &Case) {
    load(case);
    let ledger = |arguments: &[&str]| {
        let mut command = program();
        command.arg("ledger").args(arguments).args(["-d", &case.bench.url]).stdin(Stdio::null());
        let ended = Running::start(&mut command).ended();
        assert_eq!(ended.status.code(), Some(0), "{ended:?}");
        ended.stdout
    };
    assert!(ledger(&["list"]).contains(ENDS) && ledger(&["show", ENDS]).contains(ENDS));
    let options = ["rows.csv", "--json", "-q", "--few-rows=0", "--load-id", ENDS];
    assert_eq!(case.run("load", &options).summary()["rows_already_loaded"], 6000);
    ledger(&["forget", ENDS]);
    assert!(!ledger(&["list"]).contains(ENDS));
}
