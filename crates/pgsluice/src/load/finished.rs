//! A load that is finished is not loaded again: its streams are only compared with what they were.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;

use crate::control::Control;
use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::plan::Plan;
use crate::source::reading::STOP_POLL;
use crate::source::{Inputs, Reader};

/// Reads the streams of a load that is finished: they must be what they were.
pub(super) fn check_streams(
    plan: &Plan,
    inputs: &Inputs,
    ledger: Ledger,
    control: &Control,
) -> Result<()> {
    if inputs.are_rereadable() {
        return Ok(());
    }
    let mut reader = Reader::new(inputs.clone(), &plan.shape);
    let inputs = inputs.clone();
    let mut reading = move || {
        let mut used = None;
        while let Some(split) = reader.next(used)? {
            ledger.verify_block(&split, &inputs)?;
            used = Some(split);
        }
        ledger.check_finished()
    };
    // It may wait for its input when the load was stopped.
    let (done, outcome) = channel();
    thread::spawn(move || done.send(reading()));
    while !control.stop.is_stopped() {
        match outcome.recv_timeout(STOP_POLL) {
            Ok(outcome) => return outcome,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    Err(control.stop.failure().unwrap_or_else(Error::interrupted))
}
