//! The outcome of beginning a load, and the error for a load that differs from the one that was begun.

use pgsluice_core::catalog::ROOT;

use super::Ledger;
use super::sql::FoundLoad;
use super::terms;
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result};
use crate::plan::Plan;
use crate::row_counts::RowCounts;

/// The state in which a load begins.
pub(crate) enum Begun {
    /// It runs, possibly not for the first time.
    Running(Ledger),
    /// It was already finished, with these row counts.
    Finished(Ledger, RowCounts),
}

/// Rejects a load that differs from the one that was begun.
pub(super) fn check(found: &FoundLoad, plan: &Plan, now: &str) -> Result<()> {
    if found.relation != plan.catalogue.facts[ROOT].oid {
        let message = "this load was begun into another table";
        return Err(Error::new(Kind::Server, message).with_sqlstate("55000"));
    }
    terms::check(&found.terms, now)
}

/// Adds hints to an error about a load that cannot be resumed.
pub(crate) fn refuse(error: Error, id: &str) -> Error {
    let step = match error.kind() {
        Kind::Input => "To resume the load, undo the change of the input.",
        _ => "Resume the load as it was begun.",
    };
    let what = "To remove the load from the ledger; its rows stay in the table";
    error.with_hint(step).with_remedy(Remedy::ledger(what, &["forget", id]))
}

/// Returns the error for a load whose rows were lost when the server crashed.
pub(super) fn emptied() -> Error {
    let message = "a partition is unlogged, and the server has crashed since this load began";
    Error::new(Kind::Server, message).with_sqlstate("55000").with_detail(
        "The rows that were loaded into it are gone, but the receipts still count them.",
    )
}
