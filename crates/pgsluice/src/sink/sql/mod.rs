//! The statements of a session that stores rows: its stage, the changes that come from there, and the proof of a leaf.

pub(crate) mod changes;
pub(crate) mod stage;

use pgsluice_core::catalog::Relation;

/// How many rows of `leaf` its own partition constraint refuses; every name in that is qualified.
pub(crate) fn misplaced(leaf: &Relation, constraint: &str) -> String {
    format!("SELECT pg_catalog.count(*) FROM ONLY {leaf} WHERE ({constraint}) IS FALSE")
}
