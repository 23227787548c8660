//! The session of a writer: opened when it is needed, flushed and closed. A new session proves that the
//! server still has all rows that the writer has committed.
//!
//! 1. The ledger counts the rows in their own transactions. The WAL is written in order, so a crash that
//!    undoes any commit also undoes the last one, and the count is lower.
//! 2. Without a ledger, only the server's incarnation proves that it has not crashed.

use std::mem::take;
use std::time::{Duration, Instant};

use super::failure::{WriteFailure, came_through, lost, pause, perhaps_lost};
use super::record::{PositionsByName, WriterRecord};
use super::session::Session;
use super::{Durability, FIRST_PAUSE, LONGEST_PAUSE, Writer};
use crate::control::Control;
use crate::error::backoff::Backoff;
use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};
use crate::error::{Error, Left, Result};
use crate::pg::connect::Link;
use crate::row_counts::RowCounts;
use crate::writer::sql::incarnation::Incarnation;

/// Number of polls that show whether the server has closed a connection: its last message must be read and
/// processed.
const LOOKS: u32 = 4;

impl Writer {
    pub(super) fn is_lazy(&self) -> bool {
        self.durability == Durability::Flush
    }

    /// Opens a session unless there is one. If the ledger contains rows whose COMMIT had no answer, adds them
    /// to `found`.
    pub(super) fn ensure_session(&mut self, control: &Control) -> Result<(), WriteFailure> {
        self.drop_if_closed();
        if self.session.is_some() {
            return Ok(());
        }
        let is_lazy = self.is_lazy();
        let Self { job, target, record, runtime, .. } = self;
        let opening = Session::open(target, is_lazy && record.is_none());
        let mut session = runtime.block_on(control.stop.unless_stopped(opening))?;
        let Link { client, canceller, .. } = &mut session.link;
        let found = match record {
            Some(record) => {
                let opening = record.open(client, &job.target.table);
                Some(runtime.block_on(canceller.unless_stopped(control, opening))?)
            }
            None => None,
        };
        if is_lazy {
            runtime.block_on(control.stop.unless_stopped(session.commit_lazily()))?;
        }
        let incarnation = session.incarnation.take();
        self.session = Some(session);
        match found {
            Some(found) => self.take_up(found),
            None => self.prove(incarnation),
        }
    }

    /// Drops the session if the server has ended it since the connection was last used.
    fn drop_if_closed(&mut self) {
        let is_closed = async |open: &Session| {
            let mut is_closed = false;
            for _ in 0..LOOKS {
                is_closed = is_closed || open.link.is_closed().await;
            }
            is_closed
        };
        if let Some(open) = &self.session
            && self.runtime.block_on(is_closed(open))
        {
            self.session = None;
        }
    }

    /// Continues from the writer's positions in the ledger. Fails if the server has lost rows.
    fn take_up(&mut self, found: PositionsByName) -> Result<(), WriteFailure> {
        let Some(record) = &mut self.record else { return Ok(()) };
        let had_position = record.has_position();
        match record.take_up(found) {
            Ok(since) => {
                self.found.add(since);
                Ok(())
            }
            Err(rows) => {
                // The rows of a later COMMIT are lost too, and recovery has made the others durable.
                (self.unsure, self.gave_up, self.unflushed) = (None, false, 0);
                self.found = RowCounts::default();
                Err(lost(rows, had_position))
            }
        }
    }

    /// Checks that the server of a new session is the one that has committed all rows.
    fn prove(&mut self, incarnation: Option<Incarnation>) -> Result<(), WriteFailure> {
        let is_same = incarnation.is_some() && incarnation == self.incarnation;
        self.incarnation = incarnation;
        match self.unflushed {
            rows if rows > 0 && !is_same => {
                self.unflushed = 0;
                Err(perhaps_lost(rows))
            }
            _ => Ok(()),
        }
    }

    /// Returns the outcome of the rows whose COMMIT had no answer, if they were committed.
    pub(super) fn settle_doubt(&mut self) -> Result<Option<RowCounts>, WriteFailure> {
        let (found, has_position) = (take(&mut self.found), self.has_position());
        match (self.unsure.take(), take(&mut self.gave_up)) {
            _ if found.read == 0 => Ok(None),
            (Some(rows), _) if found.read == rows => Ok(Some(found)),
            (None, true) if has_position => Err(came_through(found.read)),
            (None, true) => Ok(None),
            _ => Err(WriteFailure::Refused(self.overtaken())),
        }
    }

    /// Makes all written rows durable.
    ///
    /// # Errors
    ///
    /// Fails if the connection is lost; the next call then finds out whether rows are lost. Fails like
    /// [`Self::write`] if they may be.
    pub fn flush(&mut self, control: &Control) -> Result<()> {
        control.end();
        if !self.is_lazy() || (self.session.is_none() && self.unflushed == 0) {
            return Ok(());
        }
        let began = Instant::now();
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        // It is not a failure if the session has ended since it was last used.
        let mut is_first = self.session.is_some();
        loop {
            let error = match self.try_flush(control) {
                Ok(()) => return Ok(()),
                Err(WriteFailure::Refused(error)) => error,
                Err(failure) => return Err(failure.into_error()),
            };
            let patience = match policy::for_error(&error) {
                _ if control.stop.is_stopped() => Duration::ZERO,
                Policy::Retry | Policy::Wait => self.target.patience(),
                Policy::Reject | Policy::Stop => Duration::ZERO,
            };
            let left = patience.saturating_sub(began.elapsed());
            match left.is_zero() {
                true if is_first && !control.stop.is_stopped() => {}
                true => return Err(self.unflushed(error)),
                false => pause(&error, backoff.pause().min(left), control),
            }
            is_first = false;
        }
    }

    fn try_flush(&mut self, control: &Control) -> Result<(), WriteFailure> {
        self.ensure_session(control)?;
        // The next write settles the rows in doubt.
        if self.unsure.is_none() {
            self.settle_doubt()?;
        }
        let Some(session) = &self.session else { return Err(Error::lost().into()) };
        let flushing = session.link.canceller.unless_stopped(control, session.flush());
        match self.runtime.block_on(flushing) {
            Ok(()) => {
                self.unflushed = 0;
                Ok(())
            }
            Err(error) => {
                self.session = None;
                Err(error.into())
            }
        }
    }

    /// Adds the rows that may not be durable to the error of a flush.
    fn unflushed(&self, error: Error) -> Error {
        let left = Left { in_doubt: self.unflushed, ..Left::default() };
        if self.unflushed == 0 { error } else { error.leaving(left) }
    }

    /// Gives up rows in doubt: the program will not write them again. If they were committed after all and
    /// have moved the position, the next call fails, and the position is correct from then on.
    pub fn give_up(&mut self) {
        if self.unsure.take().is_some() {
            self.gave_up = true;
            self.session = None;
        }
    }

    /// Makes all written rows durable, and marks the writer as closed in the ledger. Opens another connection
    /// if its own was lost. The writer can be opened again.
    ///
    /// # Errors
    ///
    /// Fails like [`Self::flush`] and [`Self::open`].
    pub fn close(&mut self, control: &Control) -> Result<()> {
        control.end();
        if self.record.is_none() {
            return self.flush(control);
        }
        self.ensure_session(control).map_err(WriteFailure::into_error)?;
        if let (Some(record), Some(session)) = (&self.record, &self.session) {
            self.runtime.block_on(record.close(&session.link.client))?;
        }
        self.flush(control)
    }

    fn has_position(&self) -> bool {
        self.record.as_ref().is_some_and(WriterRecord::has_position)
    }

    pub(super) fn overtaken(&self) -> Error {
        let lost = || Error::new(Kind::Internal, "rows were committed that no Writer wrote");
        self.record.as_ref().map_or_else(lost, WriterRecord::overtaken)
    }
}
