//! Check of claims: before a resumed load sends any row, it looks for the rows that receipts claim in the input.
//!
//! A claim covers the rows of a node, and the next run computes the node of each row again. If it finds
//! exactly as many rows for each node as the receipts count, the routing is the same as before. Otherwise
//! something has changed unnoticed, and the load fails.
//!
//! Pipes cannot be checked in advance. If receipts of several trees claim one row, only the sum must agree,
//! and the count of each tree must lie between the rows that only this tree claims and all rows that it
//! claims.

use std::collections::BTreeMap;

use pgsluice_core::route::Scratch;

use super::attempt::Attempt;
use crate::control::WaitReason;
use crate::duplicates::DuplicateRows;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::ledger::{Claimant, Ledger, refuse};
use crate::plan::Plan;
use crate::route::routing::Routing;
use crate::source::reading::Reading;
use crate::source::{Input, Inputs, Reader, Split, differs};

/// The maximum number of tables that an error names.
const NAMED: usize = 3;

/// Rows of the input that receipts claim.
#[derive(Debug, Default)]
struct FoundRows {
    /// The number of rows that each claimant's receipts claim, and that no other receipts claim.
    of: BTreeMap<Claimant, ClaimedRows>,
    /// The number of rows, each counted once.
    rows: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct ClaimedRows {
    all: u64,
    only: u64,
}

/// Rejects a load whose receipts do not match its inputs, as far as these can be read again.
pub(super) fn check(
    attempt: &Attempt<'_>,
    plan: &Plan,
    ledger: &Ledger,
    duplicates: &DuplicateRows,
) -> Result<()> {
    let Attempt { job, control, .. } = *attempt;
    let inputs = &job.input.files;
    // If a table changes, some of its loaded rows may have disappeared.
    if !ledger.is_resumed() || !inputs.iter().any(|it| it.is_rereadable() && !it.may_change()) {
        return Ok(());
    }
    let what = "searching the input for the rows that are already in the table";
    control.wait_for(WaitReason::Work, what);
    let found = find_claimed(attempt, plan, ledger, duplicates);
    control.resume(WaitReason::Work);
    let compared = found?.compare(ledger, plan, inputs);
    compared.map_err(|error| refuse(error, ledger.id()))
}

fn find_claimed(
    attempt: &Attempt<'_>,
    plan: &Plan,
    ledger: &Ledger,
    duplicates: &DuplicateRows,
) -> Result<FoundRows> {
    let Attempt { job, control, .. } = *attempt;
    let mut reader = Reader::new(job.input.files.clone(), &plan.shape);
    reader.skips_streams = true;
    let (routers, end) = (plan.routers(job), ledger.end());
    let is_within = move |split: &Split| split.start < end;
    let reading = Reading::begin(reader, control, routers, is_within);
    let look = |reading: &Reading| look(attempt, plan, ledger, duplicates, reading);
    let mut found = FoundRows::default();
    reading.look_through(routers, control, look)?.into_iter().for_each(|by| found.add(by));
    Ok(found)
}

/// Routes rows on one thread, without sending any.
fn look(
    attempt: &Attempt<'_>,
    plan: &Plan,
    ledger: &Ledger,
    duplicates: &DuplicateRows,
    reading: &Reading,
) -> Result<FoundRows> {
    let Attempt { job, target, control, .. } = *attempt;
    let mut found = FoundRows::default();
    let mut routing = Routing::new(plan, control, target);
    let (mut scratch, mut claimants) = (Scratch::default(), Vec::new());
    while let Some(split) = reading.next(control) {
        ledger.check_block(&split, &job.input.files)?;
        let mut doubt = None;
        routing.route_all(&split, |routed| {
            if duplicates.contains(split.first_row + routed.index as u64) {
                return;
            }
            let node = routed.node();
            claimants.clear();
            let looked = ledger.claimants(node, &routed, &split, &mut scratch, |claimant| {
                claimants.push(claimant);
            });
            match looked {
                Ok(()) => found.count(&claimants),
                Err(error) => doubt = Some(error),
            }
        })?;
        if let Some(error) = doubt {
            return Err(refuse(error, ledger.id()));
        }
        reading.give_back(split);
    }
    Ok(found)
}

impl FoundRows {
    fn count(&mut self, claimants: &[Claimant]) {
        self.rows += u64::from(!claimants.is_empty());
        for claimant in claimants {
            let rows = self.of.entry(*claimant).or_default();
            rows.all += 1;
            rows.only += u64::from(claimants.len() == 1);
        }
    }

    fn add(&mut self, other: Self) {
        self.rows += other.rows;
        for (claimant, rows) in other.of {
            let sum = self.of.entry(claimant).or_default();
            sum.all += rows.all;
            sum.only += rows.only;
        }
    }

    /// Compares the rows that were found with the receipts. If the input was not read to its end, the
    /// receipts may count more rows.
    fn compare(self, ledger: &Ledger, plan: &Plan, inputs: &Inputs) -> Result<()> {
        let is_whole = inputs.are_rereadable();
        let mut receipts: BTreeMap<Claimant, u64> = ledger.claimed_rows().collect();
        let known: u64 = receipts.values().sum();
        for claimant in self.of.keys() {
            receipts.entry(*claimant).or_default();
        }
        let differing = receipts.iter().filter_map(|(claimant, &rows)| {
            let ClaimedRows { all, only } = self.of.get(claimant).copied().unwrap_or_default();
            let is_possible = only <= rows && (rows <= all || !is_whole);
            (!is_possible).then(|| {
                let table = ledger.label_of(*claimant, plan);
                format!("Table {table}: {} found, {rows} in the ledger.", count(all))
            })
        });
        let mut differing: Vec<String> = differing.collect();
        let is_sum = self.rows == known || (self.rows < known && !is_whole);
        if differing.is_empty() && !is_sum {
            differing.push(format!("{} found, {known} in the ledger.", count(self.rows)));
        }
        if differing.is_empty() {
            return Ok(());
        }
        // Files have already been compared by their fingerprints.
        let are_files = inputs.iter().filter(|input| input.is_rereadable()).all(Input::is_file);
        let (error, why) = match are_files {
            true => {
                let message = "the rows found in the input do not match the ledger";
                let error = Error::new(Kind::Server, message).with_sqlstate("55000");
                (error, "The routing of rows to partitions has changed since the load began")
            }
            false => (differs(), "The input, or the routing of its rows, has changed"),
        };
        let error = differing.iter().take(NAMED).fold(error, Error::with_detail);
        let error = match differing.len().saturating_sub(NAMED) {
            0 => error,
            more => error.with_detail(format!("{more} more tables do not match.")),
        };
        Err(error.with_detail(format!("{why}: nothing was sent.")))
    }
}

fn count(rows: u64) -> String {
    format!("{rows} {}", if rows == 1 { "row" } else { "rows" })
}
