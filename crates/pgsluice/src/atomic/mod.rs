//! All or nothing: each connection holds one transaction for all of its rows, until all rows are sent.
//!
//! ```text
//!     connections   rows, constraints -> ready           PREPARE TRANSACTION
//!     the load                 all ready, rows counted -> go
//!     decision           readers held off -> load marked as finished -> COMMIT PREPARED
//! ```
//!
//! 1. Each connection sends its payloads in one transaction (`sink::held`), each behind a savepoint where
//!    rows may be rejected. It writes no receipts: the mark that the load is finished says all.
//! 2. A connection is ready when its rows are sent and no constraint is left to check.
//! 3. When all are ready and the sums agree, the load says *go*. With one connection, its COMMIT also marks
//!    the load as finished. With several, each prepares its transaction.
//! 4. A session asks for ACCESS EXCLUSIVE on the root, which holds off new readers (`reader_barrier`).
//! 5. The mark in the ledger is the decision, in a transaction of its own (`decision`). From then on any
//!    run that finds one of the load's prepared transactions commits it.
//! 6. Rollback first ends the attempt in the ledger (`ledger::settle`). Commit is an UPDATE conditional on
//!    that attempt. Exactly one of the two can succeed.
//!
//! Prepared transactions keep the fence's lock. The next run takes it exclusively, so by then it has
//! settled all of them, and those that were about to prepare. A living load holds a lock that keeps other
//! runs away, but correctness does not depend on it.
//!
//! No connection prepares before all are ready. So one that waits for a lock waits for a session. Once
//! a second `deadlock_watch` asks the server whether that is one of this load's own, directly or
//! through others. The server cannot see this deadlock, because one of the two waits in the client.
//! Then the next attempt uses one connection.

pub(crate) mod deadlock_watch;
pub(crate) mod decision;
pub(crate) mod reader_barrier;

use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use tokio_postgres::Client;

use crate::control::Control;
use crate::counts::outcome::Committed;
use crate::error::Result;
use crate::fate::Fate;
use crate::ledger::Ledger;
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::sql::{DURABLE, NO_LOCK_TIMEOUT};

/// How long a waiting thread may overlook that the load was stopped, or its connection lost.
const STOP_POLL: Duration = Duration::from_millis(50);

/// The transactions of one attempt of a load.
#[derive(Default)]
pub(crate) struct Atomic {
    /// How many there are.
    pub(crate) connections: usize,
    state: Mutex<State>,
    changed: Condvar,
    /// The session that judges over transactions that are prepared: while it is there, no other run of the
    /// load does.
    lock_session: Mutex<Option<Client>>,
}

/// How far the commit of all rows has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Decision {
    /// It was not asked for, or refused.
    #[default]
    Open,
    /// It was asked for, and there is no answer yet.
    Asked,
    Committed,
}

#[derive(Default)]
struct State {
    /// Connections that are at work, by the server's number for each.
    sessions: Vec<i32>,
    /// How many connections have begun, are ready, have ended their transactions, and have left.
    begun: usize,
    ready: usize,
    ended: usize,
    left: usize,
    committed: Committed,
    /// What became of all rows, once the transactions are to end.
    go: Option<Fate>,
    /// The transactions that were to be prepared, perhaps without an answer.
    prepared: Vec<String>,
    decision: Decision,
}

impl Atomic {
    pub(crate) fn new(connections: usize) -> Self {
        Self { connections, ..Self::default() }
    }

    /// Counts a connection as at work until the returned value, its place in the load, is dropped.
    pub(crate) fn enter(&self) -> Part<'_> {
        let mut state = self.state.lock();
        state.begun += 1;
        Part { atomic: self, number: state.begun, database: 0 }
    }

    /// Waits until all connections have sent their rows; what these have done then. None if the load was
    /// stopped, or one of them has ended before.
    pub(crate) fn all_ready(&self, control: &Control) -> Option<Committed> {
        let mut state = self.state.lock();
        while state.ready < self.connections {
            if control.stop.is_stopped() || state.left > 0 {
                return None;
            }
            self.changed.wait_for(&mut state, STOP_POLL);
        }
        Some(state.committed.clone())
    }

    /// Opens the session that judges over them, before any is prepared.
    pub(crate) async fn keep(
        &self,
        ledger: Option<&Ledger>,
        target: &Target,
        control: &Control,
    ) -> Result<()> {
        let Some(ledger) = ledger.filter(|_| self.connections > 1) else { return Ok(()) };
        let locking_session = async {
            let client = connect::connect_for_own(target).await?;
            client.batch_execute(&format!("{NO_LOCK_TIMEOUT}; {DURABLE}")).await?;
            ledger.trust(&client).await?;
            ledger.hold_alive_lock(&client).await?;
            Ok(client)
        };
        *self.lock_session.lock() = Some(control.stop.unless_stopped(locking_session).await?);
        Ok(())
    }

    /// Has all transactions end, which have stored the rows as `fate` says.
    pub(crate) fn go(&self, fate: Fate) {
        self.state.lock().go = Some(fate);
        self.changed.notify_all();
    }

    /// The transactions that are prepared, or may be.
    pub(crate) fn prepared(&self) -> Vec<String> {
        self.state.lock().prepared.clone()
    }

    /// Whether every connection has prepared its transaction, if it had any row.
    fn is_prepared(&self) -> bool {
        self.state.lock().ended == self.connections
    }

    pub(crate) fn decision(&self) -> Decision {
        self.state.lock().decision
    }

    fn set_decision(&self, decision: Decision) {
        self.state.lock().decision = decision;
    }

    /// Waits a while; false if there is nothing to watch any more.
    fn is_at_work(&self, time: Duration, control: &Control) -> bool {
        let mut state = self.state.lock();
        let is_over = |state: &State| state.go.is_some() || state.left > 0;
        if !is_over(&state) {
            self.changed.wait_for(&mut state, time);
        }
        !is_over(&state) && !control.stop.is_stopped()
    }

    fn sessions(&self) -> Vec<i32> {
        self.state.lock().sessions.clone()
    }
}

/// One connection's place in it.
pub(crate) struct Part<'a> {
    atomic: &'a Atomic,
    /// Its number among the connections, from 1.
    pub(crate) number: usize,
    /// The database, as prepared transactions are named after it.
    pub(crate) database: u32,
}

impl Part<'_> {
    /// Whether it is the only one.
    pub(crate) fn is_only(&self) -> bool {
        self.atomic.connections == 1
    }

    /// Records by which numbers the server knows the session and its database.
    pub(crate) fn is_session(&mut self, (pid, database): (i32, u32)) {
        self.atomic.state.lock().sessions.push(pid);
        self.database = database;
    }

    /// Marks this connection as ready: all rows are sent, and no check is left that could refuse them.
    pub(crate) fn is_ready(&self, committed: Committed) {
        let mut state = self.atomic.state.lock();
        state.ready += 1;
        state.committed.add(committed);
        drop(state);
        self.atomic.changed.notify_all();
    }

    /// Waits a while for all connections; what became of all rows when they are to end.
    pub(crate) fn may_end(&self) -> Option<Fate> {
        let mut state = self.atomic.state.lock();
        if state.go.is_none() {
            self.atomic.changed.wait_for(&mut state, STOP_POLL);
        }
        state.go
    }

    /// Records the name of a transaction before it is prepared.
    pub(crate) fn prepares(&self, name: String) {
        self.atomic.state.lock().prepared.push(name);
    }

    /// Marks this connection as ended: its transaction is prepared, or there was nothing to prepare.
    pub(crate) fn is_prepared(&self) {
        self.atomic.state.lock().ended += 1;
    }

    /// Records how the only transaction ends.
    pub(crate) fn set_decision(&self, decision: Decision) {
        self.atomic.set_decision(decision);
    }
}

impl Drop for Part<'_> {
    fn drop(&mut self) {
        self.atomic.state.lock().left += 1;
        self.atomic.changed.notify_all();
    }
}
