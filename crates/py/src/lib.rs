//! The Python extension module `pgsluice._native`.
//!
//! It is separate from the command line, so that the program never needs a Python to start. It runs the
//! command line, and its commands on data from Python; Python does none of the work.

mod attached;
mod command;
mod events;
mod failure;
mod input;
mod leaves;
mod relay;
mod stream;
mod words;
mod writer;

use std::ffi::OsString;
use std::path::PathBuf;

use pyo3::prelude::*;

/// Run the command line and return its exit status. `args[0]` is the program's name.
///
/// The interpreter is released, so that other Python threads can run.
#[pyfunction]
fn run(py: Python<'_>, args: Vec<OsString>) -> u8 {
    py.detach(|| pgsluice_cli::run(args))
}

/// Return SQL that resolves the table `name` to its qualified name. It returns no row, or NULL, if no such
/// table exists.
#[pyfunction]
fn table_name(name: &str) -> String {
    pgsluice::pg::identity::resolve_sql(name)
}

/// Set the directory with the programs of the embedded server, unless another one is configured.
#[pyfunction]
fn look_in(folder: PathBuf) {
    pgsluice_embedded::look_in(folder);
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<input::PyInput>()?;
    module.add_class::<command::Command>()?;
    module.add_class::<leaves::Array>()?;
    module.add_class::<relay::PyRelay>()?;
    module.add_class::<writer::PyWriter>()?;
    module.add_class::<writer::RunningOrder>()?;
    module.add("Failure", module.py().get_type::<failure::Failure>())?;
    module.add_function(wrap_pyfunction!(attached::leave, module)?)?;
    module.add_function(wrap_pyfunction!(look_in, module)?)?;
    module.add_function(wrap_pyfunction!(table_name, module)?)?;
    module.add_function(wrap_pyfunction!(run, module)?)
}
