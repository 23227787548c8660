//! The evidence that a load relies on, for all of its connections.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::plan::landing::Evidence;

/// The evidence that a load relies on. It can only become weaker.
#[derive(Debug)]
pub(super) struct SharedEvidence(AtomicU8);

impl SharedEvidence {
    pub(super) fn new(evidence: Evidence) -> Self {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evidence_never_comes_back() {
        let evidence = SharedEvidence::new(Evidence::Counts);
        for (next, expected) in [
            (Evidence::Counts, Evidence::Counts),
            (Evidence::Server, Evidence::Server),
            (Evidence::Leaves, Evidence::Server),
        ] {
            evidence.lower(next);
            assert_eq!(evidence.get(), expected);
        }
    }
}
