//! Data from Python as an input of a load. The load's own thread reads it, not the thread that waits.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use pgsluice::source::{Credential, FileFormat, Input as Source};
use pgsluice::{Inputs, Result};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyIterator;

use crate::stream::{BatchStream, Bytes, CaughtException};

/// An input of one load.
#[pyclass(frozen, name = "Input", module = "pgsluice._native")]
pub(crate) struct PyInput(GivenInput);

/// The data and its name.
pub(crate) struct GivenInput {
    name: String,
    kind: GivenKind,
    pub(crate) raised: CaughtException,
}

enum GivenKind {
    /// Objects whose Arrow data is in memory.
    Table(Py<PyIterator>),
    /// Objects whose columns may differ in their types, and the sorted numbers of the rows to leave out.
    Tables(Py<PyIterator>, Arc<[u64]>),
    /// Objects with Arrow data.
    Stream(Py<PyIterator>),
    /// Bytes in pieces.
    Reader(Py<PyIterator>, Lines),
    /// All bytes.
    Text(Arc<[u8]>, Lines),
    /// Addresses of objects, and the function that gives the credentials for them.
    Objects(Vec<String>, Py<PyAny>),
}

/// The format of lines that the program generates, or `None` for bytes of any format.
type Lines = Option<FileFormat>;

#[pymethods]
impl PyInput {
    /// Return an input of the batches of objects in memory. Their buffers are shared.
    #[staticmethod]
    fn table(name: String, objects: Bound<'_, PyIterator>) -> Self {
        Self(GivenInput::new(name, GivenKind::Table(objects.unbind())))
    }

    /// Return an input of the batches of objects in memory, each with its own columns. The rows whose numbers
    /// are in `without`, which is sorted, are left out.
    #[staticmethod]
    fn tables(name: String, objects: Bound<'_, PyIterator>, without: Vec<u64>) -> Self {
        Self(GivenInput::new(name, GivenKind::Tables(objects.unbind(), without.into())))
    }

    /// Return an input of the batches of successive objects.
    #[staticmethod]
    fn stream(name: String, objects: Bound<'_, PyIterator>) -> Self {
        Self(GivenInput::new(name, GivenKind::Stream(objects.unbind())))
    }

    /// Return an input of bytes in pieces: of any format, or lines of `dicts`, `rows` or `ndjson`.
    #[staticmethod]
    #[pyo3(signature = (name, pieces, lines=None))]
    fn reader(name: String, pieces: Bound<'_, PyIterator>, lines: Option<&str>) -> PyResult<Self> {
        let kind = GivenKind::Reader(pieces.unbind(), parse_lines(lines)?);
        Ok(Self(GivenInput::new(name, kind)))
    }

    /// Return an input of objects. `provider` gives the credentials: see `pgsluice.objects`.
    #[staticmethod]
    fn objects(names: Vec<String>, provider: Bound<'_, PyAny>) -> Self {
        Self(GivenInput::new(String::new(), GivenKind::Objects(names, provider.unbind())))
    }

    /// Return an input of bytes in memory: of any format, or lines of `dicts`, `rows` or `ndjson`.
    #[staticmethod]
    #[pyo3(signature = (name, text, lines=None))]
    fn text(name: String, text: PyBackedBytes, lines: Option<&str>) -> PyResult<Self> {
        Ok(Self(GivenInput::new(name, GivenKind::Text(text[..].into(), parse_lines(lines)?))))
    }
}

fn parse_lines(name: Option<&str>) -> PyResult<Lines> {
    match name {
        None => Ok(None),
        Some("dicts") => Ok(Some(FileFormat::Dicts)),
        Some("ndjson") => Ok(Some(FileFormat::Ndjson)),
        Some("rows") => Ok(Some(FileFormat::Rows)),
        Some(name) => {
            Err(PyValueError::new_err(format!("lines must be dicts, rows or ndjson, not {name}")))
        }
    }
}

impl PyInput {
    /// Whether it is known to have no rows.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(&self.0.kind, GivenKind::Text(text, _) if text.is_empty())
    }

    /// Clones the data for another thread.
    pub(crate) fn clone_given(&self, py: Python<'_>) -> GivenInput {
        let GivenInput { name, kind, raised } = &self.0;
        let kind = match kind {
            GivenKind::Table(items) => GivenKind::Table(items.clone_ref(py)),
            GivenKind::Tables(items, without) => {
                GivenKind::Tables(items.clone_ref(py), Arc::clone(without))
            }
            GivenKind::Stream(items) => GivenKind::Stream(items.clone_ref(py)),
            GivenKind::Reader(pieces, lines) => GivenKind::Reader(pieces.clone_ref(py), *lines),
            GivenKind::Text(text, lines) => GivenKind::Text(Arc::clone(text), *lines),
            GivenKind::Objects(names, provider) => {
                GivenKind::Objects(names.clone(), provider.clone_ref(py))
            }
        };
        GivenInput { name: name.clone(), kind, raised: raised.clone() }
    }
}

/// Calls the function that gives a credential: a mapping with the names of its parts, and `expires_at`, a datetime
/// or None.
fn credential(provider: &Bound<'_, PyAny>) -> PyResult<Credential> {
    let mut credential = Credential::default();
    for item in provider.call0()?.call_method0("items")?.try_iter()? {
        let (name, value): (String, Bound<'_, PyAny>) = item?.extract()?;
        match &*name {
            _ if value.is_none() => {}
            "expires_at" => {
                let seconds: f64 = value.call_method0("timestamp")?.extract()?;
                credential.expires_at = Some(seconds as i64);
            }
            _ => drop(credential.parts.insert(name, value.extract()?)),
        }
    }
    Ok(credential)
}

impl GivenInput {
    fn new(name: String, kind: GivenKind) -> Self {
        Self { name, kind, raised: CaughtException::default() }
    }

    /// Converts the data into an input. Takes all batches of objects in memory.
    pub(crate) fn inputs(self) -> Result<Inputs> {
        Ok(self.into_numbered()?.0)
    }

    /// Converts the data into an input. If its rows have numbers, also returns the number of the first row of
    /// each part.
    pub(crate) fn into_numbered(self) -> Result<(Inputs, Vec<u64>)> {
        let Self { name, kind, raised } = self;
        let input = match kind {
            GivenKind::Table(items) => {
                Source::from_table(&name, BatchStream::new(&name, items, raised))?
            }
            GivenKind::Tables(items, without) => {
                let mut rest = InputRest::new(&without);
                let batches =
                    BatchStream::new(&name, items, raised).flat_map(|batch| rest.slice_rest(batch));
                let inputs = Source::from_tables(&name, batches)?;
                return Ok((inputs, rest.starts));
            }
            GivenKind::Stream(items) => {
                Source::from_stream(&name, BatchStream::new(&name, items, raised))
            }
            GivenKind::Reader(pieces, lines) => {
                holding(Source::from_reader(&name, Bytes::new(pieces, raised)), lines)
            }
            GivenKind::Text(text, lines) => holding(Source::from_bytes(&name, text), lines),
            GivenKind::Objects(names, provider) => {
                let provide = Arc::new(move || raised.attach(|py| credential(provider.bind(py))));
                return Ok((Inputs::resolve_with(names, provide)?, Vec::new()));
            }
        };
        Ok((input.into(), Vec::new()))
    }
}

/// A filter that removes rows from batches.
struct InputRest<'w> {
    without: &'w [u64],
    /// The number of the next row, and the number of rows before it that are kept.
    row: u64,
    left: u64,
    schema: Option<SchemaRef>,
    /// For each run of batches with the same columns, the number of its first row among the kept rows.
    starts: Vec<u64>,
}

impl<'w> InputRest<'w> {
    fn new(without: &'w [u64]) -> Self {
        Self { without, row: 0, left: 0, schema: None, starts: Vec::new() }
    }

    /// Returns the kept rows of the next batch, in slices.
    fn slice_rest(&mut self, batch: Result<RecordBatch>) -> Vec<Result<RecordBatch>> {
        let batch = match batch {
            Ok(batch) => batch,
            Err(error) => return vec![Err(error)],
        };
        if self.schema.as_ref() != Some(batch.schema_ref()) {
            self.schema = Some(batch.schema());
            self.starts.push(self.left);
        }
        let (rows, first) = (batch.num_rows(), self.row);
        self.row += rows as u64;
        let here = self.without.iter().take_while(|row| **row < self.row).count();
        let (here, later) = self.without.split_at(here);
        self.without = later;
        if here.is_empty() {
            self.left += rows as u64;
            return vec![Ok(batch)];
        }
        let ends = here.iter().map(|row| (row - first) as usize).chain([rows]);
        let mut begin = 0;
        let slices = ends.map(|end| {
            let slice = batch.slice(begin, end - begin);
            begin = end + 1;
            slice
        });
        let slices: Vec<_> = slices.collect();
        self.left += slices.iter().map(|slice| slice.num_rows() as u64).sum::<u64>();
        slices.into_iter().map(Ok).collect()
    }
}

/// Returns the input with the format of its lines.
fn holding(input: Source, lines: Lines) -> Source {
    match lines {
        Some(format) => input.holding(format),
        None => input,
    }
}
