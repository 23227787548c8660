//! A connection that ended by itself, and what its error proves.

use tokio_postgres::error::Severity;

use crate::error::Error;

/// Whether `error` proves that the transaction is not committed. If the server panics while it writes its log,
/// it learns the outcome itself only after its restart.
pub fn is_answer(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|db| db.parsed_severity() != Some(Severity::Panic))
}

/// Returns the error for a connection that ended by itself.
pub fn lost(error: Option<&tokio_postgres::Error>) -> Error {
    error.and_then(tokio_postgres::Error::as_db_error).map_or_else(Error::lost, Error::from)
}
