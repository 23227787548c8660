//! The rows of one write, in the order in which they are sent.

use std::sync::Arc;

use pgsluice_core::bucket::Payload;

use super::refused::Read;
use crate::control::Control;
use crate::duplicates::{self, DuplicateRows};
use crate::error::{Error, Result};
use crate::gather::{Gatherer, check_rows};
use crate::job::Job;
use crate::pg::conninfo::Target;
use crate::plan::Plan;
use crate::plan::changes::Changes;
use crate::row_counts::RowCounts;
use crate::source::{Inputs, Reader, Split};

/// The rows of one write, in the order in which they are sent.
pub(super) struct WriteBatch {
    pub(super) payloads: Vec<Arc<Payload>>,
    /// The number of rows that lose to another row of the write with their key.
    duplicates: u64,
    /// The number of rows of the write that the program has rejected, and that are not in `payloads`.
    pub(super) rejected: u64,
}

impl WriteBatch {
    /// Returns the number of rows that are sent.
    pub(super) fn rows_sent(&self) -> u64 {
        self.payloads.iter().map(|payload| payload.rows() as u64).sum()
    }

    /// Returns the number of all rows, including duplicate and rejected ones.
    pub(super) fn rows(&self) -> u64 {
        self.rows_sent() + self.duplicates + self.rejected
    }

    /// Returns the number of bytes that are sent.
    pub(super) fn bytes(&self) -> usize {
        self.payloads.iter().map(|payload| payload.bytes()).sum()
    }

    /// Returns the rows for whose index `keeps` returns `true`. The first payload may be empty.
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

    /// Returns the outcome if the server has inserted `inserted` rows and dropped the others.
    pub(super) fn counts(&self, inserted: u64) -> RowCounts {
        let mut counts = self.unsent_counts();
        counts.add(RowCounts { read: 0, ..RowCounts::from_copy(self.rows_sent(), inserted) });
        counts
    }

    /// Returns the outcome of the rows that are not sent.
    pub(super) fn unsent_counts(&self) -> RowCounts {
        let (duplicate, rejected) = (self.duplicates, self.rejected);
        RowCounts { read: self.rows(), duplicate, rejected, ..RowCounts::default() }
    }
}

/// A gatherer for the rows of successive writes.
pub(super) struct BatchGatherer {
    gatherer: Gatherer,
    /// The input of the last write.
    read: Read,
}

impl BatchGatherer {
    pub(super) fn new(plan: &Plan) -> Self {
        Self { gatherer: Gatherer::unbounded(plan), read: Read::default() }
    }

    /// Gathers the rows of `inputs`. If rows may conflict with existing ones, leaves out rows whose key occurs
    /// again.
    pub(super) fn gather(
        &mut self,
        job: &Job,
        plan: &Plan,
        inputs: &Inputs,
        target: &Target,
        control: &Arc<Control>,
    ) -> Result<WriteBatch> {
        let mut reader = Reader::new(inputs.clone(), &plan.shape);
        self.read = Read::new(inputs);
        let Some(changes) = &plan.changes else {
            let mut used = None;
            while let Some(split) = reader.next(used.take())? {
                self.add(plan, inputs, &split)?;
                used = Some(split);
            }
            return Ok(self.take(plan));
        };
        // The input is read and parsed only once, both to find duplicates and to gather the other rows.
        let mut splits = Vec::new();
        while let Some(split) = reader.next(None)? {
            check_rows(inputs, &split)?;
            splits.push(split);
        }
        let rows = splits.iter().map(|split| split.rows.len()).sum::<usize>();
        let duplicates = match duplicates::find_small(plan, changes, &splits)? {
            Some(duplicates) => duplicates,
            None if rows < 2 => DuplicateRows::default(),
            None => {
                let found = duplicates::find(job, plan, changes, inputs, target, control);
                found.inspect_err(|_| _ = control.stop.forgive())?
            }
        };
        self.gatherer.leave_out(duplicates);
        splits.iter().try_for_each(|split| self.add(plan, inputs, split))?;
        Ok(self.take(plan))
    }

    fn add(&mut self, plan: &Plan, inputs: &Inputs, split: &Split) -> Result<()> {
        self.read.add(split);
        let added = self.gatherer.add(plan, inputs, split, 0);
        added.map(|_| ()).inspect_err(|_| self.gatherer = Gatherer::unbounded(plan))
    }

    fn take(&mut self, plan: &Plan) -> WriteBatch {
        let taken = match plan.changes.as_ref().is_none_or(Changes::may_join_leaves) {
            true => self.gatherer.take(plan),
            false => self.gatherer.take_each(plan),
        };
        let duplicates = self.gatherer.rows_left_out();
        let payloads = taken.into_iter().map(Arc::new).collect();
        WriteBatch { payloads, duplicates, rejected: 0 }
    }

    /// Takes back the memory of rows that are stored.
    pub(super) fn give_back(&mut self, batch: WriteBatch) {
        self.read = Read::default();
        let payloads = batch.payloads.into_iter().filter_map(Arc::into_inner);
        payloads.for_each(|payload| self.gatherer.give_back(payload));
    }

    /// Returns the error for a refused row of `payload`, whose COPY was into `table`.
    pub(super) fn refused(
        &self,
        error: tokio_postgres::Error,
        payload: &Payload,
        table: &str,
        columns: &[String],
    ) -> Error {
        self.read.refused(error, payload, table, columns)
    }

    /// Adds the location of a row to an error. `row` is its index in the order in which rows are sent.
    pub(super) fn at_row(&self, error: Error, batch: &WriteBatch, row: usize) -> Error {
        let rows = batch.payloads.iter().flat_map(|payload| payload.in_order());
        let place = rows.map(|(at, _)| at).nth(row).and_then(|at| self.read.locate(at));
        place.into_iter().fold(error, Error::at)
    }

    /// Adds the location of the first row of `payload` to an error.
    pub(super) fn at_first(&self, error: Error, payload: &Payload) -> Error {
        let place = payload.in_order().next().and_then(|(at, _)| self.read.locate(at));
        place.into_iter().fold(error, Error::at)
    }
}
