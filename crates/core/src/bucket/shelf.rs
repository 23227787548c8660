//! Shelf: the rows that one thread has put into buckets and that nobody has taken yet.

use std::collections::VecDeque;

use super::part::{Part, RowAt};

/// A row may grow by so much when it is encoded, before its part must grow with it.
const ROOM_A_ROW: usize = 256;

/// One thread's share of all buckets.
#[derive(Debug)]
pub struct Shelf {
    piles: Vec<Pile>,
    bytes: usize,
}

/// One thread's share of one bucket. The last part is being filled.
#[derive(Debug, Default)]
pub(super) struct Pile {
    pub(super) parts: VecDeque<Part>,
    pub(super) bytes: usize,
    pub(super) rows: usize,
}

impl Shelf {
    /// A shelf for so many buckets.
    pub fn new(buckets: usize) -> Self {
        Self { piles: (0..buckets).map(|_| Pile::default()).collect(), bytes: 0 }
    }

    /// The bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Room for a row of some `bytes` bytes in `bucket`; an error is the bytes that a part must have room
    /// for that is to be supplied first: see [`Self::supply`].
    #[inline]
    pub fn room(&mut self, bucket: usize, bytes: usize) -> Result<Room<'_>, usize> {
        let Self { piles, bytes: all } = self;
        let Pile { parts, bytes: of_pile, rows } = &mut piles[bucket];
        let room = bytes + ROOM_A_ROW;
        match parts.back_mut() {
            Some(part) if part.has_room(room) => Ok(Room { part, sums: [all, of_pile], rows }),
            _ => Err(room),
        }
    }

    /// Gives `bucket` an empty part to fill.
    pub fn supply(&mut self, bucket: usize, part: Part) -> Room<'_> {
        let Self { piles, bytes: all } = self;
        let Pile { parts, bytes: of_pile, rows } = &mut piles[bucket];
        let last = parts.len();
        parts.push_back(part);
        Room { part: &mut parts[last], sums: [all, of_pile], rows }
    }

    pub(super) fn pile(&self, bucket: usize) -> &Pile {
        &self.piles[bucket]
    }

    /// Takes the first part of a bucket.
    pub(super) fn take(&mut self, bucket: usize) -> Option<Part> {
        let pile = &mut self.piles[bucket];
        let part = pile.parts.pop_front()?;
        pile.bytes -= part.bytes();
        pile.rows -= part.rows().len();
        self.bytes -= part.bytes();
        Some(part)
    }
}

/// Room for a row.
#[derive(Debug)]
pub struct Room<'s> {
    part: &'s mut Part,
    /// The bytes that are counted.
    sums: [&'s mut usize; 2],
    rows: &'s mut usize,
}

impl Room<'_> {
    /// Adds a row that `write` appends; the memory by which the part had to grow. If `write` fails
    /// nothing is added.
    #[inline]
    pub fn push<E>(
        self,
        at: RowAt,
        write: impl FnOnce(&mut Vec<u8>) -> Result<(), E>,
    ) -> Result<usize, E> {
        let Self { part, sums, rows } = self;
        let (memory, bytes) = (part.memory(), part.bytes());
        part.push(at, write)?;
        for sum in sums {
            *sum += part.bytes() - bytes;
        }
        *rows += 1;
        Ok(part.memory() - memory)
    }
}
