//! Changes between a kill and the resume. In the end each row is once in the table or in the reject file, or
//! the resumed load is refused before it sends a row.
//!
//! `PGSLUICE_CHANGES` sets the number of cases for each server. A case that fails prints the `PGSLUICE_SEED`
//! that makes it the first case.

mod change;
mod tree;

use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::Stdio;
use std::time::Duration;

use self::change::{Change, Names, change};
use self::tree::{COLUMNS, TYPES, Tree};
use crate::harness::{Bench, Chance, Ended, Running, Server, on_each_server, program, say};

on_each_server!([changes,]);

const CASES: usize = 20;

/// Failpoints at which a load may be killed, besides a random moment.
const POINTS: [&str; 6] = [
    "payload::committed",
    "payload::committed",
    "receipts::written",
    "payload::copied",
    "rejects::committed",
    "payload::begun",
];

fn changes(server: Server) {
    let cases = std::env::var("PGSLUICE_CHANGES").ok();
    let cases = cases.map_or(CASES, |cases| cases.parse().expect("a number"));
    let given = std::env::var("PGSLUICE_SEED").ok().map(|seed| seed.parse().expect("a number"));
    let mut seeds = Chance::new();
    let setting = Setting::new(Bench::new(server));
    let mut story: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for number in 0..cases {
        let seed = given.filter(|_| number == 0).unwrap_or_else(|| seeds.next());
        let tried =
            catch_unwind(AssertUnwindSafe(|| setting.attempt(number, Chance::from_seed(seed))));
        match tried {
            Ok(outcome) => *story.entry(outcome).or_default() += 1,
            Err(panic) => {
                say(&format!("it was PGSLUICE_SEED={seed} PGSLUICE_CHANGES=1"));
                resume_unwind(panic);
            }
        }
    }
    let partial = setting.partial.get();
    eprintln!("{cases} loads, {partial} of them killed when some rows were in and others not");
    for ((change, outcome), count) in story {
        eprintln!("{change}: {outcome} {count} times");
    }
}

/// A database with a second user.
struct Setting {
    bench: Bench,
    role: String,
    database: String,
    /// The number of loads that were killed in the middle.
    partial: Cell<usize>,
}

/// A load that is killed and resumed.
struct Case<'a> {
    setting: &'a Setting,
    id: String,
    rows: usize,
    dirt: bool,
    change: Change,
    tree: Tree,
}

impl Setting {
    fn new(bench: Bench) -> Self {
        let database = bench.value("SELECT quote_ident(current_database())");
        let role = format!(
            "other_{}",
            bench.value("SELECT oid FROM pg_database WHERE datname = current_database()")
        );
        // The owner of the ledger is one user, and not the other.
        bench.session.run("CREATE TABLE first (id int)");
        bench.file("first.csv", "1\n");
        assert_eq!(bench.load(["first.csv", "-t", "first"]).status.code(), Some(0));
        bench.session.run(&format!(
            "SET client_min_messages = warning; CREATE ROLE {role}; GRANT CREATE ON DATABASE {database} TO {role};
             ALTER DEFAULT PRIVILEGES GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO {role};
             GRANT USAGE ON SCHEMA pgsluice TO {role};
             GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA pgsluice TO {role}"
        ));
        Self { bench, role, database, partial: Cell::default() }
    }

    /// Runs the case. Returns the name of the change, and the outcome.
    fn attempt(&self, number: usize, mut chance: Chance) -> (&'static str, &'static str) {
        let Self { bench, role, database, .. } = self;
        bench.session.run(&format!(
            "DO $$ DECLARE name regclass; BEGIN
                 FOR name IN SELECT oid FROM pg_class WHERE relnamespace = 'public'::regnamespace
                         AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'first' LOOP
                     EXECUTE format('DROP TABLE %s', name);
                 END LOOP;
             END $$;
             DROP SCHEMA IF EXISTS s CASCADE; {TYPES};
             ALTER DATABASE {database} RESET ALL"
        ));
        if chance.is_one_in(2) {
            bench.session.run(&format!("GRANT USAGE ON SCHEMA s TO {role}"));
        }
        let now = bench.value("SELECT clock_timestamp() + interval '1.2 seconds'");
        let tree = tree::tree(&mut chance, &now);
        bench.session.run(&tree.ddl);
        let dirt = chance.is_one_in(3);
        let rows = chance.one_of(&[600, 600, 2_000, 2_000, 14_000]);
        let lines = tree::rows(&mut chance, rows, dirt);
        bench.file("rows.csv", lines.join("\n") + "\n");
        let _ = std::fs::remove_file(bench.path("bad"));
        let _ = std::fs::remove_file(bench.path("bad.log"));
        let change = change(&mut chance, &tree, &Names { role, database });
        let id = format!("case {number}");
        let case = Case { setting: self, id, rows, dirt, change, tree };
        case.run(&mut chance, &now)
    }

    fn url(&self, is_other: bool) -> String {
        match is_other {
            true => format!("{}?options=-c%20role%3D{}", self.bench.url, self.role),
            false => self.bench.url.clone(),
        }
    }
}

impl Case<'_> {
    fn run(&self, chance: &mut Chance, now: &str) -> (&'static str, &'static str) {
        let Self { setting: Setting { bench, .. }, change, .. } = self;
        let mut is_other = chance.is_one_in(2);
        let (url, context) = (self.setting.url(is_other), self.describe(is_other));
        let killed = self.kill(chance, &url);
        if killed.status.signal() != Some(9) && !matches!(killed.status.code(), Some(0 | 3)) {
            panic!("{killed:?}\n{context}");
        }
        bench.wait_for_sessions();
        self.hold(false, &killed, &context);
        let there = self.ids().len();
        if 0 < there && there < self.rows {
            self.setting.partial.set(self.setting.partial.get() + 1);
        }
        bench.session.run(&change.sql);
        is_other ^= change.changes_user;
        if change.waits {
            bench.session.run(&format!(
                "SELECT pg_sleep(GREATEST(0, extract(epoch FROM '{now}'::timestamptz - clock_timestamp())))"
            ));
        }
        let before = self.ids().len();
        let ended = self.start(chance, &self.setting.url(is_other), "").ended();
        let came = matches!(ended.status.code(), Some(0 | 3));
        assert!(came || !change.is_harmless, "{ended:?}\n{context}");
        assert!(came || change.may_fail || self.ids().len() == before, "{ended:?}\n{context}");
        self.hold(came, &ended, &context);
        if came {
            return (change.name, "came to its end");
        }
        let Some(undo) = &change.undo else { return (change.name, "was refused") };
        let went_on = self.ids().len() > before;
        bench.session.run(undo);
        let between = self.ids().len();
        let again = self.start(chance, &url, "").ended();
        if went_on && again.status.code() == Some(1) && self.ids().len() == between {
            // Undoing the change is a change too, and rows were loaded before it.
            self.hold(false, &again, &context);
            return (change.name, "went on, failed, and was refused when it was undone");
        }
        assert!(matches!(again.status.code(), Some(0 | 3)), "{again:?}\n{context}");
        self.hold(true, &again, &context);
        (change.name, "was refused, and went on when it was undone")
    }

    /// Kills a load at a failpoint or at a random moment.
    fn kill(&self, chance: &mut Chance, url: &str) -> Ended {
        if chance.is_one_in(3) {
            let load = self.start(chance, url, "");
            return load.kill_after(chance.moment(Duration::from_millis(400)));
        }
        let point = format!("{}:{}", chance.one_of(&POINTS), 1 + chance.below(3));
        self.start(chance, url, &point).ended()
    }

    fn start(&self, chance: &mut Chance, url: &str, failpoint: &str) -> Running {
        let mut load = program();
        load.args(["load", "rows.csv", "-t", "public.t", "-d", url, "-q", "--no-self-test"]);
        load.args(["--load-id", &self.id, "--columns", COLUMNS, "--memory", "1MiB"]);
        load.arg(format!("-j{}", 1 + chance.below(4)));
        if !chance.is_one_in(4) {
            load.args(["--few-rows", "0"]);
        }
        if self.dirt {
            load.args(["--reject-file", "bad", "--max-rejects", "100%"]);
        }
        if !failpoint.is_empty() {
            load.env("PGSLUICE_FAILPOINT", failpoint);
        }
        Running::start(load.stdin(Stdio::null()).current_dir(self.setting.bench.folder.path()))
    }

    /// Returns the ids in the table, with duplicates.
    fn ids(&self) -> Vec<usize> {
        let mut from = "SELECT id FROM t".to_owned();
        let bench = &self.setting.bench;
        if let Some(table) = &self.change.apart {
            let is_apart =
                format!("SELECT NOT relispartition FROM pg_class WHERE relname = '{table}'");
            if bench.value(&is_apart) == "t" {
                from += &format!(" UNION ALL SELECT id FROM {table}");
            }
        }
        let rows = bench.session.rows(&from);
        rows.iter().map(|row| row[0].as_ref().unwrap().parse().unwrap()).collect()
    }

    /// Checks that no row is twice in the table, or in both the table and the reject file. If the load has
    /// finished, all rows must be present.
    fn hold(&self, is_done: bool, ended: &Ended, context: &str) {
        let mut seen: HashMap<usize, [u32; 2]> = HashMap::new();
        for id in self.ids() {
            seen.entry(id).or_default()[0] += 1;
        }
        // After a kill, the reject file may have rows of a transaction that did not commit.
        if is_done && self.dirt {
            let rejected =
                std::fs::read_to_string(self.setting.bench.path("bad")).unwrap_or_default();
            for line in rejected.lines() {
                let id = line.split(',').next().unwrap().parse().unwrap();
                seen.entry(id).or_default()[1] += 1;
            }
        }
        let odd: Vec<_> =
            seen.iter().filter(|(_, times)| times.iter().sum::<u32>() != 1).take(5).collect();
        assert!(odd.is_empty(), "rows are there twice: {odd:?}\n{ended:?}\n{context}");
        let lost: Vec<usize> = (0..self.rows).filter(|id| !seen.contains_key(id)).take(5).collect();
        assert!(!is_done || lost.is_empty(), "rows are lost: {lost:?}\n{ended:?}\n{context}");
    }

    fn describe(&self, is_other: bool) -> String {
        let Self { rows, dirt, change, tree, .. } = self;
        format!("{rows} rows, dirt {dirt}, by the other user {is_other}, {change:?}\n{}", tree.ddl)
    }
}
