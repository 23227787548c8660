//! How long it took until the first row of a load was on its way to the server.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use nix::time::{ClockId, clock_gettime};
use serde::Serialize;

/// A load that has begun, and perhaps has sent a row.
#[derive(Debug)]
pub(crate) struct Opening {
    began: Instant,
    /// The processor time that the process had used by then.
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
    /// A load that begins now.
    pub(crate) fn new() -> Self {
        Self { began: Instant::now(), cpu: cpu_time(), first_row: OnceLock::new() }
    }

    /// Wall time since the beginning.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Records the time when the first row is sent; later calls change nothing.
    pub(crate) fn row_sent(&self) {
        self.first_row.get_or_init(|| FirstRow {
            seconds: self.elapsed().as_secs_f64(),
            cpu_seconds: cpu_time().saturating_sub(self.cpu).as_secs_f64(),
        });
    }

    /// When the first row was sent; None if none was.
    pub(crate) fn first_row(&self) -> Option<FirstRow> {
        self.first_row.get().copied()
    }
}

/// The processor time that this process has used; zero where the system does not tell.
fn cpu_time() -> Duration {
    clock_gettime(ClockId::CLOCK_PROCESS_CPUTIME_ID).map_or(Duration::ZERO, Duration::from)
}
