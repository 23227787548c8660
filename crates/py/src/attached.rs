//! Calls into Python from threads that Python did not create.
//!
//! If a thread is in Python when the interpreter ends, it is terminated there: before 3.14 by `pthread_exit`
//! (`take_gil` in `Python/ceval_gil.h`), which unwinds frames that must not be unwound, such as C++ of other
//! libraries and the release of the interpreter, and ends the process with SIGABRT. So at its end the program
//! waits for such threads, and lets no others in ([`leave`]). A thread that does not return in time hangs, as
//! in Python 3.14.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The number of threads that may be in Python.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Whether no other thread may enter Python.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// Interval at which a program that ends checks whether the threads have returned.
const CHECK_INTERVAL: Duration = Duration::from_millis(1);

/// Runs `work` while holding the interpreter. Returns `None` if the interpreter is ending.
pub(crate) fn attach<T>(work: impl for<'py> FnOnce(Python<'py>) -> T) -> Option<T> {
    let _inside = Inside::go()?;
    Python::try_attach(|py| {
        let guard = ParkGuard;
        let done = work(py);
        std::mem::forget(guard);
        done
    })
}

/// A guard for a thread that may be in Python until it is dropped.
pub(crate) struct Inside(());

impl Inside {
    /// Enters Python. Returns `None` if the interpreter is ending.
    pub(crate) fn go() -> Option<Self> {
        INSIDE.fetch_add(1, SeqCst);
        let inside = Self(());
        (!IS_OVER.load(SeqCst)).then_some(inside)
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        INSIDE.fetch_sub(1, SeqCst);
    }
}

/// Let no other thread into Python, and wait until all have left it, for at most `seconds`.
#[pyfunction]
pub(crate) fn leave(py: Python<'_>, seconds: f64) {
    IS_OVER.store(true, SeqCst);
    let end = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or_default();
    py.detach(|| {
        while INSIDE.load(SeqCst) > 0 && Instant::now() < end {
            thread::sleep(CHECK_INTERVAL);
        }
    });
}

/// A guard that parks a thread when it is terminated inside Python.
struct ParkGuard;

impl Drop for ParkGuard {
    fn drop(&mut self) {
        while !thread::panicking() {
            thread::park();
        }
    }
}
