//! What an SQLSTATE means for a load: what kind of failure it is, whether a row is to blame, and
//! what to do next. One table, so that an error reads the same wherever it is met.

use crate::error::Kind;

/// The kind of failure that the server reports as `code` for a statement.
pub(crate) fn kind(code: &str) -> Kind {
    if code.starts_with("08") || matches!(code, "57P01" | "57P02" | "57P03" | "57P05") {
        Kind::Connection
    } else if blames_row(code) {
        Kind::Data
    } else {
        Kind::Server
    }
}

/// Whether `code` is about what a row says. All other errors may come at any row, and the one that
/// COPY was at has nothing to do with them.
pub(crate) fn blames_row(code: &str) -> bool {
    // Data, constraints, views, limits, RAISE, and what functions of the user may report.
    const CLASSES: [&str; 8] = ["21", "22", "23", "38", "39", "44", "54", "P0"];
    let class = code.get(..2).unwrap_or_default();
    CLASSES.contains(&class) || code == "42804"
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
        let codes = ["22P02", "23505", "P0001", "54000", "57P01", "42501", "53100", "40001", ""];
        let kinds = codes.map(kind);
        assert_eq!(kinds[..4], [Kind::Data; 4]);
        assert_eq!(kinds[4], Kind::Connection);
        assert_eq!(kinds[5..], [Kind::Server; 4]);
    }
}
