//! `pgsluice verify`: compares the table with the input.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;
use pgsluice::inspect::verify::{Audit, Scope, VerifiedLeaf, verify};
use pgsluice::job::RejectPlace;
use pgsluice::source::ExtraNames;
use pgsluice::{Control, Error, Job, Result, Target};
use serde::Deserialize;

use crate::changes::ChangeArgs;
use crate::exit;
use crate::options::{InputArgs, ReadingArgs};
use crate::output::{count, group_digits, print, print_json, say};
use crate::signals;
use crate::spec::Given;
use crate::target::TargetArgs;

/// Maximum number of names that are listed.
const LISTED: usize = 20;

#[derive(Args, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    #[serde(flatten)]
    pub(crate) input: InputArgs,
    #[command(flatten)]
    #[serde(flatten)]
    reading: ReadingArgs,
    #[command(flatten)]
    #[serde(flatten)]
    target: TargetArgs,
    #[command(flatten)]
    #[serde(flatten)]
    changes: ChangeArgs,
    /// Allow the table to have other rows too, such as those from before the load
    #[arg(long, help_heading = "Comparison")]
    subset: bool,
    /// Compare only leaves that the input has rows for, as after load --exchange=replace
    #[arg(long, help_heading = "Comparison")]
    replaced: bool,
    /// Ignore the input rows that a load has rejected into FILE, by FILE.log
    #[arg(long, value_name = "FILE", help_heading = "Comparison")]
    reject_file: Option<PathBuf>,
    /// Ignore the input rows that a load has rejected into this table
    #[arg(long, value_name = "NAME", help_heading = "Comparison")]
    reject_table: Option<String>,
    /// Print the result or the error as one JSON object on standard output
    #[arg(long, help_heading = "Output")]
    #[serde(skip)]
    pub(crate) json: bool,
}

impl VerifyArgs {
    /// Builds the job from the arguments.
    fn job(&self) -> Result<Job> {
        let replaced = Given("replaced", self.replaced);
        replaced.excludes(&Given("subset", self.subset))?;
        replaced.excludes(&self.changes.on_conflict())?;
        let reject_file = Given("reject-file", self.reject_file.is_some());
        reject_file.excludes(&Given("reject-table", self.reject_table.is_some()))?;
        let changes = self.changes.options()?;
        self.input.job(&self.reading, |job| job.changes = changes)
    }

    /// Returns the result of the comparison, whether equal or different.
    pub(crate) fn audit(&self, control: &Arc<Control>) -> Result<Audit> {
        let job = self.job()?;
        self.target.with(true, |target| self.compare(&job, &target, control))
    }

    fn compare(&self, job: &Job, target: &Target, control: &Arc<Control>) -> Result<Audit> {
        let rejected = self.reject_file.clone().map(RejectPlace::File);
        let rejected = rejected.or_else(|| self.reject_table.clone().map(RejectPlace::Table));
        let scope = match (self.subset, self.replaced) {
            (true, _) => Scope::Subset,
            (_, true) => Scope::Replaced,
            _ => Scope::Whole,
        };
        let audit = verify(job, target, scope, rejected.as_ref(), control);
        pgsluice::runtime()?.block_on(audit)
    }
}

/// Runs `pgsluice verify`. A difference is an error.
pub(crate) fn run(args: &VerifyArgs) -> Result<u8> {
    let job = args.job()?;
    args.target.with(args.json, |target| verify_in(args, &job, &target))
}

fn verify_in(args: &VerifyArgs, job: &Job, target: &Target) -> Result<u8> {
    let control = Arc::default();
    let _watch = signals::stop(&control, |_| Error::interrupted())?;
    let audit = args.compare(job, target, &control)?;
    let warnings = job.input.files.warnings().iter();
    warnings.for_each(|warning| say(&format!("warning: {warning}")));
    if args.json {
        print_json(&audit)?;
    } else {
        print(&text(&audit))?;
    }
    match audit.equal {
        true => Ok(exit::DONE),
        // The result was requested as JSON and has been printed.
        false if args.json => {
            say(&format!("error: {}", audit.difference()));
            Ok(exit::FAILED)
        }
        false => Err(audit.difference()),
    }
}

fn text(audit: &Audit) -> String {
    let filled = audit.leaves.iter().filter(|leaf| leaf.rows > 0).count() as u64;
    let mut lines = vec![
        format!("input  {}, checksum {}", rows(audit.rows_input), audit.checksum_input),
        format!(
            "table  {} in {}, checksum {}",
            rows(audit.rows_table),
            count(filled, "leaf", "leaves"),
            audit.checksum_table
        ),
    ];
    if audit.rows_left_out > 0 {
        lines.push(format!(
            "left out {} of the input that were rejected",
            rows(audit.rows_left_out)
        ));
    }
    let ExtraNames { extra_names, extra_names_count } = &audit.extra;
    if !extra_names.is_empty() {
        let shown = extra_names.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", ");
        let names = count(*extra_names_count as u64, "name", "names");
        let more = if *extra_names_count > LISTED { " and others" } else { "" };
        lines.push(format!("not compared: {names} that match no column: {shown}{more}"));
    }
    if audit.rows_unkeyed > 0 {
        let rows = rows(audit.rows_unkeyed);
        lines.push(format!("not checked: {rows} of the input with NULL in the key"));
    }
    let [missing, surplus] = match audit.on_conflict {
        "error" => ["of the input missing", "of the table not in the input"],
        "delete" => ["of the input missing", "still in the table"],
        _ => ["different from the input", "still in the table"],
    };
    for (number, what) in [
        (audit.rows_missing, missing),
        (audit.rows_surplus, surplus),
        (audit.rows_misplaced, "of the table in the wrong leaf"),
    ] {
        if number > 0 {
            lines.push(format!("in total {} {what}", rows(number)));
        }
    }
    if audit.missing_unlocated > 0 && audit.on_conflict == "error" {
        let located = rows(audit.rows_missing - audit.missing_unlocated);
        lines.push(format!("leaves of a sample of the missing rows ({located}):"));
    }
    lines.extend(audit.leaves.iter().filter_map(difference));
    if audit.leaves_unchecked > 0 {
        let leaves = count(audit.leaves_unchecked, "leaf", "leaves");
        lines.push(format!(
            "not checked against their bounds: {leaves} that this user cannot read by name, or \
             whose key uses objects that other users may own"
        ));
    }
    lines.push(verdict(audit));
    lines.join("\n")
}

fn difference(leaf: &VerifiedLeaf) -> Option<String> {
    let differences: Vec<String> = [
        (leaf.surplus, "not in the input"),
        (leaf.missing, "missing"),
        (leaf.misplaced, "in the wrong leaf"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", group_digits(number)))
    .collect();
    (!differences.is_empty())
        .then(|| format!("{}: of {}, {}", leaf.leaf, rows(leaf.rows), differences.join(", ")))
}

fn verdict(audit: &Audit) -> String {
    if audit.rows_input == 0 && audit.rows_table == 0 && !audit.replaced {
        return "nothing was compared: neither the input nor the table has any rows".to_owned();
    }
    let is_partial = audit.subset || audit.replaced;
    let holds = match (audit.equal, is_partial) {
        (true, _) if audit.on_conflict != "error" && audit.rows_input > 0 => {
            "the table matches the rows of the input"
        }
        (true, true) if audit.rows_input == 0 => {
            return "nothing was compared: the input has no rows".to_owned();
        }
        (false, _) => return "different".to_owned(),
        (true, false) => "the table holds exactly these rows",
        (true, true) if audit.replaced => {
            "the leaves that the input has rows for hold exactly these rows"
        }
        (true, true) => "all rows of the input are in the table",
    };
    let places = if audit.leaves_unchecked > 0 { "" } else { ", each in its leaf" };
    format!("equal: {holds}{places}")
}

fn rows(number: u64) -> String {
    count(number, "row", "rows")
}
