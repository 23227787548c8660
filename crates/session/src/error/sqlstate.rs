//! What an SQLSTATE means for people: what kind of failure it is, whether a row is to blame, and
//! what to do next. For what the load does, see [`crate::error::policy`].

use crate::error::kind::Kind;
use crate::error::policy::{self, Policy};

/// The kind of failure that the server reports as `code` for a statement.
pub(crate) fn kind(code: &str) -> Kind {
    if code.starts_with("08") || matches!(code, "57P01" | "57P02" | "57P03" | "57P05") {
        Kind::Connection
    } else {
        Kind::Server
    }
}

/// Whether `code`, reported while rows are copied, is about what one of them says. Other errors
/// come at any row: the one that COPY was at has nothing to do with them.
pub fn blames_row(code: &str) -> bool {
    policy::of(code) == Policy::Reject
}

/// Whether `code` is about a privilege or a name that has changed its meaning, and not about a value.
/// Syntax errors are about values: some input functions parse a language of their own.
pub fn is_about_names(code: &str) -> bool {
    code.starts_with("3F") || code.starts_with("42") && !matches!(code, "42601" | "42602")
}

/// The next step where the server gives none, for a statement.
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
