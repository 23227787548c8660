//! The first transaction of a load, until it is committed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// Number of input bytes in the first transaction, before which nothing else is committed.
pub(super) const FIRST_BYTES: usize = 8 << 20;

/// The longest time that the first transaction waits for a pipe that delivers nothing.
pub(super) const FIRST_PATIENCE: Duration = Duration::from_secs(1);

/// The first transaction.
pub(super) enum First {
    /// Its rows are being read. The fields are the time of the first row and the splits that are routed.
    Collecting(Option<Instant>, Prefix),
    /// It was sent.
    Sent,
    /// It is committed, or the load has none.
    Done,
}

/// The splits that are routed, from the first one on without a gap.
#[derive(Default)]
pub(super) struct Prefix {
    splits: u32,
    pub(super) bytes: usize,
    /// Splits that are routed while an earlier one is not.
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
