//! Data that Python passes piece by piece: batches and bytes. One thread of the load reads each input, and
//! holds the interpreter only while it asks for the next piece.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ArrowError;
use pgsluice::{Error, Kind, Result};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::{PyCapsule, PyIterator};
use pyo3_arrow::input::AnyRecordBatch;
use pyo3_arrow::{PyRecordBatch, PyRecordBatchReader};

use crate::attached::{Inside, attach};

/// The reason why a stream ends at the end of the program.
const ENDING: &str = "the interpreter is shutting down";

/// The batches of one piece.
type PyReader = Box<dyn RecordBatchReader + Send>;

/// The exception that ended a stream, if any.
#[derive(Clone, Debug, Default)]
pub(crate) struct CaughtException(Arc<Mutex<Option<PyErr>>>);

impl CaughtException {
    /// Returns the exception, and forgets it.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Stores an exception, and describes it.
    fn store(&self, py: Python<'_>, raised: PyErr) -> String {
        let name = raised.get_type(py).name().map_or_else(|_| String::new(), |it| it.to_string());
        let text = raised.value(py).to_string();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
        if text.is_empty() { name } else { format!("{name}: {text}") }
    }

    /// Runs `work` while holding the interpreter. Returns its result, or a description of the failure.
    pub(crate) fn attach<T>(
        &self,
        work: impl for<'py> FnOnce(Python<'py>) -> PyResult<T>,
    ) -> std::result::Result<T, String> {
        let done = attach(|py| work(py).map_err(|raised| self.store(py, raised)));
        done.unwrap_or_else(|| Err(ENDING.to_owned()))
    }
}

/// The batches of successive objects.
pub(crate) struct BatchStream {
    name: String,
    items: Py<PyIterator>,
    raised: CaughtException,
    /// The object whose batches are being read, and whether it has returned any.
    open: Option<(PyReader, bool)>,
}

impl BatchStream {
    pub(crate) fn new(name: &str, items: Py<PyIterator>, raised: CaughtException) -> Self {
        Self { name: name.to_owned(), items, raised, open: None }
    }

    /// Returns the next object, or `None` at the end.
    fn next_item(&self) -> Result<Option<PyReader>> {
        let next = self.raised.attach(|py| match self.items.bind(py).clone().next() {
            None => Ok(None),
            Some(item) => reader(&item?).map(Some),
        });
        next.map_err(|why| unreadable(&self.name, &why))
    }
}

impl Iterator for BatchStream {
    type Item = Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((reader, has_come)) = &mut self.open {
                let has_come = std::mem::replace(has_come, true);
                // The object's library may call into Python.
                let Some(_inside) = Inside::go() else {
                    return Some(Err(unreadable(&self.name, ENDING)));
                };
                match reader.next() {
                    Some(Ok(batch)) => return Some(Ok(batch)),
                    Some(Err(error)) => return Some(Err(unreadable(&self.name, &plain(&error)))),
                    None => {
                        let schema = reader.schema();
                        self.open = None;
                        // It has columns even if it has no rows.
                        if !has_come {
                            return Some(Ok(RecordBatch::new_empty(schema)));
                        }
                    }
                }
            }
            match self.next_item() {
                Ok(None) => return None,
                Ok(Some(reader)) => self.open = Some((reader, false)),
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

/// Returns the batches of one object.
fn reader(item: &Bound<'_, PyAny>) -> PyResult<PyReader> {
    let name = item.get_type().name()?;
    // If the export fails, the library's own error is best: pyarrow's names the part of a pandas frame that
    // it cannot convert.
    let rows = if item.hasattr("__arrow_c_array__")? {
        let exported = item.call_method0("__arrow_c_array__")?;
        let (schema, array) = exported.extract::<(Bound<'_, PyCapsule>, Bound<'_, PyCapsule>)>()?;
        PyRecordBatch::from_arrow_pycapsule(&schema, &array).map(AnyRecordBatch::RecordBatch)
    } else if item.hasattr("__arrow_c_stream__")? {
        let stream = item.call_method0("__arrow_c_stream__")?.cast_into()?;
        PyRecordBatchReader::from_arrow_pycapsule(&stream).map(AnyRecordBatch::Stream)
    } else {
        return Err(PyTypeError::new_err(format!("an object of type {name} has no Arrow data")));
    };
    let rows = rows.map_err(|error| {
        let column = PyTypeError::new_err(format!(
            "an object of type {name} has Arrow data, but is not a table"
        ));
        column.set_cause(item.py(), Some(error));
        column
    });
    rows?.into_reader()
}

/// Returns the error for data that cannot be read.
fn unreadable(name: &str, why: &str) -> Error {
    Error::new(Kind::Input, format!("could not read {name}: {why}"))
}

/// Returns the message of the library that passes the batches, without the name of the interface.
fn plain(error: &ArrowError) -> String {
    match error {
        ArrowError::CDataInterface(why) => why.clone(),
        other => other.to_string(),
    }
}

/// A stream of bytes in pieces.
pub(crate) struct Bytes {
    pieces: Py<PyIterator>,
    raised: CaughtException,
    /// The piece that is being read, and the number of its bytes that were read.
    piece: Option<(PyBackedBytes, usize)>,
}

impl Bytes {
    pub(crate) fn new(pieces: Py<PyIterator>, raised: CaughtException) -> Self {
        Self { pieces, raised, piece: None }
    }
}

impl Read for Bytes {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some((piece, at)) = &mut self.piece {
                let rest = &piece[*at..];
                let count = rest.len().min(into.len());
                into[..count].copy_from_slice(&rest[..count]);
                *at += count;
                if count > 0 || into.is_empty() {
                    return Ok(count);
                }
            }
            let pieces = &self.pieces;
            let next = self.raised.attach(|py| match pieces.bind(py).clone().next() {
                None => Ok(None),
                Some(piece) => piece?.extract::<PyBackedBytes>().map(Some).map_err(Into::into),
            });
            match next.map_err(io::Error::other)? {
                None => return Ok(0),
                Some(piece) => self.piece = Some((piece, 0)),
            }
        }
    }
}
