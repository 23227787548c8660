//! What an SQLSTATE means for a load: what kind of failure it is, whether a row is to blame, and
//! what to do next. One table, so that an error reads the same wherever it is met.

use crate::kind::Kind;

/// The kind of failure that the server reports as `code` for a statement.
pub(crate) fn kind(code: &str) -> Kind {
    if code.starts_with("08") || matches!(code, "57P01" | "57P02" | "57P03" | "57P05") {
        Kind::Connection
    } else {
        Kind::Server
    }
}

/// Whether `code`, reported while rows are copied, is about what one of them says. Other errors
/// come at any row: the one that COPY was at has nothing to do with them. Whatever a trigger may
/// raise is about its row.
pub(crate) fn blames_row(code: &str) -> bool {
    // Connections, transactions, rollbacks, resources, states, operators, the system, bugs.
    const ANY_ROW: [&str; 8] = ["08", "25", "40", "53", "55", "57", "58", "XX"];
    !ANY_ROW.contains(&code.get(..2).unwrap_or_default())
}

/// The next step where the server gives none, for a statement.
pub(crate) fn next_step(code: &str) -> Option<&'static str> {
    Some(match code {
        "25006" => {
            "Connect to the primary server, or see default_transaction_read_only of this user and \
             database."
        }
        "42501" => "The user needs INSERT on the table and USAGE on its schema: see GRANT.",
        "42P01" => {
            "The table was dropped, renamed or moved after the load had begun: begin it again."
        }
        "55P03" => "Another session holds a lock on the table: pg_locks says which.",
        _ if kind(code) == Kind::Connection => {
            "Begin the load again when the server is up; its log says what happened to it."
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_blamed_for_what_it_says_only() {
        assert!(["22P02", "23505", "P0001", "54000", "0A000"].into_iter().all(blames_row));
        assert!(!["57P01", "57014", "53100", "40001", "XX000"].into_iter().any(blames_row));
    }

    #[test]
    fn a_lost_connection_has_a_next_step() {
        assert_eq!(["57P01", "08006", "57014"].map(kind)[..2], [Kind::Connection; 2]);
        assert!(next_step("57P02").is_some() && next_step("57014").is_none());
    }
}
