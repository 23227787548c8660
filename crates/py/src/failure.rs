//! Errors of a load in Python: raised as `Failure`, which `pgsluice.errors` converts into a `LoadError`.

use pgsluice::Error;
use pgsluice_cli::door;
use pyo3::prelude::*;

use crate::stream::CaughtException;
use crate::words::{Call, keywords, spell};

pyo3::create_exception!(pgsluice._native, Failure, pyo3::exceptions::PyException);

/// Returns the error of a call as the object of `--json` and as text, and the exception that ended the stream
/// of its input, if any.
pub(crate) fn parts(
    call: &Call,
    error: &Error,
    raised: &CaughtException,
) -> (String, String, Option<PyErr>) {
    let way = |remedy: &_| keywords(call, remedy);
    let door::Described { json, text } = door::Described::new(error, spell, way);
    (json, text, raised.take())
}

/// Returns the exception for an error of a writer. It also contains the writer's position, the number of rows
/// of earlier calls that the error is about, and the number of its row. The parts of the input begin at the
/// rows `starts`.
pub(crate) fn failure_at(
    call: &Call,
    error: &Error,
    position: Option<String>,
    starts: &[u64],
) -> PyErr {
    let (json, text, raised) = parts(call, error, &CaughtException::default());
    let earlier = error.left().map_or(0, |left| left.earlier);
    let start = error.place().and_then(|place| starts.get(place.input as usize));
    let row = error.place().zip(start).map(|(place, start)| start + place.offset);
    Failure::new_err((json, text, raised, position, earlier, row))
}

/// Returns the exception for an error.
pub(crate) fn failure(error: &Error, raised: &CaughtException) -> PyErr {
    Failure::new_err(parts(&Call::load(), error, raised))
}
