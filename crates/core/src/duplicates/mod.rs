//! Duplicates: chooses one of all rows of the input with the same key.
//!
//! A load that changes existing rows sends each key once. Otherwise, which of two rows of a key is the last
//! would depend on how rows are cut into payloads, and `ON CONFLICT DO UPDATE` fails if it meets a key twice
//! (SQLSTATE 21000). So the whole input is read before the first row is sent:
//!
//! ```text
//!     row -> key of the row -> Print -> Entry -> sorted -> all but the first of each print: duplicates
//! ```
//!
//! 1. Keys are compared by their datums, which are equal if the keys are equal for the server. They are stored as
//!    128 bits of SipHash with a secret of the load ([`print`]). Two of a billion keys share these bits once in
//!    10^20 loads.
//! 2. An [`Entry`] sorts by its print, and then by the criterion of the [`Rule`]. The row that wins comes first.
//! 3. Duplicates are stored by their numbers in the input. So nothing depends on which thread routes them,
//!    or on the payloads that they would be in.

pub mod naive;
mod print;
mod rank;

use std::cmp::Reverse;

pub use print::{KeyPart, NoPrint, Print, Secret};
pub use rank::{NoRank, Rank, RankedValue, TooLong};

/// The rule for which row of a key wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// The first row in the input.
    First,
    /// The last row in the input.
    Last,
    /// The row with the greatest value in some column; of rows with equal values, the first.
    Greatest,
}

/// A row of the input and its key. Entries of the same key sort so that the row that wins comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry<R> {
    print: Print,
    rank: Reverse<R>,
    /// The number of the row, inverted if the last row wins.
    place: u64,
}

impl<R: Rank> Entry<R> {
    /// Number of bytes that [`Self::write`] appends.
    pub const BYTES: usize = 24 + R::BYTES;

    /// Creates the entry of row number `row` of the input.
    #[must_use]
    pub fn new(print: Print, rank: R, row: u64, rule: Rule) -> Self {
        let place = if rule == Rule::Last { !row } else { row };
        Self { print, rank: Reverse(rank), place }
    }

    /// Returns the number of the row.
    #[must_use]
    pub fn row(&self, rule: Rule) -> u64 {
        if rule == Rule::Last { !self.place } else { self.place }
    }

    /// Returns the index of the entry's part if entries are distributed over `parts` parts. All entries of a key
    /// are in the same part.
    #[must_use]
    pub fn part(&self, parts: usize) -> usize {
        self.print.among(parts)
    }

    /// Appends the entry in the form that [`Self::read`] reads.
    pub fn write(&self, bytes: &mut Vec<u8>) {
        self.print.write(bytes);
        self.rank.0.write(bytes);
        bytes.extend(self.place.to_le_bytes());
    }

    /// Reads an entry of [`Self::BYTES`] bytes that [`Self::write`] wrote; returns `None` for any other bytes.
    #[must_use]
    pub fn read(mut bytes: &[u8]) -> Option<Self> {
        let print = Print::take(&mut bytes)?;
        let rank = Reverse(R::take(&mut bytes)?);
        Some(Self { print, rank, place: u64::from_le_bytes(bytes.try_into().ok()?) })
    }
}

/// Sorts the entries, which must include all entries of each of their keys. Calls `found` for each duplicate,
/// with the row that wins.
pub fn find_duplicates<R: Rank>(
    entries: &mut [Entry<R>],
    rule: Rule,
    mut found: impl FnMut(u64, u64),
) {
    entries.sort_unstable();
    for of_key in entries.chunk_by(|one, next| one.print == next.print) {
        let [counts, others @ ..] = of_key else { continue };
        others.iter().for_each(|other| found(other.row(rule), counts.row(rule)));
    }
}

#[cfg(test)]
mod tests;
