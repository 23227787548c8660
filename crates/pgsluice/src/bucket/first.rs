//! The first transaction of a load, until it is committed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// What of the input goes in one transaction before anything else is committed.
pub(super) const FIRST_BYTES: usize = 8 << 20;

/// While a pipe gives nothing the first transaction waits no longer for more of it.
pub(super) const FIRST_PATIENCE: Duration = Duration::from_secs(1);

/// The first transaction.
pub(super) enum First {
    /// Its rows are being read: since when there are any, and what is routed.
    Gathering(Option<Instant>, Prefix),
    /// It is under way.
    Sent,
    /// It is committed, or there is none.
    Done,
}

/// The splits that are routed, from the first one on without a gap.
#[derive(Default)]
pub(super) struct Prefix {
    splits: u32,
    pub(super) bytes: usize,
    /// Splits that are routed before others in front of them.
    beyond: BTreeMap<u32, usize>,
}

impl Prefix {
    pub(super) fn add(&mut self, split: u32, bytes: usize) {
        self.beyond.insert(split, bytes);
        while let Some(bytes) = self.beyond.remove(&self.splits) {
            self.splits += 1;
            self.bytes += bytes;
        }
    }
}
