//! A thread that watches a load while it works.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

/// The outcome of `work`, while `watch` runs in a thread of its own until its flag says that the work is over.
pub(crate) fn watched<T>(work: impl FnOnce() -> T, watch: impl FnOnce(&AtomicBool) + Send) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| watch(&over));
        let _told = Told { over: &over, watch: watch.thread() };
        work()
    })
}

/// Tells a watch that it is over when it is dropped, also by a panic: the scope waits for its thread.
struct Told<'a> {
    over: &'a AtomicBool,
    watch: &'a thread::Thread,
}

impl Drop for Told<'_> {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        self.watch.unpark();
    }
}
