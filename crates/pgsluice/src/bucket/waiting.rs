//! Threads that wait, for memory or for input: the queue sends what it has, however little, if all do.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// Counts a thread that waits, until it is dropped.
pub(crate) struct Waiting<'q>(&'q AtomicUsize);

impl<'q> Waiting<'q> {
    pub(super) fn new(count: &'q AtomicUsize) -> Self {
        count.fetch_add(1, Relaxed);
        Self(count)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Relaxed);
    }
}
