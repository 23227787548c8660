//! Work that may wait for its input, in a thread that can be abandoned.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use crate::control::Control;
use crate::error::{Error, Result};

/// The interval at which a thread that waits for input checks whether the load was stopped.
pub(super) const STOP_POLL: Duration = Duration::from_millis(100);

/// Runs work that may wait for its input in a separate thread. Returns its outcome, or the failure that
/// stopped the load.
pub(crate) fn unless_stopped<T: Send + 'static>(
    control: &Control,
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    let (ended, end) = sync_channel(1);
    thread::spawn(move || {
        // The receiver may be gone.
        let _ = ended.send(work());
    });
    loop {
        match end.recv_timeout(STOP_POLL) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) if !control.stop.is_stopped() => {}
            Err(_) => return Err(control.stop.failure().unwrap_or_else(Error::interrupted)),
        }
    }
}
