//! The next transaction begins while the last one ends, in the same round trip.
//!
//! ```text
//!     without                                       with
//!     rows | end, COMMIT -> | BEGIN, COPY -> rows   rows | end, COMMIT, BEGIN, COPY -> rows
//! ```
//!
//! Its rows are sent when the last transaction is committed. If that fails, the load ends, and nothing of
//! this one is in.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use super::begun::Ahead;
use super::copy::Connection;
use crate::bucket::queue::Next;

impl Connection<'_> {
    /// Begins the next transaction behind what was sent, if there is a payload for it by now.
    pub(super) async fn go_ahead(&self) -> Option<Ahead> {
        if !self.may_go_ahead() {
            return None;
        }
        // What ends the last one is on its way before rows are put into their order.
        tokio::task::yield_now().await;
        let Next::Payload(payload) = self.queue.poll() else { return None };
        let payload = self.arranged(vec![payload], false).into_iter().next().map(Arc::new)?;
        let begun = self.begin_copy(std::slice::from_ref(&payload), 0, None).await;
        Some(Ahead { payload, begun })
    }

    /// Whether nothing can come between two transactions: no reject, no part of a larger one, no shadow that is made,
    /// no wait, and no other client of a pool.
    fn may_go_ahead(&self) -> bool {
        self.flow.rejects.is_none()
            && self.held.is_none()
            && self.maker.is_none()
            && !self.link.is_pooled()
            && self.queue.is_first_in()
            && self.queue.is_probed()
            && !self.flow.control.is_paused.load(Relaxed)
            && !self.flow.control.stop.is_stopped()
    }
}
