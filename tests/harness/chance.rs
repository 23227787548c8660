//! Reproducible randomness: all of it derives from a seed.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// A random number generator (SplitMix64).
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    /// Creates a generator from the seed in `PGSLUICE_SEED`, or from a new one. Prints the seed, so that a
    /// failure can be repeated.
    pub(crate) fn new() -> Self {
        let given = std::env::var("PGSLUICE_SEED").ok();
        let seed = given.map_or_else(
            || RandomState::new().hash_one(0),
            |seed| seed.parse().expect("PGSLUICE_SEED is a number"),
        );
        eprintln!("the moments are those of PGSLUICE_SEED={seed}");
        Self::from_seed(seed)
    }

    pub(crate) fn from_seed(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns any number, such as a seed.
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.state;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    /// Returns a number from 0 to below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn is_one_in(&mut self, many: usize) -> bool {
        self.below(many) == 0
    }

    /// Returns a number from 0 to below 1.
    pub(crate) fn share(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a random moment within `all`.
    pub(crate) fn moment(&mut self, all: Duration) -> Duration {
        all.mul_f64(self.share())
    }

    pub(crate) fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }
}
