//! Random trees and inputs, which cover cases that the folders of `tests/trees/` omit.
//!
//! Each row must be in the leaf where `COPY root` puts it, by no worse lane than its keys allow. A hundred
//! fixed cases run on each server; `PROPTEST_CASES` changes the number (`make test-matrix` runs 1,000) and
//! `PROPTEST_RNG_SEED` the seed. Earlier failures are in `random.regressions` and are tried first.

mod input;
mod lanes;
pub(crate) mod tree;
pub(crate) mod values;

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::{Config, FileFailurePersistence, RngSeed, TestRunner};
use tempfile::TempDir;

use self::input::{Dialect, dialects};
use self::tree::{Tree, trees};
use self::values::{CHOICES, Field, Spelling, TYPES};
use crate::harness::{
    Lanes, Load, Outcome, Placement, Scratch, Server, Session, explain, on_each_server,
};

const CASES: u32 = 100;
const REGRESSIONS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/random.regressions");
const NOTES: &[&str] = &["", "x", "two\nlines", "a,b;c|d", "\"", "\\", "tab\t", "é", "NIL"];

on_each_server!([random_trees,]);

fn random_trees(server: Server) {
    let set = |name| std::env::var_os(name).is_some();
    let mut config = Config {
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct(REGRESSIONS))),
        max_shrink_iters: 300,
        max_shrink_time: 60_000,
        ..Config::default()
    };
    if !set("PROPTEST_CASES") {
        config.cases = CASES;
    }
    if !set("PROPTEST_RNG_SEED") {
        config.rng_seed = RngSeed::Fixed(u64::from(server.major()));
    }
    let bench = Bench::new(server);
    let judged = TestRunner::new(config).run(&cases(server.major() >= 15), |case| {
        bench.judge(&case).map_err(|why| TestCaseError::fail(format!("{why}\n{case:?}")))
    });
    if let Err(error) = judged {
        panic!("{error}");
    }
}

/// A tree, its rows, and the options to load them.
#[derive(Clone)]
struct Case {
    tree: Tree,
    rows: Vec<Vec<Field>>,
    dialect: Dialect,
    jobs: u32,
    memory: Option<&'static str>,
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { dialect, jobs, memory, .. } = self;
        writeln!(f, "{dialect:?}, -j {jobs}, --memory {memory:?}\n{}", self.tree.sql())?;
        let all: Vec<usize> = (0..self.rows.len()).collect();
        write!(f, "{}", self.input(&all).0)
    }
}

fn cases(text_header: bool) -> impl Strategy<Value = Case> {
    let field = (0..=CHOICES, any::<Index>());
    let row = (vec(field, 4), select(NOTES));
    let memory = select(&[None, Some("1MiB"), Some("64MiB")][..]);
    // Shrinking goes from left to right, and fewer rows help the most.
    (vec(row, 1..60), dialects(text_header), 1u32..=4, memory, trees()).prop_map(
        |(rows, dialect, jobs, memory, tree)| {
            let note =
                |text: &str| Field { text: Some(text.into()), spelling: Spelling::Canonical };
            let row = |(choices, text): (Vec<(u8, Index)>, &str)| {
                let keys = tree.kinds.iter().zip(&choices);
                let keys = keys.map(|(kind, (choice, which))| kind.field(*choice, which));
                keys.chain([note(text)]).collect()
            };
            let rows = rows.into_iter().map(row).collect();
            Case { tree, rows, dialect, jobs, memory }
        },
    )
}

impl Case {
    /// Returns the input of some of the rows, and the offset of each.
    fn input(&self, rows: &[usize]) -> (String, Vec<usize>) {
        let mut text = self.dialect.head();
        let mut offsets = Vec::new();
        for &row in rows {
            offsets.push(text.len());
            text.push_str(&self.dialect.row(&self.rows[row]));
        }
        (text, offsets)
    }

    /// Checks that each row finds its leaf by the lane that its keys allow, or by a better one.
    fn check_lanes(&self, rows: &[usize], lanes: &Lanes) -> Result<(), String> {
        let mut worst = [0; 3];
        for &row in rows {
            worst[self.tree.worst_lane(&self.rows[row]) as usize] += 1;
        }
        let [native, _, slow] = worst;
        let asked = if self.tree.asks_at_root() { rows.len() as u64 - slow } else { 0 };
        if lanes.routed_natively >= native
            && lanes.routed_by_query >= asked
            && lanes.routed_by_server <= slow
        {
            return Ok(());
        }
        Err(format!("at least {native} are native, {asked} asked, at most {slow} slow: {lanes:?}"))
    }
}

/// A database in which many cases are tried in sequence.
struct Bench {
    scratch: Scratch,
    session: Session,
    folder: TempDir,
}

impl Bench {
    fn new(server: Server) -> Self {
        let scratch = server.scratch();
        let session = scratch.session();
        session.run("SET client_min_messages = warning");
        session.run(TYPES);
        Self { scratch, session, folder: tempfile::tempdir().expect("a folder") }
    }

    fn judge(&self, case: &Case) -> Result<(), String> {
        for side in ["root_side", "leaf_side"] {
            self.session
                .run(&format!("DROP SCHEMA IF EXISTS {side} CASCADE; CREATE SCHEMA {side}"));
            self.session.run(&format!("SET search_path = {side}; {}", case.tree.sql()));
        }
        let (taken, refused) = self.copy_root(case)?;
        let root = Placement::read(&self.session, "root_side", "root_side.t", &[]);
        let outcome = self.load(case, &taken);
        let leaf = Placement::read(&self.session, "leaf_side", "leaf_side.t", &[]);
        let summary = outcome.summary()?;
        if let Some(difference) = root.difference(&leaf) {
            return Err(difference);
        }
        if summary.rows_loaded != taken.len() as u64 {
            return Err(format!("{} rows are loaded: {summary:#?}", taken.len()));
        }
        case.check_lanes(&taken, &summary.lanes)?;
        if refused.is_empty() { Ok(()) } else { self.must_refuse(case, &refused) }
    }

    /// Loads with `COPY root`. Returns the accepted and the refused rows.
    fn copy_root(&self, case: &Case) -> Result<(Vec<usize>, Vec<usize>), String> {
        let sql = case.dialect.options().copy_from("root_side.t");
        let copy = |rows: &[usize]| self.session.copy_in(&sql, case.input(rows).0.into_bytes());
        let all: Vec<usize> = (0..case.rows.len()).collect();
        if copy(&all).is_ok() {
            return Ok((all, vec![]));
        }
        let (mut taken, mut refused) = (vec![], vec![]);
        for row in all {
            match copy(&[row]) {
                Ok(_) => taken.push(row),
                Err(error) if error.code().is_some_and(|code| code.code() == NO_PARTITION) => {
                    refused.push(row);
                }
                Err(error) => return Err(format!("COPY root: {}", explain(&error))),
            }
        }
        self.session.run("TRUNCATE root_side.t");
        copy(&taken).map_err(|error| format!("COPY root: {}", explain(&error)))?;
        Ok((taken, refused))
    }

    /// Checks that a load with the refused rows fails at one of them.
    fn must_refuse(&self, case: &Case, refused: &[usize]) -> Result<(), String> {
        let all: Vec<usize> = (0..case.rows.len()).collect();
        let (_, offsets) = case.input(&all);
        let places: BTreeSet<String> =
            refused.iter().map(|&row| format!(" at byte {}.", offsets[row])).collect();
        let outcome = self.load(case, &all);
        let message = places.iter().any(|place| outcome.stderr.contains(place));
        if outcome.status == Some(1) && outcome.stderr.contains(NO_PARTITION) && message {
            return Ok(());
        }
        Err(format!("should end with {NO_PARTITION} at one of {places:?}: {outcome:#?}"))
    }

    fn load(&self, case: &Case, rows: &[usize]) -> Outcome {
        let file: PathBuf = self.folder.path().join(case.dialect.file_name());
        std::fs::write(&file, case.input(rows).0).expect("the input is written");
        Load {
            url: self.scratch.url(),
            table: "leaf_side.t".into(),
            files: &[file],
            stdin: false,
            copy: &case.dialect.options(),
            jobs: case.jobs,
            memory: case.memory,
            by_leaf: case.jobs > 1,
            as_text: case.jobs == 1,
        }
        .run()
    }
}

/// The SQLSTATE for a row without a partition.
const NO_PARTITION: &str = "23514";
