//! Pauses between tries. Each is twice as long as the one before, up to a limit, with a random part, so that
//! clients that failed together come back apart.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// An endless sequence of pauses.
#[derive(Debug)]
pub struct Backoff<S = RandomState> {
    next: Duration,
    longest: Duration,
    chance: S,
    count: u64,
}

impl Backoff {
    /// Creates pauses from about `first` to about `longest`.
    pub fn new(first: Duration, longest: Duration) -> Self {
        Self::with(first, longest, RandomState::new())
    }
}

impl<S: BuildHasher> Backoff<S> {
    /// Creates pauses that take their random part from `chance`.
    fn with(first: Duration, longest: Duration, chance: S) -> Self {
        Self { next: first.min(longest), longest, chance, count: 0 }
    }

    /// Returns the pause before the next try.
    pub fn pause(&mut self) -> Duration {
        let share = self.chance.hash_one(self.count) as f64 / u64::MAX as f64;
        let pause = self.next.mul_f64(0.5 + share / 2.0);
        self.count += 1;
        self.next = self.next.saturating_mul(2).min(self.longest);
        pause
    }
}

#[cfg(test)]
mod tests {
    use std::hash::{BuildHasherDefault, DefaultHasher};

    use super::*;

    #[test]
    fn pauses_grow_up_to_the_longest_and_are_never_the_same() {
        let milliseconds = Duration::from_millis;
        let chance = BuildHasherDefault::<DefaultHasher>::default();
        let mut backoff = Backoff::with(milliseconds(100), milliseconds(1000), chance);
        let pauses: Vec<Duration> = (0..40).map(|_| backoff.pause()).collect();
        let whole = [100, 200, 400, 800].into_iter().chain(std::iter::repeat(1000));
        for (pause, whole) in pauses.iter().zip(whole.map(milliseconds)) {
            assert!(whole / 2 <= *pause && *pause <= whole, "{pauses:?}");
        }
        let mut different = pauses.clone();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), pauses.len(), "{pauses:?}");
    }

    #[test]
    fn the_first_is_no_longer_than_the_longest() {
        let second = Duration::from_secs(1);
        assert!(Backoff::new(10 * second, second).pause() <= second);
    }
}
