//! Errors of the load as Python gets them: raised as `Failure`, of which `pgsluice.errors` makes a `LoadError`.

use pgsluice::Error;
use pgsluice_cli::door;
use pyo3::prelude::*;

use crate::stream::Raised;
use crate::words::keywords;

pyo3::create_exception!(pgsluice._native, Failure, pyo3::exceptions::PyException);

/// The error of a command as `--json` has it, in words, and the exception that has ended the stream it was of, if one has.
pub(crate) fn parts(
    command: &str,
    error: &Error,
    raised: &Raised,
) -> (String, String, Option<PyErr>) {
    let door::Failure { json, text } = door::Failure::of(error, |remedy| keywords(command, remedy));
    (json, text, raised.take())
}

/// The exception for an error of a writer, whose position is `position` then, and the rows of earlier calls that the
/// error is about.
pub(crate) fn failure_at(error: &Error, position: Option<String>) -> PyErr {
    let (json, text, raised) = parts("load", error, &Raised::default());
    let earlier = error.left().map_or(0, |left| left.earlier);
    Failure::new_err((json, text, raised, position, earlier))
}

/// The exception for an error.
pub(crate) fn failure(error: &Error, raised: &Raised) -> PyErr {
    Failure::new_err(parts("load", error, raised))
}
