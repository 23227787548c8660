//! The null sink: takes payloads and drops them, to see what the client alone takes.

use crate::flow::Flow;
use crate::outcome::Committed;
use crate::queue::{Next, Queue};

/// Takes payloads until there are no more. Nothing of them is stored.
pub(crate) fn drain(flow: &Flow<'_>, queue: &Queue<'_>, committed: &mut Committed) {
    loop {
        match queue.pop() {
            Next::Payload(mut payload) => {
                queue.sort(&mut payload);
                flow.opening.row_sent();
                committed.send(&payload);
                queue.recycle(payload);
            }
            Next::Nothing => {}
            Next::Done => return,
        }
    }
}
