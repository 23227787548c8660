//! Salvage: of a transaction that the server refuses, stores the good rows and rejects the bad ones.
//!
//! ```text
//!     chunk -> SAVEPOINT, COPY -> stored:  next chunk
//!                              -> refused: COPY names the row   reject it, send the rest again
//!                                          some rows may be it  store those before, try it alone
//!                                          nothing is known     halve, until one row is left
//! ```
//!
//! 1. All is one transaction, as before. What went through the root goes leaf by leaf now, unless each has few
//!    rows. Rows are sent in chunks, each behind a savepoint. What
//!    keeps a chunk or takes it back goes with the beginning of the next COPY.
//! 2. The server's CONTEXT says at which row it was (`context`). A row's own text may look like it, because
//!    values are printed as they are. If a foreign key is violated, the server names only the key. Such
//!    rows are only suspects.
//! 3. A chunk has as many rows as were good between two bad ones ([`ChunkSize`]).
//! 4. What passes a stage is taken from there chunk by chunk. Without a reject file the first bad row found is the
//!    error: a statement that takes rows from a stage does not say at which one it was.
//! 5. A row that was sent in binary is read from its input again, and must encode to the same bytes.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{try_join, try_join3};
use pgsluice_core::bucket::{Payload, RowAt, Wire};
use pgsluice_core::catalog::NodeId;
use tokio_postgres::{CopyInSink, Statement};

use super::chunk_size::ChunkSize;
use super::copy::Connection;
use super::failure::Failure;
use super::lines;
use super::original::{as_rejected, at_row, lost_place, original, too_many};
use super::pieces::{pieces, tables};
use super::settled::{Loaded, Settled};

use super::refusal::{Blame, blame};
use super::stage::is_met;
use super::way::Way;
use crate::bucket::message::Message;
use crate::error::Result;
use crate::fate::Fate;
use crate::pg::sql;
use crate::plan::landing::Evidence;
use crate::rejects::{Reject, Rejects};
use crate::testing::failpoint::failpoint;

/// The rows that are sent to one table, and what has become of them.
struct Salvage<'s, 'l> {
    connection: &'s Connection<'l>,
    /// Without it the first bad row is an error.
    rejects: Option<&'s Rejects>,
    node: NodeId,
    wire: Wire,
    rows: Vec<(RowAt, &'s [u8])>,
    /// The rows that are stored or rejected.
    settled: Vec<bool>,
    copy: Statement,
    /// What the next COPY begins with: it keeps what the last one has stored, or takes it back.
    before: Option<&'static str>,
    chunk_size: ChunkSize,
    /// What became of those that are stored.
    fate: Fate,
    rejected: Vec<Reject>,
}

/// The rows that the server may mean.
enum Suspects {
    /// This one, for certain.
    One(usize),
    /// One of these, or of all.
    Some(Vec<usize>),
}

impl Connection<'_> {
    /// Stores what is good of a transaction that the server has refused, or is expected to, if it was not
    /// tried. None if the load was stopped.
    pub(super) async fn salvage(
        &self,
        payloads: &[Arc<Payload>],
        rejects: Option<&Rejects>,
        was_tried: bool,
    ) -> Result<Option<Loaded>, Failure> {
        let client = &self.link.client;
        self.copying.set(None);
        let meets = self.flow.plan.changes.is_some();
        self.set_way(match meets {
            true if self.way.get() == Way::UpdateFirst => Way::UpdateFirst,
            true => Way::Conflict,
            false => Way::Straight,
        });
        if !self.has_stage() {
            client.batch_execute(sql::ROLLBACK).await?;
            self.make_stage().await?;
        }
        // The transaction that has failed may not be over yet.
        let into = payloads.iter().flat_map(|payload| tables(payload));
        let locked = |begin: &str, into| {
            let begin = std::iter::once(begin.to_owned());
            begin.chain(self.locks(into)).collect::<Vec<_>>().join("; ")
        };
        let begin = match (self.flow.is_atomic, was_tried) {
            (false, _) => [sql::ROLLBACK, &self.begin_all(into), sql::IMMEDIATE].join("; "),
            (true, true) => locked(sql::BACK_TO_PART, into),
            (true, false) => locked(sql::PART, into),
        };
        self.begin_with(&begin).await?;
        let mut rejected = Vec::new();
        let outcome = self.salvage_all(payloads, rejects, &mut rejected).await;
        let outcome = match outcome {
            Ok(Some(settled)) => self.keep(payloads, rejects, settled, &rejected).await.map(Some),
            Ok(None) => Ok(None),
            Err(failure) => Err(failure),
        };
        if let (Some(rejects), false) = (rejects, matches!(outcome, Ok(Some(_)))) {
            rejects.dismiss(rejected.len() as u64);
        }
        outcome
    }

    /// Stores or rejects every row, in the transaction that has begun.
    async fn salvage_all(
        &self,
        payloads: &[Arc<Payload>],
        rejects: Option<&Rejects>,
        rejected: &mut Vec<Reject>,
    ) -> Result<Option<Vec<Settled>>, Failure> {
        let client = &self.link.client;
        let mut settled = Vec::new();
        let mut last: Option<&str> = None;
        for (node, wire, rows) in payloads.iter().flat_map(|payload| pieces(payload)) {
            let before = last.map(|last| [last, sql::NO_SAVEPOINT].join("; "));
            let before = before.into_iter().chain(Some(sql::SALVAGE.to_owned()));
            let before = before.collect::<Vec<_>>().join("; ");
            let keeping = async { client.batch_execute(&before).await.map_err(Failure::Begin) };
            let asking = async {
                Ok(self.recheck.changed(self.flow.plan, client, node, wire, false).await?)
            };
            let statement = self.copy_statement(node, wire);
            let preparing = async { client.prepare(&statement).await.map_err(Failure::Begin) };
            let (_, changed, copy) = try_join3(keeping, asking, preparing).await?;
            if let Some(changed) = changed {
                return Err(Failure::Changed(node, changed));
            }
            let mut salvage = Salvage {
                connection: self,
                rejects,
                node,
                wire,
                settled: vec![false; rows.len()],
                rows,
                copy,
                before: None,
                chunk_size: self.chunk_sizes.begin(wire),
                fate: Fate::default(),
                rejected: Vec::new(),
            };
            let outcome = salvage.settle_all().await;
            self.chunk_sizes.end(wire, salvage.chunk_size);
            let count = salvage.rejected.len() as u64;
            rejected.append(&mut salvage.rejected);
            if !outcome? {
                return Ok(None);
            }
            last = salvage.before;
            let rows = salvage.rows.len() as u64;
            let fate = Fate { rejected: count, ..salvage.fate };
            settled.push(Settled { node, rows, fate });
        }
        if let Some(last) = last {
            client.batch_execute(last).await?;
        }
        Ok(Some(settled))
    }

    /// Commits the rows that are stored, and keeps those that are rejected.
    async fn keep(
        &self,
        payloads: &[Arc<Payload>],
        rejects: Option<&Rejects>,
        settled: Vec<Settled>,
        rejected: &[Reject],
    ) -> Result<Loaded, Failure> {
        let rejects = rejects.filter(|_| !rejected.is_empty());
        let batch = rejects.map(|rejects| Ok((rejects, rejects.write(rejected)?))).transpose();
        let batch = batch.map_err(Failure::Row)?;
        failpoint("rejects::written");
        let outcome = self.commit_settled(payloads, &settled, rejected).await;
        if outcome.as_ref().is_err_and(Failure::is_answer) {
            batch.into_iter().for_each(|(rejects, batch)| rejects.withdraw(batch));
        }
        outcome?;
        failpoint("rejects::committed");
        Ok(Loaded { settled, destination: None, evidence: Evidence::default() })
    }
}

impl Salvage<'_, '_> {
    /// Stores or rejects every row; false if the load was stopped before.
    async fn settle_all(&mut self) -> Result<bool, Failure> {
        let mut from = 0;
        // A bad row that is not known lies before this one.
        let mut bad_before = None;
        while from < self.rows.len() {
            if self.connection.flow.control.stop.is_stopped() {
                return Ok(false);
            }
            let to = match bad_before {
                Some(end) => from + usize::max((end - from) / 2, 1),
                None => self.rows.len().min(from + self.chunk_size.rows()),
            };
            match self.store(from, to).await? {
                None => {
                    from = to;
                    bad_before = bad_before.filter(|end| *end > to);
                    self.chunk_size.good_before(to);
                }
                Some((Suspects::One(at), blame)) => {
                    self.reject(at, blame)?;
                    bad_before = None;
                }
                Some((Suspects::Some(rows), _)) => {
                    (from, bad_before) = self.settle_suspects(from, to, &rows).await?;
                }
            }
        }
        Ok(true)
    }

    /// Stores the rows from `from` on and before `to` that are not settled. If the server refuses them,
    /// returns the suspects and what the server says.
    async fn store(
        &mut self,
        from: usize,
        to: usize,
    ) -> Result<Option<(Suspects, Blame)>, Failure> {
        let open: Vec<usize> = (from..to).filter(|&at| !self.settled[at]).collect();
        if open.is_empty() {
            return Ok(None);
        }
        let mut copied = self.copy(&open).await;
        while copied.as_ref().is_err_and(|error| self.tries_otherwise(error)) {
            self.before = Some(sql::BACK_TO_SAVEPOINT);
            copied = self.copy(&open).await;
        }
        self.before = Some(match copied {
            Ok(_) => sql::NEXT_SAVEPOINT,
            Err(_) => sql::BACK_TO_SAVEPOINT,
        });
        match copied {
            Ok(fate) => {
                open.iter().for_each(|&at| self.settled[at] = true);
                self.fate.add(fate);
                Ok(None)
            }
            Err(error) => match blame(self.connection.flow, &error, self.node) {
                Some(blame) => Ok(Some((self.suspects(&open, &blame), blame))),
                None => Err(Failure::Rows(error)),
            },
        }
    }

    /// Whether the rows that the server has refused are sent again, to update others before INSERT looks at them.
    fn tries_otherwise(&self, error: &tokio_postgres::Error) -> bool {
        let Some(changes) = &self.connection.flow.plan.changes else { return false };
        let is_meanwhile = self.connection.way.get() == Way::UpdateFirst && is_met(error);
        self.connection.turns_to_update(changes, error)
            || is_meanwhile && self.connection.tries_again()
    }

    /// Which of the rows that were sent the server may mean.
    fn suspects(&self, open: &[usize], blame: &Blame) -> Suspects {
        if let [only] = open {
            return Suspects::One(*only);
        }
        if let Some(row) = blame.context.certain().and_then(|entry| self.at_line(open, entry.line))
        {
            return Suspects::One(row);
        }
        let entries = blame.context.0.iter();
        let mut rows: Vec<usize> =
            entries.filter_map(|entry| self.at_line(open, entry.line)).collect();
        rows.sort_unstable();
        rows.dedup();
        if rows.is_empty() {
            rows.extend(self.with_key(open, blame));
        }
        Suspects::Some(rows)
    }

    /// Returns the row with a line of the data that was sent.
    fn at_line(&self, open: &[usize], line: u64) -> Option<usize> {
        let sent = open.iter().map(|&at| self.rows[at]);
        let format = &self.connection.flow.plan.shape.format;
        let mut lines = lines::of_rows(sent, self.wire, format, true);
        let row = lines::at_line(&mut lines, line)?;
        open.iter().copied().find(|&at| self.rows[at].0 == row)
    }

    /// The first row with the key that the server names.
    fn with_key(&self, open: &[usize], blame: &Blame) -> Option<usize> {
        let key = blame.key.as_ref()?;
        let mut finder = key.finder(self.connection.flow.plan, self.wire)?;
        open.iter().copied().find(|&at| finder.has_key(self.rows[at].1))
    }

    /// Sends rows in one COPY. Returns what became of them.
    async fn copy(&self, rows: &[usize]) -> Result<Fate, tokio_postgres::Error> {
        let client = &self.connection.link.client;
        let beginning = client.copy_in::<_, Message>(&self.copy);
        let sink: CopyInSink<Message> = match self.before {
            Some(before) => try_join(client.batch_execute(before), beginning).await?.1,
            None => beginning.await?,
        };
        let sent = rows.iter().map(|&row| self.rows[row].1);
        let stored = Message::send(pin!(sink), self.wire, sent).await?;
        match self.connection.staged() {
            Some(changes) => self.connection.take_some(changes, self.node, rows.len() as u64).await,
            None => Ok(Fate { inserted: stored, ..Fate::default() }),
        }
    }

    /// Tries each of the rows `suspects` alone, until one is rejected. Those before it are stored first,
    /// since it may need them. Where the rows begin that may not be settled, and before which one of
    /// them is bad, if that is known.
    async fn settle_suspects(
        &mut self,
        from: usize,
        to: usize,
        suspects: &[usize],
    ) -> Result<(usize, Option<usize>), Failure> {
        let mut begin = from;
        for &row in suspects {
            if self.store(begin, row).await?.is_some() {
                return Ok((begin, Some(row)));
            }
            begin = row + 1;
            if let Some((_, blame)) = self.store(row, begin).await? {
                self.reject(row, blame)?;
                return Ok((begin, None));
            }
            self.chunk_size.good_before(begin);
        }
        Ok((begin, Some(to)))
    }

    /// Rejects a row, if one more may be.
    fn reject(&mut self, row: usize, blame: Blame) -> Result<(), Failure> {
        let flow = self.connection.flow;
        let (at, bytes) = self.rows[row];
        let blame = blame.of_row(flow, bytes, self.wire);
        let Some(rejects) = self.rejects else {
            return Err(Failure::Row(at_row(flow, at, blame.report)));
        };
        if !rejects.admit(flow.control) {
            return Err(Failure::Row(too_many(flow, at, blame, rejects)));
        }
        self.settled[row] = true;
        self.chunk_size.bad_at(row);
        let row = match bytes.split_last() {
            Some((_, row)) if self.wire == Wire::Text => as_rejected(flow, at, row),
            _ => original(flow, at, bytes),
        };
        let reject = row.and_then(|row| {
            let position = flow.splits.position_of(at).ok_or_else(lost_place)?;
            let place = flow.inputs.locate(position).ok_or_else(lost_place)?;
            Ok(Reject { origin: position.origin, place, reason: blame.reason, row })
        });
        if reject.is_err() {
            rejects.dismiss(1);
        }
        self.rejected.push(reject.map_err(Failure::Row)?);
        Ok(())
    }
}
