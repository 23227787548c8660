//! The reaction to an error: a table from SQLSTATE to whether to try again, to reject a row, or to stop.
//!
//! It covers errors of a load's own transactions, which consist of a BEGIN, a COPY and a COMMIT. For errors
//! before any row is sent, see [`Policy::without_rows`].

use Policy::{Reject, Retry, Stop, Wait};

use super::Error;
use super::kind::Kind;

/// The reaction to an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// Try again after a pause: another transaction was in the way, and nothing else.
    Retry,
    /// Keep trying for as long as the caller allows: the server is unreachable or has no room.
    Wait,
    /// Reject a row, which is to blame; the others may go in without it.
    Reject,
    /// Stop: another try will not help.
    Stop,
}

impl Policy {
    /// Returns the reaction if no row was sent that could be to blame.
    pub fn without_rows(self) -> Self {
        if self == Reject { Stop } else { self }
    }
}

/// A class of `src/backend/utils/errcodes.txt`, PostgreSQL 13 to 18, with its policy and the codes that are
/// exceptions.
type Class = (&'static str, Policy, &'static [(&'static str, Policy)]);

/// All classes. An error that a trigger may raise, or that the content of a row may cause, is about the row. An
/// error that any row could meet is not.
const CLASSES: [Class; 44] = [
    // Success and warnings are not errors.
    ("00", Stop, &[]),
    ("01", Stop, &[]),
    ("02", Stop, &[]),
    ("03", Stop, &[]),
    // The connection was lost; but not if the server refused it or did not understand. After 08007 the outcome
    // of a transaction is unknown, and the next try finds it out.
    ("08", Wait, &[("08004", Stop), ("08P01", Stop)]),
    // Functions of triggers, constraints and defaults.
    ("09", Reject, &[]),
    // A trigger has moved the row to another partition; a foreign table accepts no rows.
    ("0A", Reject, &[]),
    ("0B", Stop, &[]),
    ("0F", Reject, &[]),
    ("0L", Reject, &[]),
    ("0P", Reject, &[]),
    ("0Z", Reject, &[]),
    ("10", Reject, &[]),
    ("20", Reject, &[]),
    ("21", Reject, &[]),
    // Data and constraints, including deferred ones, which COMMIT checks.
    ("22", Reject, &[]),
    ("23", Reject, &[]),
    ("24", Reject, &[]),
    // The session is in the wrong state: read only, or in no transaction. The server has ended a session that
    // was idle for too long, but accepts another.
    ("25", Stop, &[("25P03", Wait)]),
    // A pooler has given the session to another client.
    ("26", Stop, &[]),
    ("27", Reject, &[]),
    // The login.
    ("28", Stop, &[]),
    ("2B", Reject, &[]),
    ("2D", Reject, &[]),
    ("2F", Reject, &[]),
    ("34", Reject, &[]),
    ("38", Reject, &[]),
    ("39", Reject, &[]),
    ("3B", Reject, &[]),
    ("3D", Reject, &[]),
    ("3F", Reject, &[]),
    // Another transaction: this one was rolled back in its favour. A constraint that caused the rollback would
    // cause it again.
    ("40", Retry, &[("40002", Stop)]),
    // A policy of row security refuses a row by 42501.
    ("42", Reject, &[]),
    ("44", Reject, &[]),
    // No disk, memory or connections left until others release some. A configured limit stays.
    ("53", Wait, &[("53400", Stop)]),
    // A row that is too long for its index, or nested too deeply.
    ("54", Reject, &[]),
    // A lock that was not available in time.
    ("55", Stop, &[("55P03", Retry)]),
    // The server shuts down, starts, or has ended the session. But a cancelled statement was cancelled on
    // purpose, and a dropped database does not come back.
    ("57", Stop, &[("57P01", Wait), ("57P02", Wait), ("57P03", Wait), ("57P05", Wait)]),
    // Missing files, and disks that fail.
    ("58", Stop, &[]),
    // Up to PostgreSQL 16, from old_snapshot_threshold.
    ("72", Retry, &[]),
    ("F0", Stop, &[]),
    // A partition on another server.
    ("HV", Reject, &[]),
    ("P0", Reject, &[]),
    ("XX", Stop, &[]),
];

/// Returns the reaction to an SQLSTATE. A code that PostgreSQL does not know comes from a function that was
/// called for a row.
pub fn for_sqlstate(sqlstate: &str) -> Policy {
    for_class(sqlstate).unwrap_or(Reject)
}

/// Returns the reaction to an SQLSTATE of PostgreSQL's classes; `None` for others.
pub fn for_class(sqlstate: &str) -> Option<Policy> {
    let class = sqlstate.get(..2)?;
    let at = CLASSES.binary_search_by_key(&class, |(class, ..)| class).ok()?;
    let (_, policy, codes) = CLASSES[at];
    let code = codes.iter().find(|(code, _)| *code == sqlstate);
    Some(code.map_or(policy, |(_, policy)| *policy))
}

/// Returns the reaction to an error of a whole load: a rejected row would fail again.
pub fn for_error(error: &Error) -> Policy {
    match (error.sqlstate(), error.kind()) {
        _ if error.is_permanent() => Stop,
        (Some(code), Kind::Connection | Kind::Server) => for_sqlstate(code).without_rows(),
        (None, Kind::Connection) => Wait,
        _ => Stop,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_sorted_and_hold_their_codes() {
        assert!(CLASSES.is_sorted_by_key(|(class, ..)| class));
        for (class, policy, codes) in CLASSES {
            for (code, other) in codes {
                assert!(code.starts_with(class) && code.len() == 5 && *other != policy, "{code}");
            }
        }
    }

    #[test]
    fn a_row_is_blamed_for_what_it_says_only() {
        for code in
            ["22P02", "23505", "23503", "42501", "44000", "54000", "0A000", "P0001", "MINE1"]
        {
            assert_eq!(for_sqlstate(code), Reject, "{code}");
            assert_eq!(for_sqlstate(code).without_rows(), Stop, "{code}");
        }
        for code in ["57014", "25006", "28P01", "XX000", "53400", "58030", "57P04", "", "é"] {
            assert_ne!(for_sqlstate(code).without_rows(), Wait, "{code}");
        }
    }

    #[test]
    fn temporary_errors_are_tried_again() {
        assert_eq!(["40001", "40P01", "55P03"].map(for_sqlstate), [Retry; 3]);
        let away = ["08006", "08001", "57P01", "57P02", "57P03", "53100", "53200", "53300"];
        assert_eq!(away.map(for_sqlstate), [Wait; 8]);
        assert_eq!(["08P01", "57014", "55006", "25006", "XX001"].map(for_sqlstate), [Stop; 5]);
    }
}
