//! A share: the rows that one participant of a load stores in one transaction.
//!
//! ```text
//!     BEGIN, fence, claim ------> COPY ... ------> settle, COMMIT
//!     the share's row; a twin     rows             its counts, and the hash of its rows
//!     waits here
//! ```
//!
//! The tasks of a cluster are retried, and sometimes run twice at the same time. All attempts at a task have
//! the same participant, so the key of the ledger admits only one of them. A twin waits before it has sent
//! anything. It ends an attempt that has been silent for a long time, because its client may be dead. If the
//! other attempt commits, the twin reads its input to the end and compares it: a task with other rows than
//! before must not be taken for the same.
//!
//! The load has no receipts. `finish` marks it as finished once all shares are complete.

use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde::Serialize;
use tokio_postgres::Client;

use super::members::{Members, RowSet};
use super::others;
use super::run::LoadRun;
use super::sql::json::{json, parse};
use super::sql::{FoundLoad, Holder, Participant};
use crate::control::{Control, WaitReason};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::ShareOptions;
use crate::pg::connect::connect_internal;
use crate::pg::conninfo::Target;
use crate::pg::sql::PID;
use crate::row_counts::RowCounts;
use crate::source::Split;
use crate::testing::failpoint::failpoint;
use crate::testing::silence::silence;

/// The time that a claim waits for another attempt before it reports that and looks at its session.
const QUIET_WAIT: Duration = Duration::from_secs(1);

/// A share, as `--json` prints it.
#[derive(Clone, Debug, Serialize)]
pub struct ShareSummary {
    /// Its participant.
    pub participant: String,
    /// The sum of the hashes of its rows, in base 16. It does not depend on their order.
    pub rows_hash: String,
    /// Whether the whole load was already finished.
    pub load_finished: bool,
    /// The number of its rows.
    #[serde(skip)]
    pub(crate) rows: u64,
}

/// The share of a participant, from the point of view of one attempt.
pub(crate) struct Share {
    load: Participant,
    participant: Participant,
    run: String,
    ends_other: bool,
    /// The terms of the load, its table, and the server's version.
    terms: String,
    relation: u32,
    version: u32,
    /// The sum over the rows that this attempt has read so far.
    rows: Mutex<RowSet>,
    before: EarlierState,
}

/// The state of the share when the attempt began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EarlierState {
    Nothing,
    /// Another attempt had stored it, with these row counts.
    Share(RowSet, RowCounts),
    /// The whole load was finished.
    Load,
}

impl Share {
    /// Creates the share `options` of a load that the ledger has as `found`.
    ///
    /// # Errors
    ///
    /// Fails if the load is finished without the share.
    pub(super) async fn new(
        LoadRun { named, run }: LoadRun<'_>,
        ShareOptions { participant, .. }: &ShareOptions,
        found: &FoundLoad,
        version: u32,
        ends_other: bool,
        client: &Client,
    ) -> Result<Self> {
        let member = Participant { participant: participant.clone(), ..named.clone() };
        let before = match found.is_finished {
            true => match Members::from_load(found)?.contains(participant) {
                true => EarlierState::Load,
                false => return Err(too_late(&member)),
            },
            false => match member.find(client).await? {
                Some(stored) => EarlierState::Share(parse(&stored.sources)?, stored.counts),
                None => EarlierState::Nothing,
            },
        };
        Ok(Self {
            load: named.clone(),
            participant: member,
            run: json(run)?,
            ends_other,
            terms: found.terms.clone(),
            relation: found.relation,
            version,
            rows: Mutex::default(),
            before,
        })
    }

    /// Returns the row counts if the share is already stored. If the load is finished, they are not known, so
    /// they are 0.
    pub(super) fn stored_counts(&self) -> Option<RowCounts> {
        match self.before {
            EarlierState::Nothing => None,
            EarlierState::Share(_, counts) => Some(counts),
            EarlierState::Load => Some(RowCounts::default()),
        }
    }

    /// Adds the rows of a split. Each split must be added once.
    pub(super) fn add(&self, split: &Split) {
        let rows = RowSet { rows: split.rows.len() as u64, hash: split.rows_hash() };
        self.rows().add(rows);
    }

    /// Claims the share in the transaction that `client` is in, whose fence holds the lock of the load.
    ///
    /// # Errors
    ///
    /// Fails if another attempt has committed it, or if the load is finished or removed. The next attempt
    /// reports the reason.
    pub(super) async fn claim(
        &self,
        client: &Client,
        target: &Target,
        control: &Control,
    ) -> Result<()> {
        let waiting: i32 = client.query_typed_one(PID, &[]).await?.get(0);
        let mut claiming =
            pin!(self.participant.claim(client, &self.run, &self.terms, self.relation));
        let (mut other, mut watch) = (None, IdleTimes::default());
        let pause = QUIET_WAIT.min(silence() / 4);
        let is_claimed = loop {
            if let Ok(outcome) = tokio::time::timeout(pause, &mut claiming).await {
                break outcome?;
            }
            let other = match &other {
                Some(client) => client,
                None => other.insert(connect_internal(target).await?),
            };
            self.end_silent(other, waiting, &mut watch, control).await?;
        };
        control.resume(WaitReason::Session);
        failpoint("share::claimed");
        if is_claimed { Ok(()) } else { Err(self.lost()) }
    }

    /// Examines the attempt that the session `waiting` waits for, and ends it if it has been silent for too long.
    async fn end_silent(
        &self,
        other: &Client,
        waiting: i32,
        watch: &mut IdleTimes,
        control: &Control,
    ) -> Result<()> {
        let blockers = self.participant.find_blockers(other, waiting, self.version).await?;
        let silent: Vec<i32> = blockers
            .into_iter()
            .filter(|it| watch.is_silent(it.pid, it.waits_for_client.then_some(&it.activity)))
            .map(|it| it.pid)
            .collect();
        // Only sessions that work at this load may be ended.
        let mut holders = self.load.holders(other).await?;
        holders.retain(|holder| watch.is_watched(holder.pid));
        control.wait_for(WaitReason::Session, &self.waiting(&holders));
        holders.retain(|holder| self.ends_other || silent.contains(&holder.pid));
        others::end(&self.load, other, &holders).await
    }

    fn waiting(&self, holders: &[Holder]) -> String {
        let sessions: Vec<String> = holders.iter().map(Holder::to_string).collect();
        let Participant { participant, id, .. } = &self.participant;
        let sessions = sessions.join("; ");
        format!("waiting for another attempt at participant {participant} of load {id}: {sessions}")
    }

    /// Records the share as stored, in its transaction.
    pub(super) async fn settle(&self, client: &Client, counts: RowCounts) -> Result<()> {
        let record = json(&*self.rows())?;
        match self.participant.settle_load(client, 1, counts, &record).await? {
            true => Ok(()),
            false => Err(self.lost()),
        }
    }

    /// Compares the rows with the rows that another attempt has stored. All of them must have been added.
    pub(super) fn compare(&self) -> Result<()> {
        let now = *self.rows();
        let stored = match self.before {
            EarlierState::Share(stored, _) if stored != now => stored,
            _ => return Ok(()),
        };
        let Participant { participant, id, .. } = &self.participant;
        let how = match stored.rows == now.rows {
            true => format!("Both have {} rows", now.rows),
            false => format!("It has {} rows, and this attempt has {}", stored.rows, now.rows),
        };
        let message = format!(
            "participant {participant} of load {id} is in the table, with other rows than these"
        );
        Err(Error::new(Kind::Input, message)
            .with_sqlstate("55000")
            .with_detail(how + ".")
            .permanent())
    }

    /// Returns its summary. All of its rows must have been added.
    pub(crate) fn summary(&self) -> ShareSummary {
        ShareSummary {
            participant: self.participant.participant.clone(),
            rows_hash: format!("{:016x}", self.rows().hash),
            load_finished: self.before == EarlierState::Load,
            rows: self.rows().rows,
        }
    }

    fn rows(&self) -> MutexGuard<'_, RowSet> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the error of an attempt whose load is locked: another session marks the load as finished, or
    /// removes it because a share has failed before any was stored. The next attempt reports the reason.
    pub(super) fn locked_out(&self) -> Error {
        let message =
            format!("load {} is being finished or removed by another session", self.participant.id);
        Error::new(Kind::Server, message).with_sqlstate("40001")
    }

    /// Returns the error of an attempt that stores nothing because another attempt has stored the share.
    fn lost(&self) -> Error {
        let Participant { participant, id, .. } = &self.participant;
        let message =
            format!("another attempt at participant {participant} of load {id} was faster");
        Error::new(Kind::Server, message).with_sqlstate("40001")
    }
}

/// The time since when each session has been idle, as far as observed.
#[derive(Default)]
struct IdleTimes(HashMap<i32, (Option<String>, Instant)>);

impl IdleTimes {
    /// Whether a session has been silent for too long. `activity` is `None` while the server works for it.
    fn is_silent(&mut self, pid: i32, activity: Option<&String>) -> bool {
        let (last, since) = self.0.entry(pid).or_insert_with(|| (None, Instant::now()));
        if activity.is_none() || last.as_ref() != activity {
            (*last, *since) = (activity.cloned(), Instant::now());
        }
        since.elapsed() >= silence()
    }

    fn is_watched(&self, pid: i32) -> bool {
        self.0.contains_key(&pid)
    }
}

/// Returns the error for a share that a finished load does not have.
fn too_late(Participant { id, participant, .. }: &Participant) -> Error {
    let message = format!("load {id} is finished, and does not have participant {participant}");
    Error::new(Kind::Server, message)
        .with_sqlstate("55000")
        .with_detail("None of these rows was stored.")
        .with_hint("Divide the rows as they were divided before. Load only new rows under another load id.")
        .permanent()
}
