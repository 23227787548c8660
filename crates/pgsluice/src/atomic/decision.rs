//! The decision on prepared transactions: all are committed, or all are rolled back.
//!
//! It is the mark in the ledger that the load is finished. From then on any run that finds one of them
//! commits it: this run, or the next of the same load.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use tokio_postgres::Client;

use super::reader_barrier::ReaderBarrier;
use super::{Atomic, Decision};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::fate::Fate;
use crate::ledger::Ledger;
use crate::ledger::settle::Settled;
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::ledger::prepared;
use crate::pg::sql::{BEGIN, COMMIT};
use crate::plan::Plan;
use crate::testing::failpoint::failpoint;

/// How long it is tried to roll back what is prepared.
const ROLLBACK_TIMEOUT: Duration = Duration::from_secs(15);

/// How long it is tried after Ctrl-C, when a person waits.
const BRIEFLY: Duration = Duration::from_millis(500);

/// Between two tries.
const PAUSE: Duration = Duration::from_millis(50);

/// Commits all transactions, which have stored the rows as `fate` says; or rolls them back.
pub(crate) async fn commit(
    (plan, control): (&Plan, &Control),
    (atomic, ledger): (&Atomic, &Ledger),
    fate: Fate,
    target: &Target,
    patience: Duration,
) -> Result<()> {
    let committed = tokio::select! {
        biased;
        committed = judge((plan, control), (atomic, ledger), fate, target, patience) => committed,
        stopped = stopped(control, atomic) => Err(stopped),
    };
    let committed = match committed {
        Err(error) if atomic.decision() == Decision::Asked => {
            match find_out(ledger, target).await {
                Ok(true) => Ok(()),
                Ok(false) => {
                    atomic.set_decision(Decision::Open);
                    control.progress.rows_in_doubt.store(0, Relaxed);
                    Err(error)
                }
                Err(_) => Err(error),
            }
        }
        Err(error) => Err(abandon(atomic, ledger, target, error).await),
        Ok(()) => Ok(()),
    };
    if committed.is_ok() {
        atomic.set_decision(Decision::Committed);
        control.progress.rows_in_doubt.store(0, Relaxed);
        control.progress.show_held();
    }
    committed
}

async fn judge(
    (plan, control): (&Plan, &Control),
    (atomic, ledger): (&Atomic, &Ledger),
    fate: Fate,
    target: &Target,
    patience: Duration,
) -> Result<()> {
    let Some(client) = atomic.lock_session.lock().take().filter(|_| atomic.is_prepared()) else {
        return Err(Error::new(Kind::Server, "internal error: a transaction is not prepared")
            .with_sqlstate("XX000"));
    };
    let reader_barrier =
        ReaderBarrier { plan, target, control, lock_session: &client, ledger, patience };
    let committing = reader_barrier.behind(async {
        if let Some(stopped) = control.stop.failure() {
            return Err(stopped);
        }
        failpoint("atomic::deciding");
        atomic.set_decision(Decision::Asked);
        control.progress.rows_in_doubt.store(fate.inserted, Relaxed);
        decide(ledger, fate, &client).await?;
        failpoint("atomic::decided");
        for name in atomic.prepared() {
            prepared::end(&client, &name, true).await?;
            failpoint("atomic::settled");
        }
        Ok(())
    });
    committing.await
}

/// Why the load was stopped before it was judged; what is judged is carried out.
async fn stopped(control: &Control, atomic: &Atomic) -> Error {
    control.stop.stopped().await;
    tokio::time::sleep(BRIEFLY).await;
    while atomic.decision() == Decision::Asked {
        tokio::time::sleep(ROLLBACK_TIMEOUT).await;
    }
    control.stop.failure().unwrap_or_else(Error::interrupted)
}

async fn decide(ledger: &Ledger, fate: Fate, client: &Client) -> Result<()> {
    client.batch_execute(BEGIN).await?;
    ledger.close(client, fate).await?;
    client.batch_execute(COMMIT).await?;
    Ok(())
}

/// Whether the load was decided, where an answer is missing: then it is carried out; otherwise it will
/// never be.
async fn find_out(ledger: &Ledger, target: &Target) -> Result<bool> {
    let client = connect::connect_for_own(target).await?;
    ledger.trust(&client).await?;
    let began = Instant::now();
    // The session that was lost may not be, for the server.
    while ledger.settle(&client).await? == Settled::Busy {
        if began.elapsed() > ROLLBACK_TIMEOUT {
            return Err(ledger.overtaken());
        }
        tokio::time::sleep(PAUSE).await;
    }
    ledger.is_finished(&client).await
}

/// Rolls back what is prepared of a load that failed before it was decided; adds to its error if that
/// cannot be done.
pub(crate) async fn abandon(
    atomic: &Atomic,
    ledger: &Ledger,
    target: &Target,
    error: Error,
) -> Error {
    if atomic.prepared().is_empty() {
        return error;
    }
    let patience = if error.kind() == Kind::Interrupted { BRIEFLY } else { ROLLBACK_TIMEOUT };
    match tokio::time::timeout(patience, roll_back(atomic, ledger, target)).await {
        Ok(Ok(())) => error,
        _ => error.with_detail(format!(
            "Prepared transactions of this load may be left, and keep their locks: to roll them \
             back, run it again with --load-id {0}, or run pgsluice ledger forget {0}.",
            ledger.id()
        )),
    }
}

async fn roll_back(atomic: &Atomic, ledger: &Ledger, target: &Target) -> Result<()> {
    let client = connect::connect_for_own(target).await?;
    for name in atomic.prepared() {
        prepared::end(&client, &name, false).await?;
    }
    // A connection that was lost may still be about to prepare.
    while !ledger.is_over(&client).await? {
        for name in ledger.prepared(&client).await? {
            prepared::end(&client, &name, false).await?;
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(())
}
