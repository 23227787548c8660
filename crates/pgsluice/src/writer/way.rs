//! Which statement takes a few rows soonest: that is measured for each size, as the writer goes on.
//!
//! One row at a time, INSERT is soonest; then one with an array for each column; and where rows are many, COPY, whose
//! cost to begin is then small beside theirs. Where the ways cross depends on the columns, the tree and the server.

use std::time::Duration;

/// How rows are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// A statement a row.
    Single,
    /// One statement, with an array for each column.
    Arrays,
    /// COPY through the root, the rows of several leaves in turns.
    Copy,
    /// One statement with an array for each column, and what becomes of rows that are there already.
    Conflict,
    /// COPY into a temporary table, and such a statement from there.
    Stage,
}

const ALL: [Way; 5] = [Way::Single, Way::Arrays, Way::Copy, Way::Conflict, Way::Stage];

/// The most rows that are sent by single statements.
const MOST_SINGLE: usize = 4;

/// The least rows that COPY is tried for.
const LEAST_COPY: usize = 8;

/// The most rows that are sent as arrays.
const MOST_ARRAYS: usize = 1 << 15;

/// How often each way is tried before one is chosen.
const TRIED: u32 = 5;

/// How often a way is tried before its time counts: the first one has planned, and read what the server remembers from
/// then on.
const LEAST_TRIED: u32 = 2;

/// Of so many one goes another way: seldom enough that it is not among the slowest hundredth. Before so many have gone,
/// those whose number is a power of two do, if it is [`CLOSE`]: the server remembers more and more of the tree.
const TRIED_AGAIN: u32 = 256;

/// A way that is less than so many times as slow as the best one may be the best one soon.
const CLOSE: f64 = 1.5;

/// A way that is so many times as slow as the best one is not tried again, once that is sure.
const HOPELESS: f64 = 3.0;

/// How far the least time goes towards one that is longer: what is slow once may have waited for something else.
const LONGER: f64 = 0.03;

/// What the ways take for rows of about one number, when nothing else is in the way.
#[derive(Clone, Copy, Debug, Default)]
struct Size {
    tried: [u32; ALL.len()],
    nanoseconds: [f64; ALL.len()],
    taken: u32,
}

/// What the ways have taken, by the rows that were sent, each size up to twice that before it.
#[derive(Debug)]
pub(super) struct Ways {
    sizes: [Size; usize::BITS as usize + 1],
    /// Those that there are besides.
    open: Vec<Way>,
    /// The one that any rows may go.
    always: Way,
}

impl Ways {
    /// Nothing is known yet.
    pub(super) fn new(open: impl IntoIterator<Item = Way>, always: Way) -> Self {
        Self {
            sizes: [Size::default(); usize::BITS as usize + 1],
            open: open.into_iter().collect(),
            always,
        }
    }

    /// The way of so many rows.
    pub(super) fn choose(&mut self, rows: usize) -> Way {
        let fit = |way: &Way| match way {
            Way::Single => rows <= MOST_SINGLE,
            // An array for each column takes a single row, too, but no faster.
            Way::Arrays => rows > 1 && rows <= MOST_ARRAYS,
            Way::Conflict => rows <= MOST_ARRAYS,
            Way::Copy | Way::Stage => rows >= LEAST_COPY,
        };
        let open = self.open.iter().copied().chain([self.always]);
        let mut ways: Vec<Way> = open.filter(fit).collect();
        let size = &mut self.sizes[class(rows)];
        size.taken = size.taken.wrapping_add(1);
        if let Some(untried) = size.untried(&ways) {
            return untried;
        }
        ways.sort_by(|one, other| size.time(*one).total_cmp(&size.time(*other)));
        match ways[..] {
            [] => self.always,
            [best, next, ..] if size.is_again(best, next) => next,
            [best, ..] => best,
        }
    }

    /// Records what so many rows have taken.
    pub(super) fn record(&mut self, rows: usize, way: Way, time: Duration) {
        let size = &mut self.sizes[class(rows)];
        let (at, newest) = (way as usize, time.as_nanos() as f64 / rows.max(1) as f64);
        size.nanoseconds[at] = match size.tried[at] {
            few if few < LEAST_TRIED => newest,
            _ if newest < size.nanoseconds[at] => newest,
            _ => size.nanoseconds[at] * (1.0 - LONGER) + newest * LONGER,
        };
        size.tried[at] = size.tried[at].saturating_add(1);
    }
}

impl Size {
    /// The one of `ways` that is to be tried before one is chosen.
    fn untried(&self, ways: &[Way]) -> Option<Way> {
        let tried = |way: &Way| self.tried[*way as usize];
        let known = ways.iter().filter(|way| tried(way) >= LEAST_TRIED);
        let best = known.map(|way| self.time(*way)).fold(f64::INFINITY, f64::min);
        let is_hopeless =
            |way: &Way| tried(way) >= LEAST_TRIED && self.time(*way) >= HOPELESS * best;
        let untried = ways.iter().filter(|way| tried(way) < TRIED && !is_hopeless(way));
        untried.min_by_key(|way| tried(way)).copied()
    }

    /// Whether it is the turn of the way that is next to the best one.
    fn is_again(&self, best: Way, next: Way) -> bool {
        let ratio = self.time(next) / self.time(best);
        match self.taken {
            few if few < TRIED_AGAIN => few.is_power_of_two() && ratio < CLOSE,
            many => {
                // It may have been given up for something else in its way.
                let is_sure = self.tried[next as usize] >= TRIED;
                many.is_multiple_of(TRIED_AGAIN) && (ratio < HOPELESS || !is_sure)
            }
        }
    }

    fn time(&self, way: Way) -> f64 {
        self.nanoseconds[way as usize]
    }
}

fn class(rows: usize) -> usize {
    (usize::BITS - rows.leading_zeros()) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(ways: &mut Ways, rows: usize, cost: impl Fn(Way) -> u64) -> Way {
        for _ in 0..100 {
            let way = ways.choose(rows);
            ways.record(rows, way, Duration::from_nanos(cost(way)));
        }
        ways.choose(rows)
    }

    #[test]
    fn each_size_goes_the_way_that_has_taken_least() {
        let mut ways = Ways::new([Way::Single, Way::Arrays], Way::Copy);
        let cost = |way| match way {
            Way::Single => 10,
            Way::Arrays => 20,
            _ => 100,
        };
        assert_eq!(chosen(&mut ways, 1, cost), Way::Single);
        assert_eq!(chosen(&mut ways, 3, cost), Way::Single);
        assert_eq!(chosen(&mut ways, 100, cost), Way::Arrays);
        assert_eq!(chosen(&mut ways, 100_000, cost), Way::Copy);
        let dear = |way| if way == Way::Arrays { 200 } else { 100 };
        assert_eq!(chosen(&mut ways, 1000, dear), Way::Copy);
    }

    #[test]
    fn what_insert_cannot_do_copy_does() {
        let mut ways = Ways::new([], Way::Copy);
        for rows in [1, 2, 100, 1_000_000] {
            assert_eq!(ways.choose(rows), Way::Copy);
        }
        let mut ways = Ways::new([Way::Single], Way::Copy);
        assert_eq!([ways.choose(1), ways.choose(5)], [Way::Single, Way::Copy]);
    }

    #[test]
    fn another_way_is_tried_again_unless_it_is_hopeless() {
        let tried = |copy: u64| {
            let mut ways = Ways::new([Way::Single, Way::Arrays], Way::Copy);
            let cost = |way| Duration::from_nanos(if way == Way::Copy { copy } else { 100 });
            (0..640)
                .filter(|_| {
                    let way = ways.choose(50);
                    ways.record(50, way, cost(way));
                    way == Way::Copy
                })
                .count()
        };
        // At 256 and 512.
        assert_eq!(tried(200), 5 + 2);
        // At 16, 32, 64 and 128, too.
        assert_eq!(tried(140), 5 + 6);
        assert_eq!(tried(10_000), 2 + 2);
    }
}
