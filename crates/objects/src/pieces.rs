//! Pieces of an object that are read at the same time, each from its beginning to its end, such as the columns
//! of a row group.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use crate::Result;
use crate::failure::{Cause, Failure};
use crate::object::Object;
use crate::window::Window;

/// The size of a block. Each piece has two of them in memory.
const BLOCK: u64 = 512 << 10;

/// The most bytes of several pieces that are read by one request, so that a server has not one for each small column.
const JOINED: u64 = 2 << 20;

/// The number of blocks of a piece that are on their way.
const AHEAD: usize = 2;

/// The number of bytes between two pieces that are rather read than skipped.
const GAP: u64 = 64 << 10;

/// Pieces of an object. They are requested when this value is created.
#[derive(Debug)]
pub struct Pieces {
    windows: Vec<(Range<u64>, Mutex<Window>)>,
}

impl Pieces {
    /// Requests the pieces at these ranges.
    pub fn new(object: &Object, ranges: impl IntoIterator<Item = Range<u64>>) -> Self {
        let window = |Joined { range, block }| {
            let mut window = Window::new(object, Range::clone(&range), [block; 2], [AHEAD; 2]);
            window.begin();
            (range, Mutex::new(window))
        };
        let windows = join(ranges).into_iter().map(window).collect();
        Self { windows }
    }

    /// Returns `length` bytes from `at` on.
    ///
    /// # Errors
    ///
    /// Fails if the bytes are not within one piece, or cannot be read.
    pub fn read_at(&self, at: u64, length: usize) -> Result<Bytes> {
        self.window(at)?.lock().unwrap_or_else(PoisonError::into_inner).all_at(at, length)
    }

    /// Returns some bytes from `at` on; none at the end of a piece.
    ///
    /// # Errors
    ///
    /// Fails if `at` is not in a piece, or the bytes cannot be read.
    pub fn some_at(&self, at: u64) -> Result<Bytes> {
        self.window(at)?.lock().unwrap_or_else(PoisonError::into_inner).some_at(at)
    }

    fn window(&self, at: u64) -> Result<&Mutex<Window>> {
        let window = self.windows.iter().find(|(range, _)| range.contains(&at));
        let outside = || Failure::new(Cause::Other, "a part of it lies outside of its columns");
        Ok(&window.ok_or_else(outside)?.1)
    }
}

/// One piece or several, and the size of the blocks in which they are read.
#[derive(Debug, PartialEq)]
struct Joined {
    range: Range<u64>,
    block: u64,
}

/// Joins small ranges that are close to each other. All of them are in one block, because they are read at the same
/// time, and a window only moves on.
fn join(ranges: impl IntoIterator<Item = Range<u64>>) -> Vec<Joined> {
    let mut ranges: Vec<Range<u64>> =
        ranges.into_iter().filter(|range| !range.is_empty()).collect();
    ranges.sort_by_key(|range| range.start);
    let mut joined: Vec<Joined> = Vec::new();
    for range in ranges {
        match joined.last_mut() {
            Some(Joined { range: last, .. }) if range.end <= last.end => {}
            Some(Joined { range: last, block })
                if range.start <= last.end + GAP && range.end - last.start <= JOINED
                    || range.start < last.end =>
            {
                last.end = range.end;
                *block = (last.end - last.start).min(JOINED);
            }
            _ => joined.push(Joined { range, block: BLOCK }),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_pieces_are_read_together() {
        let kib = |range: Range<u64>| range.start << 10..range.end << 10;
        let of = |ranges: &[Range<u64>]| join(ranges.iter().cloned().map(kib));
        let piece = |range, block: u64| Joined { range: kib(range), block: block << 10 };
        assert_eq!(of(&[4..10, 0..4, 60..70]), [piece(0..70, 70)]);
        assert_eq!(of(&[0..10, 100..110]), [piece(0..10, 512), piece(100..110, 512)]);
        assert_eq!(of(&[0..2000, 2000..2100]), [piece(0..2000, 512), piece(2000..2100, 512)]);
        assert_eq!(of(&[0..600, 600..2000]), [piece(0..2000, 2000)]);
        assert_eq!(of(&[0..1600, 1500..2700]), [piece(0..2700, 2048)]);
        assert!(of(&[3..3, 5..5]).is_empty());
    }
}
