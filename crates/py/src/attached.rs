//! Calls into Python from threads that are not Python's.

use std::thread;

use pyo3::prelude::*;

/// What `work` returns while it holds the interpreter; None if that is ending.
pub(crate) fn attached<T>(work: impl for<'py> FnOnce(Python<'py>) -> T) -> Option<T> {
    Python::try_attach(|py| {
        let hung = Hung;
        let done = work(py);
        std::mem::forget(hung);
        done
    })
}

/// Keeps a thread where it is when it is torn out of an interpreter that ends: before 3.14 Python does so by
/// `pthread_exit` (`take_gil` in `Python/ceval_gil.c`), and what then unwinds would release the interpreter, which is
/// fatal. Python 3.14 and pyo3 itself, for the calls that it knows of, let such a thread hang.
struct Hung;

impl Drop for Hung {
    fn drop(&mut self) {
        while !thread::panicking() {
            thread::park();
        }
    }
}
