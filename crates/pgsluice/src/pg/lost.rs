//! A connection that ended by itself.

use super::sqlstate;
use crate::error::Error;
use crate::kind::Kind;

/// The error for a connection that ended by itself.
pub(crate) fn lost(error: Option<&tokio_postgres::Error>) -> Error {
    if let Some(db) = error.and_then(tokio_postgres::Error::as_db_error) {
        return Error::from(db);
    }
    let lost = Error::new(Kind::Connection, "server closed the connection unexpectedly");
    // 08006 stands for every broken connection; the server itself had no chance to say so.
    match sqlstate::next_step("08006") {
        Some(hint) => lost.hint(hint),
        None => lost,
    }
}
