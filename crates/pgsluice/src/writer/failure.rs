//! Reasons why rows were not stored, and the errors for them.

use std::time::Duration;

use super::refused::refusal;
use crate::control::{Control, Event, WaitReason};
use crate::error::kind::Kind;
use crate::error::{Error, Left, option};
use crate::pg::is_answer;

/// Why rows were not stored, or may not have been.
#[derive(Debug)]
pub(super) enum WriteFailure {
    /// No row was stored.
    Refused(Error),
    /// No row was stored: the table is not the one that was planned for.
    Changed(Error),
    /// The server has not answered the COMMIT of this number of rows.
    InDoubt(Error, u64),
    /// No row of this call is in the table, and rows of earlier calls may be lost.
    Lost(Error),
}

impl WriteFailure {
    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Refused(error) | Self::Changed(error) | Self::Lost(error) => error,
            Self::InDoubt(error, rows) => doubtful(error, rows),
        }
    }
}

impl From<Error> for WriteFailure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

pub(super) fn refused(error: tokio_postgres::Error) -> WriteFailure {
    WriteFailure::Refused(refusal(error))
}

/// Waits before the next attempt at a call that has failed with `error`.
pub(super) fn pause(error: &Error, time: Duration, control: &Control) {
    control.emit(&Event::Retry { error });
    control.wait_for(WaitReason::Server, error.message());
    control.stop.pause(time);
    control.resume(WaitReason::Server);
}

/// Converts the error of a statement that commits.
pub(super) fn in_doubt(error: tokio_postgres::Error, rows: u64) -> WriteFailure {
    if is_answer(&error) { refused(error) } else { WriteFailure::InDoubt(error.into(), rows) }
}

/// Whether a prepared statement no longer fits the table.
pub(super) fn is_about_names(error: &Error) -> bool {
    error.sqlstate().is_some_and(|code| code.starts_with("42") || code == "26000")
}

/// Returns the error for rows whose COMMIT had no answer.
pub(super) fn doubtful(error: Error, rows: u64) -> Error {
    let left = Left { in_doubt: rows, ..Left::default() };
    error.leaving(left).with_detail(
        "The last rows may or may not be in the table: the server did not answer their COMMIT.",
    )
}

/// Returns the error for rows that an earlier call has committed and the ledger no longer counts.
pub(super) fn lost(rows: u64, has_position: bool) -> WriteFailure {
    let message = format!("the server lost {rows} rows that it had committed");
    let error = Error::new(Kind::Connection, message)
        .with_detail("It crashed before they were durable, or another server has taken its place.");
    let error = match has_position {
        true => error
            .with_detail("The position was read again from the ledger.")
            .with_hint("Continue from the current position of the Writer."),
        false => error.with_hint(
            "Write the rows since the last flush again, except those that are in the table.",
        ),
    };
    earlier(error, rows, rows)
}

/// Returns the error for rows that an earlier call has committed, if nothing proves that the server still has
/// them.
pub(super) fn perhaps_lost(rows: u64) -> WriteFailure {
    let message =
        format!("the server may have lost {rows} rows: its session ended before they were durable");
    let error = Error::new(Kind::Connection, message)
        .with_detail("It was restarted, or another server has taken its place.")
        .with_hint(
            "Check which rows since the last flush are in the table. With "
                + option("load-id")
                + ", the ledger records them.",
        );
    earlier(error, rows, rows)
}

/// Returns the error for rows in doubt that were committed although the program had given them up.
pub(super) fn came_through(rows: u64) -> WriteFailure {
    let message = format!("{rows} rows that had been given up are in the table");
    let error = Error::new(Kind::Connection, message)
        .with_detail("The position was read again from the ledger.")
        .with_hint("Continue from the current position of the Writer.");
    earlier(error, 0, rows)
}

fn earlier(error: Error, in_doubt: u64, earlier: u64) -> WriteFailure {
    WriteFailure::Lost(error.leaving(Left { in_doubt, earlier, ..Left::default() }).permanent())
}

/// Returns the error for rows that were not stored. The hint for a lost connection is about loads, so a
/// different one replaces it.
pub(super) fn sent_again(error: Error) -> Error {
    match (error.kind(), error.sqlstate()) {
        (Kind::Connection, Some(_)) => error
            .only_hint("Send the rows again when the server is up; its log shows what happened."),
        _ => error,
    }
}

/// Whether the server ends the session with this error, even if it has not closed it yet.
pub(super) fn is_ended(error: &Error) -> bool {
    error.sqlstate().is_some_and(|code| code.starts_with("57P0"))
}
