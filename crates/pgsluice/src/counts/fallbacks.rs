//! Fallbacks: work that was not done by the fastest method. Tables with the same reason share a line.

use std::collections::{BTreeMap, BTreeSet};

use pgsluice_core::catalog::NodeId;
use serde::{Deserialize, Serialize};

use crate::counts::outcome::Outcome;
use crate::exchange::TOO_MANY;
use crate::plan::landing::Evidence;
use crate::plan::{Plan, Reason};

/// Work that was not done by the fastest method.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Fallback {
    /// A key, a table, or an input.
    pub what: String,
    /// The reason, as a message.
    pub why: String,
    /// The number of affected rows.
    pub rows: u64,
}

/// Reasons with their rows and tables.
#[derive(Debug, Default)]
pub(crate) struct Fallbacks(BTreeMap<(String, String), (BTreeSet<NodeId>, u64)>);

impl Fallbacks {
    /// Counts rows under a reason.
    pub(crate) fn add(&mut self, Reason { what, table, why }: Reason, rows: u64) {
        let (tables, sum) = self.0.entry((what, why)).or_default();
        tables.extend(table);
        *sum += rows;
    }

    /// Returns one fallback for each reason.
    pub(crate) fn list(self, plan: &Plan) -> Vec<Fallback> {
        let fallback =
            |((what, why), (tables, rows)): ((String, String), (BTreeSet<NodeId>, u64))| {
                let tables: Vec<NodeId> = tables.into_iter().collect();
                Fallback { what: plan.subject(&what, &tables), why, rows }
            };
        self.0.into_iter().map(fallback).collect()
    }
}

/// Returns the fallbacks of a load that has ended.
pub(super) fn list(plan: &Plan, outcome: &Outcome) -> Vec<Fallback> {
    let mut fallbacks = Fallbacks::default();
    for (&(node, cause), &rows) in &outcome.routed.stops {
        fallbacks.add(plan.reason(node, cause), rows);
    }
    for (&answered, &rows) in &outcome.routed.answered {
        plan.explain_answered(answered).into_iter().for_each(|asked| fallbacks.add(asked, rows));
    }
    for (leaf, rows) in outcome.routed.leaves() {
        plan.reasons_of_leaf(leaf).for_each(|reason| fallbacks.add(reason, rows));
        if outcome.exchanged.over_limit.contains(&leaf) {
            fallbacks.add(Reason::with_table(leaf, "", TOO_MANY), rows);
        }
    }
    if outcome.exchanged.moved > 0 {
        let why = "they had been copied into leaves that were exchanged";
        fallbacks.add(Reason::new("rows moved", why), outcome.exchanged.moved);
    }
    for reason in plan.reasons_of_load() {
        fallbacks.add(reason, outcome.read());
    }
    for (&not_encodable, &rows) in &outcome.routed.not_encodable {
        fallbacks.add(plan.explain_not_encodable(not_encodable), rows);
    }
    if outcome.committed.updated_first > 0 {
        let what = "rows were updated before others were inserted";
        let why = "as new rows they would be rejected for columns that are not set";
        fallbacks.add(Reason::new(what, why), outcome.committed.updated_first);
    }
    for (&evidence, &rows) in &outcome.committed.unproven {
        fallbacks.add(explain_evidence(plan, evidence), rows);
    }
    for (what, why) in &outcome.ignored {
        fallbacks.add(Reason::new(what, why), 0);
    }
    fallbacks.list(plan)
}

/// Returns the fallback for rows of several leaves that were sent with weaker evidence than planned.
fn explain_evidence(plan: &Plan, evidence: Evidence) -> Reason {
    let (what, why) = match evidence {
        Evidence::Counts | Evidence::Leaves => (
            "rows were sent leaf by leaf",
            "the server's counts by leaf were not theirs alone: track_counts was switched off, or a default, a \
             constraint or a trigger stores rows there",
        ),
        Evidence::Server if !plan.catalogue.several.are_counted => {
            ("rows were not counted by leaf", "track_counts is off")
        }
        Evidence::Server => (
            "rows were not counted by leaf",
            "partitions have changed since the load began, or rows refer to those of other leaves",
        ),
    };
    Reason::new(what, why)
}
