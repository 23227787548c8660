//! numeric, in bytes that sort as the numbers do, whatever their scale.
//!
//! The bytes are a kind, the weight of the first digit, the base-10,000 digits without zeros at either end, and
//! an end. For a negative number all but the kind are inverted. The end also separates the number from the bytes
//! that follow.

mod binary;

pub(super) use binary::encode;

use crate::hash;

/// The kinds, in ascending order.
const NEGATIVE_INFINITY: u8 = 0;
const NEGATIVE: u8 = 1;
const ZERO: u8 = 2;
const POSITIVE: u8 = 3;
const INFINITY: u8 = 4;
const NAN: u8 = 5;

/// End of the digits, which makes the shorter of two numbers with the same first digits the nearer to zero.
const END: u16 = 0;

/// Maximum number of digits on either side of the decimal point. Numbers with more are left to the server, which
/// has limits.
const MAX_PLACES: i32 = 1000;

/// The declared precision and scale of a `numeric`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Total number of decimal digits.
    pub precision: i32,
    /// Number of digits after the decimal point. If negative, that many digits before the point are zeros.
    pub scale: i32,
}

/// A finite decimal number: the digits on both sides of the point, which the exponent moves.
struct DecimalText<'a> {
    negative: bool,
    whole: &'a [u8],
    fraction: &'a [u8],
    exponent: i32,
}

/// Parses like `numeric_in` (`src/backend/utils/adt/numeric.c`, PostgreSQL 13 to 18): a decimal number with or
/// without an exponent, `NaN`, or an infinity (from version 14 on; earlier versions reject it everywhere).
///
/// Appends the number to `bytes`. Numbers that do not fit or that would be rounded are left to the server.
/// `trim_ascii` strips the characters of C's `isspace` except the vertical tab.
pub(super) fn parse(text: &[u8], scale: Option<Scale>, bytes: &mut Vec<u8>) -> Option<()> {
    let text = text.trim_ascii();
    match text.last()? {
        b'0'..=b'9' | b'.' => encode_decimal(&parse_decimal(text)?, scale, bytes)?,
        _ => bytes.push(parse_word(text, scale)?),
    }
    Some(())
}

fn parse_word(text: &[u8], scale: Option<Scale>) -> Option<u8> {
    let is = |word: &str| text.eq_ignore_ascii_case(word.as_bytes());
    match () {
        () if is("NaN") => Some(NAN),
        // An infinity does not fit into any precision.
        () if scale.is_some() => None,
        () if is("inf") || is("+inf") || is("infinity") || is("+infinity") => Some(INFINITY),
        () if is("-inf") || is("-infinity") => Some(NEGATIVE_INFINITY),
        () => None,
    }
}

fn parse_decimal(text: &[u8]) -> Option<DecimalText<'_>> {
    let (negative, text) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (whole, rest) = split_digits(text);
    let (fraction, rest) = match rest {
        [b'.', rest @ ..] => split_digits(rest),
        _ => (&[][..], rest),
    };
    let exponent = match rest {
        [] => 0,
        [b'e' | b'E', rest @ ..] => parse_exponent(rest)?,
        _ => return None,
    };
    let some = !whole.is_empty() || !fraction.is_empty();
    some.then_some(DecimalText { negative, whole, fraction, exponent })
}

fn split_digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

fn parse_exponent(text: &[u8]) -> Option<i32> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    let (digits, []) = split_digits(digits) else { return None };
    if !(1..=4).contains(&digits.len()) {
        return None;
    }
    let value = digits.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0'));
    Some(if negative { -value } else { value })
}

fn encode_decimal(
    number: &DecimalText<'_>,
    scale: Option<Scale>,
    bytes: &mut Vec<u8>,
) -> Option<()> {
    let Some(digits) = number.digits()? else {
        bytes.push(ZERO);
        return Some(());
    };
    if let Some(Scale { precision, scale }) = scale
        && (digits.highest >= precision - scale || digits.lowest < -scale)
    {
        return None;
    }
    let mut encoder = NumericEncoder::new(bytes, number.negative, digits.weight());
    number.each_group(&digits, |group| encoder.push(group));
    encoder.finish();
    Some(())
}

/// The digits of a number without the zeros at both ends.
///
/// Places are counted from the decimal point: 0 is the place of the units, -1 that of the tenths.
struct DigitText {
    zeros: usize,
    highest: i32,
    lowest: i32,
}

impl DigitText {
    /// Returns the power of 10,000 that the first group counts.
    fn weight(&self) -> i16 {
        self.highest.div_euclid(4) as i16
    }
}

impl DecimalText<'_> {
    fn lowest(&self) -> Option<i32> {
        Some(self.exponent - i32::try_from(self.fraction.len()).ok()?)
    }

    /// Returns `Some(None)` for zero, and `None` for a number with too many places.
    fn digits(&self) -> Option<Option<DigitText>> {
        let digits = || self.whole.iter().chain(self.fraction);
        let highest = i32::try_from(self.whole.len()).ok()? - 1 + self.exponent;
        let lowest = self.lowest()?;
        if highest >= MAX_PLACES || lowest < -MAX_PLACES {
            return None;
        }
        let Some(zeros) = digits().position(|&digit| digit != b'0') else { return Some(None) };
        let last = digits().rev().position(|&digit| digit != b'0')?;
        let (highest, lowest) = (highest - zeros as i32, lowest + last as i32);
        Some(Some(DigitText { zeros, highest, lowest }))
    }

    /// Passes the base-10,000 digits to `push`, from the highest.
    fn each_group(&self, digits: &DigitText, mut push: impl FnMut(u16)) {
        let DigitText { zeros, highest, lowest } = *digits;
        let mut place = highest;
        let mut group = 0;
        let digits = self.whole.iter().chain(self.fraction).skip(zeros);
        for digit in digits.take((highest - lowest + 1) as usize) {
            group += u16::from(digit - b'0') * [1, 10, 100, 1000][place.rem_euclid(4) as usize];
            if place.rem_euclid(4) == 0 {
                push(group);
                group = 0;
            }
            place -= 1;
        }
        if group != 0 {
            push(group);
        }
    }
}

/// A writer for the base-10,000 digits of a number that is not zero.
struct NumericEncoder<'a> {
    bytes: &'a mut Vec<u8>,
    mask: u16,
}

impl<'a> NumericEncoder<'a> {
    fn new(bytes: &'a mut Vec<u8>, negative: bool, weight: i16) -> Self {
        bytes.push(if negative { NEGATIVE } else { POSITIVE });
        let mut encoder = Self { bytes, mask: if negative { u16::MAX } else { 0 } };
        encoder.write(weight as u16 ^ 1 << 15);
        encoder
    }

    /// Writes the digit plus one, so that no digit equals [`END`].
    fn push(&mut self, digit: u16) {
        self.write(digit + 1);
    }

    fn write(&mut self, word: u16) {
        self.bytes.extend((word ^ self.mask).to_be_bytes());
    }

    fn finish(mut self) {
        self.write(END);
    }
}

/// Decodes the binary form that `numeric_recv` (`src/backend/utils/adt/numeric.c`, PostgreSQL 13 to 18) reads,
/// and appends the number to `bytes`. Leaves numbers to the server that do not fit or that it would round.
pub(super) fn receive(binary: &[u8], scale: Option<Scale>, bytes: &mut Vec<u8>) -> Option<()> {
    let (words, []) = binary.as_chunks::<2>() else { return None };
    let [count, weight, sign, digits_behind, digits @ ..] = words else { return None };
    let [count, weight, sign, digits_behind] =
        [count, weight, sign, digits_behind].map(|word| u16::from_be_bytes(*word));
    match sign {
        0xC000 => bytes.push(NAN),
        // An infinity does not fit into any precision.
        0xD000 if scale.is_none() => bytes.push(INFINITY),
        0xF000 if scale.is_none() => bytes.push(NEGATIVE_INFINITY),
        0x0000 | 0x4000 if digits.len() == usize::from(count) => {
            let groups = Groups { digits, weight: weight as i16 };
            groups.encode(sign != 0, scale, digits_behind.into(), bytes)?;
        }
        _ => return None,
    }
    Some(())
}

/// The base-10,000 digits of a number, and the power of 10,000 that the first one counts.
struct Groups<'a> {
    digits: &'a [[u8; 2]],
    weight: i16,
}

impl Groups<'_> {
    /// Appends the number. `places` is its declared number of decimal digits after the point; the server cuts
    /// off any further digits.
    fn encode(
        &self,
        negative: bool,
        scale: Option<Scale>,
        places: i32,
        bytes: &mut Vec<u8>,
    ) -> Option<()> {
        let digits = || self.digits.iter().map(|digit| u16::from_be_bytes(*digit));
        if digits().any(|digit| digit > 9999) {
            return None;
        }
        let Some(first) = digits().position(|digit| digit != 0) else {
            bytes.push(ZERO);
            return Some(());
        };
        let last = digits().rposition(|digit| digit != 0)?;
        let place = |index: usize| i32::from(self.weight) - index as i32;
        let lowest = 4 * place(last) + zeros_behind(digits().nth(last)?);
        if lowest < -places {
            return None;
        }
        if let Some(Scale { precision, scale }) = scale {
            let highest = 4 * place(first) + digits().nth(first)?.ilog10() as i32;
            if highest >= precision - scale || lowest < -scale {
                return None;
            }
        }
        let mut encoder = NumericEncoder::new(bytes, negative, i16::try_from(place(first)).ok()?);
        digits().take(last + 1).skip(first).for_each(|digit| encoder.push(digit));
        encoder.finish();
        Some(())
    }
}

/// Counts the trailing decimal zeros of a base-10,000 digit that is not zero.
fn zeros_behind(digit: u16) -> i32 {
    [10, 100, 1000].into_iter().take_while(|power| digit.is_multiple_of(*power)).count() as i32
}

/// Takes the number at the beginning of `bytes`.
pub(super) fn take<'a>(bytes: &mut &'a [u8]) -> &'a [u8] {
    let end = match bytes {
        [kind @ (NEGATIVE | POSITIVE), words @ ..] => {
            let end = if *kind == POSITIVE { END } else { !END }.to_be_bytes();
            // The weight may be any word.
            let digits = words.as_chunks::<2>().0.iter().skip(1);
            1 + 2 * (1 + digits.take_while(|digit| **digit != end).count() + 1)
        }
        _ => 1,
    };
    let (number, rest) = bytes.split_at(end.min(bytes.len()));
    *bytes = rest;
    number
}

/// Rounds to the nearest integer, and halves away from zero, like `numericvar_to_int64`
/// (`src/backend/utils/adt/numeric.c`, PostgreSQL 13 to 18). Returns `None` if the result does not fit in 64
/// bits.
pub(crate) fn to_integer(bytes: &[u8]) -> Option<i64> {
    let (mask, words) = match bytes {
        [POSITIVE, words @ .., _, _] => (0, words),
        [NEGATIVE, words @ .., _, _] => (u16::MAX, words),
        [ZERO, ..] => return Some(0),
        _ => return None,
    };
    let mut words = words.as_chunks::<2>().0.iter().map(|word| u16::from_be_bytes(*word) ^ mask);
    let weight = (words.next()? ^ 1 << 15) as i16;
    let mut digits = words.map(|word| i128::from(word) - 1);
    // Five base-10,000 digits hold all 64-bit integers.
    if weight > 4 {
        return None;
    }
    let whole = (0..=weight).fold(0, |whole, _| whole * 10_000 + digits.next().unwrap_or(0));
    let tenths = if weight < -1 { 0 } else { digits.next().unwrap_or(0) };
    let magnitude = whole + i128::from(tenths >= 5_000);
    i64::try_from(if mask == 0 { magnitude } else { -magnitude }).ok()
}

/// Hashes like `hash_numeric_extended` (`src/backend/utils/adt/numeric.c`, PostgreSQL 13 to 18), which ignores
/// the sign and the scale.
pub(super) fn hash_extended(bytes: &[u8], seed: u64) -> u64 {
    let (mask, words) = match bytes {
        [POSITIVE, words @ .., _, _] => (0, words),
        [NEGATIVE, words @ .., _, _] => (u16::MAX, words),
        [ZERO, ..] => return seed.wrapping_sub(1),
        _ => return seed,
    };
    let mut words = words.as_chunks::<2>().0.iter().map(|word| u16::from_be_bytes(*word) ^ mask);
    let weight = (words.next().unwrap_or_default() ^ 1 << 15) as i16;
    let mut few = [0; 64];
    let mut many = Vec::new();
    let digits = if words.len() * 2 <= few.len() {
        &mut few[..words.len() * 2]
    } else {
        many.resize(words.len() * 2, 0);
        &mut many[..]
    };
    for (bytes, word) in digits.as_chunks_mut::<2>().0.iter_mut().zip(words) {
        *bytes = word.wrapping_sub(1).to_le_bytes();
    }
    hash::bytes_extended(digits, seed) ^ i64::from(weight) as u64
}

#[cfg(test)]
mod tests;
