//! A load in a thread of its own. Python waits for it, looks how far it is, and stops it.

use std::any::Any;
use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pgsluice::{Control, Error, Kind, Result, Summary};
use pgsluice_cli::door;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::failure::parts;
use crate::input::{Handed, Input};
use crate::stream::Raised;

/// A load that has begun.
#[pyclass(frozen, weakref, module = "pgsluice._native")]
pub(crate) struct Load {
    shared: Arc<Shared>,
    raised: Raised,
}

/// What the thread and Python share.
#[derive(Default)]
struct Shared {
    control: Arc<Control>,
    outcome: Mutex<Option<Result<Summary>>>,
    has_ended: Condvar,
}

#[pymethods]
impl Load {
    /// Begins the load that `args` describe, as `pgsluice load` has them. `input` stands for the inputs that they name.
    /// `ended` is called without arguments, by the thread of the load, when it is over.
    #[new]
    #[pyo3(signature = (args, input=None, ended=None))]
    fn new(
        py: Python<'_>,
        args: Vec<OsString>,
        input: Option<&Input>,
        ended: Option<Py<PyAny>>,
    ) -> Self {
        let given = input.map(|input| input.handed(py));
        let raised = given.as_ref().map(|given| given.raised.clone()).unwrap_or_default();
        let shared = Arc::new(Shared::default());
        let of_thread = Arc::clone(&shared);
        thread::spawn(move || {
            let outcome = carry_out(args, given, &of_thread.control);
            *of_thread.outcome() = Some(outcome);
            of_thread.has_ended.notify_all();
            // At the end of the interpreter nothing waits.
            let _ = Python::try_attach(|py| ended.map(|ended| ended.call0(py).map(drop)));
        });
        Self { shared, raised }
    }

    /// Waits for the end of the load, but no longer than so many seconds; whether it is over.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| {
            let Shared { has_ended, .. } = &*self.shared;
            let waiting =
                has_ended.wait_timeout_while(self.shared.outcome(), time, |it| it.is_none());
            waiting.unwrap_or_else(PoisonError::into_inner).0.is_some()
        })
    }

    /// Asks the load to end in order, as Ctrl-C does.
    fn stop(&self) {
        self.shared.control.stop.interrupt();
    }

    /// How far the load is, by the names of `pgsluice.Progress`.
    fn progress<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let progress = &self.shared.control.progress;
        let get = |number: &AtomicU64| number.load(Relaxed);
        let dict = PyDict::new(py);
        dict.set_item("rows_read", get(&progress.rows_read))?;
        dict.set_item("rows_loaded", get(&progress.rows_loaded))?;
        dict.set_item("rows_rejected", get(&progress.rows_rejected))?;
        dict.set_item("rows_already_loaded", get(&progress.rows_already))?;
        dict.set_item("bytes_read", get(&progress.bytes_read))?;
        let total = get(&progress.bytes_total);
        dict.set_item("bytes_total", (total > 0).then_some(total))?;
        dict.set_item("waiting_for", progress.waiting_for())?;
        Ok(dict)
    }

    /// The outcome of a load that is over, as `--json` has it. Of a failure also its words, and the exception that has
    /// ended the stream it was of, if one has.
    fn outcome(&self) -> PyResult<(String, Option<String>, Option<PyErr>)> {
        match &*self.shared.outcome() {
            None => Err(PyRuntimeError::new_err("the load is not over")),
            Some(Ok(summary)) => Ok((door::json(summary), None, None)),
            Some(Err(error)) => {
                let (json, text, raised) = parts(error, &self.raised);
                Ok((json, Some(text), raised))
            }
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // Nobody could stop it any more.
        self.shared.control.stop.interrupt();
    }
}

impl Shared {
    fn outcome(&self) -> MutexGuard<'_, Option<Result<Summary>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn carry_out(
    args: Vec<OsString>,
    given: Option<Handed>,
    control: &Arc<Control>,
) -> Result<Summary> {
    let load = || door::Load::new(args, given.map(Handed::inputs).transpose()?)?.run(control);
    // Nothing of it is used after a panic.
    catch_unwind(AssertUnwindSafe(load)).unwrap_or_else(|_: Box<dyn Any + Send>| {
        let message = "internal error: the thread of the load ended unexpectedly";
        Err(Error::new(Kind::Internal, message).with_sqlstate("XX000"))
    })
}
