//! What keeps rows from being stored, and what it says of them.

use super::refused::refusal;
use crate::error::kind::Kind;
use crate::error::{Error, Left};
use crate::pg::is_answer;

/// Why rows were not stored, or may not have been.
#[derive(Debug)]
pub(super) enum Trouble {
    /// None is.
    Refused(Error),
    /// None is: the table is not what was planned.
    Changed(Error),
    /// The server has not answered the COMMIT of so many.
    InDoubt(Error, u64),
}

pub(super) fn refused(error: tokio_postgres::Error) -> Trouble {
    Trouble::Refused(refusal(error))
}

/// What a statement that commits has come to.
pub(super) fn in_doubt(error: tokio_postgres::Error, rows: u64) -> Trouble {
    if is_answer(&error) { refused(error) } else { Trouble::InDoubt(error.into(), rows) }
}

/// Whether a statement that was prepared does not fit the table any more.
pub(super) fn is_about_names(error: &Error) -> bool {
    error.sqlstate().is_some_and(|code| code.starts_with("42") || code == "26000")
}

/// The error for rows whose COMMIT had no answer.
pub(super) fn doubtful(error: Error, rows: u64) -> Error {
    let left = Left { committed: 0, in_doubt: rows, load_id: None };
    error.leaving(left).with_detail(
        "Whether the last rows are in the table is not known: the server did not answer their COMMIT.",
    )
}

/// The error for rows that are not in. What a load is to do behind a connection that was lost is not what these are.
pub(super) fn sent_again(error: Error) -> Error {
    match (error.kind(), error.sqlstate()) {
        (Kind::Connection, Some(_)) => error.only_hint(
            "Send the rows again when the server is up; its log says what happened to it.",
        ),
        _ => error,
    }
}
