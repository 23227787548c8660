//! The lock watch: reports which session holds a lock that the load waits for, and ends the load if it has
//! waited too long.
//! It sleeps until a session has been busy for two seconds. Only then does it open a session of its own and ask
//! the server whether the busy session waits for a lock.
//!
//! `--lock-timeout` is implemented here, so that the same limit applies to payloads, DDL, the ledger and the
//! swap.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use tokio_postgres::Client;

use crate::control::{Control, WaitReason};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::load::sql::lock_wait::{LockWait, lock_waits};
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;

/// The time that a wait may last before the user is notified.
const UNSAID: Duration = Duration::from_secs(2);

/// The pause between two checks.
const PAUSE: Duration = Duration::from_millis(500);

/// The maximum duration of one check, for which the end of a load waits.
const LOOK_TIMEOUT: Duration = Duration::from_secs(1);

/// The longest time that a session may take to end.
const LEAVE: Duration = Duration::from_millis(10);

/// The last notice about each waiting session.
type Reported = BTreeMap<i32, String>;

/// Runs `work`, and reports which sessions hold a lock that its sessions wait for.
pub(crate) fn report_waits<T>(target: &Target, control: &Control, work: impl FnOnce() -> T) -> T {
    super::watch_thread::with_watch(work, |over| watch(None, target, control, over))
}

/// Watches the sessions of a load until `over`. `timeout` is the maximum time that any of them may wait for a
/// lock.
pub(crate) fn watch(
    timeout: Option<Duration>,
    target: &Target,
    control: &Control,
    over: &AtomicBool,
) {
    let Ok(runtime) = runtime() else { return };
    let after = timeout.map_or(UNSAID, |timeout| timeout.min(UNSAID));
    let pause = PAUSE.min(after.max(Duration::from_millis(20)));
    let mut client: Option<Client> = None;
    let mut reported = Reported::new();
    while !over.load(Relaxed) {
        thread::park_timeout(pause);
        let busy = control.busy.longer_than(after);
        let waits = match busy.is_empty() || control.stop.is_stopped() {
            true => Vec::new(),
            // Without a session, nothing can be reported; the wait itself continues.
            false => {
                let looking = async {
                    let looking = look(&mut client, target, &busy);
                    let looked = tokio::time::timeout(LOOK_TIMEOUT, looking).await;
                    looked.unwrap_or_else(|_| Err(Error::interrupted()))
                };
                let waits = runtime.block_on(control.stop.unless_stopped(looking));
                waits.unwrap_or_else(|_| {
                    client = None;
                    Vec::new()
                })
            }
        };
        tell(&waits, &mut reported, control);
        let ripe = |wait: &&LockWait| timeout.is_some_and(|timeout| wait.waited >= timeout);
        if let Some(wait) = waits.iter().find(ripe) {
            control.stop.fail(timed_out(wait));
        }
        if busy.is_empty() && client.take().is_some() {
            // The connection's task sends Terminate.
            runtime.block_on(async { tokio::time::sleep(LEAVE).await });
        }
    }
}

async fn look(
    client: &mut Option<Client>,
    target: &Target,
    busy: &[(i32, Duration)],
) -> Result<Vec<LockWait>> {
    let client = match client {
        Some(client) => client,
        None => client.insert(connect::connect_internal(target).await?),
    };
    lock_waits(client, busy).await
}

/// Notifies the user which session holds a lock, if that is new, and when the load continues.
fn tell(waits: &[LockWait], reported: &mut Reported, control: &Control) {
    let had = !reported.is_empty();
    reported.retain(|pid, _| waits.iter().any(|wait| wait.pid == *pid));
    for wait in waits.iter().filter(|wait| wait.waited >= UNSAID) {
        let text = format!("waiting for {}: {}", wait.what, wait.holder);
        // Several connections usually wait for the same lock.
        let is_new = reported.values().all(|other| *other != text);
        if is_new {
            control.notice(&text);
        }
        control.has_waited(wait.waited, WaitReason::Lock, &text);
        reported.insert(wait.pid, text);
    }
    if had && reported.is_empty() {
        control.resume(WaitReason::Lock);
        if !control.stop.is_stopped() {
            control.notice("the load continues: it has acquired the lock");
        }
    }
}

fn timed_out(wait: &LockWait) -> Error {
    let seconds = wait.waited.as_secs_f64();
    Error::new(Kind::Server, "canceling statement due to lock timeout")
        .with_sqlstate("55P03")
        .with_detail(format!(
            "The load waited for {} for {seconds:.1} s: {}",
            wait.what, wait.holder
        ))
        .with_hint(match wait.holder_pid {
            0 => "Find the transaction in pg_prepared_xacts, and end it with COMMIT PREPARED or \
                  ROLLBACK PREPARED."
                .to_owned(),
            pid => format!(
                "Wait until it ends, end it with SELECT pg_terminate_backend({pid}), or use a \
                 longer --lock-timeout."
            ),
        })
        .permanent()
}
