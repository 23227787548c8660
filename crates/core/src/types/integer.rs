//! smallint, integer and bigint: decimal spellings, and the hash that all widths share.
//!
//! From version 16 on, the server reads hexadecimal and underscores too. Versions differ there, so that those
//! spellings are not read here.

use super::{digits, wire};
use crate::hash;

/// Number of digits that always fit in 64 bits.
const SAFE_DIGITS: usize = 19;

/// Parses whitespace, a sign and decimal digits like `int2in`, `int4in` and `int8in` (`pg_strtoint16` to
/// `pg_strtoint64`, `src/backend/utils/adt/numutils.c`, PostgreSQL 13 to 18).
///
/// `trim_ascii` strips the characters of C's `isspace` except the vertical tab.
#[inline]
pub(super) fn parse(text: &[u8], min: i64, max: i64) -> Option<i64> {
    let value = match digits::number(text) {
        Some(number) => number as i64,
        None => parse_signed(text)?,
    };
    (min <= value && value <= max).then_some(value)
}

#[inline(never)]
fn parse_signed(text: &[u8]) -> Option<i64> {
    match text.trim_ascii() {
        [b'-', digits @ ..] => 0_i64.checked_sub_unsigned(magnitude(digits)?),
        [b'+', digits @ ..] | digits => i64::try_from(magnitude(digits)?).ok(),
    }
}

/// Encodes the value that [`parse`] returns as `int2recv` (`src/backend/utils/adt/int.c`, PostgreSQL 13 to 18)
/// expects it.
#[inline]
pub(super) fn encode2(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    let value = parse(text, i16::MIN.into(), i16::MAX.into())?;
    wire::put2(value as u16, field);
    Some(())
}

/// Encodes an `integer` for `int4recv` in the same way.
#[inline(never)]
pub(super) fn encode4(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    let value = parse(text, i32::MIN.into(), i32::MAX.into())?;
    wire::put4(value as u32, field);
    Some(())
}

/// Encodes a `bigint` for `int8recv` (`src/backend/utils/adt/int8.c`) in the same way.
#[inline(never)]
pub(super) fn encode8(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put8(parse(text, i64::MIN, i64::MAX)? as u64, field);
    Some(())
}

/// Encodes the value that [`parse_oid`] returns as `oidrecv` expects it.
pub(super) fn encode_oid(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put4(parse_oid(text)? as u32, field);
    Some(())
}

/// Parses whitespace and plain digits like `oidin` (`src/backend/utils/adt/oid.c`, PostgreSQL 13 to 18).
///
/// Leaves other spellings to the server: a number with a sign may wrap around, and from version 16 on a leading
/// zero means octal.
pub(super) fn parse_oid(text: &[u8]) -> Option<i64> {
    match text.trim_ascii() {
        digits @ ([b'0'] | [b'1'..=b'9', ..]) => parse(digits, 0, u32::MAX.into()),
        _ => None,
    }
}

fn magnitude(mut digits: &[u8]) -> Option<u64> {
    if let Some(number) = digits::number(digits) {
        return Some(number);
    }
    while digits.len() > SAFE_DIGITS {
        digits = digits.strip_prefix(b"0")?;
    }
    let mut value = 0;
    for &byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + u64::from(digit);
    }
    (!digits.is_empty()).then_some(value)
}

/// Hashes like `hashint8extended` (`src/backend/access/hash/hashfunc.c`, PostgreSQL 13 to 18).
///
/// For an equal value, `hashint2extended`, `hashint4extended` and (for 0 and 1) `hashcharextended` return the
/// same hash, so this function serves them all. It also serves `hashoidextended`, for an unsigned value.
#[inline]
pub(super) fn hash_extended(value: i64, seed: u64) -> u64 {
    let low = value as u32;
    let high = (value >> 32) as u32;
    hash::uint32_extended(low ^ if value >= 0 { high } else { !high }, seed)
}

#[cfg(test)]
mod tests {
    use super::{hash_extended, parse, parse_oid};
    use crate::hash;

    fn int8(text: &str) -> Option<i64> {
        parse(text.as_bytes(), i64::MIN, i64::MAX)
    }

    #[test]
    fn signs_blanks_and_leading_zeros() {
        assert_eq!(int8("+007"), Some(7));
        assert_eq!(int8(" \t-12\r\n"), Some(-12));
        assert_eq!(int8("-0"), Some(0));
        assert_eq!(int8(&format!("{:0>40}", 5)), Some(5));
        for text in ["", " ", "-", "+-1", "- 1", "1 2", "0x1F", "1_000", "1.0", "1e3", "१"] {
            assert_eq!(int8(text), None, "{text}");
        }
    }

    #[test]
    fn range_ends() {
        assert_eq!(int8("9223372036854775807"), Some(i64::MAX));
        assert_eq!(int8("-9223372036854775808"), Some(i64::MIN));
        for text in ["9223372036854775808", "-9223372036854775809", "99999999999999999999"] {
            assert_eq!(int8(text), None, "{text}");
        }
        assert_eq!(parse(b"32767", -32768, 32767), Some(32767));
        assert_eq!(parse(b"-32769", -32768, 32767), None);
    }

    #[test]
    fn an_oid_has_neither_sign_nor_leading_zeros() {
        assert_eq!(parse_oid(b" 4294967295\n"), Some(u32::MAX.into()));
        assert_eq!(parse_oid(b"0"), Some(0));
        for text in ["", "4294967296", "-1", "+1", "00", "010", "0x1", "1 2"] {
            assert_eq!(parse_oid(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn narrow_integers_hash_as_their_own_function_does() {
        for value in [0, 1, -1, 127, -128, i32::MAX, i32::MIN, -2_000_000_000] {
            let own = hash::uint32_extended(value as u32, hash::PARTITION_SEED);
            assert_eq!(hash_extended(value.into(), hash::PARTITION_SEED), own);
        }
    }
}
