//! What Python hands over piece by piece: batches, and bytes. Each is taken by one thread of the load, which holds the
//! interpreter only while it asks for the next piece.

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

use crate::attached::{Inside, attached};

/// Why nothing comes any more at the end of a program.
const ENDING: &str = "the interpreter is shutting down";

/// The batches of one piece.
type PyReader = Box<dyn RecordBatchReader + Send>;

/// The exception that has ended a stream, if one has.
#[derive(Clone, Debug, Default)]
pub(crate) struct Raised(Arc<Mutex<Option<PyErr>>>);

impl Raised {
    /// What was raised; it is given away once.
    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Keeps an exception, and says in words what it is.
    fn keep(&self, py: Python<'_>, raised: PyErr) -> String {
        let name = raised.get_type(py).name().map_or_else(|_| String::new(), |it| it.to_string());
        let text = raised.value(py).to_string();
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(raised);
        if text.is_empty() { name } else { format!("{name}: {text}") }
    }

    /// What `work` returns while it holds the interpreter, or in words why it did not.
    fn attached<T>(
        &self,
        work: impl for<'py> FnOnce(Python<'py>) -> PyResult<T>,
    ) -> std::result::Result<T, String> {
        let done = attached(|py| work(py).map_err(|raised| self.keep(py, raised)));
        done.unwrap_or_else(|| Err(ENDING.to_owned()))
    }
}

/// The batches of objects that come one after the other.
pub(crate) struct BatchStream {
    name: String,
    items: Py<PyIterator>,
    raised: Raised,
    /// The one whose batches come, and whether one has come of it.
    open: Option<(PyReader, bool)>,
}

impl BatchStream {
    pub(crate) fn new(name: &str, items: Py<PyIterator>, raised: Raised) -> Self {
        Self { name: name.to_owned(), items, raised, open: None }
    }

    /// The next object; None at the end.
    fn next_item(&self) -> Result<Option<PyReader>> {
        let next = self.raised.attached(|py| match self.items.bind(py).clone().next() {
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
                // The library that it is of may ask Python for more.
                let Some(_inside) = Inside::go() else {
                    return Some(Err(unreadable(&self.name, ENDING)));
                };
                match reader.next() {
                    Some(Ok(batch)) => return Some(Ok(batch)),
                    Some(Err(error)) => return Some(Err(unreadable(&self.name, &plain(&error)))),
                    None => {
                        let schema = reader.schema();
                        self.open = None;
                        // It has columns, if no rows.
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

/// The batches of one object.
fn reader(item: &Bound<'_, PyAny>) -> PyResult<PyReader> {
    let name = item.get_type().name()?;
    // An error of the export is the library's own: pyarrow's says what it cannot convert in a frame of pandas.
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

/// The error for data that cannot be read.
fn unreadable(name: &str, why: &str) -> Error {
    Error::new(Kind::Input, format!("could not read {name}: {why}"))
}

/// What the library that hands batches over says, without the name of the interface.
fn plain(error: &ArrowError) -> String {
    match error {
        ArrowError::CDataInterface(why) => why.clone(),
        other => other.to_string(),
    }
}

/// Bytes that come one piece after the other.
pub(crate) struct Bytes {
    pieces: Py<PyIterator>,
    raised: Raised,
    /// The piece that is read, and how far.
    piece: Option<(PyBackedBytes, usize)>,
}

impl Bytes {
    pub(crate) fn new(pieces: Py<PyIterator>, raised: Raised) -> Self {
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
            let next = self.raised.attached(|py| match pieces.bind(py).clone().next() {
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
