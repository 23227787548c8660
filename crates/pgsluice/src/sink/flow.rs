//! Shared state of one load, which all steps see. Nothing in it changes except through [`Control`].

use std::sync::{Arc, OnceLock};

use pgsluice_core::bucket::BlockRow;

use crate::control::Control;
use crate::counts::first_row::Opening;
use crate::counts::outcome::Outcome;
use crate::duplicates::DuplicateRows;
use crate::error::Location;
use crate::exchange::Exchange;
use crate::ledger::Ledger;
use crate::plan::Plan;
use crate::rejects::RejectWriter;
use crate::row_counts::RowCounts;
use crate::source::Inputs;
use crate::source::splits::Splits;

/// One load: its plan, its inputs, and its control.
pub(crate) struct Flow<'a> {
    pub plan: &'a Plan,
    pub control: &'a Arc<Control>,
    pub inputs: Inputs,
    pub opening: &'a Opening,
    pub exchange: Option<&'a Exchange<'a>>,
    pub rejects: Option<&'a RejectWriter>,
    /// Whether the load is all or nothing: one transaction on one connection.
    pub is_atomic: bool,
    /// The ledger, if the load keeps one.
    pub ledger: Option<&'a Ledger>,
    /// Input rows that lose to another row with the same key.
    pub duplicates: DuplicateRows,
    pub splits: Splits,
    /// The header of the input, once it is read.
    pub header_row: Arc<OnceLock<Vec<u8>>>,
}

impl Flow<'_> {
    /// Whether the inputs are one participant's share of the load.
    pub(crate) fn is_share(&self) -> bool {
        self.ledger.is_some_and(|ledger| ledger.share().is_some())
    }

    /// Returns the counts of the rows that earlier runs have committed.
    pub(crate) fn counts_before(&self, outcome: &Outcome) -> RowCounts {
        let known = self.ledger.map(Ledger::counts_before).unwrap_or_default();
        let inserted = outcome.routed.already.saturating_sub(known.rows());
        RowCounts { inserted: known.inserted + inserted, ..known }
    }

    /// Returns the location of a row as shown to the user.
    pub(crate) fn place_of(&self, at: BlockRow) -> Option<Location> {
        let (origin, line) = self.splits.origin_of(at)?;
        self.inputs.locate(origin, line)
    }
}
