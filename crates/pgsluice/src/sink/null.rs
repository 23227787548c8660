//! The null sink: takes payloads and drops them, to measure the client alone.

use pgsluice_core::bucket::Payload;

use crate::bucket::queue::{Next, Queue};
use crate::counts::outcome::Committed;
use crate::sink::flow::Flow;

/// Takes payloads until none are left, and drops their rows.
pub(crate) fn drain(flow: &Flow<'_>, queue: &Queue<'_>, committed: &mut Committed) {
    let mut take = |mut payload: Payload| {
        queue.arrange(&mut payload);
        flow.opening.row_sent();
        committed.send(&payload);
        queue.recycle(payload);
    };
    loop {
        match queue.pop() {
            // Nothing is committed, so no transaction is the first.
            Next::First(payloads) => payloads.into_iter().for_each(&mut take),
            Next::Payload(payload) => take(payload),
            Next::Nothing => {}
            Next::Done => return,
        }
    }
}
