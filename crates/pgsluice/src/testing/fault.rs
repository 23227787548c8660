//! Faults that a test injects into a load, to check that the load notices them. They are not compiled without
//! the feature `failpoints`.
//!
//! `PGSLUICE_FAULT=payload::lost:3` loses only the third payload.

/// All faults.
pub const NAMES: [&str; 5] = [
    // Rows of a split are not routed.
    "split::lost",
    // A payload is not sent.
    "payload::lost",
    // Its rows are counted for another table than their own.
    "payload::misplaced",
    // One of its rows is not counted as stored.
    "payload::short",
    // A row is routed to another leaf than its own.
    "row::misrouted",
];

/// Whether the fault `name` should be injected here.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn fault(_name: &'static str) -> bool {
    false
}

/// Whether the fault `name` should be injected here.
#[cfg(feature = "failpoints")]
pub(crate) fn fault(name: &'static str) -> bool {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU64, Ordering::SeqCst};

    static CHOSEN: LazyLock<Option<(String, AtomicU64)>> = LazyLock::new(|| {
        let asked = std::env::var("PGSLUICE_FAULT").ok()?;
        let (name, count) = match asked.rsplit_once(':') {
            Some((name, count)) if count.parse::<u64>().is_ok() => (name, count.parse().ok()),
            _ => (&*asked, None),
        };
        // A test that waits for a fault that does not exist must not succeed.
        assert!(NAMES.contains(&name), "there is no fault {asked}");
        Some((name.to_owned(), AtomicU64::new(count.unwrap_or(1))))
    });
    let chosen = CHOSEN.as_ref().filter(|(chosen, _)| chosen == name);
    chosen.is_some_and(|(_, left)| left.fetch_sub(1, SeqCst) == 1)
}
