//! Landing: whether the rows of a leaf go there alone, or through the root with those of others, in turns.
//!
//! What is cheaper depends on how many rows a payload has of a leaf, how wide they are, its indexes, the
//! levels of the tree and the server. So both ways are tried, and the one that has taken less time a byte
//! goes on. The other is tried again now and then.

use std::time::Duration;

use pgsluice_core::bucket::TOGETHER;

/// Payloads of each way before one is chosen.
const TRIED: u32 = 3;

/// Of so many payloads one goes the other way.
const TRIED_AGAIN: u32 = 32;

/// How much of a mean the newest payload is.
const NEWEST: f64 = 0.25;

/// What the two ways have taken.
#[derive(Debug)]
pub(super) struct LandingCosts {
    /// Whether rows of several leaves may travel together at all.
    is_open: bool,
    alone: LandingWay,
    together: LandingWay,
    taken: u32,
}

#[derive(Debug, Default)]
struct LandingWay {
    payloads: u32,
    nanoseconds_a_byte: f64,
}

impl LandingCosts {
    pub(super) fn new(is_open: bool) -> Self {
        Self { is_open, alone: LandingWay::default(), together: LandingWay::default(), taken: 0 }
    }

    /// Whether rows of several leaves may travel together.
    pub(super) fn is_open(&self) -> bool {
        self.is_open
    }

    /// Keeps the rows of several leaves apart from now on.
    pub(super) fn close(&mut self) {
        self.is_open = false;
    }

    /// Of how many leaves the next payload takes rows.
    pub(super) fn together(&mut self) -> usize {
        if !self.is_open {
            return 1;
        }
        let Self { alone, together, .. } = self;
        let is_known = alone.payloads >= TRIED && together.payloads >= TRIED;
        let is_turn = self.taken % TRIED_AGAIN == TRIED_AGAIN - 1;
        let joins = match is_known {
            true => (together.nanoseconds_a_byte <= alone.nanoseconds_a_byte) != is_turn,
            // Together first: that is cheaper where payloads are small, as the first ones are.
            false => together.payloads < TRIED,
        };
        if joins { TOGETHER } else { 1 }
    }

    /// Records the time of a payload of so many nodes and bytes.
    pub(super) fn record(&mut self, nodes: usize, bytes: usize, time: Duration) {
        self.taken = self.taken.wrapping_add(1);
        let way = if nodes > 1 { &mut self.together } else { &mut self.alone };
        let newest = time.as_nanos() as f64 / bytes.max(1) as f64;
        way.nanoseconds_a_byte = match way.payloads {
            0 => newest,
            _ => way.nanoseconds_a_byte * (1.0 - NEWEST) + newest * NEWEST,
        };
        way.payloads = way.payloads.saturating_add(1);
    }
}
