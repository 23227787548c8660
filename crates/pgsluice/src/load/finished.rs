//! A load that is finished is not loaded again: its streams are only compared with what they were.

use crate::control::Control;
use crate::error::Result;
use crate::ledger::Ledger;
use crate::plan::Plan;
use crate::source::interruptible::unless_stopped;
use crate::source::{Input, Inputs, Reader};

/// Reads the streams of a load that is finished: they must be what they were.
pub(super) fn check_streams(
    plan: &Plan,
    inputs: &Inputs,
    ledger: Ledger,
    control: &Control,
) -> Result<()> {
    if inputs.are_files() || inputs.iter().all(Input::may_change) {
        return Ok(());
    }
    let mut reader = Reader::new(inputs.clone(), &plan.shape);
    let inputs = inputs.clone();
    unless_stopped(control, move || {
        let mut used = None;
        while let Some(split) = reader.next(used)? {
            ledger.verify_block(&split, &inputs)?;
            used = Some(split);
        }
        ledger.check_finished(&inputs)
    })
}
