//! The evidence for rows of several leaves, as connections ask the queue for it.

use super::queue::Queue;
use crate::plan::landing::Evidence;

impl Queue<'_> {
    /// Returns the evidence for rows of several leaves that are sent together.
    pub(crate) fn evidence(&self) -> Evidence {
        self.relied.get()
    }

    /// Relies on less evidence from now on: rows with their own COPY no longer travel with others.
    pub(crate) fn rely_on(&self, evidence: Evidence) {
        self.relied.lower(evidence);
        self.state.lock().landing.close();
    }
}
