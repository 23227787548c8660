//! numeric in the format of COPY BINARY, which keeps the written number of digits after the decimal point.

use super::{INFINITY, NAN, parse_decimal, parse_word};
use crate::types::{digits, wire};

/// `NUMERIC_POS` and its siblings, `src/backend/utils/adt/numeric.c`, PostgreSQL 13 to 18.
const WIRE_POSITIVE: u16 = 0x0000;
const WIRE_NEGATIVE: u16 = 0x4000;
const WIRE_NAN: u16 = 0xC000;
const WIRE_INFINITY: u16 = 0xD000;
const WIRE_NEGATIVE_INFINITY: u16 = 0xF000;

/// Encodes the number that [`super::parse`] reads as `numeric_recv` (same file) expects it, with the written
/// number of digits after the decimal point. It rounds and rejects numbers as `numeric_in` does.
#[inline(never)]
pub(crate) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if let Some(number) = Short::parse(text) {
        number.put(field);
        return Some(());
    }
    encode_long(text, field)
}

#[inline(never)]
fn encode_long(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    match encode_plain(text, field) {
        Some(()) => Some(()),
        None => encode_any(text.trim_ascii(), field),
    }
}

/// A number without a sign of at most eight bytes, which fit in a word.
struct Short {
    /// All digits, without the decimal point.
    digits: u32,
    /// Number of digits after the point.
    scale: u32,
}

impl Short {
    #[inline]
    fn parse(text: &[u8]) -> Option<Self> {
        if text.len() > 8 {
            return None;
        }
        let word = digits::word(text);
        let point = digits::lowest(b'.', word);
        let (scale, written) = match point {
            0 => (0, text.len()),
            _ => (point.trailing_zeros() / 8, text.len() - 1),
        };
        if written == 0 {
            return None;
        }
        // Shifts the digits before the point by one byte, over the point.
        let after = (1 << (8 * scale)) - 1;
        let before = if point == 0 { word } else { word >> 8 & !after };
        let zeros = digits::ZEROS.checked_shl(8 * written as u32).unwrap_or(0);
        let digits = digits::eight(zeros | before | word & after)?;
        Some(Self { digits, scale })
    }

    #[inline]
    fn put(&self, field: &mut Vec<u8>) {
        let Self { digits, scale } = *self;
        let shifted = u64::from(digits) * u64::from(TENS[8 - scale as usize]);
        let (whole, fraction) = (shifted / 100_000_000, shifted % 100_000_000);
        let groups = pair(whole as u32) << 32 | pair(fraction as u32);
        let zeros = (groups.leading_zeros() / 16).min(3);
        let groups = groups << (16 * zeros);
        let count = 4 - groups.trailing_zeros() / 16;
        let weight = if count > 0 { 1 - zeros as i16 } else { 0 };
        let head = u64::from(count) << 48 | u64::from(weight as u16) << 32 | u64::from(scale);
        let mut bytes = [0; 20];
        bytes[3] = 8 + 2 * count as u8;
        bytes[4..12].copy_from_slice(&head.to_be_bytes());
        bytes[12..].copy_from_slice(&groups.to_be_bytes());
        field.extend_from_slice(&bytes);
        field.truncate(field.len() - (8 - 2 * count as usize));
    }
}

/// Encodes a number with at most sixteen digits before the decimal point and eight after it: six base-10,000
/// digits.
#[inline]
fn encode_plain(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (whole, fraction) = match text.iter().rposition(|&byte| byte == b'.') {
        Some(point) => (&text[..point], &text[point + 1..]),
        None => (text, &[][..]),
    };
    let scale = fraction.len();
    let eighth = TENS.get(8_usize.checked_sub(scale)?)?;
    let whole = digits::number(whole)?;
    let fraction = digits::up_to_8(fraction)? * eighth;
    let (upper, lower) = ((whole / 100_000_000) as u32, (whole % 100_000_000) as u32);
    let groups =
        u128::from(pair(upper)) << 96 | u128::from(pair(lower) << 32 | pair(fraction)) << 32;
    // There are six groups.
    let zeros = (groups.leading_zeros() / 16).min(5);
    let groups = groups << (16 * zeros);
    let count = 8 - groups.trailing_zeros() / 16;
    let weight = if count > 0 { 3 - zeros as i16 } else { 0 };
    let head = u64::from(count) << 48
        | u64::from(weight as u16) << 32
        | u64::from(wire_sign(negative && count > 0)) << 16
        | scale as u64;
    let mut bytes = [0; 24];
    bytes[3] = 8 + 2 * count as u8;
    bytes[4..12].copy_from_slice(&head.to_be_bytes());
    bytes[12..].copy_from_slice(&groups.to_be_bytes()[..12]);
    field.extend_from_slice(&bytes);
    field.truncate(field.len() - (12 - 2 * count as usize));
    Some(())
}

/// Returns the sign word.
#[inline]
fn wire_sign(negative: bool) -> u16 {
    if negative { WIRE_NEGATIVE } else { WIRE_POSITIVE }
}

const TENS: [u32; 9] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];

/// Returns eight decimal digits as two base-10,000 digits.
#[inline]
fn pair(number: u32) -> u64 {
    u64::from((number / 10_000) << 16 | (number % 10_000))
}

/// Encodes a number in any spelling.
fn encode_any(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    if !matches!(text.last()?, b'0'..=b'9' | b'.') {
        let sign = match parse_word(text, None)? {
            NAN => WIRE_NAN,
            INFINITY => WIRE_INFINITY,
            _ => WIRE_NEGATIVE_INFINITY,
        };
        wire::put8(u64::from(sign) << 16, field);
        return Some(());
    }
    let number = parse_decimal(text)?;
    let scale = u16::try_from(number.lowest()?.min(0).unsigned_abs()).ok()?;
    let digits = number.digits()?;
    wire::put_with(field, |field| {
        let start = field.len();
        field.extend_from_slice(&[0; 8]);
        let mut weight = 0;
        if let Some(digits) = digits {
            weight = digits.weight();
            number.each_group(&digits, |group| field.extend(group.to_be_bytes()));
        }
        let count = u16::try_from((field.len() - start) / 2 - 4).ok()?;
        let sign = wire_sign(number.negative && count > 0);
        for (place, word) in [count, weight as u16, sign, scale].into_iter().enumerate() {
            let place = start + 2 * place;
            field[place..place + 2].copy_from_slice(&word.to_be_bytes());
        }
        Some(())
    })
}

#[cfg(test)]
mod tests {
    use super::{encode, encode_any};

    fn words(text: &str) -> Option<Vec<u16>> {
        let mut field = vec![7];
        encode(text.as_bytes(), &mut field)?;
        let (length, value) = field[1..].split_first_chunk().expect(text);
        assert_eq!(i32::from_be_bytes(*length) as usize, value.len(), "{text}");
        Some(value.as_chunks().0.iter().map(|word| u16::from_be_bytes(*word)).collect())
    }

    #[test]
    fn the_digits_that_are_written_count() {
        const NEGATIVE: u16 = 0x4000;
        for (text, expected) in [
            ("0", &[0, 0, 0, 0][..]),
            ("-0.00", &[0, 0, 0, 2]),
            ("1.50", &[2, 0, 0, 2, 1, 5000]),
            ("21168.23", &[3, 1, 0, 2, 2, 1168, 2300]),
            ("-0.04", &[1, u16::MAX, NEGATIVE, 2, 400]),
            ("10000", &[1, 1, 0, 0, 1]),
            ("0.00000001", &[1, u16::MAX - 1, 0, 8, 1]),
            ("100000000.5", &[4, 2, 0, 1, 1, 0, 0, 5000]),
            ("1e5", &[1, 1, 0, 0, 10]),
            (" 1.50e1 ", &[1, 0, 0, 1, 15]),
            ("NaN", &[0, 0, 0xC000, 0]),
            ("-inf", &[0, 0, 0xF000, 0]),
        ] {
            assert_eq!(words(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn the_way_for_short_numbers_ends_where_that_for_any_does() {
        let digits = "10203045";
        for length in 0..=8 {
            for written in [&digits[..length], &digits[8 - length..], &"00000000"[..length]] {
                for place in 0..=length {
                    for byte in ["", ".", "-", " ", "e", "\0", "..", "/", ":", "\u{fffd}"] {
                        let text = format!("{}{byte}{}", &written[..place], &written[place..]);
                        let (mut one, mut other) = (Vec::new(), Vec::new());
                        let encoded = encode(text.as_bytes(), &mut one);
                        assert_eq!(
                            encoded,
                            encode_any(text.trim().as_bytes(), &mut other),
                            "{text:?}"
                        );
                        assert!(encoded.is_none() || one == other, "{text:?}: {one:?} {other:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_way_for_plain_numbers_ends_where_that_for_any_does() {
        let digits = "9007199254740993";
        for whole in 0..=16 {
            for fraction in 0..=9 {
                for (sign, zeros) in [("", 0), ("-", 0), ("", 5), ("-", 3)] {
                    let whole = "0".repeat(zeros) + &digits[..whole];
                    let text = format!("{sign}{whole}.{}", &digits[..fraction]);
                    let (mut one, mut other) = (Vec::new(), Vec::new());
                    let encoded = encode(text.as_bytes(), &mut one);
                    assert_eq!(encoded, encode_any(text.as_bytes(), &mut other), "{text}");
                    assert!(encoded.is_none() || one == other, "{text}");
                }
            }
        }
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        for text in ["", ".", "-", "--1", "+-1", "1.2.3", "1_0", "0x1", "1e1000", "+nan", "1,5"] {
            assert_eq!(words(text), None, "{text}");
        }
    }
}
