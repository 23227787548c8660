//! The columns that the names in rows refer to. Rows whose names refer to other columns need another plan.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use pgsluice_core::leads::{Lead, Leads};

use crate::job::Job;
use crate::plan::Plan;
use crate::source::InputNames;

/// Maximum number of names that are remembered although they match no column.
const MOST_EXTRA: usize = 10_000;

/// The names that a plan was made for.
#[derive(Debug, Default)]
pub(super) struct PlanNames {
    /// The lookup of columns by name; `None` if rows have no names.
    leads: Option<Arc<Leads>>,
    columns: BTreeSet<usize>,
    /// Names that match no column.
    extra: HashSet<String>,
}

impl PlanNames {
    /// Collects the names in the rows of a planned job.
    pub(super) fn new(job: &Job, plan: &Plan) -> Self {
        let leads = plan.catalogue.led.as_ref().map(|led| Arc::clone(&led.leads));
        let found = leads.as_ref().zip(job.input.names.as_ref());
        let (columns, extra) =
            found.map_or_else(Default::default, |(leads, names)| columns(names, leads));
        Self { leads, columns, extra: extra.into_iter().cloned().collect() }
    }

    /// Adds the names of an earlier plan that match no column.
    pub(super) fn add(&mut self, before: Option<Self>) {
        let extra = before.into_iter().flat_map(|before| before.extra);
        let room = MOST_EXTRA.saturating_sub(self.extra.len());
        self.extra.extend(extra.take(room));
    }

    /// Whether the names in the rows of a job refer to the same columns. A new name may belong to a new
    /// column.
    pub(super) fn are_those_of(&self, job: &Job) -> bool {
        let Some((leads, names)) = self.leads.as_ref().zip(job.input.names.as_ref()) else {
            return self.leads.is_none() && job.input.names.is_none();
        };
        let (columns, extra) = columns(names, leads);
        columns == self.columns && extra.into_iter().all(|name| self.extra.contains(name))
    }
}

/// Returns the columns that names refer to, and the names that match no column.
fn columns<'n>(names: &'n InputNames, leads: &Leads) -> (BTreeSet<usize>, Vec<&'n String>) {
    let (mut columns, mut extra) = (BTreeSet::new(), Vec::new());
    for list in &names.lists {
        let own: HashSet<&str> = list.names.iter().map(String::as_str).collect();
        let is_taken = |column: usize| own.contains(leads.columns()[column].as_str());
        for name in &list.names {
            match leads.of(name, is_taken) {
                Lead::Own(column) | Lead::Mapped(column) | Lead::Alike(column) => {
                    columns.insert(column);
                }
                Lead::Either(..) | Lead::Nowhere => extra.push(name),
            }
        }
    }
    (columns, extra)
}
