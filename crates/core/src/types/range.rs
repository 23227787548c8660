//! The built-in range types, in bytes that sort as ranges do.
//!
//! The first byte says whether the range is empty. The lower bound follows: whether it is finite, its value,
//! whether it is exclusive. The upper bound comes last: whether it is infinite, its value, whether it is
//! inclusive.

use std::cmp::Ordering;
use std::ops::Range;

use super::unquoted::{split_quoted, with_unquoted};
use super::{Codec, KeyType, element, wire};
use crate::hash;

const EMPTY: u8 = 0;
const NOT_EMPTY: u8 = 1;

/// `RANGE_EMPTY`, `src/include/utils/rangetypes.h`.
const FLAG_EMPTY: u8 = 0x01;

/// The sides, with their flags for an inclusive and for an infinite bound: `RANGE_LB_INC` and its siblings.
const SIDES: [(RangeSide, u8, u8); 2] =
    [(RangeSide::Lower, 0x02, 0x08), (RangeSide::Upper, 0x04, 0x10)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum RangeSide {
    Lower,
    Upper,
}

/// A bound that has been written.
struct RangeBound {
    side: RangeSide,
    inclusive: bool,
    /// Position of the value, which the byte for the bracket follows; `None` for an infinite bound.
    value: Option<Range<usize>>,
}

/// The text of each bound of a range, and whether the bound is inclusive.
struct Bounds<'a>([(&'a [u8], bool); 2]);

/// Parses a text like `range_in` (`src/backend/utils/adt/rangetypes.c`, PostgreSQL 13 to 18), but leaves the
/// values of the bounds as text. Returns `Some(None)` for an empty range.
///
/// `trim_ascii` strips the characters of C's `isspace` except the vertical tab.
fn read(text: &[u8]) -> Option<Option<Bounds<'_>>> {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case(b"empty") {
        return Some(None);
    }
    let (bounds, rest) = read_bounds(text)?;
    rest.is_empty().then_some(Some(bounds))
}

/// Reads the range at the beginning of the text and returns the rest.
fn read_bounds(text: &[u8]) -> Option<(Bounds<'_>, &[u8])> {
    let (open @ (b'[' | b'('), rest) = text.split_first()? else { return None };
    let (lower, rest) = split_quoted(rest, b",)]")?;
    let (upper, close) = split_quoted(rest.strip_prefix(b",")?, b",)]")?;
    let [close @ (b']' | b')'), rest @ ..] = close else { return None };
    Some((Bounds([(lower, *open == b'['), (upper, *close == b']')]), rest))
}

/// Encodes a range as `range_recv` (same file) expects it: flags, and the finite bounds. It checks the order of
/// the bounds and makes them canonical as `range_in` does.
pub(super) fn encode(subtype: &Codec, text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    encode_bounds(subtype, read(text)?.as_ref(), field)
}

fn encode_bounds(subtype: &Codec, bounds: Option<&Bounds<'_>>, field: &mut Vec<u8>) -> Option<()> {
    wire::put_with(field, |field| {
        let flags = field.len();
        field.push(if bounds.is_none() { FLAG_EMPTY } else { 0 });
        let bounds = bounds.iter().flat_map(|bounds| bounds.0);
        for ((text, inclusive), (_, flag_inclusive, flag_infinite)) in bounds.zip(SIDES) {
            if text.is_empty() {
                field[flags] |= flag_infinite;
                continue;
            }
            field[flags] |= if inclusive { flag_inclusive } else { 0 };
            with_unquoted(text, |plain| subtype.encode(plain, field))?;
        }
        Some(())
    })
}

/// Encodes a text that `multirange_in` accepts as `multirange_recv` expects it
/// (`src/backend/utils/adt/multirangetypes.c`, PostgreSQL 14 to 18): the number of ranges, then the ranges. It
/// sorts and joins them as `multirange_in` does.
pub(super) fn encode_multirange(subtype: &Codec, text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    let inner = text.trim_ascii().strip_prefix(b"{")?.strip_suffix(b"}")?;
    let mut rest = inner.trim_ascii_start();
    wire::put_with(field, |field| {
        let start = field.len();
        let mut count: u32 = 0;
        field.extend(count.to_be_bytes());
        let mut more = !rest.is_empty();
        while more {
            let (bounds, after) = read_bounds(rest)?;
            encode_bounds(subtype, Some(&bounds), field)?;
            count += 1;
            rest = after.trim_ascii_start();
            more = !rest.is_empty();
            if more {
                rest = rest.strip_prefix(b",")?.trim_ascii_start();
            }
        }
        field[start..start + 4].copy_from_slice(&count.to_be_bytes());
        Some(())
    })
}

/// Appends a range, parsed by [`read`], as bytes that sort.
pub(super) fn parse(subtype: &KeyType, text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let start = bytes.len();
    let Some(Bounds([lower, upper])) = read(text)? else {
        bytes.push(EMPTY);
        return Some(());
    };
    bytes.push(NOT_EMPTY);
    let lower = RangeBound::parse(subtype, RangeSide::Lower, lower.0, lower.1, bytes)?;
    let upper = RangeBound::parse(subtype, RangeSide::Upper, upper.0, upper.1, bytes)?;
    make_canonical(subtype, [lower, upper], start, bytes)
}

/// Makes the range in `bytes` from `start` on canonical.
fn make_canonical(
    subtype: &KeyType,
    [mut lower, mut upper]: [RangeBound; 2],
    start: usize,
    bytes: &mut Vec<u8>,
) -> Option<()> {
    let mut empty = holds_nothing(&lower, &upper, bytes)?;
    if !empty && is_discrete(subtype) {
        lower.make_canonical(subtype, bytes)?;
        upper.make_canonical(subtype, bytes)?;
        empty = holds_nothing(&lower, &upper, bytes)?;
    }
    if empty {
        bytes.truncate(start);
        bytes.push(EMPTY);
    }
    Some(())
}

impl RangeBound {
    /// Reads a value and writes it between its two bytes; an empty text is an infinite bound.
    fn parse(
        subtype: &KeyType,
        side: RangeSide,
        text: &[u8],
        inclusive: bool,
        bytes: &mut Vec<u8>,
    ) -> Option<Self> {
        if text.is_empty() {
            return Some(Self::infinite(side, bytes));
        }
        Self::put(side, inclusive, bytes, |bytes| {
            with_unquoted(text, |plain| element::parse(subtype, plain, bytes))
        })
    }

    fn infinite(side: RangeSide, bytes: &mut Vec<u8>) -> Self {
        bytes.push(infinite(side));
        Self { side, inclusive: false, value: None }
    }

    /// Writes the value that `put` appends, between its two bytes.
    fn put(
        side: RangeSide,
        inclusive: bool,
        bytes: &mut Vec<u8>,
        put: impl FnOnce(&mut Vec<u8>) -> Option<()>,
    ) -> Option<Self> {
        bytes.push(finite(side));
        let start = bytes.len();
        put(bytes)?;
        let value = start..bytes.len();
        bytes.push(bracket(side, inclusive));
        Some(Self { side, inclusive, value: Some(value) })
    }

    /// Makes the bound canonical, for ranges of the form `[)`, like `int4range_canonical`, `int8range_canonical`
    /// and `daterange_canonical` (same file).
    fn make_canonical(&mut self, subtype: &KeyType, bytes: &mut [u8]) -> Option<()> {
        let inclusive = self.side == RangeSide::Lower;
        if let Some(value) = self.value.clone()
            && self.inclusive != inclusive
        {
            bytes[value.end] = bracket(self.side, inclusive);
            let value = &mut bytes[value];
            let next = next(subtype, element::take_int(&mut &*value))?;
            value.copy_from_slice(&element::int(next));
            self.inclusive = inclusive;
        }
        Some(())
    }
}

/// Returns the next greater value, or `None` for infinity and on overflow, which are left to the server.
fn next(subtype: &KeyType, value: i64) -> Option<i64> {
    let (min, max) = match subtype {
        KeyType::Int8 => (i64::MIN, i64::MAX),
        KeyType::Date => (i64::from(i32::MIN) + 1, i32::MAX.into()),
        _ => (i32::MIN.into(), i32::MAX.into()),
    };
    (min <= value && value < max).then(|| value + 1)
}

fn is_discrete(subtype: &KeyType) -> bool {
    matches!(subtype, KeyType::Int4 | KeyType::Int8 | KeyType::Date)
}

/// Whether no value is between the bounds, as in `range_serialize` (same file). Returns `None` if the bounds are
/// in the wrong order.
fn holds_nothing(lower: &RangeBound, upper: &RangeBound, bytes: &[u8]) -> Option<bool> {
    let (Some(from), Some(to)) = (&lower.value, &upper.value) else { return Some(false) };
    match bytes[from.clone()].cmp(&bytes[to.clone()]) {
        Ordering::Less => Some(false),
        Ordering::Equal => Some(!(lower.inclusive && upper.inclusive)),
        Ordering::Greater => None,
    }
}

/// Returns the byte before the value of a finite bound, in the order of `range_cmp_bounds` (same file).
fn finite(side: RangeSide) -> u8 {
    (side == RangeSide::Lower).into()
}

/// Returns the byte for an infinite bound, which sorts below all finite lower bounds or above all finite upper
/// bounds.
fn infinite(side: RangeSide) -> u8 {
    (side == RangeSide::Upper).into()
}

/// Returns the byte after the value of a bound. For equal values, an inclusive lower bound sorts below an
/// exclusive one, and an inclusive upper bound above an exclusive one.
fn bracket(side: RangeSide, inclusive: bool) -> u8 {
    (inclusive == (side == RangeSide::Upper)).into()
}

/// Decodes the binary form that `range_recv` (same file) reads, into the bytes that [`parse`] writes; makes
/// ranges canonical as it does.
pub(super) fn receive(subtype: &KeyType, binary: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let start = bytes.len();
    let (&flags, mut rest) = binary.split_first()?;
    if flags == FLAG_EMPTY {
        bytes.push(EMPTY);
        return rest.is_empty().then_some(());
    }
    bytes.push(NOT_EMPTY);
    let mut bound = |(side, inclusive, without)| {
        if flags & without != 0 {
            return Some(RangeBound::infinite(side, bytes));
        }
        let (length, after) = rest.split_first_chunk()?;
        let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
        let (value, after) = after.split_at_checked(length)?;
        rest = after;
        RangeBound::put(side, flags & inclusive != 0, bytes, |bytes| {
            element::receive(subtype, value, bytes)
        })
    };
    let [lower, upper] = SIDES;
    let bounds = [bound(lower)?, bound(upper)?];
    if !rest.is_empty() {
        return None;
    }
    make_canonical(subtype, bounds, start, bytes)
}

/// Takes a range off `bytes` and hashes it like `hash_range_extended` (same file).
pub(super) fn hash_extended(subtype: &KeyType, bytes: &mut &[u8], seed: u64) -> u64 {
    if element::take(bytes) == [EMPTY] {
        return merge_hashes(FLAG_EMPTY, 0, 0, seed);
    }
    let mut flags = 0;
    let [lower, upper] = SIDES.map(|(side, inclusive, without)| {
        if element::take(bytes) == [infinite(side)] {
            flags |= without;
            return 0;
        }
        let hash = element::hash_extended(subtype, bytes, seed);
        if element::take(bytes) == [bracket(side, true)] {
            flags |= inclusive;
        }
        hash
    });
    merge_hashes(flags, lower, upper, seed)
}

fn merge_hashes(flags: u8, lower: u64, upper: u64, seed: u64) -> u64 {
    hash::rotate_halves(hash::uint32_extended(flags.into(), seed) ^ lower) ^ upper
}

#[cfg(test)]
mod tests;
