//! The built-in range types: in bytes that sort as ranges do.
//!
//! They say whether it is empty, and describe its bounds. For the lower bound: whether there is one,
//! its value, whether it is exclusive. For the upper one: whether there is none, its value, whether it
//! is inclusive.

use std::cmp::Ordering;
use std::ops::Range;

use super::unquoted::{split_quoted, with_unquoted};
use super::{Codec, KeyType, element, wire};
use crate::hash;

const EMPTY: u8 = 0;
const NOT_EMPTY: u8 = 1;

/// `RANGE_EMPTY`, `src/include/utils/rangetypes.h`.
const FLAG_EMPTY: u8 = 0x01;

/// The sides with their flags for an inclusive and for an infinite bound: `RANGE_LB_INC` and the like.
const SIDES: [(Side, u8, u8); 2] = [(Side::Lower, 0x02, 0x08), (Side::Upper, 0x04, 0x10)];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Lower,
    Upper,
}

/// A bound that is written.
struct Bound {
    side: Side,
    inclusive: bool,
    /// Where its value stands; the bracket's byte is behind it. None for an infinite bound.
    value: Option<Range<usize>>,
}

/// What is between the brackets of a range, and the brackets: the text of each bound, and whether it is
/// inclusive.
struct Bounds<'a>([(&'a [u8], bool); 2]);

/// `range_in`, `src/backend/utils/adt/rangetypes.c`, PostgreSQL 13 to 18, without its bounds. None within
/// if the range is empty.
///
/// `trim_ascii` takes all that C's `isspace` takes but the vertical tab.
fn read(text: &[u8]) -> Option<Option<Bounds<'_>>> {
    let text = text.trim_ascii();
    if text.eq_ignore_ascii_case(b"empty") {
        return Some(None);
    }
    let (bounds, rest) = read_bounds(text)?;
    rest.is_empty().then_some(Some(bounds))
}

/// The range that the text begins with, and the rest.
fn read_bounds(text: &[u8]) -> Option<(Bounds<'_>, &[u8])> {
    let (open @ (b'[' | b'('), rest) = text.split_first()? else { return None };
    let (lower, rest) = split_quoted(rest, b",)]")?;
    let (upper, close) = split_quoted(rest.strip_prefix(b",")?, b",)]")?;
    let [close @ (b']' | b')'), rest @ ..] = close else { return None };
    Some((Bounds([(lower, *open == b'['), (upper, *close == b']')]), rest))
}

/// A range to what `range_recv` takes, in the same file: flags, and the bounds that are finite. It
/// orders them and makes them canonical as `range_in` does.
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

/// `multirange_in` to what `multirange_recv` takes, `src/backend/utils/adt/multirangetypes.c`,
/// PostgreSQL 14 to 18: the number of ranges, and these. It sorts and joins them as `multirange_in`
/// does.
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

/// [`read`] to bytes that sort, appended to `bytes`.
pub(super) fn parse(subtype: &KeyType, text: &[u8], bytes: &mut Vec<u8>) -> Option<()> {
    let start = bytes.len();
    let Some(Bounds([lower, upper])) = read(text)? else {
        bytes.push(EMPTY);
        return Some(());
    };
    bytes.push(NOT_EMPTY);
    let mut lower = Bound::parse(subtype, Side::Lower, lower.0, lower.1, bytes)?;
    let mut upper = Bound::parse(subtype, Side::Upper, upper.0, upper.1, bytes)?;
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

impl Bound {
    /// Reads a value and writes it between its two bytes; no text is an infinite bound.
    fn parse(
        subtype: &KeyType,
        side: Side,
        text: &[u8],
        inclusive: bool,
        bytes: &mut Vec<u8>,
    ) -> Option<Self> {
        if text.is_empty() {
            bytes.push(infinite(side));
            return Some(Self { side, inclusive: false, value: None });
        }
        bytes.push(finite(side));
        let start = bytes.len();
        with_unquoted(text, |plain| element::parse(subtype, plain, bytes))?;
        let value = start..bytes.len();
        bytes.push(bracket(side, inclusive));
        Some(Self { side, inclusive, value: Some(value) })
    }

    /// `int4range_canonical`, `int8range_canonical` and `daterange_canonical`, in the same file: `[)`.
    fn make_canonical(&mut self, subtype: &KeyType, bytes: &mut [u8]) -> Option<()> {
        let inclusive = self.side == Side::Lower;
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

/// The value above; what does not fit, and infinity, is left to the server.
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

/// `range_serialize`, in the same file: whether nothing is between the bounds. None if they are in the
/// wrong order.
fn holds_nothing(lower: &Bound, upper: &Bound, bytes: &[u8]) -> Option<bool> {
    let (Some(from), Some(to)) = (&lower.value, &upper.value) else { return Some(false) };
    match bytes[from.clone()].cmp(&bytes[to.clone()]) {
        Ordering::Less => Some(false),
        Ordering::Equal => Some(!(lower.inclusive && upper.inclusive)),
        Ordering::Greater => None,
    }
}

/// Before the value of a bound: `range_cmp_bounds`, in the same file.
fn finite(side: Side) -> u8 {
    (side == Side::Lower).into()
}

/// Instead of a bound: below all lower ones, above all upper ones.
fn infinite(side: Side) -> u8 {
    (side == Side::Upper).into()
}

/// Returns the byte behind the value of a bound. Of two bounds with the same value the wider is the
/// lower one of lower bounds, the upper one of upper bounds.
fn bracket(side: Side, inclusive: bool) -> u8 {
    (inclusive == (side == Side::Upper)).into()
}

/// Decodes what `range_send` writes, in the same file.
pub(super) fn from_binary(subtype: &KeyType, binary: &[u8]) -> Option<Box<[u8]>> {
    let (&flags, mut rest) = binary.split_first()?;
    let mut bytes = Vec::new();
    if flags == FLAG_EMPTY {
        bytes.push(EMPTY);
    } else {
        bytes.push(NOT_EMPTY);
        for (side, inclusive, without) in SIDES {
            if flags & without != 0 {
                bytes.push(infinite(side));
                continue;
            }
            let (length, after) = rest.split_first_chunk()?;
            let length = usize::try_from(i32::from_be_bytes(*length)).ok()?;
            let (value, after) = after.split_at_checked(length)?;
            bytes.push(finite(side));
            element::from_binary(subtype, value, &mut bytes)?;
            bytes.push(bracket(side, flags & inclusive != 0));
            rest = after;
        }
    }
    rest.is_empty().then(|| bytes.into())
}

/// `hash_range_extended`, in the same file; takes the range that `bytes` begin with.
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
mod tests {
    use super::{encode, encode_multirange, parse};
    use crate::types::{Codec, KeyType};

    fn read(subtype: &KeyType, text: &str) -> Option<Vec<u8>> {
        let mut bytes = vec![7];
        parse(subtype, text.as_bytes(), &mut bytes)?;
        Some(bytes.split_off(1))
    }

    #[test]
    fn discrete_ranges_are_canonical() {
        for spellings in [
            &["[2,6)", "(1,5]", "[2,5]", "(1,6)", " [ 2 , 6 )\n", "(\"1\",\\5]", "[2\"\",\" 6\")"]
                [..],
            &["empty", "[1,1)", "(1,1]", "(1,1)", "(1,2)", "EMPTY ", "(2147483647,2147483647]"],
            &["(,)", "[,]", " (,]"],
            &["(1,)", "[2,]"],
            &["(,5]", "[,6)"],
        ] {
            for spelling in spellings {
                let bytes = read(&KeyType::Int4, spelling);
                assert!(bytes.is_some(), "{spelling}");
                assert_eq!(bytes, read(&KeyType::Int4, spellings[0]), "{spelling}");
            }
        }
    }

    #[test]
    fn ranges_sort_by_lower_and_then_by_upper_bound() {
        let ascending = [
            "empty",
            "(,-1)",
            "(,-1]",
            "(,)",
            "[-1,0)",
            "[-1,0]",
            "[-1,)",
            "(-1,0)",
            "(-1,)",
            "[0,0]",
            "[0.5,0.75)",
            "[0.5,)",
            "[1e5,)",
        ];
        let read = ascending.map(|text| read(&KeyType::Numeric { scale: None }, text));
        assert!(read.is_sorted_by(|a, b| a.is_some() && a < b), "{read:?}");
    }

    #[test]
    fn flags_say_which_bounds_there_are() {
        let [one, two] = [1, 2].map(|number| [0, 0, 0, 4, 0, 0, 0, number]);
        let both = [one, two].concat();
        for (text, flags, bounds) in [
            ("empty", 0x01, &[][..]),
            ("(1,2)", 0x00, &both),
            ("[1,2)", 0x02, &both),
            ("(1, 2]", 0x04, &both),
            (" [1,\"2\"]", 0x06, &both),
            ("[1,]", 0x12, &one),
            ("(,2]", 0x0C, &two),
            ("[,)", 0x18, &[]),
        ] {
            let mut field = Vec::new();
            encode(&Codec::Int4, text.as_bytes(), &mut field).expect(text);
            let length = 1 + bounds.len() as u8;
            assert_eq!(field, [&[0, 0, 0, length, flags], bounds].concat(), "{text}");
        }
    }

    #[test]
    fn a_multirange_is_its_ranges() {
        let read = |text: &str| {
            let mut field = Vec::new();
            encode_multirange(&Codec::Int4, text.as_bytes(), &mut field)?;
            Some(field)
        };
        let all = [0, 0, 0, 1, 0x18];
        let length = |length| [0, 0, 0, length];
        assert_eq!(read("{}"), Some([length(4), length(0)].concat()));
        let one = [&length(9)[..], &length(1), &all].concat();
        assert_eq!(read(" { (,) }\n"), Some(one));
        let two = [&length(14)[..], &length(2), &all, &all].concat();
        assert_eq!(read("{(,), (,)}"), Some(two));
        for text in ["", "{", "{(,)", "{,}", "{(,),}", "{(,), }", "{(,)(,)}", "{empty}", "(,)"] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        for text in [
            "",
            "[",
            "[,",
            "[1,2",
            "1,2)",
            "[1 2)",
            "[1,2,3)",
            "[2,1]",
            "[1,2))",
            "[1,2)x",
            "emptyx",
            "[1,2147483647]",
            "[\"\",1)",
            "[\"1,2)",
            "[1,2\\)",
            "{1,2}",
            "[ ,1)",
            "[a,b)",
            "\u{b}[1,2)",
        ] {
            assert_eq!(read(&KeyType::Int4, text), None, "{text}");
        }
        for text in ["[2024-01-01,infinity]", "(-infinity,2024-01-01)", "(infinity,)"] {
            assert_eq!(read(&KeyType::Date, text), None, "{text}");
        }
        assert!(read(&KeyType::Date, "[-infinity,infinity)").is_some());
    }
}
