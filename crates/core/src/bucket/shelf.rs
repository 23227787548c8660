//! Shelf: the rows that one thread has put into buckets and that nobody has taken yet.

use std::collections::VecDeque;

use super::claim::Mark;
use super::part::{Part, RowAt};

/// A row may grow by so much when it is encoded, before its part must grow with it.
const ROOM_A_ROW: usize = 256;

/// One thread's share of all buckets.
#[derive(Debug)]
pub struct Shelf {
    piles: Vec<Pile>,
    /// No bucket has more bytes than this.
    fullest: usize,
    grown: usize,
    expected: Option<Mark>,
}

/// One thread's share of one bucket.
#[derive(Debug, Default)]
pub(super) struct Pile {
    /// What is being filled; before the first row it has no room. It lies here, next to the sums, because
    /// whatever else a row touches is fetched from far away.
    open: Part,
    pub(super) bytes: usize,
    pub(super) rows: usize,
    full: VecDeque<Part>,
}

impl Pile {
    /// The part that was begun first, if there are rows.
    pub(super) fn first(&self) -> Option<&Part> {
        self.parts().next()
    }

    /// The parts with rows in the order in which they were begun.
    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        let open = (!self.open.rows().is_empty()).then_some(&self.open);
        self.full.iter().chain(open)
    }
}

impl Shelf {
    /// A shelf for so many buckets.
    pub fn new(buckets: usize) -> Self {
        Self {
            piles: (0..buckets).map(|_| Pile::default()).collect(),
            fullest: 0,
            grown: 0,
            expected: None,
        }
    }

    /// The bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.piles.iter().map(|pile| pile.bytes).sum()
    }

    /// Room for a row of some `bytes` bytes in `bucket`; an error is the bytes that a part must have room
    /// for that is to be supplied first: see [`Self::supply`].
    #[inline]
    pub fn room(&mut self, bucket: usize, bytes: usize) -> Result<Room<'_>, usize> {
        let room = bytes + ROOM_A_ROW;
        let Self { piles, fullest, grown, .. } = self;
        let pile = &mut piles[bucket];
        match pile.open.has_room(room) {
            true => Ok(Room { pile, fullest, grown }),
            false => Err(room),
        }
    }

    /// Gives `bucket` an empty part to fill.
    pub fn supply(&mut self, bucket: usize, part: Part) -> Room<'_> {
        let Self { piles, fullest, grown, .. } = self;
        let pile = &mut piles[bucket];
        let before = std::mem::replace(&mut pile.open, part);
        if before.memory() > 0 {
            pile.full.push_back(before);
        }
        Room { pile, fullest, grown }
    }

    /// A bound for the bytes of its fullest bucket.
    pub(super) fn fullest(&self) -> usize {
        self.fullest
    }

    /// Looks anew for the bound, which does not shrink by itself.
    pub(super) fn bound(&mut self) {
        self.fullest = self.piles.iter().map(|pile| pile.bytes).max().unwrap_or(0);
    }

    /// What `bucket` is filling, if nothing is in it: for a row that could not be written it may have
    /// been supplied, or have grown, beyond measure.
    pub fn take_empty(&mut self, bucket: usize) -> Option<Part> {
        let open = &mut self.piles[bucket].open;
        let is_empty = open.rows().is_empty() && open.memory() > 0;
        is_empty.then(|| std::mem::take(open))
    }

    /// Notes that of the split that is being routed rows from this one on may still come, although others
    /// behind them have; with None, only those behind all that have come.
    #[inline]
    pub fn expect(&mut self, mark: Option<Mark>) {
        self.expected = mark;
    }

    /// Notes that this row may still come as well, for which there is no room yet. What was expected before
    /// is to be noted again when there is.
    pub fn expect_also(&mut self, row: RowAt) -> Option<Mark> {
        let (row, before) = (Mark::of(&row), self.expected);
        self.expected = Some(before.map_or(row, |before| before.min(row)));
        before
    }

    pub(super) fn expected(&self) -> Option<Mark> {
        self.expected
    }

    /// The memory by which parts had to grow since this was asked last.
    #[inline]
    pub fn grown(&mut self) -> usize {
        std::mem::take(&mut self.grown)
    }

    pub(super) fn pile(&self, bucket: usize) -> &Pile {
        &self.piles[bucket]
    }

    /// Takes the first part of a bucket.
    pub(super) fn take(&mut self, bucket: usize) -> Option<Part> {
        let pile = &mut self.piles[bucket];
        let part = match pile.full.pop_front() {
            Some(part) => part,
            None if pile.rows > 0 => std::mem::take(&mut pile.open),
            None => return None,
        };
        pile.bytes -= part.bytes();
        pile.rows -= part.rows().len();
        Some(part)
    }
}

/// Room for a row.
#[derive(Debug)]
pub struct Room<'s> {
    pile: &'s mut Pile,
    fullest: &'s mut usize,
    grown: &'s mut usize,
}

impl Room<'_> {
    /// Adds a row that `write` appends, or nothing if it fails.
    #[inline]
    pub fn push<E>(
        self,
        at: RowAt,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<(), E> {
        let Self { pile, fullest, grown } = self;
        let (memory, before) = (pile.open.memory(), pile.open.bytes());
        let pushed = pile.open.push(at, write);
        *grown += pile.open.memory() - memory;
        pushed?;
        let written = pile.open.bytes() - before;
        pile.bytes += written;
        pile.rows += 1;
        *fullest = pile.bytes.max(*fullest);
        Ok(())
    }
}
