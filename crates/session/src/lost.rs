//! A connection that ended by itself, and what is known then.

use tokio_postgres::error::Severity;

use crate::error::Error;

/// Whether the server says by `error` that the transaction is not committed. If it panics while it
/// writes its log, it finds out itself when it comes up again.
pub fn is_answer(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|db| db.parsed_severity() != Some(Severity::Panic))
}

/// The error for a connection that ended by itself.
pub fn lost(error: Option<&tokio_postgres::Error>) -> Error {
    error.and_then(tokio_postgres::Error::as_db_error).map_or_else(Error::lost, Error::from)
}
