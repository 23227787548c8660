//! The choice between sending the rows of a leaf alone, and sending them through the root in turns with rows
//! of other leaves.
//!
//! The cheaper method depends on the number of rows that a payload has for each leaf, their width, the
//! indexes, the levels of the tree and the server. So both methods are tried, and the cheaper one is used.
//! The other one is tried again, soon after a choice and then less and less often.
//!
//! Times on a busy server have outliers: a checkpoint, or the first access to a leaf. So the medians of the
//! newest payloads are compared, which a few outliers do not move.

use std::collections::VecDeque;
use std::mem;
use std::time::Duration;

/// Number of payloads for each method before one is chosen.
const TRIED: usize = 3;

/// Number of the newest payloads of a method whose median counts.
const NEWEST: usize = 7;

/// Number of payloads between the choice and the first trial of the other method. The pause doubles with each
/// trial.
const FIRST_PAUSE: u32 = 4;

/// The longest pause between two trials, in payloads.
const LONGEST_PAUSE: u32 = 32;

/// The measured costs of both methods.
#[derive(Debug)]
pub(super) struct LandingCosts {
    /// Whether rows of several leaves may go together at all.
    is_open: bool,
    apart: LandingWay,
    together: LandingWay,
    /// Whether sending together is cheaper; `None` while one of the costs is unknown.
    favours_together: Option<bool>,
    /// Number of payloads since the other method was tried, and the number until the next trial.
    since: u32,
    pause: u32,
}

/// The costs of the newest payloads of a method, in nanoseconds per byte.
#[derive(Debug, Default)]
struct LandingWay(VecDeque<f64>);

impl LandingWay {
    fn is_known(&self) -> bool {
        self.0.len() >= TRIED
    }

    fn record(&mut self, cost: f64) {
        if self.0.len() == NEWEST {
            self.0.pop_front();
        }
        self.0.push_back(cost);
    }

    fn median(&self) -> f64 {
        let mut costs: Vec<f64> = self.0.iter().copied().collect();
        costs.sort_by(f64::total_cmp);
        costs.get(costs.len().saturating_sub(1) / 2).copied().unwrap_or_default()
    }
}

impl LandingCosts {
    pub(super) fn new(is_open: bool) -> Self {
        let (apart, together) = Default::default();
        let favours_together = None;
        Self { is_open, apart, together, favours_together, since: 0, pause: FIRST_PAUSE }
    }

    /// Whether rows of several leaves may go together.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Keeps the rows of different leaves apart from now on.
    pub(super) fn close(&mut self) {
        self.is_open = false;
    }

    /// Whether the next payload takes rows of several leaves.
    pub(super) fn joins(&self) -> bool {
        if !self.is_open {
            return false;
        }
        match self.favours_together {
            Some(favours) => favours != (self.since >= self.pause),
            // Together comes first: it is cheaper for small payloads, such as the first ones.
            None => !self.together.is_known(),
        }
    }

    /// Counts a payload that was taken according to [`Self::joins`]. Only one of several connections tries
    /// the other method.
    pub(super) fn take(&mut self, joins: bool) {
        match self.favours_together {
            Some(favours) if favours == joins => self.since = self.since.saturating_add(1),
            Some(_) => (self.since, self.pause) = (0, (self.pause * 2).min(LONGEST_PAUSE)),
            None => {}
        }
    }

    /// Records the time of a payload with this number of nodes and bytes.
    pub(super) fn record(&mut self, nodes: usize, bytes: usize, time: Duration) {
        let way = if nodes > 1 { &mut self.together } else { &mut self.apart };
        way.record(time.as_nanos() as f64 / bytes.max(1) as f64);
        let Self { apart, together, .. } = self;
        let is_known = apart.is_known() && together.is_known();
        let favours = is_known.then(|| together.median() <= apart.median());
        if favours != mem::replace(&mut self.favours_together, favours) {
            (self.since, self.pause) = (0, FIRST_PAUSE);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A load on a server whose payloads take these times alone and together. Occasionally a payload takes
    /// ten times as long.
    struct Simulation {
        costs: LandingCosts,
        apart: u64,
        together: u64,
        /// The number of first payloads of each method that take ten times as long.
        slow_apart: u32,
        slow_together: u32,
        random: u64,
    }

    impl Simulation {
        fn new(apart: u64, together: u64, seed: u64) -> Self {
            let costs = LandingCosts::new(true);
            Self { costs, apart, together, slow_apart: 0, slow_together: 0, random: seed }
        }

        /// Returns a number below `end`, by Knuth's linear congruential generator.
        fn below(&mut self, end: u64) -> u64 {
            self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (self.random >> 33) % end
        }

        /// Sends a payload, and returns whether its leaves went together.
        fn send(&mut self) -> bool {
            let is_together = self.costs.joins();
            self.costs.take(is_together);
            let (usual, slow) = match is_together {
                true => (self.together, &mut self.slow_together),
                false => (self.apart, &mut self.slow_apart),
            };
            let is_slow = *slow > 0;
            *slow = slow.saturating_sub(1);
            let is_outlier = self.below(20) == 0;
            let noise = usual * (75 + self.below(50)) / 100;
            let time = noise * if is_slow || is_outlier { 10 } else { 1 };
            let nodes = if is_together { 8 } else { 1 };
            self.costs.record(nodes, 1000, Duration::from_micros(time));
            is_together
        }

        /// Sends payloads, and returns how many of them went together.
        fn send_all(&mut self, payloads: u32) -> u32 {
            (0..payloads).map(|_| u32::from(self.send())).sum()
        }
    }

    #[test]
    fn the_cheaper_way_takes_nearly_all_payloads() {
        for seed in 0..100 {
            let together = Simulation::new(1500, 1000, seed).send_all(1000);
            assert!(together > 900, "seed {seed}: {together} of 1000 together");
            let together = Simulation::new(1000, 1500, seed).send_all(1000);
            assert!(together < 100, "seed {seed}: {together} of 1000 together");
        }
    }

    #[test]
    fn a_wrong_first_impression_is_corrected() {
        for seed in 0..100 {
            let mut late = Simulation::new(1500, 1000, seed);
            late.slow_together = TRIED as u32;
            late.send_all(100);
            let together = late.send_all(500);
            assert!(together > 400, "seed {seed}: {together} of 500 together");
            let mut late = Simulation::new(1000, 1500, seed);
            late.slow_apart = TRIED as u32;
            late.send_all(100);
            let together = late.send_all(500);
            assert!(together < 100, "seed {seed}: {together} of 500 together");
        }
    }

    #[test]
    fn a_change_of_the_server_is_followed() {
        for seed in 0..100 {
            let mut changing = Simulation::new(1500, 1000, seed);
            changing.send_all(200);
            changing.apart = 500;
            changing.send_all(150);
            let together = changing.send_all(500);
            assert!(together < 100, "seed {seed}: {together} of 500 together");
        }
    }

    #[test]
    fn only_one_of_several_connections_tries_the_other_way() {
        let mut busy = Simulation::new(1500, 1000, 1);
        busy.send_all(200);
        let mut take = || {
            let joins = busy.costs.joins();
            busy.costs.take(joins);
            joins
        };
        let apart = (0..2 * LONGEST_PAUSE).filter(|_| !take()).count();
        assert!((1..=2).contains(&apart), "{apart} apart");
    }

    #[test]
    fn leaves_stay_apart_once_it_is_closed() {
        let mut closed = Simulation::new(1500, 1000, 1);
        closed.costs.close();
        assert_eq!(closed.send_all(100), 0);
    }
}
