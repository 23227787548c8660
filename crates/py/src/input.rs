//! What Python has, as an input of a load. The load's own thread looks at it, and not the one that waits.

use pgsluice::source::Input as Source;
use pgsluice::{Inputs, Result};
use pyo3::prelude::*;
use pyo3::types::PyIterator;

use crate::stream::{Batches, Bytes, Raised};

/// An input of one load.
#[pyclass(frozen, module = "pgsluice._native")]
pub(crate) struct Input(Handed);

/// What is handed over: an iterator, of such.
pub(crate) struct Handed {
    name: String,
    items: Py<PyIterator>,
    kind: Kind,
    pub(crate) raised: Raised,
}

#[derive(Clone, Copy)]
enum Kind {
    /// Objects whose Arrow data is in memory.
    Table,
    /// Objects with Arrow data.
    Stream,
    /// Bytes.
    Reader,
}

#[pymethods]
impl Input {
    /// The batches of objects that are in memory; their buffers are shared.
    #[staticmethod]
    fn table(name: String, objects: Bound<'_, PyIterator>) -> Self {
        Self(Handed::new(name, objects, Kind::Table))
    }

    /// The batches of objects that come one after the other.
    #[staticmethod]
    fn stream(name: String, objects: Bound<'_, PyIterator>) -> Self {
        Self(Handed::new(name, objects, Kind::Stream))
    }

    /// Bytes that come piece by piece.
    #[staticmethod]
    fn reader(name: String, pieces: Bound<'_, PyIterator>) -> Self {
        Self(Handed::new(name, pieces, Kind::Reader))
    }
}

impl Input {
    /// What is handed over, for another thread.
    pub(crate) fn handed(&self, py: Python<'_>) -> Handed {
        let Handed { name, items, kind, raised } = &self.0;
        let items = items.clone_ref(py);
        Handed { name: name.clone(), items, kind: *kind, raised: raised.clone() }
    }
}

impl Handed {
    fn new(name: String, items: Bound<'_, PyIterator>, kind: Kind) -> Self {
        Self { name, items: items.unbind(), kind, raised: Raised::default() }
    }

    /// The input. Of what is in memory all batches are taken.
    pub(crate) fn inputs(self) -> Result<Inputs> {
        let Self { name, items, kind, raised } = self;
        let input = match kind {
            Kind::Table => Source::of_table(&name, Batches::new(&name, items, raised))?,
            Kind::Stream => Source::of_stream(&name, Batches::new(&name, items, raised)),
            Kind::Reader => Source::of_reader(&name, Bytes::new(items, raised)),
        };
        Ok(input.into())
    }
}
