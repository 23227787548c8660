//! Waiting for what must happen, and what is waited for in the server.

use std::thread;
use std::time::{Duration, Instant};

/// Longer than any load of these tests takes; what takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The locks that sessions of this database wait for: those of other tests are of no interest.
pub(crate) const WAITS: &str = "pg_locks WHERE NOT granted AND database = \
                                (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Waits until `done`.
#[track_caller]
pub(crate) fn wait_until(what: &str, done: impl FnMut() -> bool) {
    wait_within(PATIENCE, what, done);
}

/// The same of what may take longer.
#[track_caller]
pub(crate) fn wait_within(patience: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !done() {
        assert!(Instant::now() < deadline, "{what} does not happen");
        thread::sleep(Duration::from_millis(20));
    }
}
