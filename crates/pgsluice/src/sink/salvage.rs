//! Salvage: of a payload that the server refuses, stores the good rows and rejects the bad ones.
//!
//! ```text
//!     chunk -> SAVEPOINT, COPY -> stored:  next chunk
//!                              -> refused: COPY names the row   reject it, send the rest again
//!                                          some rows may be it  store those before, try it alone
//!                                          nothing is known     halve, until one row is left
//! ```
//!
//! 1. All is one transaction, as the payload was. Rows are sent in chunks, each behind a savepoint. What
//!    keeps a chunk or takes it back goes with the beginning of the next COPY.
//! 2. The server's CONTEXT says at which row it was (`context`). A row's own text may look like it, because
//!    values are printed as they are. If a foreign key is violated, the server names only the key. Such
//!    rows are only suspects.
//! 3. A chunk has as many rows as were good between two bad ones ([`ChunkSize`]).
//! 4. A row that was sent in binary is read from its input again, and must encode to the same bytes.

use std::pin::pin;

use bytes::{Bytes, BytesMut};
use futures_util::SinkExt;
use futures_util::future::try_join;
use pgsluice_core::bucket::{Payload, RowAt, Wire};
use pgsluice_core::parse::Fields;
use pgsluice_core::position::Position;
use tokio_postgres::{CopyInSink, Statement};

use super::chunk_size::ChunkSize;
use super::copy::{Connection, Loaded};
use super::failure::Failure;
use super::lines;
use super::refusal::{Blame, blame};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::ledger::is_held;
use crate::pg::sql;
use crate::rejects::{Reject, Rejects};
use crate::sink::flow::Flow;
use crate::testing::failpoint::failpoint;

/// Bytes of one message to the server.
const MESSAGE_BYTES: usize = 64 << 10;

/// A payload row by row, and what has become of the rows.
struct Salvage<'s, 'l> {
    connection: &'s Connection<'l>,
    rejects: &'s Rejects,
    payload: &'s Payload,
    rows: Vec<(RowAt, &'s [u8])>,
    /// The rows that are stored or rejected.
    settled: Vec<bool>,
    copy: Statement,
    /// What the next COPY begins with: it keeps what the last one has stored, or takes it back.
    before: Option<&'static str>,
    chunk_size: ChunkSize,
    stored: u64,
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
    /// Stores what is good of a payload that the server has refused, or is expected to, if it was not
    /// tried. None if the load was stopped.
    pub(super) async fn salvage(
        &self,
        payload: &Payload,
        rejects: &Rejects,
        was_tried: bool,
    ) -> Result<Option<Loaded>, Failure> {
        let client = &self.link.client;
        let (node, wire) = (payload.node(), payload.wire());
        // The transaction that has failed may not be over yet.
        let begin = match (&self.held, self.flow.plan.lock(node, wire)) {
            (None, _) => {
                let here = self.begin_here(node, wire);
                [sql::ROLLBACK, &here, sql::IMMEDIATE, sql::SALVAGE].join("; ")
            }
            (Some(_), lock) => {
                let part = if was_tried { sql::BACK_TO_PART } else { sql::PART };
                let lock = lock.unwrap_or_default();
                format!("{part}; {lock}; {}", sql::SALVAGE)
            }
        };
        let begin = format!("{begin}; {}", self.link.asks_session());
        let asking = self.recheck.changed(client, node, wire, false);
        let (answers, changed) = try_join(client.simple_query(&begin), asking).await?;
        self.check_session(&answers, ()).await?;
        if let Some(changed) = changed {
            return Err(Failure::Changed(node, changed));
        }
        if let (None, Some(writer)) = (&self.held, &self.writer)
            && !is_held(&answers)
        {
            return Err(Failure::Ledger(writer.ledger.lost_attempt(client).await));
        }
        let copy = client.prepare(&self.flow.plan.copy_statement(node, wire)).await?;
        let rows: Vec<_> = payload.in_order().collect();
        let mut salvage = Salvage {
            connection: self,
            rejects,
            payload,
            settled: vec![false; rows.len()],
            rows,
            copy,
            before: None,
            chunk_size: self.chunk_sizes.begin(wire),
            stored: 0,
            rejected: Vec::new(),
        };
        let outcome = salvage.settle_all().await;
        self.chunk_sizes.end(wire, salvage.chunk_size);
        let outcome = match outcome {
            Ok(true) => salvage.commit().await.map(Some),
            Ok(false) => Ok(None),
            Err(failure) => Err(failure),
        };
        if !matches!(outcome, Ok(Some(_))) {
            rejects.dismiss(salvage.rejected.len() as u64);
        }
        outcome
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
                    (from, bad_before) = self.settle_suspects((from, to), &rows).await?;
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
        let copied = self.copy(&open).await;
        self.before = Some(match copied {
            Ok(_) => sql::NEXT_SAVEPOINT,
            Err(_) => sql::BACK_TO_SAVEPOINT,
        });
        match copied {
            Ok(stored) => {
                open.iter().for_each(|&at| self.settled[at] = true);
                self.stored += stored;
                Ok(None)
            }
            Err(error) => match blame(self.connection.flow, &error, self.payload.node()) {
                Some(blame) => Ok(Some((self.suspects(&open, &blame), blame))),
                None => Err(Failure::Rows(error)),
            },
        }
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
        let format = &self.connection.flow.plan.format;
        let mut lines = lines::of_rows(sent, self.payload.wire(), format, true);
        let row = lines::at_line(&mut lines, line)?;
        open.iter().copied().find(|&at| self.rows[at].0 == row)
    }

    /// The first row with the key that the server names.
    fn with_key(&self, open: &[usize], blame: &Blame) -> Option<usize> {
        let key = blame.key.as_ref()?;
        let mut finder = key.finder(self.connection.flow.plan, self.payload.wire())?;
        open.iter().copied().find(|&at| finder.has_key(self.rows[at].1))
    }

    /// Sends rows in one COPY; the number of those that were stored.
    async fn copy(&self, rows: &[usize]) -> Result<u64, tokio_postgres::Error> {
        let client = &self.connection.link.client;
        let beginning = client.copy_in::<_, Bytes>(&self.copy);
        let sink: CopyInSink<Bytes> = match self.before {
            Some(before) => try_join(client.batch_execute(before), beginning).await?.1,
            None => beginning.await?,
        };
        let mut sink = pin!(sink);
        let mut message = BytesMut::from(self.payload.header());
        for &row in rows {
            message.extend_from_slice(self.rows[row].1);
            if message.len() >= MESSAGE_BYTES {
                sink.feed(message.split().freeze()).await?;
            }
        }
        message.extend_from_slice(self.payload.trailer());
        sink.feed(message.freeze()).await?;
        sink.finish().await
    }

    /// Tries each of the rows `suspects` alone, until one is rejected. Those before it are stored first,
    /// since it may need them. Where the rows begin that may not be settled, and before which one of
    /// them is bad, if that is known.
    async fn settle_suspects(
        &mut self,
        (from, to): (usize, usize),
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
        if !self.rejects.admit(flow.control) {
            return Err(Failure::Row(too_many(flow, at, blame, self.rejects)));
        }
        self.settled[row] = true;
        self.chunk_size.bad_at(row);
        let row = match bytes.split_last() {
            Some((_, row)) if self.payload.wire() == Wire::Text => Ok(row.to_vec()),
            _ => original(flow, at, bytes),
        };
        let reject = row.and_then(|row| {
            let position = flow.splits.position_of(at).ok_or_else(lost_place)?;
            let place = flow.inputs.locate(position).ok_or_else(lost_place)?;
            Ok(Reject { origin: position.origin, place, reason: blame.reason, row })
        });
        if reject.is_err() {
            self.rejects.dismiss(1);
        }
        self.rejected.push(reject.map_err(Failure::Row)?);
        Ok(())
    }

    /// Commits the rows that are stored, and keeps those that are rejected.
    async fn commit(&self) -> Result<Loaded, Failure> {
        let rejected = self.rejected.len() as u64;
        let batch = match rejected {
            0 => None,
            _ => Some(self.rejects.write(&self.rejected).map_err(Failure::Row)?),
        };
        failpoint("rejects::written");
        let outcome = self.commit_rows().await;
        if outcome.as_ref().is_err_and(Failure::is_answer) {
            batch.into_iter().for_each(|batch| self.rejects.withdraw(batch));
        }
        outcome?;
        failpoint("rejects::committed");
        Ok(Loaded { stored: self.stored, rejected, destination: None })
    }

    /// Commits, with receipts for all rows.
    async fn commit_rows(&self) -> Result<(), Failure> {
        let Connection { flow, link, writer, held, .. } = self.connection;
        let client = &link.client;
        if let Some(before) = self.before {
            client.batch_execute(before).await?;
        }
        if held.is_some() {
            return self.connection.keep_part().await;
        }
        let writing = writer
            .as_ref()
            .map(|writer| (writer, writer.ledger.writing(&flow.splits, self.payload)));
        let receipts = async {
            let Some((writer, writing)) = &writing else { return Ok(()) };
            let rejected = self.rejected.iter().map(|reject| reject.origin).collect::<Vec<_>>();
            let rejecting = writer.reject(client, &rejected);
            let writing = writer.write(client, writing);
            try_join(rejecting, writing).await.map(|_| ()).map_err(Failure::Receipts)
        };
        let in_doubt = self.connection.in_doubt(self.stored);
        let committed = async { client.batch_execute(sql::COMMIT).await.map_err(Failure::Rows) };
        let outcome = try_join(receipts, committed).await;
        in_doubt.settle(&outcome);
        outcome?;
        writing.iter().for_each(|(writer, writing)| writer.ledger.committed(writing));
        Ok(())
    }
}

/// Reads a row that was sent as `bytes`, in binary, from its input again: encoding it must give the
/// same bytes.
fn original(flow: &Flow<'_>, at: RowAt, bytes: &[u8]) -> Result<Vec<u8>> {
    let Position { origin, .. } = flow.splits.position_of(at).ok_or_else(lost_place)?;
    let input = flow.inputs.get(origin.input as usize).ok_or_else(lost_place)?;
    let original = input.row_at(origin.at, &flow.plan.format)?;
    let (mut fields, mut encoded) = (Fields::default(), Vec::new());
    flow.plan.parser.parse(&original, &mut fields);
    let encoder = flow.plan.encoder.as_ref();
    let is_same = encoder.is_some_and(|encoder| {
        encoder.encode(&original, &fields, &mut encoded).is_ok() && encoded == bytes
    });
    if is_same { Ok(original) } else { Err(input.has_changed()) }
}

fn lost_place() -> Error {
    Error::new(Kind::Server, "internal error: a row has lost its place").with_sqlstate("XX000")
}

fn too_many(flow: &Flow<'_>, at: RowAt, blame: Blame, rejects: &Rejects) -> Error {
    let rows = match rejects.limit().as_str() {
        "1" => "1 row".to_owned(),
        limit => format!("{limit} rows"),
    };
    let report = blame.report.with_detail(format!("No more than {rows} may be rejected."));
    match flow.place_of(at) {
        Some(place) => report.at(place),
        None => report,
    }
}
