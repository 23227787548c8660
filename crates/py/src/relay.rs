//! Rows for a connection that belongs to Python.

use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use pgsluice::core::format::{Format, Syntax};
use pgsluice::gather::relay::{Copy, Piece, Relay as Rows};
use pgsluice::{Control, Error, Kind, Result};
use pgsluice_cli::door;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes, PyDict};

use crate::failure::failure;
use crate::input::PyInput;
use crate::stream::CaughtException;

/// Rows that separate threads gather for one COPY after the other.
#[pyclass(frozen, weakref, name = "Relay", module = "pgsluice._native")]
pub(crate) struct PyRelay {
    control: Arc<Control>,
    beginning: Mutex<Receiver<Result<Rows>>>,
    rows: Mutex<Option<Rows>>,
    raised: CaughtException,
}

#[pymethods]
impl PyRelay {
    /// Begin to read the tree and the rows. `options` and `input` are as for a load.
    #[new]
    #[pyo3(signature = (options, input=None))]
    fn new(py: Python<'_>, options: String, input: Option<&PyInput>) -> Self {
        let given = input.map(|input| input.clone_given(py));
        let raised = given.as_ref().map(|given| given.raised.clone()).unwrap_or_default();
        let control = Arc::new(Control::default());
        let of_thread = Arc::clone(&control);
        let (begun, beginning) = sync_channel(1);
        thread::spawn(move || {
            let begin = || {
                let given = given.map(|given| given.inputs()).transpose()?;
                door::RowOptions::new(&options, given)?.relay(&of_thread)
            };
            let _ = begun.send(begin());
        });
        Self { control, beginning: Mutex::new(beginning), rows: Mutex::default(), raised }
    }

    /// Wait until the tree is read, for at most `seconds`. Return whether it is. After that, call
    /// `questions`, `check` and `next`.
    fn is_ready(&self, py: Python<'_>, seconds: f64) -> PyResult<bool> {
        let wait = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let begun = py.detach(|| {
            let beginning = self.beginning.lock().unwrap_or_else(PoisonError::into_inner);
            beginning.recv_timeout(wait)
        });
        let begun = match begun {
            Ok(begun) => begun,
            Err(RecvTimeoutError::Timeout) => return Ok(false),
            Err(RecvTimeoutError::Disconnected) => Err(lost()),
        };
        *self.rows() = Some(begun.map_err(|error| failure(&error, &self.raised))?);
        Ok(true)
    }

    /// Return the statements to run in the caller's transaction. `check` takes the answer to the last one.
    fn questions(&self) -> PyResult<Vec<String>> {
        self.with(|rows| Ok(rows.questions()))
    }

    /// Raise an error if the table in the caller's transaction is not the one whose rows are gathered.
    fn check(&self, answer: Option<&str>) -> PyResult<()> {
        self.with(|rows| rows.check(answer))
    }

    /// Return the table's name for messages, and the number of rows that were handed over.
    fn so_far(&self) -> PyResult<(String, u64)> {
        self.with(|rows| Ok((rows.table(), rows.rows())))
    }

    /// Return the next piece: a COPY as a tuple of its statement and its options, bytes for it, or None at the
    /// end of a COPY and at the end of all rows. Return False if no piece arrives within `seconds`.
    fn next<'py>(&self, py: Python<'py>, seconds: f64) -> PyResult<Bound<'py, PyAny>> {
        let wait = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let next = py.detach(|| {
            let mut rows = self.rows();
            rows.as_mut().map(|rows| rows.next(wait))
        });
        let next = next.ok_or_else(not_ready)?.map_err(|error| failure(&error, &self.raised))?;
        match next {
            None => Ok(PyBool::new(py, false).to_owned().into_any()),
            Some(Piece::Begin(copy)) => {
                Ok((&copy.statement, options(py, &copy)?).into_pyobject(py)?.into_any())
            }
            Some(Piece::Rows(bytes)) => Ok(PyBytes::new(py, &bytes).into_any()),
            Some(Piece::End | Piece::Done) => Ok(py.None().into_bound(py)),
        }
    }

    /// Stop reading.
    fn stop(&self) {
        self.control.stop.interrupt();
    }
}

impl PyRelay {
    fn rows(&self) -> MutexGuard<'_, Option<Rows>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with<T>(&self, work: impl FnOnce(&Rows) -> Result<T>) -> PyResult<T> {
        let rows = self.rows();
        let done = work(rows.as_ref().ok_or_else(not_ready)?);
        done.map_err(|error| failure(&error, &self.raised))
    }
}

impl Drop for PyRelay {
    fn drop(&mut self) {
        self.control.stop.interrupt();
    }
}

/// Returns the arguments for asyncpg's `copy_to_table`, or `None` if it does not support the COPY's options.
fn options<'py>(py: Python<'py>, copy: &Copy) -> PyResult<Option<Bound<'py, PyDict>>> {
    let Copy { table: [schema, table], columns, format, has_field_options, .. } = copy;
    if *has_field_options {
        return Ok(None);
    }
    let options = PyDict::new(py);
    options.set_item("schema_name", schema)?;
    options.set_item("table_name", table)?;
    options.set_item("columns", columns)?;
    let Some(Format { delimiter, null, syntax, .. }) = format else {
        options.set_item("format", "binary")?;
        return Ok(Some(options));
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    options.set_item("delimiter", text(&[*delimiter]))?;
    options.set_item("null", text(null))?;
    match syntax {
        Syntax::Text => options.set_item("format", "text")?,
        Syntax::Csv { quote, escape, .. } => {
            options.set_item("format", "csv")?;
            options.set_item("quote", text(&[*quote]))?;
            options.set_item("escape", text(&[*escape]))?;
        }
    }
    Ok(Some(options))
}

fn not_ready() -> PyErr {
    PyRuntimeError::new_err("the tree has not been read yet")
}

fn lost() -> Error {
    let message = "internal error: the thread that gathers rows ended unexpectedly";
    Error::new(Kind::Internal, message).with_sqlstate("XX000")
}
