//! The leaf of each row of an input, for programs that store the rows elsewhere. Only keys that the server
//! must evaluate are sent, and a leaf is never guessed: a row that only the server could route is an error.

use std::sync::Arc;

use pgsluice_core::catalog::NodeId;
use pgsluice_core::route::Cause;

use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::inspect::selftest::{self, Samples};
use crate::job::Job;
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;
use crate::plan::Plan;
use crate::route::routing::Routing;
use crate::route::row::Routed;
use crate::source::{Reader, Split};

/// The leaves that rows belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leaves {
    /// The leaves that have rows, in the order of the tree, qualified, and quoted if necessary.
    pub names: Vec<String>,
    /// Index into `names` for each input row; `None` if no partition accepts it.
    pub indexes: Vec<Option<u32>>,
}

/// Finds the leaf of each row.
///
/// # Errors
///
/// Fails at the first row whose leaf only the server can find, or that cannot be converted into a row of the
/// table. Also fails if the catalogue or the input cannot be read.
pub fn find(job: &Job, target: &Target, control: &Arc<Control>) -> Result<Leaves> {
    let job = &job.open(target, control)?;
    let plan = runtime()?.block_on(Plan::make(job, target, control))?;
    let mut search = Search { plan: &plan, job, nodes: Vec::new(), samples: Samples::default() };
    let mut routing = Routing::new(&plan, control, target);
    let (mut reader, mut used) = (
        Reader::new(job.input.files.clone(), &plan.shape.in_keys(plan.router.wanted_fields())),
        None,
    );
    while let Some(split) = reader.next(used.take())? {
        if let Some(stopped) = control.stop.failure() {
            return Err(stopped);
        }
        search.add(&mut routing, &split)?;
        used = Some(split);
    }
    if job.safety.self_test {
        runtime()?.block_on(selftest::ask(&plan, &search.samples, target, control))?;
    }
    Ok(search.leaves())
}

/// The state of the search.
struct Search<'a> {
    plan: &'a Plan,
    job: &'a Job,
    /// The leaf of each row.
    nodes: Vec<Option<u32>>,
    samples: Samples,
}

impl Search<'_> {
    fn add(&mut self, routing: &mut Routing<'_>, split: &Split) -> Result<()> {
        let Self { plan, nodes, samples, .. } = self;
        let before = nodes.len();
        nodes.resize(before + split.rows.len(), None);
        let mut stopped: Option<(usize, NodeId, Cause)> = None;
        routing.route_all(split, |Routed { index, row, keys, at, .. }| match at {
            Ok(leaf) => {
                nodes[before + index] = Some(leaf as u32);
                samples.consider(plan, row, keys, leaf);
            }
            Err((_, Cause::NoPartition)) => {}
            // Rows that the server is asked about come late.
            Err((node, cause)) if stopped.is_none_or(|(other, ..)| index < other) => {
                stopped = Some((index, node, cause));
            }
            Err(_) => {}
        })?;
        match stopped {
            Some((index, node, cause)) => Err(self.refused(split, index, node, cause)),
            None => Ok(()),
        }
    }

    /// Returns the error for a row whose leaf is not found.
    fn refused(&self, split: &Split, index: usize, node: NodeId, cause: Cause) -> Error {
        let error = match split.refusal(index) {
            Some(refusal) => Error::from(refusal.clone()),
            None => {
                let (what, why) = self.plan.explain(node, cause);
                Error::new(Kind::Data, "only the server can find the leaf of this row")
                    .with_detail(format!("{what}: {why}."))
            }
        };
        let place = self.job.input.files.locate_row(split, index);
        place.into_iter().fold(error, Error::at)
    }

    fn leaves(self) -> Leaves {
        let mut places: Vec<Option<u32>> = vec![None; self.plan.tree.nodes.len()];
        for &node in self.nodes.iter().flatten() {
            places[node as usize] = Some(0);
        }
        let mut names = Vec::new();
        for (node, place) in places.iter_mut().enumerate().filter(|(_, place)| place.is_some()) {
            *place = Some(names.len() as u32);
            names.push(self.plan.tree.nodes[node].relation.label());
        }
        let indexes = self.nodes.into_iter().map(|node| places[node? as usize]).collect();
        Leaves { names, indexes }
    }
}
