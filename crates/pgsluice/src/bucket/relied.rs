//! The evidence that a load relies on, for all of its connections.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use super::queue::Queue;
use crate::plan::landing::Evidence;

/// The evidence that a load relies on, which only becomes less.
#[derive(Debug)]
pub(super) struct Relied(AtomicU8);

impl Relied {
    pub(super) fn on(evidence: Evidence) -> Self {
        Self(AtomicU8::new(evidence as u8))
    }

    pub(super) fn get(&self) -> Evidence {
        let all = [Evidence::Counts, Evidence::Leaves, Evidence::Server];
        all.into_iter().find(|it| *it as u8 == self.0.load(Relaxed)).unwrap_or(Evidence::Server)
    }

    /// Lowers the evidence to the weaker of itself and `evidence`.
    pub(super) fn lower(&self, evidence: Evidence) {
        self.0.fetch_max(evidence as u8, Relaxed);
    }
}

impl Queue<'_> {
    /// Returns the evidence for rows of several leaves that are sent together.
    pub(crate) fn evidence(&self) -> Evidence {
        self.relied.get()
    }

    /// Relies on less evidence from now on: rows that have a COPY of their own do not travel with others any more.
    pub(crate) fn rely_on(&self, evidence: Evidence) {
        self.relied.lower(evidence);
        self.state.lock().landing.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_never_comes_back() {
        let relied = Relied::on(Evidence::Counts);
        for (next, expected) in [
            (Evidence::Counts, Evidence::Counts),
            (Evidence::Server, Evidence::Server),
            (Evidence::Leaves, Evidence::Server),
        ] {
            relied.lower(next);
            assert_eq!(relied.get(), expected);
        }
    }
}
