//! Relay: the rows of a job as COPY takes them, for a connection and a transaction of the caller's own.
//!
//! One thread gathers the next rows while the caller sends those before. The tree is read over a connection of its
//! own, so the caller says what the table is in its own transaction ([`Relay::check`]): in binary, COPY would take the
//! bytes of one type for those of another.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
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
use crate::pg::introspect::Catalogue;
use crate::pg::own::{self, Own};
use crate::pg::runtime::runtime;
use crate::plan::Plan;
use crate::source::{Inputs, Reader};
use crate::testing::failpoint::failpoint;

/// Bytes that are gathered before the first are sent; then [`GROWTH`] times as many each time, up to half of the memory.
/// The sooner they are many, the more rows each leaf has; but the server must not wait for them.
const FIRST_BYTES: usize = 2 << 20;
const GROWTH: usize = 4;

/// About the bytes of a piece.
const PIECE_BYTES: usize = 256 << 10;

/// What comes next.
#[derive(Debug)]
pub enum Piece {
    /// A COPY begins.
    Begin(Copy),
    /// Bytes for it.
    Rows(Vec<u8>),
    /// It ends.
    End,
    /// There are no more.
    Done,
}

/// A COPY into the table: its statement, and what drivers take that make it themselves.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Copy {
    /// The statement.
    pub statement: String,
    /// The table's schema and name, unquoted.
    pub table: [String; 2],
    /// The columns, unquoted, in the order of the fields.
    pub columns: Vec<String>,
    /// How rows are written, if that is text.
    pub format: Option<Format>,
    /// Whether it has options about single fields.
    pub has_field_options: bool,
}

/// The rows of a job, on their way to the caller's connection.
pub struct Relay {
    plan: Arc<Plan>,
    own: Own,
    payloads: Receiver<RelayPieces>,
    back: Sender<Payload>,
    /// The COPY that has begun.
    copying: Option<Wire>,
    /// The payload whose rows go, and how many of its slices have gone.
    sending: Option<(Payload, usize)>,
    /// What comes before any more rows.
    ready: VecDeque<Piece>,
    rows: u64,
}

/// A payload; None behind the last one.
type RelayPieces = Result<Option<Payload>>;

impl Relay {
    /// Reads the catalogue of `target`, and begins to gather the rows of `job`. What the job says besides its input,
    /// its table and its memory does not matter.
    ///
    /// # Errors
    ///
    /// A table or columns that do not fit the input, and what keeps it from being read.
    pub fn begin(job: &Job, target: &Target, control: &Arc<Control>) -> Result<Self> {
        job.check()?;
        let job = job.opened(target, control)?;
        let reading = async {
            let Link { mut client, canceller, .. } =
                control.stop.unless_stopped(open(target)).await?;
            let reading = async {
                let plan = Plan::read(&job, &mut client).await?;
                let own = Own::ask(&client, &plan.tree.nodes[ROOT].relation).await?;
                Ok((Arc::new(plan), own))
            };
            canceller.unless_stopped(control, reading).await
        };
        let (plan, own) = runtime()?.block_on(reading)?;
        let (full, payloads) = sync_channel(0);
        let (back, returned) = channel();
        let (of_thread, control) = (Arc::clone(&plan), Arc::clone(control));
        thread::spawn(move || {
            let gathering = RelayGathering { plan: &of_thread, full: &full, returned: &returned };
            let gathered = gathering.run(&job.input.files, job.speed.memory, &control);
            let _ = full.send(gathered.map(|()| None));
        });
        let (copying, sending, ready) = (None, None, VecDeque::new());
        Ok(Self { plan, own, payloads, back, copying, sending, ready, rows: 0 })
    }

    /// What is to be asked in the caller's transaction before the first row, with the table locked if rows may be in
    /// binary, for [`Self::check`].
    #[must_use]
    pub fn questions(&self) -> Vec<String> {
        let root = &self.plan.tree.nodes[ROOT].relation;
        own::questions(root, self.plan.encoder.is_some())
    }

    /// Refuses a table that is not the one whose rows are gathered; `answer` is that to the last question.
    ///
    /// # Errors
    ///
    /// It is another table, of another server, or its columns have other types.
    pub fn check(&self, answer: Option<&str>) -> Result<()> {
        let is_binary = self.plan.encoder.is_some();
        let Catalogue { columns, types, .. } = &self.plan.catalogue;
        let columns = columns.iter().map(String::as_str).zip(types.iter().copied());
        let theirs = Own::read(answer)?;
        self.own.check(&theirs, &self.table(), columns.filter(|_| is_binary))
    }

    /// The table's name, for people.
    #[must_use]
    pub fn table(&self) -> String {
        self.plan.tree.nodes[ROOT].relation.label()
    }

    /// The rows that were handed over so far.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows
    }

    /// What comes next; None if nothing has come within `wait`.
    ///
    /// # Errors
    ///
    /// A row that no row of the table can be made of, and what keeps the input from being read.
    pub fn next(&mut self, wait: Duration) -> Result<Option<Piece>> {
        if self.ready.is_empty() && self.sending.is_none() {
            match self.payloads.recv_timeout(wait) {
                Ok(gathered) => self.begin_payload(gathered?),
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

    /// Begins to send a payload, in a COPY of its own if that before is in the other format.
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

    /// The next rows of the payload.
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
            // When the gathering has ended, its memory is of no use.
            let _ = self.back.send(payload);
        }
        Some(Piece::Rows(bytes))
    }
}

/// The thread that gathers.
struct RelayGathering<'g> {
    plan: &'g Plan,
    full: &'g SyncSender<RelayPieces>,
    returned: &'g Receiver<Payload>,
}

impl RelayGathering<'_> {
    /// Gathers all rows; it ends early when nobody takes them any more.
    fn run(&self, inputs: &Inputs, memory: usize, control: &Control) -> Result<()> {
        let mut reader = Reader::new(inputs.clone(), &self.plan.shape);
        let mut gatherer = Gatherer::new(self.plan, memory);
        let (mut used, mut window) = (None, FIRST_BYTES.min(memory / 2));
        while let Some(split) = reader.next(used.take())? {
            if let Some(stopped) = control.stop.failure() {
                return Err(stopped);
            }
            control.progress.rows_read.fetch_add(split.rows.len() as u64, Relaxed);
            control.progress.bytes_read.fetch_add(split.taken, Relaxed);
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
            control.progress.note(format!("{name}: {what}"));
        }
        self.hand_over(&mut gatherer);
        Ok(())
    }

    /// Hands over the rows that are gathered; false if nobody takes them any more.
    fn hand_over(&self, gatherer: &mut Gatherer) -> bool {
        let mut payloads = gatherer.take(self.plan).into_iter();
        let is_taken = payloads.all(|payload| self.full.send(Ok(Some(payload))).is_ok());
        self.returned.try_iter().for_each(|payload| gatherer.give_back(payload));
        is_taken
    }

    /// Makes room for more rows: hands over those that are there, or waits for the memory of those that go.
    fn make_room(&self, gatherer: &mut Gatherer) -> bool {
        if gatherer.rows() > 0 {
            return self.hand_over(gatherer);
        }
        let returned = self.returned.recv();
        returned.map(|payload| gatherer.give_back(payload)).is_ok()
    }
}

/// The error for a thread that ended before its rows did.
fn lost() -> Error {
    let message = "internal error: the thread that gathers rows ended unexpectedly";
    Error::new(Kind::Internal, message).with_sqlstate("XX000")
}
