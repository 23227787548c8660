//! Flaws that a test puts into a load, to see that the load notices. Without the feature `failpoints`
//! none of them is compiled.
//!
//! `PGSLUICE_FAULT=payload::lost:3` has the third payload go astray, and nothing else.

/// All flaws.
pub const NAMES: [&str; 5] = [
    // Rows of a split are not routed.
    "split::lost",
    // A payload is not sent.
    "payload::lost",
    // Its rows are counted at another table than they are of.
    "payload::misplaced",
    // One of its rows is not counted as stored.
    "payload::short",
    // A row is led to another leaf than its own.
    "row::misrouted",
];

/// Whether the fault `name` is wanted here.
#[cfg(not(feature = "failpoints"))]
#[inline(always)]
pub(crate) fn fault(_name: &'static str) -> bool {
    false
}

/// Whether the fault `name` is wanted here.
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
        // A test that waits for a fault that is not there must not succeed.
        assert!(NAMES.contains(&name), "there is no fault {asked}");
        Some((name.to_owned(), AtomicU64::new(count.unwrap_or(1))))
    });
    let chosen = CHOSEN.as_ref().filter(|(chosen, _)| chosen == name);
    chosen.is_some_and(|(_, left)| left.fetch_sub(1, SeqCst) == 1)
}
