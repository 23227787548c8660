//! The null sink: takes payloads and drops them, to see what the client alone takes.

use crate::bucket::queue::{Next, Queue};
use crate::counts::outcome::Committed;
use crate::sink::flow::Flow;

/// Takes payloads until there are no more. Their rows are not stored.
pub(crate) fn drain(flow: &Flow<'_>, queue: &Queue<'_>, committed: &mut Committed) {
    loop {
        match queue.pop() {
            Next::Payloads(payloads) => {
                for mut payload in payloads {
                    queue.arrange(&mut payload);
                    flow.opening.row_sent();
                    committed.send(&payload);
                    queue.recycle(payload);
                }
            }
            Next::Nothing => {}
            Next::Done => return,
        }
    }
}
