//! numeric: its digits in groups of four around the decimal point, without zero groups at the ends.

use crate::decimal::{Decimal, Digits};

/// The length of a field's head: the field's length, and the head of a number in `numeric_recv`,
/// `src/backend/utils/adt/numeric.c`, PostgreSQL 13 to 18. The latter consists of the number of groups, the
/// weight of the first, the sign, and the number of decimal places shown.
const HEAD: usize = 4 + 8;

const NEGATIVE: u16 = 0x4000;
const NAN: u16 = 0xC000;
const INFINITY: u16 = 0xD000;
const NEGATIVE_INFINITY: u16 = 0xF000;

/// The number of groups of the longest number, with 77 digits and at most three zeros after them.
const MAX_GROUPS: usize = 20;

/// Appends the field.
#[inline]
pub(super) fn put(value: &Decimal, field: &mut Vec<u8>) {
    let mut groups =
        NumericGroups { bytes: [0; HEAD + 2 * MAX_GROUPS], first: MAX_GROUPS, last: MAX_GROUPS };
    // Digits missing from the last group are zeros.
    let lowest = (-value.scale).div_euclid(4);
    let zeros = TENS[(-value.scale).rem_euclid(4) as usize];
    match value.digits {
        Digits::Short(digits) if digits.unsigned_abs() < u128::from(crate::decimal::CHUNK) => {
            groups.fill(digits.unsigned_abs() as u64 * zeros);
        }
        _ => groups.fill_long(value.chunks(), zeros),
    }
    groups.put(lowest, value, field);
}

/// Appends a number that is not finite.
pub(super) fn put_infinite(value: f64, field: &mut Vec<u8>) {
    let sign = match value {
        f64::INFINITY => INFINITY,
        f64::NEG_INFINITY => NEGATIVE_INFINITY,
        _ => NAN,
    };
    put_head([0, 0, sign, 0], &mut [0; HEAD], field);
}

const TENS: [u64; 4] = [1, 10, 100, 1_000];

/// Groups of four digits, filled from the last.
struct NumericGroups {
    /// The groups, at the end, after room for the head.
    bytes: [u8; HEAD + 2 * MAX_GROUPS],
    /// The place of the first group that is not zero.
    first: usize,
    /// The place after the last group that is not zero.
    last: usize,
}

impl NumericGroups {
    #[inline]
    fn fill(&mut self, mut digits: u64) {
        let mut place = MAX_GROUPS;
        while digits != 0 {
            place -= 1;
            self.set(place, (digits % 10_000) as u16);
            digits /= 10_000;
        }
    }

    #[inline(never)]
    fn fill_long(&mut self, chunks: [u64; 5], zeros: u64) {
        const CHUNK: u64 = crate::decimal::CHUNK;
        let mut place = MAX_GROUPS;
        let mut carried = 0;
        for chunk in chunks {
            // At most three digits are carried, so this is below 10^19.
            let digits = chunk * zeros + carried;
            carried = digits / CHUNK;
            let mut digits = digits % CHUNK;
            for _ in 0..4 {
                place -= 1;
                self.set(place, (digits % 10_000) as u16);
                digits /= 10_000;
            }
        }
    }

    #[inline]
    fn set(&mut self, place: usize, group: u16) {
        if group != 0 {
            if self.last == MAX_GROUPS && self.first == MAX_GROUPS {
                self.last = place + 1;
            }
            self.first = place;
        }
        let start = HEAD + 2 * place;
        self.bytes[start..start + 2].copy_from_slice(&group.to_be_bytes());
    }

    /// Appends the number. `lowest` is the weight of the last place, even if its group is zero.
    #[inline]
    fn put(&mut self, lowest: i32, value: &Decimal, field: &mut Vec<u8>) {
        let count = self.last - self.first;
        // Zero has no sign and no weight.
        let weight = if count > 0 { lowest + (MAX_GROUPS - 1 - self.first) as i32 } else { 0 };
        let sign = if value.is_negative() { NEGATIVE } else { 0 };
        // An array's scale fits a byte, and a float's has three digits, so all of these are small.
        let head = [count as u16, weight as u16, sign, value.scale.max(0) as u16];
        let start = 2 * self.first;
        let bytes = &mut self.bytes[start..HEAD + 2 * self.last];
        put_head(head, bytes, field);
    }
}

/// Appends `bytes` after filling in their head.
#[inline]
fn put_head(head: [u16; 4], bytes: &mut [u8], field: &mut Vec<u8>) {
    let length = (bytes.len() - 4) as u32;
    let [count, weight, sign, scale] = head.map(u64::from);
    let head = count << 48 | weight << 32 | sign << 16 | scale;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    bytes[4..HEAD].copy_from_slice(&head.to_be_bytes());
    field.extend_from_slice(bytes);
}

#[cfg(test)]
mod tests {
    use arrow_buffer::i256;
    use pgsluice_core::types::Codec;

    use super::*;
    use crate::spell;

    fn assert_like_its_text(value: &Decimal) {
        let (mut text, mut one, mut other) = (Vec::new(), Vec::new(), Vec::new());
        spell::decimal(value, &mut text);
        put(value, &mut one);
        assert_eq!(Codec::Numeric.encode(&text, &mut other), Some(()), "{value:?}");
        assert_eq!(one, other, "{value:?}: {}", String::from_utf8_lossy(&text));
    }

    #[test]
    fn inner_zero_groups_stay() {
        let mut field = Vec::new();
        put(&Decimal::new(1_000_000_005, 1), &mut field);
        let words: &[&[u8]] =
            &[&[0, 0, 0, 16], &[0, 4, 0, 2, 0, 0, 0, 1], &[0, 1, 0, 0, 0, 0, 0x13, 0x88]];
        assert_eq!(field, words.concat());
    }

    #[test]
    fn numbers_of_every_length_and_scale_are_what_their_text_is() {
        let digits = "1020030004000050000060000007000000080000000090000000001000000000020000000000";
        for length in 1..=digits.len() {
            for text in [&digits[..length], &digits[digits.len() - length..], &"9".repeat(length)] {
                let number = i256::from_string(text).unwrap();
                for scale in [-128, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 9, 38, 76, 127] {
                    assert_like_its_text(&Decimal::wide(number, scale));
                    assert_like_its_text(&Decimal::wide(number.wrapping_neg(), scale));
                }
            }
        }
        for number in [i256::MIN, i256::MAX, i256::from_i128(i128::MIN), i256::ZERO] {
            assert_like_its_text(&Decimal::wide(number, 7));
        }
    }

    #[test]
    fn floats_are_what_their_shortest_text_is() {
        for value in [0.0, -0.0, 1.0, 0.1, -1.5e-300, 1e300, f64::MAX, f64::from_bits(1), 1e22] {
            assert_like_its_text(&Decimal::from_float8(value).unwrap());
        }
    }
}
