//! The extent of the tests that strike loads.

use std::sync::OnceLock;
use std::time::Duration;

/// Numbers of strikes and of rows.
pub(crate) struct Size {
    pub(crate) rows: usize,
    /// Number of rows of inputs with many bad rows, and of inputs in tests that combine failures.
    pub(crate) dirty_rows: usize,
    pub(crate) rows_with_dirt: usize,
    pub(crate) kills: usize,
    pub(crate) stops: usize,
    pub(crate) cuts: usize,
    /// Number of strikes by a disk that is reported as full.
    pub(crate) fulls: usize,
    /// Longer than any load takes.
    pub(crate) patience: Duration,
}

const SMALL: Size = Size {
    rows: 20_000,
    dirty_rows: 5_000,
    rows_with_dirt: 3_000,
    kills: 5,
    stops: 3,
    cuts: 5,
    fulls: 3,
    patience: Duration::from_secs(300),
};

const FULL: Size = Size {
    rows: 1_000_000,
    dirty_rows: 1_000_000,
    rows_with_dirt: 100_000,
    kills: 100,
    stops: 20,
    cuts: 20,
    fulls: 20,
    patience: Duration::from_secs(1800),
};

/// Returns the size that `PGSLUICE_VIOLENCE` selects: `full`, a factor for the number of strikes and of rows,
/// or the default.
pub(crate) fn size() -> &'static Size {
    static SIZE: OnceLock<Size> = OnceLock::new();
    SIZE.get_or_init(|| match std::env::var("PGSLUICE_VIOLENCE").as_deref() {
        Err(_) | Ok("") => SMALL,
        Ok("full") => FULL,
        Ok(times) => {
            let times = times.parse().expect("PGSLUICE_VIOLENCE is full, a number, or nothing");
            Size { kills: times, stops: times, cuts: times, fulls: times, ..FULL }
        }
    })
}
