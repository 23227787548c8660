//! What a load says of itself at the end: for people, and as one JSON object.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use pgsluice_core::catalog::NodeId;
use pgsluice_core::route::Cause;
use serde::Serialize;

use crate::config::Load;
use crate::error::{Error, Kind, Result};
use crate::load::Tally;
use crate::plan::Plan;
use crate::sink::copy::Committed;

/// A finished load. The names of the fields are those of `--json`.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// Names this load among all others.
    pub load_id: String,
    /// The table, qualified, and quoted where it must be.
    pub table: String,
    /// Rows in the inputs, headers left out.
    pub rows_read: u64,
    /// Rows that are committed.
    pub rows_loaded: u64,
    /// Rows that were refused and left out.
    pub rows_rejected: u64,
    /// Rows that a trigger of the table has dropped.
    pub rows_skipped: u64,
    /// Rows that an earlier run of the same load had committed.
    pub rows_already_loaded: u64,
    /// Bytes of the inputs.
    pub bytes_read: u64,
    /// Wall time.
    pub seconds: f64,
    /// Connections that wrote.
    pub jobs: usize,
    /// Leaves that rows were sent to.
    pub leaves: usize,
    /// Partitions that were made before the load.
    pub partitions_created: Vec<String>,
    /// The format of the payloads.
    pub wire: &'static str,
    /// Rows by how their leaf was found.
    pub lanes: Lanes,
    /// What did not go the fastest way, and why.
    pub fallbacks: Vec<Fallback>,
}

/// Rows by how their leaf was found.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Lanes {
    /// By pgsluice, and sent to the leaf itself.
    pub native: u64,
    /// By pgsluice from keys that the server evaluated.
    pub server: u64,
    /// By the server, below the root or another node.
    pub slow: u64,
}

/// Something that did not go the fastest way.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Fallback {
    /// A key, a table, or an input.
    pub what: String,
    /// The reason, for people.
    pub why: String,
    /// How many rows it was.
    pub rows: u64,
}

/// What all threads together have done.
#[derive(Debug)]
pub(crate) struct Outcome {
    leaves: BTreeMap<NodeId, u64>,
    stops: BTreeMap<(NodeId, Cause), u64>,
    committed: Committed,
    /// Bytes after an end-of-data marker, by input.
    pub ignored: Vec<(String, u64)>,
}

impl Outcome {
    pub(crate) fn new(nodes: usize) -> Self {
        Self {
            leaves: BTreeMap::new(),
            stops: BTreeMap::new(),
            committed: Committed::new(nodes),
            ignored: Vec::new(),
        }
    }

    pub(crate) fn add_routed(&mut self, tally: Tally) {
        for (leaf, rows) in tally.leaves {
            *self.leaves.entry(leaf).or_default() += rows;
        }
        for (stop, rows) in tally.stops {
            *self.stops.entry(stop).or_default() += rows;
        }
    }

    pub(crate) fn add_committed(&mut self, other: &Committed) {
        let Committed { rows, sent } = &mut self.committed;
        rows.iter_mut().zip(&other.rows).for_each(|(sum, rows)| *sum += rows);
        sent.iter_mut().zip(&other.sent).for_each(|(sum, rows)| *sum += rows);
    }

    /// Every row that was read must have been sent, and no row can be loaded twice.
    pub(crate) fn check(&self) -> Result<()> {
        let (read, sent, loaded) = (self.read(), self.sent(), self.loaded());
        if sent == read && loaded <= sent {
            return Ok(());
        }
        let message = format!("{read} rows were read, {sent} sent and {loaded} loaded");
        Err(Error::new(Kind::Server, message)
            .sqlstate("XX000")
            .hint("This is a bug in pgsluice. Do not trust the table's content; please report it."))
    }

    fn read(&self) -> u64 {
        self.leaves.values().sum::<u64>() + self.stops.values().sum::<u64>()
    }

    fn sent(&self) -> u64 {
        self.committed.sent.iter().sum()
    }

    fn loaded(&self) -> u64 {
        self.committed.rows.iter().sum()
    }

    /// The rows whose leaf was found here, but that went through the root all the same, by reason.
    fn detours(&self, plan: &Plan) -> BTreeMap<String, (Vec<NodeId>, u64)> {
        let mut detours: BTreeMap<String, (Vec<NodeId>, u64)> = BTreeMap::new();
        for (&leaf, &rows) in &self.leaves {
            if let Some(why) = plan.detour(leaf) {
                let entry = detours.entry(why.to_owned()).or_default();
                entry.0.push(leaf);
                entry.1 += rows;
            }
        }
        detours
    }

    fn fallbacks(&self, plan: &Plan) -> Vec<Fallback> {
        let mut by_reason: BTreeMap<(String, String), u64> = BTreeMap::new();
        for (&(node, cause), &rows) in &self.stops {
            *by_reason.entry(plan.explain(node, cause)).or_default() += rows;
        }
        for (why, (leaves, rows)) in self.detours(plan) {
            *by_reason.entry((plan.name(&leaves), why)).or_default() += rows;
        }
        if let Some(why) = &plan.one_statement {
            by_reason.insert(("one COPY on one connection".to_owned(), why.clone()), self.read());
        }
        let skipped = self.sent().saturating_sub(self.loaded());
        if skipped > 0 {
            let what = "rows not stored".to_owned();
            by_reason.insert((what, "a trigger of the table dropped them".to_owned()), skipped);
        }
        for (input, bytes) in &self.ignored {
            let why = format!("{bytes} bytes after the end-of-data marker \\. were not read");
            by_reason.insert((input.clone(), why), 0);
        }
        by_reason.into_iter().map(|((what, why), rows)| Fallback { what, why, rows }).collect()
    }
}

impl Summary {
    pub(crate) fn new(
        plan: &Plan,
        outcome: &Outcome,
        config: &Load,
        bytes_read: u64,
        elapsed: Duration,
    ) -> Self {
        let detoured: u64 = outcome.detours(plan).values().map(|(_, rows)| rows).sum();
        let leaves: BTreeSet<NodeId> = outcome.leaves.keys().copied().collect();
        Self {
            load_id: load_id(),
            table: plan.tree.nodes[0].relation.label(),
            rows_read: outcome.read(),
            rows_loaded: outcome.loaded(),
            rows_rejected: 0,
            rows_skipped: outcome.sent() - outcome.loaded(),
            rows_already_loaded: 0,
            bytes_read,
            seconds: elapsed.as_secs_f64(),
            jobs: if plan.one_statement.is_some() { 1 } else { config.jobs },
            leaves: leaves.len(),
            partitions_created: Vec::new(),
            wire: "text",
            lanes: Lanes {
                native: outcome.leaves.values().sum::<u64>() - detoured,
                server: 0,
                slow: outcome.stops.values().sum::<u64>() + detoured,
            },
            fallbacks: outcome.fallbacks(plan),
        }
    }
}

/// Different for every load: the time in nanoseconds, in base 16.
fn load_id() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("{:x}", now.as_nanos())
}
