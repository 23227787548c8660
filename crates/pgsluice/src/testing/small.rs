//! A limit for small inputs in tests, whose inputs are mostly small but should be routed. The setting is not
//! compiled without the feature `failpoints`.
//!
//! With `PGSLUICE_SMALL_ROWS=300` an input with more rows is not small, however few bytes it has.

/// Returns the maximum number of rows of a small input.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn max_rows() -> u64 {
    u64::MAX
}

/// Returns the maximum number of rows of a small input.
#[cfg(feature = "failpoints")]
pub(crate) fn max_rows() -> u64 {
    let asked = std::env::var("PGSLUICE_SMALL_ROWS").ok();
    asked.and_then(|asked| asked.parse().ok()).unwrap_or(u64::MAX)
}
