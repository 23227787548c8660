//! Threads that wait for memory or input. If all of them wait, the queue sends the rows that it has, however
//! few.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A guard that counts a waiting thread until it is dropped.
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
