//! Duplicates: of all rows of the input with one key, the one that counts.
//!
//! A load that changes rows which are there already sends each key once. Otherwise it would depend on how
//! rows are cut into payloads which of two rows of a key is the last one, and `ON CONFLICT DO UPDATE` refuses
//! to meet a key twice (SQLSTATE 21000). So the whole input is looked at before the first row is sent:
//!
//! ```text
//!     row -> key of the row -> Print -> Entry -> sorted -> all but the first of each print: superseded
//! ```
//!
//! 1. Keys are compared by their datums, which are equal where the server's equality says so. They are kept
//!    as 128 bits of SipHash with a secret of the load ([`print`]). Two keys of a billion share these bits
//!    once in 10^20 loads.
//! 2. An [`Entry`] sorts by its print, and then by what makes a row count ([`Rule`]): so the one that does
//!    comes first.
//! 3. Superseded rows are kept by their numbers in the input. So nothing depends on which thread has routed them, or
//!    in which payload they would have been.

pub mod naive;
mod print;
mod rank;

use std::cmp::Reverse;

pub use print::{KeyPart, NoPrint, Print, Secret};
pub use rank::{NoRank, Rank, RankedValue, TooLong};

/// Which row of a key counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The one that comes first in the input.
    First,
    /// The one that comes last.
    Last,
    /// The one with the greatest value in some column, and of equal ones the first.
    Greatest,
}

/// A row of the input and its key. Those of one key sort so that the row that counts comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry<R> {
    print: Print,
    rank: Reverse<R>,
    /// The number of the row. Where the last one counts, what is left of all numbers behind it.
    place: u64,
}

impl<R: Rank> Entry<R> {
    /// The bytes that [`Self::write`] appends.
    pub const BYTES: usize = 24 + R::BYTES;

    /// Makes the entry of row number `row` of the input.
    #[must_use]
    pub fn new(print: Print, rank: R, row: u64, rule: Rule) -> Self {
        let place = if rule == Rule::Last { !row } else { row };
        Self { print, rank: Reverse(rank), place }
    }

    /// The number of its row.
    #[must_use]
    pub fn row(&self, rule: Rule) -> u64 {
        if rule == Rule::Last { !self.place } else { self.place }
    }

    /// Of `parts` parts, in which all entries of a key are together, the one that it belongs to.
    #[must_use]
    pub fn part(&self, parts: usize) -> usize {
        self.print.among(parts)
    }

    /// Appends it to what [`Self::read`] reads.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        self.print.write(bytes);
        self.rank.0.write(bytes);
        bytes.extend(self.place.to_le_bytes());
    }

    /// Reads what [`Self::write`] has written, [`Self::BYTES`] of it; None if it is something else.
    #[must_use]
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let print = Print::take(&mut bytes)?;
        let rank = Reverse(R::take(&mut bytes)?);
        Some(Self { print, rank, place: u64::from_le_bytes(bytes.try_into().ok()?) })
    }
}

/// Sorts the entries of whole keys, and hands over each row that does not count with the one that does.
pub fn superseded<R: Rank>(entries: &mut [Entry<R>], rule: Rule, mut found: impl FnMut(u64, u64)) {
    entries.sort_unstable();
    for of_key in entries.chunk_by(|one, next| one.print == next.print) {
        let [counts, others @ ..] = of_key else { continue };
        others.iter().for_each(|other| found(other.row(rule), counts.row(rule)));
    }
}

#[cfg(test)]
mod tests;
