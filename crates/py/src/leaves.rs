//! The leaves of rows as an Arrow array, which any library can import through Arrow's C interface.

use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{Array as _, DictionaryArray, Int32Array, StringArray};
use arrow_schema::Field;
use pgsluice::inspect::leaves::Leaves;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};
use pyo3_arrow::error::PyArrowResult;
use pyo3_arrow::ffi::to_array_pycapsules;

/// The name of each row's leaf, dictionary-encoded.
#[pyclass(frozen, module = "pgsluice._native")]
pub(crate) struct Array(DictionaryArray<Int32Type>);

impl Array {
    pub(crate) fn new(Leaves { names, indexes }: &Leaves) -> PyResult<Self> {
        let places = indexes.iter().map(|place| place.map(i32::try_from).transpose());
        let places = places.collect::<Result<Vec<Option<i32>>, _>>();
        let too_many = |_| PyRuntimeError::new_err("there are too many leaves");
        let places = Int32Array::from(places.map_err(too_many)?);
        let names = Arc::new(StringArray::from_iter_values(names));
        let array = DictionaryArray::try_new(places, names);
        array.map(Self).map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }
}

#[pymethods]
impl Array {
    /// Return the array through Arrow's C interface.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyArrowResult<Bound<'py, PyTuple>> {
        let field = Field::new("leaf", self.0.data_type().clone(), true);
        to_array_pycapsules(py, Arc::new(field), &self.0, requested_schema)
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }

    fn __repr__(&self) -> String {
        format!("<Array: {} rows, {} leaves>", self.0.len(), self.0.values().len())
    }
}
