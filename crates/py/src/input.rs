//! What Python has, as an input of a load.

use arrow_array::RecordBatch;
use arrow_schema::{ArrowError, Schema, SchemaRef};
use pgsluice::Inputs;
use pgsluice::source::Input as Source;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::stream::{Batches, Bytes, Raised, plain, reader};

/// An input of one load.
#[pyclass(frozen, module = "pgsluice._native")]
pub(crate) struct Input {
    pub(crate) inputs: Inputs,
    pub(crate) raised: Raised,
}

#[pymethods]
impl Input {
    /// The batches of objects that are in memory; their buffers are shared.
    #[staticmethod]
    fn table(py: Python<'_>, name: String, objects: Vec<Bound<'_, PyAny>>) -> PyResult<Self> {
        let (mut schema, mut batches) = (None::<SchemaRef>, Vec::new());
        for object in &objects {
            let reader = reader(object)?;
            schema.get_or_insert_with(|| reader.schema());
            let all = py.detach(|| reader.collect::<Result<Vec<RecordBatch>, ArrowError>>());
            batches.extend(all.map_err(|error| PyValueError::new_err(plain(&error)))?);
        }
        let schema = schema.unwrap_or_else(|| Schema::empty().into());
        let inputs = Source::of_table(name, schema, batches).into();
        Ok(Self { inputs, raised: Raised::default() })
    }

    /// The batches of objects that come one after the other.
    #[staticmethod]
    fn stream(name: String, objects: Bound<'_, PyIterator>) -> Self {
        let raised = Raised::default();
        let items = objects.unbind();
        let batches = Batches { name: name.clone(), items, raised: raised.clone(), open: None };
        Self { inputs: Source::of_stream(name, batches).into(), raised }
    }

    /// Bytes that come piece by piece.
    #[staticmethod]
    fn reader(name: String, pieces: Bound<'_, PyIterator>) -> Self {
        let raised = Raised::default();
        let bytes = Bytes { pieces: pieces.unbind(), raised: raised.clone(), piece: None };
        Self { inputs: Source::of_reader(name, bytes).into(), raised }
    }
}
