//! Calls into Python from threads that are not Python's.
//!
//! A thread that is in Python when the interpreter ends is torn out of it: before 3.14 by `pthread_exit` (`take_gil` in
//! `Python/ceval_gil.h`), which unwinds what cannot be unwound, C++ of other libraries and the release of the
//! interpreter, and ends the process by SIGABRT. So at its end the program waits for such threads, and lets none in any
//! more ([`leave`]). One that does not come back by then hangs, as in Python 3.14.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

use pyo3::prelude::*;

/// The threads that may be in Python.
static INSIDE: AtomicUsize = AtomicUsize::new(0);

/// Whether no other may go there.
static IS_OVER: AtomicBool = AtomicBool::new(false);

/// How often a program that ends looks whether they are back.
const LOOK: Duration = Duration::from_millis(1);

/// What `work` returns while it holds the interpreter; None if that is ending.
pub(crate) fn attached<T>(work: impl for<'py> FnOnce(Python<'py>) -> T) -> Option<T> {
    let _inside = Inside::go()?;
    Python::try_attach(|py| {
        let hung = Hung;
        let done = work(py);
        std::mem::forget(hung);
        done
    })
}

/// A thread that may be in Python, until this is dropped.
pub(crate) struct Inside(());

impl Inside {
    /// None if the interpreter is ending.
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

/// Lets no thread into Python any more, and waits until all are back, but no longer than so many seconds.
#[pyfunction]
pub(crate) fn leave(py: Python<'_>, seconds: f64) {
    IS_OVER.store(true, SeqCst);
    let end = Instant::now() + Duration::try_from_secs_f64(seconds).unwrap_or_default();
    py.detach(|| {
        while INSIDE.load(SeqCst) > 0 && Instant::now() < end {
            thread::sleep(LOOK);
        }
    });
}

/// Keeps a thread where it is when it is torn out.
struct Hung;

impl Drop for Hung {
    fn drop(&mut self) {
        while !thread::panicking() {
            thread::park();
        }
    }
}
