//! A finished load is not loaded again: its streams are only compared with the previous ones. A stored share
//! is compared for any kind of input.

use crate::control::Control;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::ledger::share::{Share, ShareSummary};
use crate::plan::Plan;
use crate::source::interruptible::unless_stopped;
use crate::source::{Input, Inputs, Reader};

/// Reads the streams of a finished load, or the inputs of a stored share, and checks that they are the same
/// as before. Returns the summary of a share.
pub(super) fn check(
    plan: &Plan,
    inputs: &Inputs,
    ledger: Ledger,
    control: &Control,
) -> Result<Option<ShareSummary>> {
    let is_share = ledger.share().is_some();
    if !is_share && (inputs.are_files() || inputs.iter().all(Input::may_change)) {
        return Ok(None);
    }
    let mut reader = Reader::new(inputs.clone(), &plan.shape);
    let inputs = inputs.clone();
    unless_stopped(control, move || {
        let mut used = None;
        while let Some(split) = reader.next(used)? {
            ledger.verify_block(&split, &inputs)?;
            used = Some(split);
        }
        ledger.check_finished(&inputs)?;
        Ok(ledger.share().map(Share::summary))
    })
}
