//! Rows that are there already: what a load skips, updates and deletes is what a reference does row by row, whatever
//! the table and the options; and what cannot be done is refused by name.
//!
//! `CONFLICT_CASES` says how many random cases are tried on each server, `CONFLICT_ROUNDS` how often two loads come
//! at once. A case that fails names the `PGSLUICE_SEED` with which it is the first to be tried.

mod actions;
mod bad_rows;
mod case;
mod columns;
mod comparisons;
mod meanwhile;
mod omitted;
mod oracle;
mod partial;
mod reference;
mod refused;
mod table;
mod triggers;

use std::collections::BTreeMap;

use crate::harness::Ended;

/// The number in a variable of the environment.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().expect(name))
}

/// Returns the counts of a load that ended with `status`, without zeros.
#[track_caller]
fn row_counts(ended: &Ended, status: i32) -> BTreeMap<String, u64> {
    let summary = ended.summary_of(status);
    let row_counts = summary["counts"].as_object().unwrap().iter();
    let row_counts = row_counts.map(|(name, rows)| (name.clone(), rows.as_u64().unwrap()));
    row_counts.filter(|(_, rows)| *rows > 0).collect()
}
