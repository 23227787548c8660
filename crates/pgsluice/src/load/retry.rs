//! Retries: if an attempt at a load fails for a temporary reason, another attempt resumes the load where it
//! stopped. The ledger knows where, even after a COMMIT without an answer.

use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crate::control::{Control, WaitReason};
use crate::error::Result;
use crate::error::backoff::Backoff;
use crate::error::policy::{self, Policy};
use crate::job::Job;
use crate::load::failed::with_committed;
use crate::pg::conninfo::Target;

/// The approximate first pause, and the longest one.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// The minimum time for retrying a load whose transactions were rolled back in favour of others, regardless
/// of the patience, because these others end soon.
const MIN_PATIENCE: Duration = Duration::from_secs(10);

/// The number of times that the patience of an atomic load may start again.
const MAX_RESTARTS: u32 = 5;

/// Makes attempts at one load until one succeeds, or fails permanently.
pub(crate) fn until_settled<T>(
    job: &Job,
    target: &Target,
    control: &Control,
    mut attempt: impl FnMut() -> Result<T>,
) -> Result<T> {
    let mut backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
    // The time since when nothing has been loaded.
    let mut idle_since = Instant::now();
    let mut restarts = 0;
    loop {
        let error = match attempt() {
            Err(error) if job.keeps_ledger() && job.input.files.are_rereadable() => error,
            outcome => return outcome,
        };
        let patience = match policy::for_error(&error) {
            Policy::Retry => target.patience().max(MIN_PATIENCE),
            Policy::Wait => target.patience(),
            Policy::Reject | Policy::Stop => return Err(error),
        };
        // A load that is rolled back as a whole makes no progress, however many rows it has sent.
        let had_rows = job.safety.atomic && control.progress.rows_unseen.load(Relaxed) > 0;
        if control.progress.rows_loaded.load(Relaxed) > 0 || (had_rows && restarts < MAX_RESTARTS) {
            restarts += u32::from(had_rows);
            idle_since = Instant::now();
            backoff = Backoff::new(FIRST_PAUSE, LONGEST_PAUSE);
        }
        let left = patience.saturating_sub(idle_since.elapsed());
        if left.is_zero() || !control.begin_again(&error) {
            return Err(error);
        }
        let why = error.to_string();
        let why = why.lines().next().unwrap_or_default();
        control.wait_for(WaitReason::Server, &format!("{why}: trying again"));
        control.stop.pause(backoff.pause().min(left));
        control.resume(WaitReason::Server);
        if let Some(stopped) = control.stop.failure() {
            return Err(with_committed(stopped, control));
        }
    }
}
