//! Marks: the positions of certain bytes, found 64 bytes at a time.
//!
//! Rows and fields are short, so a separate search for the end of each would take longer than one scan of all
//! bytes.

use wide::u8x16;

const VECTOR_BYTES: usize = 16;

/// Number of bytes that one look scans.
pub(crate) const REACH: usize = 4 * VECTOR_BYTES;

/// Runs `find` over the [`REACH`] bytes from `from` on, or over fewer if the input ends. Returns a bit for each
/// byte, the first one lowest.
#[inline(always)]
pub(crate) fn look<const N: usize>(
    bytes: &[u8],
    from: usize,
    find: impl Fn(&[u8; REACH]) -> [u64; N],
) -> [u64; N] {
    let rest = &bytes[from..];
    if let Some(chunk) = rest.first_chunk() {
        return find(chunk);
    }
    if let Some(chunk) = bytes.last_chunk() {
        // If no byte is left, all 64 bits are shifted out.
        let beyond = (REACH - rest.len()) as u32;
        return find(chunk).map(|found| found.checked_shr(beyond).unwrap_or(0));
    }
    let short = two_ends::<32, N>(rest, &find).or_else(|| two_ends::<16, N>(rest, &find));
    short.or_else(|| two_ends::<8, N>(rest, &find)).unwrap_or_else(|| {
        let mut chunk = [0; REACH];
        chunk[..rest.len()].copy_from_slice(rest);
        find(&chunk).map(|found| found & !(u64::MAX << rest.len()))
    })
}

/// Works like [`look`] for `HALF` to twice as many bytes, which it reads as the first and the last `HALF` bytes.
/// These may overlap. Returns `None` if there are fewer.
///
/// Copying a variable number of bytes and reading them in parts of another size would be slow, because the
/// processor waits until they are in its cache.
#[inline(always)]
fn two_ends<const HALF: usize, const N: usize>(
    bytes: &[u8],
    find: impl Fn(&[u8; REACH]) -> [u64; N],
) -> Option<[u64; N]> {
    let (first, last) = (bytes.first_chunk::<HALF>()?, bytes.last_chunk::<HALF>()?);
    let mut chunk = [0; REACH];
    chunk[..HALF].copy_from_slice(first);
    chunk[HALF..2 * HALF].copy_from_slice(last);
    let half = !(u64::MAX << HALF);
    let between = bytes.len() - HALF;
    Some(find(&chunk).map(|found| found & half | (found >> HALF & half) << between))
}

/// Returns a bit for each byte of `chunk` for which `is` sets all bits.
#[inline(always)]
pub(crate) fn mark(chunk: &[u8; REACH], is: impl Fn(u8x16) -> u8x16) -> u64 {
    let (chunks, _) = chunk.as_chunks::<VECTOR_BYTES>();
    let bits = |chunk: &[u8; VECTOR_BYTES]| u64::from(is(u8x16::new(*chunk)).move_mask() as u16);
    chunks.iter().rev().fold(0, |marked, chunk| marked << VECTOR_BYTES | bits(chunk))
}

/// A search for any of three bytes.
pub(crate) struct Marks<'b> {
    bytes: &'b [u8],
    wanted: [u8x16; 3],
    /// Offset and result of the last look.
    from: usize,
    found: u64,
}

impl<'b> Marks<'b> {
    pub(crate) fn new(bytes: &'b [u8], wanted: [u8; 3]) -> Self {
        let mut marks = Self { bytes, wanted: wanted.map(u8x16::splat), from: 0, found: 0 };
        marks.look(0);
        marks
    }

    /// Returns the first mark at or after `at`, which must never decrease.
    #[inline]
    pub(crate) fn next(&mut self, mut at: usize) -> Option<usize> {
        while at < self.bytes.len() {
            if at >= self.from + REACH {
                self.look(at);
            }
            match self.found >> (at - self.from) {
                0 => at = self.from + REACH,
                rest => return Some(at + rest.trailing_zeros() as usize),
            }
        }
        None
    }

    #[inline]
    fn look(&mut self, from: usize) {
        let [a, b, c] = self.wanted;
        let is = |chunk: u8x16| chunk.cmp_eq(a) | chunk.cmp_eq(b) | chunk.cmp_eq(c);
        [self.found] = look(self.bytes, from, |chunk| [mark(chunk, is)]);
        self.from = from;
    }
}

#[cfg(test)]
mod tests {
    use super::{Marks, REACH, look, mark};
    use wide::u8x16;

    #[test]
    fn marks_are_found_at_any_offset() {
        let commas = |row: &[u8], from| {
            let [found] = look(row, from, |c| [mark(c, |c| c.cmp_eq(u8x16::splat(b',')))]);
            found
        };
        // A slow twin.
        let expected = |row: &[u8], from: usize| {
            let places = row[from..].iter().take(REACH).enumerate();
            places.fold(0, |bits, (place, &byte)| bits | u64::from(byte == b',') << place)
        };
        for length in 0..140 {
            for place in 0..length {
                let mut row = vec![0; length];
                row[place] = b',';
                for from in [0, 1, place, length / 2, length - 1, length] {
                    assert_eq!(commas(&row, from), expected(&row, from), "of {length}");
                }
            }
            let row = vec![b','; length];
            assert_eq!(commas(&row, 0), expected(&row, 0), "of {length}");
        }
    }

    #[test]
    fn each_mark_is_found_in_turn() {
        for gap in 0..70 {
            for byte in *b"abc" {
                let mut bytes = vec![b'x'; gap];
                bytes.push(byte);
                let bytes = bytes.repeat(9);
                let mut marks = Marks::new(&bytes, *b"abc");
                for mark in 1..=9 {
                    let begin = (mark - 1) * (gap + 1);
                    let end = begin + gap;
                    assert_eq!([begin, end].map(|at| marks.next(at)), [Some(end); 2], "{gap}");
                }
                assert_eq!(marks.next(bytes.len()), None);
            }
        }
        assert_eq!(Marks::new(b"", *b"abc").next(0), None);
        assert_eq!(Marks::new(b"xyz", *b"abc").next(0), None);
    }
}
