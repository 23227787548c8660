//! Short attempts with long pauses, for locks behind which other sessions queue.

use std::time::Duration;

use super::sql::locks::lock_out_autovacuum;
use crate::control::{Control, WaitReason};
use crate::error::Result;
use crate::error::policy::{self, Policy};
use crate::pg::connect::Link;
use crate::pg::sql::{BEGIN, COMMIT, ROLLBACK, lock_timeout};

/// The pause between two attempts, as a multiple of the wait in one attempt.
pub(super) const REST: u32 = 10;

/// The longest wait for a lock on one table while a lock on another one is held. It is shorter than
/// `deadlock_timeout`, so that the move gives way before the server ends a writer.
pub(super) const LONGEST: Duration = Duration::from_millis(500);

/// Runs `statements` in a separate transaction, in which each lock is waited for at most `max_lock`. Retries
/// while other sessions hold locks. Ends autovacuum of `tables`.
pub(super) async fn patiently(
    statements: &str,
    tables: &[String],
    link: &Link,
    max_lock: Duration,
    control: &Control,
) -> Result<()> {
    loop {
        let running = async {
            link.client.batch_execute(&[BEGIN, &lock_out_autovacuum(tables)].join("; ")).await?;
            let statements = [&lock_timeout(max_lock), statements, COMMIT].join("; ");
            Ok(link.client.batch_execute(&statements).await?)
        };
        let Err(error) = link.canceller.unless_stopped(control, running).await else { break };
        if error.sqlstate().map(policy::for_sqlstate) != Some(Policy::Retry) {
            return Err(error);
        }
        link.client.batch_execute(ROLLBACK).await?;
        let what = format!("waiting for sessions that write to {}", tables[0]);
        control.wait_for(WaitReason::Session, &what);
        rest(max_lock, control).await?;
    }
    control.resume(WaitReason::Session);
    Ok(())
}

/// Pauses between two attempts.
pub(super) async fn rest(max_lock: Duration, control: &Control) -> Result<()> {
    let resting = async {
        tokio::time::sleep(max_lock * REST).await;
        Ok(())
    };
    control.stop.unless_stopped(resting).await
}
