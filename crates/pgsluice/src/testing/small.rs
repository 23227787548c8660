//! Inputs of tests are mostly small, and yet to be routed. Without the feature `failpoints` this is not compiled.
//!
//! With `PGSLUICE_SMALL_ROWS=300` an input of more rows is not small, however few bytes it has.

/// How many rows a small input may have.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn most_rows() -> u64 {
    u64::MAX
}

/// How many rows a small input may have.
#[cfg(feature = "failpoints")]
pub(crate) fn most_rows() -> u64 {
    let asked = std::env::var("PGSLUICE_SMALL_ROWS").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(u64::MAX)
}
