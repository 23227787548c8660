//! Runs a thread that watches a load.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;

/// Returns the outcome of `work`. `watch` runs in another thread until its flag shows that the work is over.
pub(crate) fn with_watch<T>(work: impl FnOnce() -> T, watch: impl FnOnce(&AtomicBool) + Send) -> T {
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let watch = scope.spawn(|| watch(&over));
        let _notify = NotifyOnDrop { over: &over, watch: watch.thread() };
        work()
    })
}

/// Notifies the watch when dropped, even by a panic, because the scope waits for its thread.
struct NotifyOnDrop<'a> {
    over: &'a AtomicBool,
    watch: &'a thread::Thread,
}

impl Drop for NotifyOnDrop<'_> {
    fn drop(&mut self) {
        self.over.store(true, Relaxed);
        self.watch.unpark();
    }
}
