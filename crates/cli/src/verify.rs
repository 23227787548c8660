//! `pgsluice verify`: is what was loaded in the table?

use std::sync::Arc;

use clap::Args;
use pgsluice::inspect::verify::{Audit, Leaf, verify};
use pgsluice::{Error, Job, Result, Target};

use crate::options::InputArgs;
use crate::output::{count, grouped, print, print_json};
use crate::signals;

#[derive(Args, Debug)]
pub(crate) struct VerifyArgs {
    #[command(flatten)]
    input: InputArgs,
    /// The table may hold other rows as well, such as those from before the load
    #[arg(long, help_heading = "Comparison")]
    subset: bool,
    /// Print the result, or the error, as one JSON object on standard output
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
}

/// Carries out `pgsluice verify`; a difference is an error.
pub(crate) fn run(args: &VerifyArgs) -> Result<()> {
    let job = args.input.job(|_| {})?;
    args.input.target.with(args.json, |target| verify_in(args, &job, &target))
}

fn verify_in(args: &VerifyArgs, job: &Job, target: &Target) -> Result<()> {
    let control = Arc::default();
    let _watch = signals::stop(&control, |_| Error::interrupted())?;
    let audit = verify(job, target, args.subset, &control);
    let audit = pgsluice::runtime()?.block_on(audit)?;
    if args.json {
        print_json(&audit)?;
    } else {
        print(&text(&audit))?;
    }
    if audit.equal { Ok(()) } else { Err(audit.difference()) }
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
    lines.extend(audit.leaves.iter().filter_map(difference));
    if audit.missing_unlocated > 0 {
        let missing = rows(audit.missing_unlocated);
        lines.push(format!("{}: {missing} missing whose leaf was not looked for", audit.table));
    }
    if audit.leaves_unchecked > 0 {
        let leaves = count(audit.leaves_unchecked, "leaf", "leaves");
        lines.push(format!(
            "not checked against their bounds: {leaves} that this user may not read by name, or with \
             a key that is evaluated by names which others may own"
        ));
    }
    lines.push(verdict(audit));
    lines.join("\n")
}

fn difference(leaf: &Leaf) -> Option<String> {
    let differences: Vec<String> = [
        (leaf.surplus, "not in the input"),
        (leaf.missing, "missing"),
        (leaf.misplaced, "in the wrong leaf"),
    ]
    .into_iter()
    .filter(|(number, _)| *number > 0)
    .map(|(number, what)| format!("{} {what}", grouped(number)))
    .collect();
    (!differences.is_empty())
        .then(|| format!("{}: of {}, {}", leaf.leaf, rows(leaf.rows), differences.join(", ")))
}

fn verdict(audit: &Audit) -> String {
    let holds = match (audit.equal, audit.subset) {
        (false, _) => return "different".to_owned(),
        (true, false) => "the table holds exactly these rows",
        (true, true) => "all rows of the input are in the table",
    };
    let places = if audit.leaves_unchecked > 0 { "" } else { ", each in its leaf" };
    format!("equal: {holds}{places}")
}

fn rows(number: u64) -> String {
    count(number, "row", "rows")
}
