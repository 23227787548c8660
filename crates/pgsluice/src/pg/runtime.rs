//! The tokio runtime that a thread speaks to the server with: small, and its own.

use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// A runtime for the current thread.
pub fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_current_thread().enable_all().build();
    built.map_err(|error| Error::new(Kind::Connection, format!("could not start: {error}")))
}
