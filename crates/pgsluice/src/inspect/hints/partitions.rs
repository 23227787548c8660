//! Rows that no partition accepts.

use pgsluice_core::catalog::{ROOT, Strategy};

use super::Advice;
use super::case::HintCase;
use crate::error::{Error, Remedy, Words, command, option};
use crate::plan::Plan;

/// Suggests to create the partitions, except for a key that is NULL.
pub(super) fn missing(case: &HintCase<'_>) -> Option<Advice> {
    let error = case.error;
    let plan = case.plan?;
    if case.code() != "23514" || error.column().is_some() || !is_unrouted(error) {
        return None;
    }
    if is_null_of_range(error, plan) {
        return Some(Advice::detail("Only a DEFAULT partition accepts NULL."));
    }
    let table = plan.tree.nodes[ROOT].relation.label();
    let what =
        Words::from(format!("To create the missing partitions of {table} before the load ("))
            + command("plan --full")
            + " lists them)";
    Some(Remedy::options(what, [option("create-partitions")]).into())
}

/// Whether the error is that no partition accepts the row. A violated CHECK constraint has the same SQLSTATE.
fn is_unrouted(error: &Error) -> bool {
    error.detail().is_some_and(|detail| detail.contains("Partition key of the failing row"))
        || error.message().starts_with("no partition of relation")
}

/// Whether the key is NULL, which no range contains. A list may contain it.
fn is_null_of_range(error: &Error, plan: &Plan) -> bool {
    let mut keys = plan.tree.nodes.iter().filter_map(|node| node.key.as_ref());
    error.detail().is_some_and(|detail| detail.contains("= (null)."))
        && keys.all(|key| key.strategy != Strategy::List)
}
