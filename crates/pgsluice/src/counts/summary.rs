//! The summary at the end of a load, as text and as one JSON object.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

use pgsluice_core::catalog::{NodeId, ROOT};
use serde::Serialize;

use crate::counts::fallbacks;
pub use crate::counts::fallbacks::Fallback;
pub use crate::counts::first_row::FirstRow;
use crate::counts::first_row::Opening;
use crate::counts::outcome::Outcome;
use crate::job::{Job, OnConflict};
use crate::ledger::share::ShareSummary;
use crate::plan::Plan;
use crate::row_counts::RowCounts;
use crate::source::ExtraNames;

/// The summary of a finished load. The names of the fields are those of `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// The id of this load, which no other load has.
    pub load_id: String,
    /// The table, qualified, and quoted if necessary.
    pub table: String,
    /// Rows in the inputs, without headers.
    pub rows_read: u64,
    /// The action for rows whose key exists: `error`, `skip`, `update` or `delete`.
    pub on_conflict: &'static str,
    /// Rows that this run has written: inserted, updated or deleted.
    pub rows_loaded: u64,
    /// Rows that were rejected.
    pub rows_rejected: u64,
    /// Rows that a trigger of the table has dropped.
    pub rows_dropped: u64,
    /// Rows that an earlier run of the same load had settled.
    pub rows_already_loaded: u64,
    /// Rows that were inserted by all runs of the load: the ledger's `rows_inserted`.
    pub rows_inserted: u64,
    /// The outcome of all rows, by all runs of the load.
    pub counts: RowCounts,
    /// The outcome of the rows of each leaf in this run, if rows may conflict with existing ones.
    pub by_leaf: Vec<LeafCounts>,
    /// Bytes of the inputs.
    pub bytes_read: u64,
    /// Wall time.
    pub seconds: f64,
    /// The time until the first row was sent; `None` without rows.
    pub first_row: Option<FirstRow>,
    /// Connections that wrote.
    pub jobs: usize,
    /// The number of leaves that got rows.
    pub leaves: usize,
    /// The number of leaves that were built as shadows and swapped in.
    pub exchanged: usize,
    /// The number of these that had rows when the load began, which were replaced.
    pub replaced: usize,
    /// Partitions that were created before the load.
    pub partitions_created: Vec<String>,
    /// The format of the payloads.
    pub wire: &'static str,
    /// Rows by the method that found their leaf.
    pub lanes: Lanes,
    /// Work that was not done by the fastest method, with the reasons.
    pub fallbacks: Vec<Fallback>,
    /// The names in the input that match no column and were left out.
    #[serde(flatten)]
    pub extra: ExtraNames,
    /// Facts about the input.
    pub notes: Vec<String>,
    /// Warnings.
    pub warnings: Vec<String>,
    /// The share of the load, if this process loaded one; `None` for a whole load.
    pub share: Option<ShareSummary>,
    /// Whether the load was finished already, so that nothing was done.
    pub already_finished: bool,
}

/// The outcome of the rows of one leaf.
#[derive(Clone, Debug, Serialize)]
pub struct LeafCounts {
    /// The leaf, qualified; another table of the tree if the leaf was unknown.
    pub table: String,
    /// The counts of the rows.
    #[serde(flatten)]
    pub counts: RowCounts,
}

/// The fallback of a small load.
const SMALL_LOAD_FALLBACK: &str = "all rows are left to the server";

/// Rows by the method that found their leaf.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Lanes {
    /// Rows routed by pgsluice, and sent to the leaf itself.
    pub routed_natively: u64,
    /// Rows routed by pgsluice from keys that the server evaluated.
    pub routed_by_query: u64,
    /// Rows routed by the server, below the root or another node.
    pub routed_by_server: u64,
}

impl Summary {
    pub(crate) fn new(
        id: &str,
        plan: &Plan,
        outcome: &Outcome,
        before: RowCounts,
        job: &Job,
        bytes_read: u64,
        opening: &Opening,
    ) -> Self {
        let Outcome { routed, committed, .. } = outcome;
        let counts = outcome.counts(before);
        let by_leaf = committed.by_node.iter().filter(|_| plan.changes.is_some());
        let by_leaf = by_leaf.map(|(node, counts)| LeafCounts {
            table: plan.tree.nodes[*node].relation.label(),
            counts: *counts,
        });
        let direct = |leaves: &BTreeMap<NodeId, u64>| {
            leaves
                .iter()
                .filter(|(leaf, _)| plan.detour(**leaf).is_none())
                .map(|(_, rows)| rows)
                .sum()
        };
        let (native, server): (u64, u64) = (direct(&routed.native), direct(&routed.server));
        Self {
            load_id: id.to_owned(),
            table: plan.tree.nodes[ROOT].relation.label(),
            rows_read: outcome.read(),
            on_conflict: job.changes.on_conflict.name(),
            rows_loaded: committed.counts.rows_changed(),
            rows_rejected: outcome.rows_rejected(),
            rows_already_loaded: routed.already,
            rows_inserted: counts.inserted,
            rows_dropped: committed.rows_dropped(),
            counts,
            by_leaf: by_leaf.collect(),
            bytes_read,
            seconds: opening.elapsed().as_secs_f64(),
            first_row: opening.first_row(),
            jobs: plan.jobs(job),
            leaves: routed.leaves().len(),
            exchanged: outcome.exchanged.leaves,
            replaced: outcome.exchanged.replaced,
            partitions_created: Vec::new(),
            wire: if plan.encoder.is_some() { "binary" } else { "text" },
            lanes: Lanes {
                routed_natively: native,
                routed_by_query: server,
                routed_by_server: routed.rows() - native - server,
            },
            fallbacks: fallbacks::list(plan, outcome),
            extra: plan.extra_names(),
            notes: Vec::new(),
            warnings: Vec::new(),
            share: None,
            already_finished: false,
        }
    }
}

impl Summary {
    /// Whether all rows were sent in one COPY through the root because they are few.
    pub fn is_small(&self) -> bool {
        self.fallbacks.iter().any(|fallback| fallback.what == SMALL_LOAD_FALLBACK)
    }

    /// Returns the summary of a load that was finished already. `counts` is the outcome of its rows then.
    pub(crate) fn from_finished(
        id: &str,
        plan: &Plan,
        job: &Job,
        counts: RowCounts,
        opening: &Opening,
    ) -> Self {
        Self {
            load_id: id.to_owned(),
            table: plan.tree.nodes[ROOT].relation.label(),
            on_conflict: job.changes.on_conflict.name(),
            rows_read: counts.read,
            rows_loaded: 0,
            rows_rejected: counts.rejected,
            rows_already_loaded: counts.rows()
                - counts.rejected
                - counts.dropped
                - counts.duplicate,
            rows_inserted: counts.inserted,
            rows_dropped: counts.dropped,
            counts,
            by_leaf: Vec::new(),
            bytes_read: 0,
            seconds: opening.elapsed().as_secs_f64(),
            first_row: None,
            jobs: 0,
            leaves: 0,
            exchanged: 0,
            replaced: 0,
            partitions_created: Vec::new(),
            wire: if plan.encoder.is_some() { "binary" } else { "text" },
            lanes: Lanes::default(),
            fallbacks: Vec::new(),
            extra: plan.extra_names(),
            notes: Vec::new(),
            warnings: Vec::new(),
            share: None,
            already_finished: true,
        }
    }

    /// Returns the summary of a load with so few rows that the tree was not read.
    pub(crate) fn from_small_load(
        id: &str,
        table: String,
        [rows, stored, bytes_read]: [u64; 3],
        opening: &Opening,
    ) -> Self {
        let left = Fallback {
            what: SMALL_LOAD_FALLBACK.to_owned(),
            why: "so few are routed there sooner than the partitions are read".to_owned(),
            rows,
        };
        Self {
            load_id: id.to_owned(),
            table,
            on_conflict: OnConflict::Error.name(),
            rows_read: rows,
            rows_loaded: stored,
            rows_rejected: 0,
            rows_already_loaded: 0,
            rows_inserted: stored,
            rows_dropped: rows - stored,
            counts: RowCounts::from_copy(rows, stored),
            by_leaf: Vec::new(),
            bytes_read,
            seconds: opening.elapsed().as_secs_f64(),
            first_row: opening.first_row(),
            jobs: 1,
            leaves: 0,
            exchanged: 0,
            replaced: 0,
            partitions_created: Vec::new(),
            wire: "text",
            lanes: Lanes { routed_by_server: rows, ..Lanes::default() },
            fallbacks: vec![left],
            extra: ExtraNames::default(),
            notes: Vec::new(),
            warnings: Vec::new(),
            share: None,
            already_finished: false,
        }
    }
}

/// Returns the id of a new load: 64 random bits in base 16, because loads of one table may begin at the same
/// moment. The hash includes the time and the process, because a process and its fork have the same seeds.
pub fn fresh_id() -> String {
    format!("{:016x}", RandomState::new().hash_one((SystemTime::now(), std::process::id())))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::thread;

    use super::fresh_id;

    #[test]
    fn loads_that_begin_together_have_different_ids() {
        let many = || (0..10_000).map(|_| fresh_id()).collect::<Vec<_>>();
        let threads: Vec<_> = (0..4).map(|_| thread::spawn(many)).collect();
        let ids = threads.into_iter().flat_map(|thread| thread.join().expect("no panic"));
        let ids: HashSet<String> = ids.collect();
        assert_eq!(ids.len(), 40_000);
        assert!(ids.iter().all(|id| id.len() == 16));
    }
}
