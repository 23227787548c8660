//! Participants: several writers share a load, and each advances the positions of the participants that it
//! has opened.

use super::{Durability, Writer};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, option};
use crate::job::Job;
use crate::pg::connect::Link;
use crate::row_counts::RowCounts;

/// Fails if a job cannot be shared.
pub(super) fn check_shared(job: &Job, durability: Durability) -> Result<()> {
    let refuse = |message: &str| Err(Error::new(Kind::Usage, message));
    match &job.safety {
        safety if !safety.shared => Ok(()),
        safety if safety.load_id.is_none() || safety.ledger.is_none() => {
            let error = Error::new(Kind::Usage, "only a Writer with a name can share its load");
            Err(error.with_remedy(Remedy::options("Name it", [option("load-id").with("NAME")])))
        }
        _ if durability == Durability::Flush => {
            refuse("a Writer that shares its load makes each commit durable")
        }
        _ => Ok(()),
    }
}

impl Writer {
    /// Opens these participants of a shared load, and no others. If several writers open the same
    /// participant, only the last one may write: the server commits nothing more that another has in flight
    /// for it. Rows in doubt are given up, because the positions that are read then show whether they were
    /// committed.
    ///
    /// [`Self::position_of`] returns their positions.
    ///
    /// # Errors
    ///
    /// Fails if the writer does not share its load, and like [`Self::open`].
    pub fn open_participants(&mut self, names: &[String], control: &Control) -> Result<()> {
        if !self.record.as_ref().is_some_and(super::WriterRecord::is_shared) {
            let message = "only a Writer that shares its load has participants";
            return Err(Error::new(Kind::Usage, message));
        }
        if names.iter().any(String::is_empty) {
            return Err(Error::new(Kind::Usage, "a participant must have a name"));
        }
        control.end();
        let began = std::time::Instant::now();
        let mut backoff =
            crate::error::backoff::Backoff::new(super::FIRST_PAUSE, super::LONGEST_PAUSE);
        loop {
            let error = match self.try_open_participants(names, control) {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            self.session = None;
            let left = self.patience(&error, control).saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(error);
            }
            super::failure::pause(&error, backoff.pause().min(left), control);
        }
    }

    fn try_open_participants(&mut self, names: &[String], control: &Control) -> Result<()> {
        if let Some(record) = &mut self.record {
            record.forget_participants();
        }
        (self.unsure, self.gave_up, self.found) = (None, false, RowCounts::default());
        self.ensure_session(control).map_err(super::WriteFailure::into_error)?;
        let Self { job, record, runtime, session, .. } = self;
        let (Some(record), Some(session)) = (record, session) else { return Err(Error::lost()) };
        let Link { client, canceller, .. } = &mut session.link;
        let opening = record.open_participants(client, &job.target.table, names);
        runtime.block_on(canceller.unless_stopped(control, opening))
    }

    /// Returns the position of an open participant: that of its last rows that were committed by this writer
    /// or an earlier one.
    #[must_use]
    pub fn position_of(&self, participant: &str) -> Option<&str> {
        self.record.as_ref()?.position_of(participant)
    }
}
