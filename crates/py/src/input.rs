//! What Python has, as an input of a load. The load's own thread looks at it, and not the one that waits.

use std::sync::Arc;

use pgsluice::source::Input as Source;
use pgsluice::{Inputs, Result};
use pyo3::prelude::*;
use pyo3::pybacked::PyBackedBytes;
use pyo3::types::PyIterator;

use crate::stream::{Batches, Bytes, Raised};

/// An input of one load.
#[pyclass(frozen, module = "pgsluice._native")]
pub(crate) struct Input(Handed);

/// What is handed over.
pub(crate) struct Handed {
    name: String,
    kind: Kind,
    pub(crate) raised: Raised,
}

enum Kind {
    /// Objects whose Arrow data is in memory.
    Table(Py<PyIterator>),
    /// Objects with Arrow data.
    Stream(Py<PyIterator>),
    /// Bytes, piece by piece.
    Reader(Py<PyIterator>),
    /// All bytes.
    Text(Arc<[u8]>),
}

#[pymethods]
impl Input {
    /// The batches of objects that are in memory; their buffers are shared.
    #[staticmethod]
    fn table(name: String, objects: Bound<'_, PyIterator>) -> Self {
        Self(Handed::new(name, Kind::Table(objects.unbind())))
    }

    /// The batches of objects that come one after the other.
    #[staticmethod]
    fn stream(name: String, objects: Bound<'_, PyIterator>) -> Self {
        Self(Handed::new(name, Kind::Stream(objects.unbind())))
    }

    /// Bytes that come piece by piece.
    #[staticmethod]
    fn reader(name: String, pieces: Bound<'_, PyIterator>) -> Self {
        Self(Handed::new(name, Kind::Reader(pieces.unbind())))
    }

    /// Bytes that are in memory.
    #[staticmethod]
    fn text(name: String, text: PyBackedBytes) -> Self {
        Self(Handed::new(name, Kind::Text(text[..].into())))
    }
}

impl Input {
    /// What is handed over, for another thread.
    pub(crate) fn handed(&self, py: Python<'_>) -> Handed {
        let Handed { name, kind, raised } = &self.0;
        let kind = match kind {
            Kind::Table(items) => Kind::Table(items.clone_ref(py)),
            Kind::Stream(items) => Kind::Stream(items.clone_ref(py)),
            Kind::Reader(pieces) => Kind::Reader(pieces.clone_ref(py)),
            Kind::Text(text) => Kind::Text(Arc::clone(text)),
        };
        Handed { name: name.clone(), kind, raised: raised.clone() }
    }
}

impl Handed {
    fn new(name: String, kind: Kind) -> Self {
        Self { name, kind, raised: Raised::default() }
    }

    /// The input. Of what is in memory all batches are taken.
    pub(crate) fn inputs(self) -> Result<Inputs> {
        let Self { name, kind, raised } = self;
        let input = match kind {
            Kind::Table(items) => Source::of_table(&name, Batches::new(&name, items, raised))?,
            Kind::Stream(items) => Source::of_stream(&name, Batches::new(&name, items, raised)),
            Kind::Reader(pieces) => Source::of_reader(&name, Bytes::new(pieces, raised)),
            Kind::Text(text) => Source::of_bytes(&name, text),
        };
        Ok(input.into())
    }
}
