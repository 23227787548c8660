//! real and double precision: decimal spellings, as integers that sort as the numbers do.
//!
//! A `real` is widened, which changes neither its order nor its hash: `hashfloat4extended` widens too.

use super::wire;
use crate::hash;

/// Parses like `float8in` (`src/backend/utils/adt/float.c`, PostgreSQL 13 to 18): whitespace, a sign and a
/// decimal number, or the words for NaN and for the infinities.
///
/// Hexadecimal digits, subnormal numbers and numbers out of range are left to the server.
pub(super) fn parse_float8(text: &[u8]) -> Option<i64> {
    read_float8(text).map(sortable)
}

fn read_float8(text: &[u8]) -> Option<f64> {
    match spelling(text)? {
        Spelling::Word(value) => Some(value),
        Spelling::Number(digits) => {
            let value: f64 = digits.parse().ok()?;
            (value.is_normal() || is_zero(digits)).then_some(value)
        }
    }
}

/// Parses like [`parse_float8`], but rounds once, to the width that `float4in` rounds to.
pub(super) fn parse_float4(text: &[u8]) -> Option<i64> {
    read_float4(text).map(|value| sortable(value.into()))
}

fn read_float4(text: &[u8]) -> Option<f32> {
    match spelling(text)? {
        Spelling::Word(value) => Some(value as f32),
        Spelling::Number(digits) => {
            let value: f32 = digits.parse().ok()?;
            (value.is_normal() || is_zero(digits)).then_some(value)
        }
    }
}

/// The only NaNs that the server creates: `get_float4_nan` and `get_float8_nan`, `src/include/utils/float.h`.
const NAN4: u32 = 0x7FC0_0000;
const NAN8: u64 = 0x7FF8_0000_0000_0000;

/// Encodes the number that `float8in` reads as `float8recv` (same file) expects it. There, -0 differs from 0.
pub(super) fn encode8(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put8(bits(text)?, field);
    Some(())
}

/// Encodes a `real` for `float4recv` in the same way.
pub(super) fn encode4(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    let value = read_float4(text)?;
    wire::put4(if value.is_nan() { NAN4 } else { value.to_bits() }, field);
    Some(())
}

/// Returns the bits of the number that `float8in` reads.
pub(super) fn bits(text: &[u8]) -> Option<u64> {
    let value = read_float8(text)?;
    Some(if value.is_nan() { NAN8 } else { value.to_bits() })
}

enum Spelling<'a> {
    Word(f64),
    Number(&'a str),
}

/// Distinguishes words from numbers. `trim_ascii` strips the characters of C's `isspace` except the vertical
/// tab.
fn spelling(text: &[u8]) -> Option<Spelling<'_>> {
    let text = text.trim_ascii();
    let number = |byte: &u8| byte.is_ascii_digit() || b"+-.eE".contains(byte);
    if text.iter().all(number) {
        return str::from_utf8(text).ok().map(Spelling::Number);
    }
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    let value = match () {
        () if is("NaN") => f64::NAN,
        () if is("inf") || is("+inf") || is("infinity") || is("+infinity") => f64::INFINITY,
        () if is("-inf") || is("-infinity") => f64::NEG_INFINITY,
        () => return None,
    };
    Some(Spelling::Word(value))
}

/// Whether a number that was parsed as zero is spelled as zero. Other spellings are too small to represent.
fn is_zero(digits: &str) -> bool {
    let mantissa = digits.split(['e', 'E']).next().unwrap_or_default();
    mantissa.bytes().all(|byte| !matches!(byte, b'1'..=b'9'))
}

/// Returns the value as an integer that sorts in the same order: -0 equals 0, and NaN is the greatest.
pub(crate) fn sortable(value: f64) -> i64 {
    let value = match value {
        _ if value.is_nan() => f64::NAN.abs(),
        _ if value == 0.0 => 0.0,
        _ => value,
    };
    flip(value.to_bits() as i64)
}

/// Returns the number for the result of [`sortable`].
pub(crate) fn value(sortable: i64) -> f64 {
    f64::from_bits(flip(sortable) as u64)
}

/// Hashes like `hashfloat8extended` (`src/backend/access/hash/hashfunc.c`, PostgreSQL 13 to 18).
pub(super) fn hash_extended(sortable: i64, seed: u64) -> u64 {
    match sortable {
        0 => seed,
        _ => hash::bytes_extended(&flip(sortable).to_le_bytes(), seed),
    }
}

/// Inverts the magnitude of a negative number; is its own inverse.
fn flip(bits: i64) -> i64 {
    if bits < 0 { bits ^ i64::MAX } else { bits }
}

#[cfg(test)]
mod tests {
    use super::{parse_float4, parse_float8, sortable, value};

    #[test]
    fn numbers_and_words() {
        for (text, value) in [
            ("0", 0.0),
            ("-0", 0.0),
            (" +1.5\t", 1.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("-1e-3", -0.001),
            ("1E+20", 1e20),
            ("nAn", f64::NAN),
            ("Infinity", f64::INFINITY),
            ("-inf", f64::NEG_INFINITY),
        ] {
            assert_eq!(parse_float8(text.as_bytes()), Some(sortable(value)), "{text}");
            let narrow = f64::from(value as f32);
            assert_eq!(parse_float4(text.as_bytes()), Some(sortable(narrow)), "{text}");
        }
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        for text in [
            "", " ", ".", "+", "1e", "1e+", "e5", "0x1p3", "1_0", "1,5", "--1", "1 2", "+nan",
            "infinit", "1e400", "-1e400", "1e-400", "1e-310", "nan(1)", "\u{b}1",
        ] {
            assert_eq!(parse_float8(text.as_bytes()), None, "{text}");
        }
        for text in ["1e39", "1e-50", "1e-40"] {
            assert_eq!(parse_float4(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn not_a_number_is_the_greatest() {
        let values = [f64::NEG_INFINITY, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, f64::INFINITY, f64::NAN];
        assert!(values.map(sortable).is_sorted_by(|a, b| a < b));
        assert_eq!(sortable(-f64::NAN), sortable(f64::NAN));
        assert_eq!(sortable(-0.0), 0);
        let same = |number: &f64| value(sortable(*number)).total_cmp(number).is_eq();
        assert!(values.iter().all(same));
    }
}
