//! Relay: the rows of a job as data for COPY, for a connection and a transaction that belong to the caller.
//!
//! A thread gathers the next rows while the caller sends the previous ones. The tree is read over a separate
//! connection, so the caller checks in its own transaction that the table is the same ([`Relay::check`]): in
//! binary, COPY would interpret the bytes of one type as another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::thread;
use std::time::Duration;

use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::{ROOT, Relation};
use pgsluice_core::format::Format;

use super::Gatherer;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::Job;
use crate::pg::connect::{Link, open};
use crate::pg::conninfo::Target;
use crate::pg::identity::{self, TableIdentity};
use crate::pg::introspect::Catalogue;
use crate::pg::runtime::runtime;
use crate::plan::Plan;
use crate::source::{Inputs, Reader};
use crate::testing::failpoint::failpoint;

/// Number of bytes that are gathered before the first are sent. Each later batch is [`GROWTH`] times as
/// large, up to half of the memory. Larger batches have more rows for each leaf, but the server should not
/// wait for the first.
const FIRST_BYTES: usize = 2 << 20;
const GROWTH: usize = 4;

/// Approximate size of a piece in bytes.
const PIECE_BYTES: usize = 256 << 10;

/// The next step for the caller.
#[derive(Debug)]
pub enum Piece {
    /// A COPY begins.
    Begin(Copy),
    /// Data for the current COPY.
    Rows(Vec<u8>),
    /// The current COPY ends.
    End,
    /// The input has ended.
    Done,
}

/// A COPY into the table: its statement, and its parts for drivers that build the statement themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copy {
    /// The statement.
    pub statement: String,
    /// The table's schema and name, unquoted.
    pub table: [String; 2],
    /// The columns, unquoted, in the order of the fields.
    pub columns: Vec<String>,
    /// The format of the rows, if they are text.
    pub format: Option<Format>,
    /// Whether the COPY has options for single fields.
    pub has_field_options: bool,
}

/// The rows of a job for the caller's connection.
pub struct Relay {
    plan: Arc<Plan>,
    identity: TableIdentity,
    payloads: Receiver<RelayPieces>,
    back: Sender<Payload>,
    /// The format of the current COPY.
    copying: Option<Wire>,
    /// The payload that is being sent, and the number of its slices that were sent.
    sending: Option<(Payload, usize)>,
    /// Pieces that come before any more rows.
    ready: VecDeque<Piece>,
    rows: u64,
}

/// A payload, or `None` after the last one.
type RelayPieces = Result<Option<Payload>>;

impl Relay {
    /// Reads the catalogue of `target`, and begins to gather the rows of `job`. Only the input, the table and
    /// the memory of the job matter.
    ///
    /// # Errors
    ///
    /// Fails if the table or its columns do not fit the input, or if the input cannot be read.
    pub fn begin(job: &Job, target: &Target, control: &Arc<Control>) -> Result<Self> {
        job.check()?;
        let job = job.open(target, control)?;
        let reading = async {
            let Link { mut client, canceller, .. } =
                control.stop.unless_stopped(open(target)).await?;
            let reading = async {
                let plan = Plan::read(&job, &mut client).await?;
                let identity = TableIdentity::ask(&client, &plan.tree.nodes[ROOT].relation).await?;
                Ok((Arc::new(plan), identity))
            };
            canceller.unless_stopped(control, reading).await
        };
        let (plan, identity) = runtime()?.block_on(reading)?;
        let (full, payloads) = sync_channel(0);
        let (back, returned) = channel();
        let (of_thread, control) = (Arc::clone(&plan), Arc::clone(control));
        thread::spawn(move || {
            let relay_thread = RelayThread { plan: &of_thread, full: &full, returned: &returned };
            let outcome = relay_thread.run(&job.input.files, job.speed.memory, &control);
            let _ = full.send(outcome.map(|()| None));
        });
        let (copying, sending, ready) = (None, None, VecDeque::new());
        Ok(Self { plan, identity, payloads, back, copying, sending, ready, rows: 0 })
    }

    /// Returns the statements to run in the caller's transaction before the first row. The answer to the last
    /// one is for [`Self::check`]. If rows may be in binary, the statements also lock the table.
    #[must_use]
    pub fn questions(&self) -> Vec<String> {
        let root = &self.plan.tree.nodes[ROOT].relation;
        identity::questions(root, self.plan.encoder.is_some())
    }

    /// Checks that the table in the caller's transaction is the one whose rows are gathered. `answer` is the
    /// answer to the last of [`Self::questions`].
    ///
    /// # Errors
    ///
    /// Fails if it is another table or on another server, or if its columns have other types.
    pub fn check(&self, answer: Option<&str>) -> Result<()> {
        let is_binary = self.plan.encoder.is_some();
        let Catalogue { columns, types, .. } = &self.plan.catalogue;
        let columns = columns.iter().map(String::as_str).zip(types.iter().copied());
        let theirs = TableIdentity::read(answer)?;
        self.identity.check(&theirs, &self.table(), columns.filter(|_| is_binary))
    }

    /// Returns the table's name for messages.
    #[must_use]
    pub fn table(&self) -> String {
        self.plan.tree.nodes[ROOT].relation.label()
    }

    /// Returns the number of rows that were handed over so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// Returns the next piece, or `None` if none arrives within `wait`.
    ///
    /// # Errors
    ///
    /// Fails if a row cannot be converted into a row of the table, or if the input cannot be read.
    pub fn next(&mut self, wait: Duration) -> Result<Option<Piece>> {
        if self.ready.is_empty() && self.sending.is_none() {
            match self.payloads.recv_timeout(wait) {
                Ok(payload) => self.begin_payload(payload?),
                Err(RecvTimeoutError::Timeout) => return Ok(None),
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            }
        }
        let piece = self.ready.pop_front().or_else(|| self.some_rows());
        match &piece {
            Some(Piece::Begin(_)) => failpoint("payload::begun"),
            Some(Piece::Done) => failpoint("payload::committing"),
            _ => {}
        }
        Ok(piece)
    }

    /// Begins to send a payload, in a new COPY if the previous one has the other format.
    fn begin_payload(&mut self, payload: Option<Payload>) {
        let next = payload.as_ref().map(Payload::wire);
        if self.copying != next {
            if let Some(wire) = self.copying {
                self.ready.push_back(Piece::Rows(wire.trailer().to_vec()));
                self.ready.push_back(Piece::End);
            }
            self.ready.push_back(match next {
                Some(wire) => Piece::Begin(self.copy(wire)),
                None => Piece::Done,
            });
            self.ready.extend(next.map(|wire| Piece::Rows(wire.header().to_vec())));
            self.copying = next;
        } else if next.is_none() {
            self.ready.push_back(Piece::Done);
        }
        self.sending = payload.map(|payload| (payload, 0));
    }

    fn copy(&self, wire: Wire) -> Copy {
        let Plan { tree, catalogue, shape, fields, .. } = &*self.plan;
        let Relation { schema, name } = tree.nodes[ROOT].relation.clone();
        Copy {
            statement: self.plan.copy_statement(ROOT, wire),
            table: [schema, name],
            columns: catalogue.columns.clone(),
            format: (wire == Wire::Text).then(|| shape.format.clone()),
            has_field_options: wire == Wire::Text && !fields.is_empty(),
        }
    }

    /// Returns the next rows of the payload.
    fn some_rows(&mut self) -> Option<Piece> {
        let (payload, at) = self.sending.take()?;
        let mut bytes = Vec::with_capacity(PIECE_BYTES + PIECE_BYTES / 4);
        let mut next = at;
        while next < payload.slices() && bytes.len() < PIECE_BYTES {
            bytes.extend_from_slice(payload.slice(next));
            next += 1;
        }
        if next < payload.slices() {
            self.sending = Some((payload, next));
        } else {
            self.rows += payload.rows() as u64;
            failpoint("payload::sent");
            // If gathering has ended, its memory is not needed.
            let _ = self.back.send(payload);
        }
        Some(Piece::Rows(bytes))
    }
}

/// The thread that gathers rows.
struct RelayThread<'g> {
    plan: &'g Plan,
    full: &'g SyncSender<RelayPieces>,
    returned: &'g Receiver<Payload>,
}

impl RelayThread<'_> {
    /// Gathers all rows. Ends early if the receiver is gone.
    fn run(&self, inputs: &Inputs, memory: usize, control: &Control) -> Result<()> {
        let mut reader = Reader::new(inputs.clone(), &self.plan.shape);
        let mut gatherer = Gatherer::new(self.plan, memory);
        let (mut used, mut window) = (None, FIRST_BYTES.min(memory / 2));
        while let Some(split) = reader.next(used.take())? {
            if let Some(stopped) = control.stop.failure() {
                return Err(stopped);
            }
            control.progress.read(split.rows.len() as u64, split.raw_bytes);
            let mut from = 0;
            while let Some(next) = gatherer.add(self.plan, inputs, &split, from)? {
                from = next;
                if !self.make_room(&mut gatherer) {
                    return Ok(());
                }
            }
            if gatherer.bytes() >= window {
                if !self.hand_over(&mut gatherer) {
                    return Ok(());
                }
                window = (GROWTH * window).min(memory / 2);
            }
            used = Some(split);
        }
        for (name, what) in &reader.ignored {
            control.note(&format!("{name}: {what}"));
        }
        self.hand_over(&mut gatherer);
        Ok(())
    }

    /// Hands over the gathered rows. Returns `false` if the receiver is gone.
    fn hand_over(&self, gatherer: &mut Gatherer) -> bool {
        let mut payloads = gatherer.take(self.plan).into_iter();
        let is_taken = payloads.all(|payload| self.full.send(Ok(Some(payload))).is_ok());
        self.returned.try_iter().for_each(|payload| gatherer.give_back(payload));
        is_taken
    }

    /// Makes room for more rows: hands over the gathered rows, or waits for the memory of rows that were
    /// sent.
    fn make_room(&self, gatherer: &mut Gatherer) -> bool {
        if gatherer.rows() > 0 {
            return self.hand_over(gatherer);
        }
        let returned = self.returned.recv();
        returned.map(|payload| gatherer.give_back(payload)).is_ok()
    }
}

/// Returns the error for a thread that ended before its rows did.
fn lost() -> Error {
    let message = "internal error: the thread that gathers rows ended unexpectedly";
    Error::new(Kind::Internal, message).with_sqlstate("XX000")
}
