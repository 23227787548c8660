//! A command in its own thread. Python waits for it, reads its progress, and stops it.

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

use crate::attached::attach;
use crate::events::EventQueue;
use crate::failure::parts;
use crate::input::{GivenInput, PyInput};
use crate::leaves::Array;
use crate::stream::CaughtException;
use crate::words::Call;

/// A running or finished command.
#[pyclass(frozen, weakref, module = "pgsluice._native")]
pub(crate) struct Command {
    call: Call,
    shared: Arc<Shared>,
    raised: CaughtException,
    events: Arc<EventQueue>,
}

/// The command whose outcome is an array. The command line does not have it.
const LEAF: &str = "leaf";

/// The result of a command.
enum FoundOutcome {
    /// The object of `--json`.
    Json(String),
    Leaves(Leaves),
}

/// State that the thread shares with Python.
#[derive(Default)]
struct Shared {
    control: Arc<Control>,
    outcome: Mutex<Option<Result<FoundOutcome>>>,
    has_ended: Condvar,
}

#[pymethods]
impl Command {
    /// Run the command `name` in a thread, with `options`, a JSON object; `leaf` takes the options of `plan`.
    /// `input` replaces the files. The thread calls `ended` without arguments when the command is over. If
    /// `keywords` are given, hints mention only these. Events from `level` on are queued, a level of `logging`.
    #[new]
    #[pyo3(signature = (name, options, input=None, ended=None, keywords=None, level=None))]
    fn new(
        py: Python<'_>,
        name: String,
        options: String,
        input: Option<&PyInput>,
        ended: Option<Py<PyAny>>,
        keywords: Option<Vec<String>>,
        level: Option<u8>,
    ) -> Self {
        let given = input.map(|input| input.clone_given(py));
        let raised = given.as_ref().map(|given| given.raised.clone()).unwrap_or_default();
        let shared = Arc::new(Shared::default());
        let events = EventQueue::begin(level, &shared.control);
        let (of_thread, command) = (Arc::clone(&shared), name.clone());
        thread::spawn(move || {
            let outcome = carry_out(&command, &options, given, &of_thread.control);
            *of_thread.outcome() = Some(outcome);
            of_thread.has_ended.notify_all();
            // At the end of the interpreter nothing is waiting.
            let _ = attach(|py| ended.map(|ended| ended.call0(py).map(drop)));
        });
        Self { call: Call { command: name, keywords }, shared, raised, events }
    }

    /// Return the level and the text of each event since the last call.
    fn events(&self) -> Vec<(u8, String)> {
        self.events.take()
    }

    /// Wait for the end of the command, for at most `seconds`. Return whether it is over.
    fn wait(&self, py: Python<'_>, seconds: f64) -> bool {
        let time = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        py.detach(|| {
            let Shared { has_ended, .. } = &*self.shared;
            let waiting =
                has_ended.wait_timeout_while(self.shared.outcome(), time, |it| it.is_none());
            waiting.unwrap_or_else(PoisonError::into_inner).0.is_some()
        })
    }

    /// Ask the command to end in an orderly way, as Ctrl-C does.
    fn stop(&self) {
        self.shared.control.stop.interrupt();
    }

    /// Return the progress of the load as a dict with the names of `pgsluice.Progress`.
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

    /// Return the outcome of a finished command as the JSON of `--json`, or as an array. After a failure,
    /// also return its text and the exception that ended the stream of its input, if any.
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
                let (json, message, raised) = parts(&self.call, error, &self.raised);
                Ok((text(&json), Some(message), raised))
            }
        }
    }
}

impl Drop for Command {
    fn drop(&mut self) {
        // After this, nothing could stop it.
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
    // The state is not used after a panic.
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_: Box<dyn Any + Send>| {
        let message = "internal error: the thread of the command ended unexpectedly";
        Err(Error::new(Kind::Internal, message).with_sqlstate("XX000"))
    })
}
