//! One case in its database: the root side, the leaf sides, and the checks that they are equal.

use std::fs;
use std::path::PathBuf;

use tempfile::TempDir;

use crate::harness::trees::{Case, Loaded, Refusal};
use crate::harness::{Load, Outcome, Placement, Scratch, Session, Summary, explain, identifier};

/// The settings under which pgsluice loads each case. With several jobs, rows go by leaf and in binary; with
/// one job, as text.
const SETTINGS: [(&str, u32, Option<&str>); 2] =
    [("leaf_side_1", 1, None), ("leaf_side_3", 3, Some("8MiB"))];
const ROOT_SIDE: &str = "root_side";

/// A case in its database, with a schema for each side.
pub(super) struct Trial<'a> {
    case: &'a Case,
    scratch: Scratch,
    judge: Session,
    inputs: Vec<PathBuf>,
    /// Kept alive for the inputs in it.
    _folder: TempDir,
}

impl<'a> Trial<'a> {
    pub(super) fn prepare(case: &'a Case, scratch: Scratch, judge: Session) -> Self {
        for side in SETTINGS.iter().map(|setting| setting.0).chain([ROOT_SIDE]) {
            make(case, side, (&scratch, &judge));
        }
        let folder = tempfile::tempdir().expect("a folder for the inputs");
        let inputs = case.inputs(&judge, folder.path());
        for (parameter, value) in &case.settings {
            scratch.set(parameter, value);
        }
        Self { case, scratch, judge, inputs, _folder: folder }
    }

    /// Loads every input by `COPY root`, which defines the correct result.
    fn copy_root(&self) -> Result<(), tokio_postgres::Error> {
        let session = self.scratch.session();
        let sql = self.case.copy.copy_from(&self.case.table(ROOT_SIDE));
        for input in &self.inputs {
            session.copy_in(&sql, fs::read(input).expect("the input is read"))?;
        }
        Ok(())
    }

    fn load(&self, side: &str, jobs: u32, memory: Option<&str>) -> Outcome {
        Load {
            url: self.scratch.url(),
            table: self.case.table(side),
            files: &self.inputs,
            stdin: self.case.stdin,
            copy: &self.case.copy,
            jobs,
            memory,
            by_leaf: jobs > 1,
            as_text: jobs == 1,
        }
        .run()
    }

    pub(super) fn must_agree(&self, expected: &Loaded) {
        if let Err(error) = self.copy_root() {
            panic!("COPY refuses this case: {}", explain(&error));
        }
        let root = self.placement(ROOT_SIDE);
        assert_eq!(root.count(), expected.rows, "rows that COPY loaded: {}", self.case.about);
        for (side, jobs, memory) in SETTINGS {
            let outcome = self.load(side, jobs, memory);
            let fail = |why: String| -> ! {
                panic!("{}\n-j {jobs}: {why}\n{}", self.case.about, outcome.stderr)
            };
            let summary = outcome.summary().unwrap_or_else(|error| fail(error));
            if let Some(difference) = root.difference(&self.placement(side)) {
                fail(difference);
            }
            if let Err(why) = self.same_answers(side).and_then(|()| lanes(&summary, expected)) {
                fail(why);
            }
        }
    }

    pub(super) fn must_refuse(&self, refusal: &Refusal) {
        let error = self.copy_root().expect_err("COPY takes what it should refuse");
        let code = error.code().map(|code| code.code());
        assert_eq!(code, Some(&*refusal.sqlstate), "{}", explain(&error));
        for (side, jobs, memory) in SETTINGS {
            let outcome = self.load(side, jobs, memory);
            if let Err(why) = refused(&outcome, refusal) {
                panic!("{}\n-j {jobs}: {why}\n{}", self.case.about, outcome.stderr);
            }
        }
    }

    /// Creates another side.
    pub(super) fn make(&self, side: &str) {
        make(self.case, side, (&self.scratch, &self.judge));
    }

    /// Returns a superuser's session.
    pub(super) fn judge(&self) -> &Session {
        &self.judge
    }

    pub(super) fn url(&self) -> &str {
        self.scratch.url()
    }

    /// Returns the table of a side, as in SQL.
    pub(super) fn table(&self, side: &str) -> String {
        self.case.table(side)
    }

    /// Returns the table that COPY has filled.
    pub(super) fn root_table(&self) -> String {
        self.case.table(ROOT_SIDE)
    }

    /// Returns the columns of the input, if some are missing.
    pub(super) fn columns(&self) -> Option<&[String]> {
        self.case.copy.columns.as_deref()
    }

    pub(super) fn placement(&self, side: &str) -> Placement {
        Placement::read(&self.judge, side, &self.case.table(side), &self.case.compare.without)
    }

    /// Runs the case's own queries on both sides, and compares the results.
    fn same_answers(&self, side: &str) -> Result<(), String> {
        for query in &self.case.compare.queries {
            let [root, leaf] = [ROOT_SIDE, side].map(|side| {
                self.judge.run(&format!("SET search_path = {}", identifier(side)));
                self.judge.rows(query)
            });
            if root != leaf {
                return Err(format!("{query}\n  COPY     {root:?}\n  pgsluice {leaf:?}"));
            }
        }
        Ok(())
    }
}

fn make(case: &Case, side: &str, (scratch, judge): (&Scratch, &Session)) {
    let name = identifier(side);
    judge.run(&format!("CREATE SCHEMA {name}; SET search_path = {name}"));
    judge.run(&case.schema(side, scratch.url()));
}

fn lanes(summary: &Summary, expected: &Loaded) -> Result<(), String> {
    let read = expected.read.unwrap_or(expected.rows);
    if (summary.rows_loaded, summary.rows_read) != (expected.rows, read) {
        return Err(format!("{} of {read} rows should be loaded: {summary:#?}", expected.rows));
    }
    let lanes = &summary.lanes;
    for (lane, expected, rows) in [
        ("routed_natively", &expected.native, lanes.routed_natively),
        ("routed_by_query", &expected.server, lanes.routed_by_query),
    ] {
        if let Some(share) = expected
            && !share.admits(rows, read)
        {
            return Err(format!("lane {lane} should have {share:?} of the rows: {summary:#?}"));
        }
    }
    let message = summary.fallbacks.iter().map(|f| format!("{} {}\n", f.what, f.why));
    let message = message.collect::<String>().to_lowercase();
    match expected.fallbacks.iter().find(|part| !part.split('|').any(|part| message.contains(part)))
    {
        Some(part) => Err(format!("no fallback says {part:?}: {summary:#?}")),
        None => Ok(()),
    }
}

fn refused(outcome: &Outcome, refusal: &Refusal) -> Result<(), String> {
    if outcome.status != Some(1) {
        return Err(format!("exit status {:?} in place of 1", outcome.status));
    }
    let mut parts = vec![refusal.sqlstate.clone(), refusal.contains.clone()];
    if let Refusal { file: Some(file), line: Some(line), offset: Some(offset), .. } = refusal {
        parts.push(format!("{file}:{line}:"));
        parts.push(format!("The row begins at byte {offset}."));
    }
    match parts.iter().find(|part| !outcome.stderr.contains(*part)) {
        Some(part) => Err(format!("the message lacks {part:?}")),
        None => Ok(()),
    }
}
