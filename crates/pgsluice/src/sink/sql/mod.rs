//! Statements of a session that stores rows: its stage, the changes from the stage, and the proof of a leaf.

pub(crate) mod changes;
pub(crate) mod stage;

use pgsluice_core::catalog::Relation;

/// Returns the statement that counts the rows of `leaf` that violate its partition constraint. Every name in
/// `constraint` is qualified.
pub(crate) fn misplaced(leaf: &Relation, constraint: &str) -> String {
    format!("SELECT pg_catalog.count(*) FROM ONLY {leaf} WHERE ({constraint}) IS FALSE")
}
