//! The columns that the names in rows refer to. Rows whose names refer to other columns need another plan.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use pgsluice_core::column_lookup::{ColumnLookup, ColumnMatch};

use crate::job::Job;
use crate::plan::Plan;
use crate::source::InputNames;

/// Maximum number of names that are remembered although they match no column.
const MAX_EXTRA: usize = 10_000;

/// The names that a plan was made for.
#[derive(Debug, Default)]
pub(super) struct PlanNames {
    /// The lookup of columns by name; `None` if rows have no names.
    lookup: Option<Arc<ColumnLookup>>,
    columns: BTreeSet<usize>,
    /// Names that match no column.
    extra: HashSet<String>,
}

impl PlanNames {
    /// Collects the names in the rows of a planned job.
    pub(super) fn new(job: &Job, plan: &Plan) -> Self {
        let lookup = plan.catalogue.input_fields.as_ref().map(|fields| Arc::clone(&fields.lookup));
        let found = lookup.as_ref().zip(job.input.names.as_ref());
        let (columns, extra) =
            found.map_or_else(Default::default, |(lookup, names)| columns(names, lookup));
        Self { lookup, columns, extra: extra.into_iter().cloned().collect() }
    }

    /// Adds the names of an earlier plan that match no column.
    pub(super) fn add(&mut self, before: Option<Self>) {
        let extra = before.into_iter().flat_map(|before| before.extra);
        let room = MAX_EXTRA.saturating_sub(self.extra.len());
        self.extra.extend(extra.take(room));
    }

    /// Whether the names in the rows of a job refer to the same columns. A new name may belong to a new
    /// column.
    pub(super) fn are_those_of(&self, job: &Job) -> bool {
        let Some((lookup, names)) = self.lookup.as_ref().zip(job.input.names.as_ref()) else {
            return self.lookup.is_none() && job.input.names.is_none();
        };
        let (columns, extra) = columns(names, lookup);
        columns == self.columns && extra.into_iter().all(|name| self.extra.contains(name))
    }
}

/// Returns the columns that names refer to, and the names that match no column.
fn columns<'n>(names: &'n InputNames, lookup: &ColumnLookup) -> (BTreeSet<usize>, Vec<&'n String>) {
    let (mut columns, mut extra) = (BTreeSet::new(), Vec::new());
    for list in &names.lists {
        let own: HashSet<&str> = list.names.iter().map(String::as_str).collect();
        let is_taken = |column: usize| own.contains(lookup.columns()[column].as_str());
        for name in &list.names {
            match lookup.find(name, is_taken) {
                ColumnMatch::Exact(column)
                | ColumnMatch::Mapped(column)
                | ColumnMatch::OtherCase(column) => {
                    columns.insert(column);
                }
                ColumnMatch::Ambiguous(..) | ColumnMatch::Unknown => extra.push(name),
            }
        }
    }
    (columns, extra)
}
