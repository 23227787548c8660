//! Waiting for conditions, and conditions of the server.

use std::thread;
use std::time::{Duration, Instant};

/// Longer than any load of these tests takes; a load that takes longer hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// The locks that sessions of this database wait for, without those of other tests.
pub(crate) const WAITS: &str = "pg_locks WHERE NOT granted AND database = \
                                (SELECT oid FROM pg_database WHERE datname = current_database())";

/// Waits until `done` returns true.
#[track_caller]
pub(crate) fn wait_until(what: &str, done: impl FnMut() -> bool) {
    wait_within(PATIENCE, what, done);
}

/// Waits until `done` returns true, for at most `patience`.
#[track_caller]
pub(crate) fn wait_within(patience: Duration, what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + patience;
    while !done() {
        assert!(Instant::now() < deadline, "{what} does not happen");
        thread::sleep(Duration::from_millis(20));
    }
}
