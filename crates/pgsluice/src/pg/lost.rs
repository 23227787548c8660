//! A connection that ended by itself, and what is known then.

use tokio_postgres::error::Severity;

use crate::error::Error;
use crate::error::kind::Kind;
use crate::error::sqlstate;

/// Whether the server says by `error` that the transaction is not committed. If it panics while it
/// writes its log, it finds out itself when it comes up again.
pub(crate) fn is_answer(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_some_and(|db| db.parsed_severity() != Some(Severity::Panic))
}

/// The error for a connection that ended by itself.
pub(crate) fn lost(error: Option<&tokio_postgres::Error>) -> Error {
    if let Some(db) = error.and_then(tokio_postgres::Error::as_db_error) {
        return Error::from(db);
    }
    let lost = Error::new(Kind::Connection, "server closed the connection unexpectedly");
    // 08006 stands for every broken connection; the server itself had no chance to say so.
    match sqlstate::next_step("08006") {
        Some(hint) => lost.with_hint(hint),
        None => lost,
    }
}
