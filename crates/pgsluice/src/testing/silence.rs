//! How long an attempt may be silent until its twin ends it. Tests do not wait for that long.
//!
//! With `PGSLUICE_SILENCE=500` it is 500 ms. Without the feature `failpoints` this is not compiled.

use std::time::Duration;

/// A client that is alive sends its rows without a pause, because it has read all of them before.
const SILENCE: Duration = Duration::from_secs(30);

/// How long an attempt may be silent.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn silence() -> Duration {
    SILENCE
}

/// How long an attempt may be silent.
#[cfg(feature = "failpoints")]
pub(crate) fn silence() -> Duration {
    let asked = std::env::var("PGSLUICE_SILENCE").ok();
    asked.and_then(|asked| asked.parse().ok()).map_or(SILENCE, Duration::from_millis)
}
