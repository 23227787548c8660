//! The state of a move whose changes are logged, as the ledger stores it. Another process can continue the
//! move.

use pgsluice_core::catalog::Relation;
use serde::{Deserialize, Serialize};

use super::Move;
use super::branches::Branches;
use super::hold::Hold;
use super::log::Watched;
use super::survey::Survey;
use crate::counts::summary::{Fallback, Summary};

/// The state of a move.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct MoveState {
    /// The shape that the user requested. If another version formats it differently, that version copies
    /// again.
    asked: String,
    pub(super) survey: Survey,
    pub(super) branches: Branches,
    pub(super) watched: Watched,
    #[serde(flatten)]
    pub(super) filled: Filled,
}

/// The progress of filling the tree.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct Filled {
    /// The outcome of the copy, if it has ended.
    pub(super) copied: Option<CopyOutcome>,
    /// Whether the indexes are built.
    pub(super) is_built: bool,
}

/// The outcome of the load that has copied the rows.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(super) struct CopyOutcome {
    pub(super) rows: u64,
    pub(super) fallbacks: Vec<Fallback>,
    pub(super) notes: Vec<String>,
    pub(super) warnings: Vec<String>,
}

/// A relation as JSON.
#[derive(Deserialize, Serialize)]
#[serde(remote = "Relation")]
pub(super) struct RelationName {
    schema: String,
    name: String,
}

impl MoveState {
    /// Parses the state in the ledger. Returns `None` if `it` requests something else.
    pub(super) fn read(text: &str, it: &Move) -> Option<Self> {
        let state: Self = serde_json::from_str(text).ok()?;
        let is_asked = it.goes_on || !it.is_offline && state.asked == requested_shape(it);
        is_asked.then_some(state)
    }

    /// Returns the state as JSON.
    pub(super) fn write(it: &Move, hold: &Hold, watched: &Watched, filled: &Filled) -> String {
        let Hold { survey, branches, .. } = hold;
        let Filled { copied, is_built } = filled;
        serde_json::json!({
            "asked": requested_shape(it), "survey": survey, "branches": branches, "watched": watched,
            "copied": copied, "is_built": is_built,
        })
        .to_string()
    }
}

impl CopyOutcome {
    pub(super) fn from_summary(summary: Summary) -> Self {
        Self {
            rows: summary.rows_loaded + summary.rows_already_loaded,
            fallbacks: if summary.is_small() { Vec::new() } else { summary.fallbacks },
            notes: summary.notes,
            warnings: summary.warnings,
        }
    }
}

fn requested_shape(it: &Move) -> String {
    format!("{:?}, widened: {}", it.shape, it.widens_keys)
}
