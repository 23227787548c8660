//! A plan tried on a sample of the input: the destinations of the rows, and the reasons for fallbacks.

use std::collections::BTreeMap;

use pgsluice_core::catalog::NodeId;
use pgsluice_core::encode::NotEncodable;
use pgsluice_core::origin::Origin;
use pgsluice_core::parse::Fields;
use pgsluice_core::route::Cause;

use crate::bucket::write::find_obstacle;
use crate::control::Control;
use crate::counts::fallbacks::{Fallback, Fallbacks};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::inspect::selftest::Samples;
use crate::job::{Job, SAMPLE_BYTES, SAMPLE_ROWS};
use crate::pg::conninfo::Target;
use crate::plan::{Answered, Plan};
use crate::route::routing::Routing;
use crate::route::row::Routed;
use crate::source::{Inputs, Reader, Split};

/// The destinations of the rows of a sample.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// The number of examined rows.
    pub rows: u64,
    /// Rows by leaf.
    pub leaves: BTreeMap<NodeId, u64>,
    /// Rows that were routed from the server's answers, by question, once for each question.
    pub answered: BTreeMap<Answered, u64>,
    /// Rows by the node at which routing stopped, and the reason.
    pub stops: BTreeMap<(NodeId, Cause), u64>,
    /// Rows that would be sent as text although others are not, by reason.
    pub not_encodable: BTreeMap<NotEncodable, u64>,
    /// Rows for the self-test.
    pub samples: Samples,
    /// The origin and the line of the first row that no partition accepts, and the node at which it stopped.
    unrouted: Option<(Origin, u64, NodeId)>,
}

impl Preview {
    /// Routes the first [`SAMPLE_ROWS`] rows of each input, or [`SAMPLE_BYTES`]. Sends only keys that the
    /// server must evaluate.
    pub fn sample(job: &Job, plan: &Plan, target: &Target, control: &Control) -> Result<Self> {
        let limit = (SAMPLE_ROWS, SAMPLE_BYTES);
        Self::read(job, plan, target, control, limit, |_, _, _, _| Ok(()))
    }

    /// Routes the first rows of each input, at most `limit` rows and about as many bytes. Passes rows that
    /// reach no leaf to `stopped`.
    pub(crate) fn read(
        job: &Job,
        plan: &Plan,
        target: &Target,
        control: &Control,
        (rows, bytes): (usize, usize),
        mut stopped: impl FnMut(&[u8], &Fields, NodeId, Cause) -> Result<()>,
    ) -> Result<Self> {
        let mut preview = Self::default();
        let mut routing = Routing::new(plan, control, target);
        for (number, input) in (0..).zip(job.input.files.iter()) {
            let shape = plan.shape.with_key_text();
            let mut reader = Reader::new(Inputs::from(input.clone()), &shape);
            let (mut left, mut bytes) = (rows, bytes);
            let mut used = None;
            while left > 0 && bytes > 0 {
                if let Some(stopped) = control.stop.failure() {
                    return Err(stopped);
                }
                let Some(mut split) = reader.next(used.take())? else { break };
                split.rows.truncate(left);
                left -= split.rows.len();
                bytes = bytes.saturating_sub(split.size());
                split.start.input = number;
                preview.add(plan, &mut routing, &split, &mut stopped)?;
                used = Some(split);
            }
        }
        preview.answered = routing.answered();
        Ok(preview)
    }

    /// Returns the work that would not be done by the fastest method, and the reasons. Those known without
    /// the sample have no row counts.
    pub fn fallbacks(&self, plan: &Plan) -> Vec<Fallback> {
        let mut fallbacks = Fallbacks::default();
        plan.known_reasons().into_iter().for_each(|reason| fallbacks.add(reason, 0));
        for (&answered, &rows) in &self.answered {
            plan.explain_answered(answered).into_iter().for_each(|it| fallbacks.add(it, rows));
        }
        for (&(node, cause), &rows) in &self.stops {
            fallbacks.add(plan.reason(node, cause), rows);
        }
        for (&not_encodable, &rows) in &self.not_encodable {
            fallbacks.add(plan.explain_not_encodable(not_encodable), rows);
        }
        fallbacks.list(plan)
    }

    /// Returns the error for the first row that no partition accepts, in PostgreSQL's words.
    pub(crate) fn first_unrouted(&self, plan: &Plan, job: &Job) -> Option<Error> {
        let (origin, line, node) = self.unrouted?;
        let name = &plan.tree.nodes[node].relation.name;
        let message = format!("no partition of relation \"{name}\" found for row");
        let error = Error::new(Kind::Data, message).with_sqlstate("23514");
        Some(error.at(job.input.files.locate(origin, line)?))
    }

    fn add(
        &mut self,
        plan: &Plan,
        routing: &mut Routing<'_>,
        split: &Split,
        stopped: &mut impl FnMut(&[u8], &Fields, NodeId, Cause) -> Result<()>,
    ) -> Result<()> {
        let mut outcome = Ok(());
        let mut scratch = Vec::new();
        routing.route_all(split, |routed| {
            let Routed { index, row, keys, at, .. } = routed;
            self.rows += 1;
            if let Some(obstacle) = find_obstacle(plan, split, &routed, &mut scratch) {
                *self.not_encodable.entry(obstacle).or_default() += 1;
            }
            match at {
                Ok(leaf) => {
                    *self.leaves.entry(leaf).or_default() += 1;
                    self.samples.consider(plan, row, keys, leaf);
                }
                Err((node, cause)) => {
                    *self.stops.entry((node, cause)).or_default() += 1;
                    if cause == Cause::NoPartition && self.unrouted.is_none() {
                        let line = split.line + u64::from(split.rows[index].line);
                        self.unrouted = Some((split.origin(index), line, node));
                    }
                    if outcome.is_ok() {
                        outcome = stopped(row, keys, node, cause);
                    }
                }
            }
        })?;
        outcome
    }
}
