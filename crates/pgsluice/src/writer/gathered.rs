//! The rows of a flush, in the order in which they are sent.

use std::sync::Arc;

use pgsluice_core::bucket::Payload;

use super::refused::Read;
use crate::control::Control;
use crate::duplicates::{self, Superseded};
use crate::error::{Error, Result};
use crate::gather::Gatherer;
use crate::job::Job;
use crate::pg::conninfo::Target;
use crate::plan::Plan;
use crate::plan::changes::Changes;
use crate::row_counts::RowCounts;
use crate::source::{Inputs, Reader};

/// The rows of a flush.
pub(super) struct Gathered {
    pub(super) payloads: Vec<Arc<Payload>>,
    /// Rows that do not count, because another row of the flush has their key.
    duplicates: u64,
    /// Rows of the flush that the program has rejected, and that are not among these.
    pub(super) rejected: u64,
}

impl Gathered {
    /// The rows that are sent.
    pub(super) fn sent(&self) -> u64 {
        self.payloads.iter().map(|payload| payload.rows() as u64).sum()
    }

    /// All rows.
    pub(super) fn rows(&self) -> u64 {
        self.sent() + self.duplicates + self.rejected
    }

    /// The bytes of the rows that are sent.
    pub(super) fn bytes(&self) -> usize {
        self.payloads.iter().map(|payload| payload.bytes()).sum()
    }

    /// Returns some of the rows that are sent: those whose number `keeps` takes. Its first payload may have no rows.
    pub(super) fn part(&self, keeps: impl Fn(usize) -> bool) -> Self {
        let mut before = 0;
        let mut payloads = Vec::new();
        for payload in &self.payloads {
            let part = payload.part(|row| keeps(before + row));
            before += payload.rows();
            if payloads.is_empty() || part.rows() > 0 {
                payloads.push(Arc::new(part));
            }
        }
        Self { payloads, duplicates: 0, rejected: 0 }
    }

    /// What became of them, if the server has inserted so many and the others were dropped.
    pub(super) fn counts(&self, inserted: u64) -> RowCounts {
        let mut counts = self.begun();
        counts.add(RowCounts { read: 0, ..RowCounts::of_copy(self.sent(), inserted) });
        counts
    }

    /// What became of those that are not sent.
    pub(super) fn begun(&self) -> RowCounts {
        let (duplicate, rejected) = (self.duplicates, self.rejected);
        RowCounts { read: self.rows(), duplicate, rejected, ..RowCounts::default() }
    }
}

/// What gathers the rows of one flush after the other.
pub(super) struct Gathering {
    gatherer: Gatherer,
    /// What those of the last one were read from.
    read: Read,
}

impl Gathering {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { gatherer: Gatherer::unbounded(plan), read: Read::default() }
    }

    /// The rows of `inputs`, but those whose key comes again, where rows may meet others.
    pub(super) fn gather(
        &mut self,
        job: &Job,
        plan: &Plan,
        inputs: &Inputs,
        target: &Target,
        control: &Arc<Control>,
    ) -> Result<Gathered> {
        let gathered = self.gather_all(plan, inputs, Superseded::default())?;
        let Some(changes) = plan.changes.as_ref().filter(|_| gathered.rows() > 1) else {
            return Ok(gathered);
        };
        let superseded = match duplicates::find_few(plan, changes, inputs)? {
            Some(superseded) => superseded,
            None => {
                let found = duplicates::find(job, plan, changes, inputs, target, control);
                found.inspect_err(|_| _ = control.stop.forgive())?
            }
        };
        if superseded.is_empty() {
            return Ok(gathered);
        }
        self.give_back(gathered);
        self.gather_all(plan, inputs, superseded)
    }

    fn gather_all(
        &mut self,
        plan: &Plan,
        inputs: &Inputs,
        superseded: Superseded,
    ) -> Result<Gathered> {
        let mut reader = Reader::new(inputs.clone(), &plan.shape);
        self.read = Read::of(inputs);
        self.gatherer.leave_out(superseded);
        let mut used = None;
        while let Some(split) = reader.next(used.take())? {
            self.read.add(&split);
            if let Err(error) = self.gatherer.add(plan, inputs, &split, 0) {
                self.gatherer = Gatherer::unbounded(plan);
                return Err(error);
            }
            used = Some(split);
        }
        let taken = match plan.changes.as_ref().is_none_or(Changes::may_join_leaves) {
            true => self.gatherer.take(plan),
            false => self.gatherer.take_each(plan),
        };
        let duplicates = self.gatherer.left_out();
        let payloads = taken.into_iter().map(Arc::new).collect();
        Ok(Gathered { payloads, duplicates, rejected: 0 })
    }

    /// Takes the memory of rows that are stored.
    pub(super) fn give_back(&mut self, gathered: Gathered) {
        self.read = Read::default();
        let payloads = gathered.payloads.into_iter().filter_map(Arc::into_inner);
        payloads.for_each(|payload| self.gatherer.give_back(payload));
    }

    /// The refusal of a row of `payload`, whose COPY was into `table`.
    pub(super) fn refused(
        &self,
        error: tokio_postgres::Error,
        payload: &Payload,
        table: &str,
        columns: &[String],
    ) -> Error {
        self.read.refused(error, payload, table, columns)
    }

    /// The error at a row, by its number in the order in which they are sent.
    pub(super) fn at_row(&self, error: Error, gathered: &Gathered, row: usize) -> Error {
        let rows = gathered.payloads.iter().flat_map(|payload| payload.in_order());
        let place = rows.map(|(at, _)| at).nth(row).and_then(|at| self.read.locate(at));
        place.into_iter().fold(error, Error::at)
    }

    /// The error at the first row of `payload`.
    pub(super) fn at_first(&self, error: Error, payload: &Payload) -> Error {
        let place = payload.in_order().next().and_then(|(at, _)| self.read.locate(at));
        place.into_iter().fold(error, Error::at)
    }
}
