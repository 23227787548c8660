//! The end of a load that failed: what it has left in the table, and how it is resumed.

use std::sync::atomic::Ordering::Relaxed;

use crate::control::Control;
use crate::error::Error;
use crate::error::kind::Kind;

/// Returns the error of a load that was asked to end and did not: it says what is known of the table.
pub fn interrupted(control: &Control) -> Error {
    with_committed(Error::interrupted(), control)
}

/// Says what a load that failed has left in the table, and how it is resumed.
pub(crate) fn with_committed(error: Error, control: &Control) -> Error {
    let rows = control.rows_in();
    let in_doubt = control.progress.rows_in_doubt.load(Relaxed);
    let error = match rows {
        0 => error.with_detail("No row of this load is in the table."),
        rows => error.with_detail(format!(
            "{rows} rows of this load were committed before and are in the table."
        )),
    };
    let error = match control.attempts.resume() {
        // What does not add up now will not when it is resumed.
        _ if rows + in_doubt == 0 || error.kind() == Kind::Internal => error,
        Some(id) => error.with_hint(format!(
            "To load the others, run the same command with --load-id {id}: pgsluice load ... \
             --load-id {id}"
        )),
        None => error
            .with_hint("Remove them before you load the same input again, or it will double them."),
    };
    match in_doubt {
        0 => error,
        rows => error.with_detail(format!(
            "Whether {rows} more are there is not known: the server did not answer their COMMIT."
        )),
    }
}
