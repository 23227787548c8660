//! Existing rows: a load skips, updates and deletes the same rows as a reference that works row by row, for
//! any table and options. Impossible requests are refused with the reason.
//!
//! `CONFLICT_CASES` sets the number of random cases for each server, `CONFLICT_ROUNDS` the number of rounds
//! with two concurrent loads. A case that fails prints the `PGSLUICE_SEED` that makes it the first case.

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

/// Returns the number in an environment variable.
fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).map_or(default, |number| number.parse().expect(name))
}

/// Returns the nonzero counts of a load that ended with `status`.
#[track_caller]
fn row_counts(ended: &Ended, status: i32) -> BTreeMap<String, u64> {
    let summary = ended.summary_of(status);
    let row_counts = summary["counts"].as_object().unwrap().iter();
    let row_counts = row_counts.map(|(name, rows)| (name.clone(), rows.as_u64().unwrap()));
    row_counts.filter(|(_, rows)| *rows > 0).collect()
}
