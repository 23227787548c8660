//! What Python has, as an input of a load.

use arrow_schema::{Schema, SchemaRef};
use pgsluice::source::Input as Source;
use pgsluice::{Inputs, Result};
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::stream::{Batches, Bytes, Raised, plain, reader, unreadable};

/// An input of one load.
#[pyclass(frozen, module = "pgsluice._native")]
pub(crate) struct Input {
    /// Or why it is none.
    pub(crate) inputs: Result<Inputs>,
    pub(crate) raised: Raised,
}

#[pymethods]
impl Input {
    /// The batches of objects that are in memory; their buffers are shared.
    #[staticmethod]
    fn table(py: Python<'_>, name: String, objects: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let readers = objects.iter().map(reader).collect::<PyResult<Vec<_>>>()?;
        let schema = readers.first().map(|reader| reader.schema());
        let schema: SchemaRef = schema.unwrap_or_else(|| Schema::empty().into());
        let unreadable = |error| unreadable(&name, &plain(&error));
        let batches = readers.into_iter().flatten().map(|batch| batch.map_err(unreadable));
        let inputs = py.detach(|| Source::of_table(&name, schema, batches)).map(Inputs::from);
        Ok(Self { inputs, raised: Raised::default() })
    }

    /// The batches of objects that come one after the other.
    #[staticmethod]
    fn stream(name: String, objects: Bound<'_, PyIterator>) -> Self {
        let raised = Raised::default();
        let items = objects.unbind();
        let batches = Batches { name: name.clone(), items, raised: raised.clone(), open: None };
        Self { inputs: Ok(Source::of_stream(name, batches).into()), raised }
    }

    /// Bytes that come piece by piece.
    #[staticmethod]
    fn reader(name: String, pieces: Bound<'_, PyIterator>) -> Self {
        let raised = Raised::default();
        let bytes = Bytes { pieces: pieces.unbind(), raised: raised.clone(), piece: None };
        Self { inputs: Ok(Source::of_reader(name, bytes).into()), raised }
    }
}
