//! The time for which an attempt may be silent until its twin ends it. Tests can shorten it.
//!
//! `PGSLUICE_SILENCE=500` sets it to 500 ms. The setting is not compiled without the feature `failpoints`.

use std::time::Duration;

/// A client that is alive sends its rows without a pause, because it has read all of them before.
const SILENCE: Duration = Duration::from_secs(30);

/// Returns the time for which an attempt may be silent.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn silence() -> Duration {
    SILENCE
}

/// Returns the time for which an attempt may be silent.
#[cfg(feature = "failpoints")]
pub(crate) fn silence() -> Duration {
    let asked = std::env::var("PGSLUICE_SILENCE").ok();
    asked.and_then(|asked| asked.parse().ok()).map_or(SILENCE, Duration::from_millis)
}
