//! The reader barrier: while the transactions of a load are committed one after the other, no other
//! session begins to read its table.
//!
//! A session asks for the table for itself. It cannot get it while transactions are prepared, which
//! keep their locks; but sessions that come later wait behind it. Once it waits only for loads, all
//! sessions that could still read are held off. Until then it makes others wait, and must not do so for
//! long. From then on it stays for as long as the commits take, because without it readers would see a
//! part of the rows. Only if this program dies does the server let readers pass.

use std::pin::pin;
use std::time::{Duration, Instant};

use pgsluice_core::catalog::ROOT;
use tokio::time::timeout;
use tokio_postgres::Client;

use crate::control::Control;
use crate::error::backoff::Backoff;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::ledger::lives_noted;
use crate::pg::sql;
use crate::pg::two_phase::{self, Blocked};
use crate::plan::Plan;

/// How long one attempt waits for those who have the table, and makes others wait behind it.
const LOCK_WAIT: Duration = Duration::from_secs(2);

/// Between two looks at who has the table.
const LOOK: Duration = Duration::from_millis(5);

/// How long a cancelled statement may take to end before it is cancelled again.
const CANCEL_AGAIN: Duration = Duration::from_millis(100);

/// About the pause after the first attempt.
const FIRST_PAUSE: Duration = Duration::from_millis(250);

const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Holds new readers off: what it needs to ask for the table, and to see whether that is enough.
pub(crate) struct ReaderBarrier<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) target: &'a Target,
    pub(crate) control: &'a Control,
    /// It is in no transaction.
    pub(crate) lock_session: &'a Client,
    pub(crate) ledger: &'a Ledger,
    /// How long it is tried.
    pub(crate) patience: Duration,
}

impl ReaderBarrier<'_> {
    /// Does `work` while no other session begins to read.
    pub(crate) async fn behind<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let client = connect::connect_for_own(self.target).await?;
        client.batch_execute(&[sql::NO_LOCK_TIMEOUT, two_phase::LIMITED].join(";")).await?;
        let pid = client.query_one(sql::PID, &[]).await?.get(0);
        let root = &self.plan.tree.nodes[ROOT].relation;
        let lock = [sql::BEGIN, &sql::lock_exclusively(std::iter::once(root))].join("; ");
        let began = Instant::now();
        let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        loop {
            let mut locking = pin!(client.batch_execute(&lock));
            let (is_closed, is_locked) = tokio::select! {
                biased;
                locked = &mut locking => {
                    locked?;
                    (true, true)
                }
                closed = self.is_closed(pid) => (closed?, false),
            };
            if is_closed {
                let outcome = work.await;
                // Others that load keep it from being locked, and it need not be any more.
                if !is_locked {
                    let _ = two_phase::cancel(self.lock_session, pid).await;
                }
                return outcome;
            }
            two_phase::cancel(self.lock_session, pid).await?;
            // A cancel that the server gets before the statement is lost.
            while timeout(CANCEL_AGAIN, &mut locking).await.is_err() {
                two_phase::cancel(self.lock_session, pid).await?;
            }
            client.batch_execute(sql::ROLLBACK).await?;
            let pause = backoff.pause();
            if began.elapsed() + pause >= self.patience {
                return Err(self.held());
            }
            if !self.control.stop.is_stopped() {
                tokio::time::sleep(pause).await;
            }
            if let Some(stopped) = self.control.stop.failure() {
                return Err(stopped);
            }
        }
    }

    /// Whether the session `pid` comes to wait for prepared transactions only, soon enough.
    async fn is_closed(&self, pid: i32) -> Result<bool> {
        let began = Instant::now();
        let loads = lives_noted(self.ledger.schema(), self.lock_session).await?;
        loop {
            if two_phase::blocked(self.lock_session, pid, &loads).await? == Blocked::ByLoads {
                return Ok(true);
            }
            if began.elapsed() >= LOCK_WAIT.min(self.patience) || self.control.stop.is_stopped() {
                return Ok(false);
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    fn held(&self) -> Error {
        let table = self.plan.tree.nodes[ROOT].relation.label();
        let message = format!("other sessions held locks on table {table} for too long");
        Error::new(Kind::Server, message)
            .with_sqlstate("55P03")
            .with_detail(format!(
                "The rows were not committed: for {} s the table always had a reader.",
                self.patience.as_secs()
            ))
            .with_hint(
                "Use a longer --swap-patience, or -j 1, which does not have to wait for readers.",
            )
            .permanent()
    }
}
