//! What becomes of an error: one table from SQLSTATE to whether it is worth another try, is about a
//! row, or is the end.
//!
//! It is about errors of a load's own transactions, each of which is a BEGIN, a COPY and a COMMIT. For
//! errors that come before any row is sent, see [`Policy::without_rows`].

use Policy::{Reject, Retry, Stop, Wait};

use super::Error;
use super::kind::Kind;

/// What to do after an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Policy {
    /// The same again after a pause: another transaction was in the way, and nothing else.
    Retry,
    /// Try the same again for as long as there is patience: the server is away, or has no room.
    Wait,
    /// A row is to blame, and the others may go in without it.
    Reject,
    /// Stop: another try will not help.
    Stop,
}

impl Policy {
    /// Returns what to do if no row was sent that could be to blame.
    pub fn without_rows(self) -> Self {
        if self == Reject { Stop } else { self }
    }
}

/// A class of `src/backend/utils/errcodes.txt`, PostgreSQL 13 to 18, with those of its codes that are
/// not decided as it is.
type Class = (&'static str, Policy, &'static [(&'static str, Policy)]);

/// All classes. An error that a trigger may raise, or that the content of a row may cause, is about the
/// row. An error that comes at any row is not.
const CLASSES: [Class; 44] = [
    // Success and warnings are no errors.
    ("00", Stop, &[]),
    ("01", Stop, &[]),
    ("02", Stop, &[]),
    ("03", Stop, &[]),
    // The connection was lost; but not if the server refused it, or was not understood. Whether a
    // transaction is in that it does not know of, 08007, is for who tries again to find out.
    ("08", Wait, &[("08004", Stop), ("08P01", Stop)]),
    // Functions of triggers, constraints and defaults.
    ("09", Reject, &[]),
    // A trigger has moved the row to another partition; a foreign table takes none.
    ("0A", Reject, &[]),
    ("0B", Stop, &[]),
    ("0F", Reject, &[]),
    ("0L", Reject, &[]),
    ("0P", Reject, &[]),
    ("0Z", Reject, &[]),
    ("10", Reject, &[]),
    ("20", Reject, &[]),
    ("21", Reject, &[]),
    // Data, and constraints, also those that are looked at by COMMIT.
    ("22", Reject, &[]),
    ("23", Reject, &[]),
    ("24", Reject, &[]),
    // The session is not as it must be: read only, or in no transaction. One that was idle for too
    // long is ended by the server, which takes the next.
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
    // Another transaction: it was rolled back for its sake. That a constraint did it is no reason to
    // think that it will not do it again.
    ("40", Retry, &[("40002", Stop)]),
    // A policy of row security refuses a row by 42501.
    ("42", Reject, &[]),
    ("44", Reject, &[]),
    // No disk, memory or connections left, until others give some back. A limit that was set stays.
    ("53", Wait, &[("53400", Stop)]),
    // A row that is too long for its index, or nested too deeply.
    ("54", Reject, &[]),
    // A lock that was not waited for any longer.
    ("55", Stop, &[("55P03", Retry)]),
    // The server goes down, comes up, or has ended the session; but a statement that was cancelled was
    // cancelled by a user who wanted that, and a database that was dropped does not come back.
    ("57", Stop, &[("57P01", Wait), ("57P02", Wait), ("57P03", Wait), ("57P05", Wait)]),
    // Files that are not there, and disks that fail.
    ("58", Stop, &[]),
    // Until PostgreSQL 16, of old_snapshot_threshold.
    ("72", Retry, &[]),
    ("F0", Stop, &[]),
    // A partition on another server.
    ("HV", Reject, &[]),
    ("P0", Reject, &[]),
    ("XX", Stop, &[]),
];

/// Returns what to do after an error of this SQLSTATE. If PostgreSQL does not know it, a function made
/// it up, and was called for a row.
pub fn of(sqlstate: &str) -> Policy {
    decided(sqlstate).unwrap_or(Reject)
}

/// Returns what is decided for an SQLSTATE of the classes that PostgreSQL has; None for others.
pub fn decided(sqlstate: &str) -> Option<Policy> {
    let class = sqlstate.get(..2)?;
    let at = CLASSES.binary_search_by_key(&class, |(class, ..)| class).ok()?;
    let (_, policy, codes) = CLASSES[at];
    let code = codes.iter().find(|(code, _)| *code == sqlstate);
    Some(code.map_or(policy, |(_, policy)| *policy))
}

/// What to do after an error of a whole load: a row that is refused is not better the next time.
pub fn of_error(error: &Error) -> Policy {
    match (error.sqlstate(), error.kind()) {
        _ if error.is_permanent() => Stop,
        (Some(code), Kind::Connection | Kind::Server) => of(code).without_rows(),
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
            assert_eq!(of(code), Reject, "{code}");
            assert_eq!(of(code).without_rows(), Stop, "{code}");
        }
        for code in ["57014", "25006", "28P01", "XX000", "53400", "58030", "57P04", "", "é"] {
            assert_ne!(of(code).without_rows(), Wait, "{code}");
        }
    }

    #[test]
    fn what_passes_is_tried_again() {
        assert_eq!(["40001", "40P01", "55P03"].map(of), [Retry; 3]);
        let away = ["08006", "08001", "57P01", "57P02", "57P03", "53100", "53200", "53300"];
        assert_eq!(away.map(of), [Wait; 8]);
        assert_eq!(["08P01", "57014", "55006", "25006", "XX001"].map(of), [Stop; 5]);
    }
}
