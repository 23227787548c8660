//! Access to the evidence for rows of several leaves, for connections.

use super::queue::Queue;
use crate::plan::landing::Evidence;

impl Queue<'_> {
    /// Returns the evidence for rows of several leaves that are sent together.
    pub(crate) fn evidence(&self) -> Evidence {
        self.evidence.get()
    }

    /// Relies on weaker evidence from now on. Rows that can have their own COPY no longer go together with
    /// others.
    pub(crate) fn rely_on(&self, evidence: Evidence) {
        self.evidence.lower(evidence);
        self.state.lock().landing.close();
    }
}
