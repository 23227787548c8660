//! A command in a thread of its own. Python waits for it, looks how far it is, and stops it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pgsluice::inspect::leaves::Leaves;
use pgsluice::{Control, Error, Kind, Result};
use pgsluice_cli::door;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::attached::attached;
use crate::failure::parts;
use crate::input::{GivenInput, PyInput};
use crate::leaves::Array;
use crate::stream::Raised;
use crate::words::Call;

/// A command that has begun.
#[pyclass(frozen, weakref, module = "pgsluice._native")]
pub(crate) struct Command {
    call: Call,
    shared: Arc<Shared>,
    raised: Raised,
}

/// The command whose outcome is an array. It is none of the command line.
const LEAF: &str = "leaf";

/// What a command has found.
enum FoundOutcome {
    /// The object of `--json`.
    Json(String),
    Leaves(Leaves),
}

/// What the thread and Python share.
#[derive(Default)]
struct Shared {
    control: Arc<Control>,
    outcome: Mutex<Option<Result<FoundOutcome>>>,
    has_ended: Condvar,
}

#[pymethods]
impl Command {
    /// Begins the command `name` with `options`, a JSON object; `leaf` takes the options of `plan`. `input` stands in place of
    /// files. The thread of the command calls `ended` without arguments when the command is over. If there are
    /// `keywords`, hints name no others.
    #[new]
    #[pyo3(signature = (name, options, input=None, ended=None, keywords=None))]
    fn new(
        py: Python<'_>,
        name: String,
        options: String,
        input: Option<&PyInput>,
        ended: Option<Py<PyAny>>,
        keywords: Option<Vec<String>>,
    ) -> Self {
        let given = input.map(|input| input.handed(py));
        let raised = given.as_ref().map(|given| given.raised.clone()).unwrap_or_default();
        let shared = Arc::new(Shared::default());
        let (of_thread, command) = (Arc::clone(&shared), name.clone());
        thread::spawn(move || {
            let outcome = carry_out(&command, &options, given, &of_thread.control);
            *of_thread.outcome() = Some(outcome);
            of_thread.has_ended.notify_all();
            // At the end of the interpreter nothing waits.
            let _ = attached(|py| ended.map(|ended| ended.call0(py).map(drop)));
        });
        Self { call: Call { command: name, keywords }, shared, raised }
    }

    /// Waits for the end of the command, but no longer than so many seconds; whether it is over.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| {
            let Shared { has_ended, .. } = &*self.shared;
            let waiting =
                has_ended.wait_timeout_while(self.shared.outcome(), time, |it| it.is_none());
            waiting.unwrap_or_else(PoisonError::into_inner).0.is_some()
        })
    }

    /// Asks the command to end in order, as Ctrl-C does.
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

    /// The outcome of a command that is over, as `--json` has it, or as an array. Of a failure also its words, and the
    /// exception that has ended the stream it was of, if one has.
    fn outcome<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, Option<String>, Option<PyErr>)> {
        let text = |json: &str| PyString::new(py, json).into_any();
        match &*self.shared.outcome() {
            None => Err(PyRuntimeError::new_err("the command has not finished")),
            Some(Ok(FoundOutcome::Json(json))) => Ok((text(json), None, None)),
            Some(Ok(FoundOutcome::Leaves(found))) => {
                let array = Bound::new(py, Array::new(found)?)?;
                Ok((array.into_any(), None, None))
            }
            Some(Err(error)) => {
                let (json, said, raised) = parts(&self.call, error, &self.raised);
                Ok((text(&json), Some(said), raised))
            }
        }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        // Nobody could stop it any more.
        self.shared.control.stop.interrupt();
    }
}

impl Shared {
    fn outcome(&self) -> MutexGuard<'_, Option<Result<FoundOutcome>>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn carry_out(
    name: &str,
    options: &str,
    given: Option<GivenInput>,
    control: &Arc<Control>,
) -> Result<FoundOutcome> {
    let run = || {
        let given = given.map(GivenInput::inputs).transpose()?;
        match name {
            LEAF => door::leaves(options, given, control).map(FoundOutcome::Leaves),
            _ => door::run(name, options, given, control).map(FoundOutcome::Json),
        }
    };
    // Nothing of it is used after a panic.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_: Box<dyn Any + Send>| {
        let message = "internal error: the thread of the command ended unexpectedly";
        Err(Error::new(Kind::Internal, message).with_sqlstate("XX000"))
    })
}
