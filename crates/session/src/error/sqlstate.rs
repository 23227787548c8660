//! The meaning of an SQLSTATE for people: the kind of failure, whether a row is to blame, and the next step. For
//! the reaction of the load, see [`crate::error::policy`].

use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};

/// Returns the kind of failure that `code` means for a statement.
pub(crate) fn kind(code: &str) -> Kind {
    if code.starts_with("08") || matches!(code, "57P01" | "57P02" | "57P03" | "57P05") {
        Kind::Connection
    } else {
        Kind::Server
    }
}

/// Whether `code`, reported during a COPY, is about the content of a row. Any other error has nothing to do with
/// the row that COPY was at.
pub fn blames_row(code: &str) -> bool {
    policy::for_sqlstate(code) == Policy::Reject
}

/// Whether `code` is about a privilege or a name that has changed its meaning, and not about a value. Syntax
/// errors are about values, because some input functions parse a language of their own.
pub fn is_about_names(code: &str) -> bool {
    code.starts_with("3F") || code.starts_with("42") && !matches!(code, "42601" | "42602")
}

/// Returns the next step after an error of a statement, if the server gives none.
pub(crate) fn next_step(code: &str) -> Option<&'static str> {
    Some(match code {
        "26000" | "42P05" => {
            "Connect directly to the server, or to a pool in session mode: a pooler gave the \
             session, with its prepared statements, to another client."
        }
        "23503" => "Load the table that the foreign key refers to before this one.",
        "25006" => {
            "Connect to the primary server, or check default_transaction_read_only for this user \
             and database."
        }
        "42501" => "Grant the user INSERT on the table and USAGE on its schema.",
        "42P01" => "It was dropped, renamed or moved after the load began: start the load again.",
        "55P03" => "Another session holds a lock on the table: find it in pg_locks.",
        _ if kind(code) == Kind::Connection => {
            "Start the load again when the server is up; its log shows what happened."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_connection_has_a_next_step() {
        assert_eq!(["57P01", "08006", "57014"].map(kind)[..2], [Kind::Connection; 2]);
        assert!(next_step("57P02").is_some() && next_step("57014").is_none());
    }
}
