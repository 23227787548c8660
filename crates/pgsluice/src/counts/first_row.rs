//! The time until the first row of a load was sent to the server.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// The beginning of a load, and the time of its first row.
#[derive(Debug)]
pub(crate) struct Opening {
    began: Instant,
    /// The processor time that the process had used at the beginning.
    cpu: Duration,
    first_row: OnceLock<FirstRow>,
}

/// The time from the beginning of a load until its first row was sent.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct FirstRow {
    /// Wall time.
    pub seconds: f64,
    /// Processor time of this process; the rest is waiting, for the server or for input.
    pub cpu_seconds: f64,
}

impl Opening {
    /// Starts the clock.
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), cpu: cpu_time(), first_row: OnceLock::new() }
    }

    /// Returns the wall time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Records the time when the first row is sent. Later calls have no effect.
    pub(crate) fn row_sent(&self) {
        self.first_row.get_or_init(|| FirstRow {
            seconds: self.elapsed().as_secs_f64(),
            cpu_seconds: cpu_time().saturating_sub(self.cpu).as_secs_f64(),
        });
    }

    /// Returns the time of the first row, or `None` if no row was sent.
    pub(crate) fn first_row(&self) -> Option<FirstRow> {
        self.first_row.get().copied()
    }
}

/// Returns the processor time that this process has used, or zero if the system does not report it.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
