//! Marks: where two bytes stand in a row, found 64 bytes at a time.
//!
//! Fields are short: to look for the end of each anew takes longer than to look through all of them.

use wide::u8x16;

const LANES: usize = 16;
const WIDTH: usize = 4 * LANES;

/// The places of either of two bytes, ascending.
pub(super) struct Marks<'r> {
    row: &'r [u8],
    bytes: [u8x16; 2],
    /// Where the next look begins.
    next: usize,
    /// The marks that were seen in the last look, a bit for each byte from here on.
    from: usize,
    seen: u64,
}

impl<'r> Marks<'r> {
    pub(super) fn new(row: &'r [u8], one: u8, other: u8) -> Self {
        Self { row, bytes: [u8x16::splat(one), u8x16::splat(other)], next: 0, from: 0, seen: 0 }
    }

    /// The place of the next mark.
    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        while self.seen == 0 {
            if self.next >= self.row.len() {
                return None;
            }
            self.look();
        }
        let place = self.from + self.seen.trailing_zeros() as usize;
        self.seen &= self.seen - 1;
        Some(place)
    }

    /// Goes on at `place`.
    #[inline]
    pub(super) fn restart(&mut self, place: usize) {
        (self.next, self.seen) = (place, 0);
    }

    #[inline]
    fn look(&mut self) {
        let rest = &self.row[self.next..];
        let rest = &rest[..rest.len().min(WIDTH)];
        let (chunks, last) = rest.as_chunks();
        let seen = chunks.iter().rev().fold(0, |seen, chunk| seen << LANES | self.marks(*chunk));
        self.seen = seen | self.marks_of_last(last) << ((rest.len() - last.len()) % WIDTH);
        self.from = self.next;
        self.next += WIDTH;
    }

    /// A bit for each byte.
    #[inline]
    fn marks(&self, chunk: [u8; LANES]) -> u64 {
        let [one, other] = self.bytes;
        let chunk = u8x16::new(chunk);
        let found = chunk.cmp_eq(one) | chunk.cmp_eq(other);
        u64::from(found.move_mask() as u16)
    }

    /// The same of fewer bytes, with which the row ends.
    #[inline]
    fn marks_of_last(&self, last: &[u8]) -> u64 {
        match self.row.last_chunk() {
            _ if last.is_empty() => 0,
            Some(chunk) => self.marks(*chunk) >> (LANES - last.len()),
            None => {
                let mut chunk = [0; LANES];
                chunk[..last.len()].copy_from_slice(last);
                self.marks(chunk) & ((1 << last.len()) - 1)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Marks;

    fn marks(row: &[u8]) -> Vec<usize> {
        let mut marks = Marks::new(row, b',', 0);
        std::iter::from_fn(|| marks.next()).collect()
    }

    #[test]
    fn marks_are_found_wherever_they_stand() {
        for length in 0..140 {
            for place in 0..length {
                for byte in [b',', 0] {
                    let mut row = vec![b'x'; length];
                    row[place] = byte;
                    assert_eq!(marks(&row), [place], "of {length}");
                }
            }
            assert_eq!(marks(&vec![b','; length]), (0..length).collect::<Vec<_>>());
            assert!(marks(&vec![b'-'; length]).is_empty());
        }
    }

    #[test]
    fn a_look_may_begin_anywhere() {
        let row = [b','; 140];
        let mut marks = Marks::new(&row, b',', b'x');
        for place in [0, 1, 17, 39, 70, 100, 139] {
            marks.restart(place);
            assert_eq!(marks.next(), Some(place));
        }
        assert_eq!(marks.next(), None);
    }
}
