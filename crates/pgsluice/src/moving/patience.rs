//! Locks that others wait behind are asked for in short attempts, with long pauses.

use std::time::Duration;

use super::sql::locks::lock_alone;
use crate::control::Control;
use crate::error::Result;
use crate::error::policy::{self, Policy};
use crate::pg::connect::Link;
use crate::pg::sql::{BEGIN, COMMIT, ROLLBACK, lock_timeout};

/// A pause between two attempts, in terms of how long one waits.
pub(super) const REST: u32 = 10;

/// The longest wait for a lock on one table while that on another one is held. It is shorter than `deadlock_timeout`, so that the move gives way
/// before the server ends a writer.
pub(super) const LONGEST: Duration = Duration::from_millis(500);

/// Runs `statements` in a transaction of their own, in which each lock is waited for as long as `max_lock`. Tries again
/// while others hold locks. Autovacuum of `tables` is not in the way.
pub(super) async fn patiently(
    statements: &str,
    tables: &[String],
    link: &Link,
    max_lock: Duration,
    control: &Control,
) -> Result<()> {
    loop {
        let running = async {
            link.client.batch_execute(&[BEGIN, &lock_alone(tables)].join("; ")).await?;
            let statements = [&lock_timeout(max_lock), statements, COMMIT].join("; ");
            Ok(link.client.batch_execute(&statements).await?)
        };
        let Err(error) = link.canceller.unless_stopped(control, running).await else { break };
        if error.sqlstate().map(policy::of) != Some(Policy::Retry) {
            return Err(error);
        }
        link.client.batch_execute(ROLLBACK).await?;
        control
            .progress
            .wait_for(Some(format!("waiting for sessions that write to {}", tables[0])));
        rest(max_lock, control).await?;
    }
    control.progress.wait_for(None);
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
