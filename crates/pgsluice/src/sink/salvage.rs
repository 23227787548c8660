//! Salvage: stores the good rows of a transaction that the server refuses, and rejects the bad ones.
//!
//! ```text
//!     chunk -> SAVEPOINT, COPY -> stored:  next chunk
//!                              -> refused: COPY names the row         reject it, send the rest again
//!                                          several rows are suspects  store the rows before, try each alone
//!                                          no suspect                 halve, until one row is left
//! ```
//!
//! 1. Everything is still one transaction. Rows that went through the root now go leaf by leaf, unless the
//!    leaves have few rows each. Rows are sent in chunks, each after a savepoint. The statement that keeps a
//!    chunk or rolls it back is sent with the beginning of the next COPY.
//! 2. The server's CONTEXT names the line of the row (`context`). A row's own text may look like it, because
//!    values are printed verbatim. If a foreign key is violated, the server names only the key. Such rows are
//!    only suspects.
//! 3. A chunk has as many rows as there were good ones between two bad ones ([`ChunkSize`]).
//! 4. Rows that pass through a stage are taken from there chunk by chunk. Without a reject file, the first
//!    bad row found is the error: a statement that takes rows from a stage does not say at which row it
//!    failed.
//! 5. A row that was sent in binary is read from its input again, and must encode to the same bytes.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{try_join, try_join3};
use pgsluice_core::bucket::{BlockRow, Payload, Wire};
use pgsluice_core::catalog::NodeId;
use tokio_postgres::{CopyInSink, Statement};

use super::channel::Channel;
use super::chunk_size::{ChunkSize, ChunkSizes};
use super::failure::Failure;
use super::lines;
use super::merge::Merge;
use super::original::{as_rejected, at_row, lost_place, original, too_many};
use super::part::{Landing, Part, Rows};
use super::pieces::pieces;
use super::refusal::{Blame, blame};
use super::settled::Settled;
use super::stage::{MAX_MEANWHILE, is_conflict, settle_node};
use super::stage_merge::may_exist;
use super::transaction::{Stored, Transaction};
use crate::bucket::message::Message;
use crate::error::Result;
use crate::pg::sql;
use crate::rejects::Reject;
use crate::row_counts::RowCounts;
use crate::sink::flow::Flow;
use crate::sink::sql::stage::empty_stage;

/// The rows of a transaction that are stored or rejected so far.
pub(super) struct Salvaged {
    /// The method of merging rows with existing ones, if they pass through the stage.
    pub(super) merge: Option<Merge>,
    /// The number of times that another session has inserted a key.
    meanwhile: u32,
    pub(super) settled: Vec<Settled>,
    pub(super) rejected: Vec<Reject>,
}

impl Salvaged {
    /// Starts without rows, for the merge method `merge`.
    pub(super) fn new(merge: Option<Merge>) -> Self {
        Self { merge, meanwhile: 0, settled: Vec::new(), rejected: Vec::new() }
    }
}

/// The rows that are sent to one table, and their state.
struct Salvage<'s, 't> {
    transaction: &'s Transaction<'t>,
    flow: &'s Flow<'s>,
    all: &'s mut Salvaged,
    node: NodeId,
    wire: Wire,
    rows: Vec<(BlockRow, &'s [u8])>,
    /// Whether each row is stored or rejected.
    settled: Vec<bool>,
    copy: Statement,
    /// The statement that precedes the next COPY: it keeps the rows of the last one, or rolls them back.
    before: Option<&'static str>,
    chunk_size: ChunkSize,
    /// The counts of the stored and rejected rows.
    counts: RowCounts,
}

/// The rows that the server may mean.
enum Suspects {
    /// This row, for certain.
    One(usize),
    /// One of these rows, or any row if the list is empty.
    Some(Vec<usize>),
}

impl Transaction<'_> {
    /// Stores or rejects every row of `payloads`. The transaction has begun.
    pub(super) async fn salvage(
        &self,
        flow: &Flow<'_>,
        chunk_sizes: &ChunkSizes,
        payloads: &[Arc<Payload>],
        all: &mut Salvaged,
    ) -> Result<(), Failure> {
        let client = &self.channel.link.client;
        let mut last: Option<&str> = None;
        for (node, wire, rows) in payloads.iter().flat_map(|payload| pieces(payload)) {
            let before = last.map(|last| [last, sql::NO_SAVEPOINT].join("; "));
            let before = before.into_iter().chain(Some(sql::SALVAGE.to_owned()));
            let before = before.collect::<Vec<_>>().join("; ");
            let copy = self.prepare_chunks(node, wire, all.merge, &before).await?;
            let mut salvage = Salvage {
                transaction: self,
                flow,
                all: &mut *all,
                node,
                wire,
                settled: vec![false; rows.len()],
                rows,
                copy,
                before: None,
                chunk_size: chunk_sizes.begin(wire),
                counts: RowCounts::default(),
            };
            let outcome = salvage.settle_all().await;
            chunk_sizes.end(wire, salvage.chunk_size);
            outcome?;
            last = salvage.before;
            let settled = Settled { node, rows: salvage.rows.len() as u64, counts: salvage.counts };
            all.settled.push(settled);
        }
        Ok(client.batch_execute(last.unwrap_or_default()).await?)
    }

    /// Prepares the COPY for chunks of rows, and runs the statements `before` it.
    async fn prepare_chunks(
        &self,
        node: NodeId,
        wire: Wire,
        merge: Option<Merge>,
        before: &str,
    ) -> Result<Statement, Failure> {
        let Channel { link, plan, prepared, .. } = self.channel;
        let client = &link.client;
        let landing = merge.map_or(Landing::Leaf(node), |merge| Landing::Stage(node, merge));
        let copy = Part { rows: Rows::Some(wire, Vec::new()), landing }.copy_statement(plan);
        let keeping = async { client.batch_execute(before).await.map_err(Failure::Begin) };
        let asking =
            async { Ok(prepared.recheck.find_change(plan, client, node, wire, false).await?) };
        let preparing = async { client.prepare(&copy).await.map_err(Failure::Begin) };
        let (_, changed, copy) = try_join3(keeping, asking, preparing).await?;
        changed.map_or(Ok(copy), |changed| Err(Failure::Changed(node, changed)))
    }
}

impl Salvage<'_, '_> {
    /// Stores or rejects every row.
    async fn settle_all(&mut self) -> Result<(), Failure> {
        let mut from = 0;
        // The end of a range that contains an unknown bad row.
        let mut bad_before = None;
        while from < self.rows.len() {
            self.transaction.channel.check_running()?;
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
        Ok(())
    }

    /// Stores the rows in `from..to` that are not settled. If the server refuses them, returns the suspects
    /// and the server's report.
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
            Ok(stored) => {
                open.iter().for_each(|&at| self.settled[at] = true);
                let rows = open.len() as u64;
                self.counts.add(settle_node(self.flow.plan, self.node, rows, &stored)?.counts);
                Ok(None)
            }
            Err(error) => match blame(self.flow, &error, self.node) {
                Some(blame) => Ok(Some((self.suspects(&open, &blame), blame))),
                None => Err(error.into()),
            },
        }
    }

    /// Whether to send the refused rows again with another merge method, such as updating existing rows
    /// before INSERT.
    fn tries_otherwise(&mut self, error: &tokio_postgres::Error) -> bool {
        let Some(changes) = &self.flow.plan.changes else { return false };
        if self.all.merge != Some(Merge::UpdateFirst) {
            let turns = may_exist(changes, error);
            if turns {
                self.all.merge = Some(Merge::UpdateFirst);
            }
            return turns;
        }
        let is_meanwhile = is_conflict(error);
        self.all.meanwhile += u32::from(is_meanwhile);
        is_meanwhile && self.all.meanwhile <= MAX_MEANWHILE
    }

    /// Returns the rows among `open` that the server may mean.
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

    /// Returns the row that contains the line `line` of the data that was sent.
    fn at_line(&self, open: &[usize], line: u64) -> Option<usize> {
        let sent = open.iter().map(|&at| self.rows[at]);
        let format = &self.flow.plan.shape.format;
        let mut lines = lines::count_lines(sent, self.wire, format, true);
        let row = lines::at_line(&mut lines, line)?;
        open.iter().copied().find(|&at| self.rows[at].0 == row)
    }

    /// Returns the first row with the key that the server names.
    fn with_key(&self, open: &[usize], blame: &Blame) -> Option<usize> {
        let key = blame.key.as_ref()?;
        let mut finder = key.finder(self.flow.plan, self.wire)?;
        open.iter().copied().find(|&at| finder.has_key(self.rows[at].1))
    }

    /// Sends rows in one COPY. Returns the outcome.
    async fn copy(&self, rows: &[usize]) -> Result<Stored, tokio_postgres::Error> {
        let client = &self.transaction.channel.link.client;
        let beginning = client.copy_in::<_, Message>(&self.copy);
        let sink: CopyInSink<Message> = match self.before {
            Some(before) => try_join(client.batch_execute(before), beginning).await?.1,
            None => beginning.await?,
        };
        let mut sink = pin!(sink);
        let sent = rows.iter().map(|&row| self.rows[row].1);
        Message::feed(sink.as_mut(), self.wire, sent).await?;
        let finishing = sink.as_mut().finish();
        let Some(merge) = self.all.merge else {
            return Ok(Stored { rows: finishing.await?, merged: None, is_proven: false });
        };
        let merging = self.transaction.merge_stage(self.node, merge);
        let empty = empty_stage();
        let (rows, merged, ()) =
            try_join3(finishing, merging, client.batch_execute(&empty)).await?;
        Ok(Stored { rows, merged: Some(merged), is_proven: false })
    }

    /// Tries each of the rows `suspects` alone, until one is rejected. Stores the rows before it first,
    /// because it may need them. Returns the first row that may be unsettled, and the end of a range that
    /// must contain a bad row, if known.
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

    /// Rejects a row. Fails if the limit of rejected rows is reached.
    fn reject(&mut self, row: usize, blame: Blame) -> Result<(), Failure> {
        let flow = self.flow;
        let (at, bytes) = self.rows[row];
        let blame = blame.with_row(flow, bytes, self.wire);
        let Some(rejects) = flow.rejects else {
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
            let (origin, line) = flow.splits.origin_of(at).ok_or_else(lost_place)?;
            let place = flow.inputs.locate(origin, line).ok_or_else(lost_place)?;
            Ok(Reject { origin, place, reason: blame.reason, row })
        });
        if reject.is_err() {
            rejects.dismiss(1);
        }
        self.all.rejected.push(reject.map_err(Failure::Row)?);
        self.counts.rejected += 1;
        Ok(())
    }
}
