//! A decimal number of any array: its digits and its scale.

use std::io::Write;

use arrow_buffer::i256;

/// A number: the digits times ten to the power of minus the scale.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub(crate) digits: Digits,
    /// Number of digits after the decimal point. A negative scale appends zeros to the digits.
    pub(crate) scale: i32,
}

/// All digits, without the decimal point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Digits {
    Short(i128),
    /// Digits that do not fit in `Short`.
    Long(i256),
}

impl Decimal {
    #[inline]
    pub(crate) fn new(digits: impl Into<i128>, scale: i8) -> Self {
        Self { digits: Digits::Short(digits.into()), scale: scale.into() }
    }

    pub(crate) fn wide(digits: i256, scale: i8) -> Self {
        let short = digits.to_i128().map(Digits::Short);
        Self { digits: short.unwrap_or(Digits::Long(digits)), scale: scale.into() }
    }

    /// Returns the shortest number that is read as `value` again, as the server writes it; `None` if `value` is
    /// not finite.
    pub(crate) fn from_float8(value: f64) -> Option<Self> {
        value.is_finite().then(|| Self::scientific(format_args!("{value:e}")))?
    }

    /// Returns the shortest number that is read as the same `real`, which needs fewer digits.
    pub(crate) fn from_float4(value: f32) -> Option<Self> {
        value.is_finite().then(|| Self::scientific(format_args!("{value:e}")))?
    }

    /// Returns the shortest number that is read as `value` again. If two are equally near, returns the one whose
    /// last digit is even, as in the server's output and in Python's `repr`. Rust prefers the larger.
    pub(crate) fn even_of_float8(value: f64) -> Option<Self> {
        let shortest = Self::from_float8(value)?;
        shortest.even(|places| format!("{value:.places$e}"), |text| text.parse() == Ok(value))
    }

    /// Returns the shortest number for a `real`, like [`Self::even_of_float8`].
    pub(crate) fn even_of_float4(value: f32) -> Option<Self> {
        let shortest = Self::from_float4(value)?;
        shortest.even(|places| format!("{value:.places$e}"), |text| text.parse() == Ok(value))
    }

    /// Returns the nearest number with the same number of digits, as Rust writes it, if it is read as the same
    /// value.
    fn even(
        self,
        spell: impl FnOnce(usize) -> String,
        is_same: impl FnOnce(&str) -> bool,
    ) -> Option<Self> {
        let Digits::Short(digits) = self.digits else { return Some(self) };
        if digits % 2 == 0 {
            return Some(self);
        }
        let text = spell(digits.unsigned_abs().ilog10() as usize);
        if is_same(&text) { Self::scientific(format_args!("{text}")) } else { Some(self) }
    }

    /// Reads Rust's scientific notation: `-d.ddde-x`, with at most 17 digits.
    fn scientific(text: std::fmt::Arguments<'_>) -> Option<Self> {
        let mut buffer = [0; 40];
        let mut rest = &mut buffer[..];
        rest.write_fmt(text).ok()?;
        let unused = rest.len();
        let text = str::from_utf8(&buffer[..buffer.len() - unused]).ok()?;
        let (mantissa, exponent) = text.split_once('e')?;
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let magnitude = whole.bytes().chain(fraction.bytes()).filter(u8::is_ascii_digit);
        let magnitude = magnitude.fold(0, |value, digit| value * 10 + i128::from(digit - b'0'));
        let digits = if mantissa.starts_with('-') { -magnitude } else { magnitude };
        let scale = i32::try_from(fraction.len()).ok()? - exponent.parse::<i32>().ok()?;
        // Zero has an exponent of zero.
        Some(Self { digits: Digits::Short(digits), scale })
    }

    pub(crate) fn is_negative(&self) -> bool {
        match self.digits {
            Digits::Short(digits) => digits < 0,
            Digits::Long(digits) => digits.is_negative(),
        }
    }

    fn long(&self) -> i256 {
        match self.digits {
            Digits::Short(digits) => i256::from_i128(digits),
            Digits::Long(digits) => digits,
        }
    }

    /// Whether all digits beyond the first `scale` decimal places are zeros.
    #[inline]
    pub(crate) fn fits(&self, scale: i32) -> bool {
        self.scale <= scale || self.ends_in_zeros(self.scale.abs_diff(scale))
    }

    #[inline(never)]
    fn ends_in_zeros(&self, count: u32) -> bool {
        match power_of_ten(count) {
            Some(power) => self.long().wrapping_rem(power) == i256::ZERO,
            None => self.long() == i256::ZERO,
        }
    }

    /// Rounds to `scale` decimal places, halves away from zero: `round_var`, `src/backend/utils/adt/numeric.c`,
    /// PostgreSQL 13 to 18. The number must have more decimal places.
    pub(crate) fn round(&self, scale: i32) -> Self {
        let gone = self.scale.abs_diff(scale);
        let digits = match (self.digits, 10_i128.checked_pow(gone)) {
            (Digits::Short(digits), Some(power)) => {
                let (rest, half) = (digits % power, power / 2);
                let step = i128::from(rest >= half) - i128::from(rest <= -half);
                Digits::Short(digits / power + step)
            }
            _ => Digits::Long(self.round_long(gone)),
        };
        Self { digits, scale }
    }

    fn round_long(&self, gone: u32) -> i256 {
        let digits = self.long();
        let (kept, rest) = match power_of_ten(gone) {
            Some(power) => (digits.wrapping_div(power), digits.wrapping_rem(power)),
            None => (i256::ZERO, digits),
        };
        // The power itself may be too large, while its half is not.
        let half = power_of_ten(gone - 1).and_then(|power| power.checked_mul(i256::from_i128(5)));
        match half {
            Some(half) if rest >= half => kept.wrapping_add(i256::ONE),
            Some(half) if rest <= half.wrapping_neg() => kept.wrapping_sub(i256::ONE),
            _ => kept,
        }
    }

    pub(crate) fn is_zero(&self) -> bool {
        self.long() == i256::ZERO
    }

    /// Converts the number to an integer; `None` if it is not an integer, or too large for PostgreSQL's.
    pub(crate) fn to_int(self) -> Option<i128> {
        match self.digits {
            Digits::Short(digits) if self.scale == 0 => Some(digits),
            _ if !self.fits(0) => None,
            _ => match power_of_ten(self.scale.unsigned_abs()) {
                Some(power) if self.scale >= 0 => self.long().wrapping_div(power).to_i128(),
                Some(power) => self.long().checked_mul(power)?.to_i128(),
                None => (self.long() == i256::ZERO).then_some(0),
            },
        }
    }

    /// Returns the digits without the sign, in groups of sixteen, the last group first.
    pub(crate) fn chunks(&self) -> [u64; 5] {
        let (low, high) = self.long().wrapping_abs().to_parts();
        let mut limbs = [high as u128 >> 64, high as u128, low >> 64, low].map(|limb| limb as u64);
        [(); 5].map(|()| {
            let mut remainder = 0;
            for limb in &mut limbs {
                let value = remainder << 64 | u128::from(*limb);
                *limb = (value / u128::from(CHUNK)) as u64;
                remainder = value % u128::from(CHUNK);
            }
            remainder as u64
        })
    }
}

/// The limit of a group of sixteen digits.
pub(crate) const CHUNK: u64 = 10_000_000_000_000_000;

fn power_of_ten(exponent: u32) -> Option<i256> {
    i256::from_i128(10).checked_pow(exponent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_float_is_its_shortest_spelling() {
        for (value, digits, scale) in [
            (0.0, 0, 0),
            (1.0, 1, 0),
            (-1.5, -15, 1),
            (0.1, 1, 1),
            (1e300, 1, -300),
            (5e-324, 5, 324),
            (123_456.789, 123_456_789, 3),
            (1200.0, 12, -2),
        ] {
            let expected = Decimal { digits: Digits::Short(digits), scale };
            assert_eq!(Decimal::from_float8(value), Some(expected), "{value}");
        }
        assert_eq!(Decimal::from_float4(0.1), Some(Decimal::new(1, 1)));
        assert_eq!(Decimal::from_float8(f64::NAN), None);
    }

    #[test]
    fn the_even_one_of_two_shortest_spellings_is_chosen() {
        let single = |digits, scale| Some(Decimal::new(digits, scale));
        // The value is 506017.125.
        assert_eq!(Decimal::even_of_float4(-4_048_137.0 / 8.0), single(-50_601_712, 2));
        assert_eq!(Decimal::even_of_float4(0.1), single(1, 1));
        assert_eq!(
            Decimal::even_of_float8(1_125_899_906_842_624.2),
            single(11_258_999_068_426_242_i128, 1)
        );
        assert_eq!(Decimal::even_of_float8(5e-324), Decimal::from_float8(5e-324));
        assert_eq!(Decimal::even_of_float8(f64::INFINITY), None);
    }

    #[test]
    fn trailing_zeros_may_go() {
        assert!(Decimal::new(1500, 3).fits(1) && !Decimal::new(1500, 3).fits(0));
        assert!(Decimal::new(0, 100).fits(-100) && !Decimal::new(1, 100).fits(20));
        assert!(Decimal::new(1200, 0).fits(-2) && !Decimal::new(1200, 0).fits(-3));
        assert!(Decimal::new(12, -2).fits(-2));
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (digits, scale, to, expected) in [
            (5, 3, 2, 1),
            (-5, 3, 2, -1),
            (49, 4, 2, 0),
            (-25, 1, 0, -3),
            (1_449, 0, -2, 14),
            (-1_450, 0, -2, -15),
            (49, 0, -2, 0),
            (50, 0, -2, 1),
            (1, 7, 2, 0),
            (i128::MAX, 38, 0, 2),
            (i128::MIN, 39, 0, 0),
            (i128::MIN, 38, -1, 0),
            (7, 127, -100, 0),
        ] {
            let rounded = Decimal { digits: Digits::Short(digits), scale }.round(to);
            assert_eq!(
                (rounded.long(), rounded.scale),
                (i256::from_i128(expected), to),
                "{digits}"
            );
        }
        for (digits, scale, expected) in [
            (
                "57896044618658097711785492504343953926634992332820282019728792003956564819967",
                77,
                1,
            ),
            (
                "49999999999999999999999999999999999999999999999999999999999999999999999999999",
                77,
                0,
            ),
            (
                "57896044618658097711785492504343953926634992332820282019728792003956564819967",
                78,
                0,
            ),
            (
                "57896044618658097711785492504343953926634992332820282019728792003956564819967",
                76,
                6,
            ),
            ("5500000000000000000000000000000000000000000000000000000000000000000000000000", 75, 6),
        ] {
            let digits = i256::from_string(digits).unwrap();
            for (digits, expected) in [(digits, expected), (digits.wrapping_neg(), -expected)] {
                let rounded = Decimal { digits: Digits::Long(digits), scale }.round(0);
                assert_eq!(rounded.to_int(), Some(expected), "{digits} {scale}");
            }
        }
    }

    #[test]
    fn integers_are_found_at_any_scale() {
        let wide = i256::from_i128(7).wrapping_mul(power_of_ten(60).unwrap());
        assert_eq!(Decimal::wide(wide, 60).to_int(), Some(7));
        assert_eq!(Decimal::new(-1500, 2).to_int(), Some(-15));
        assert_eq!(Decimal::new(15, -2).to_int(), Some(1500));
        assert_eq!(Decimal::new(15, 1).to_int(), None);
        assert_eq!(Decimal::new(0, 127).to_int(), Some(0));
        assert_eq!(Decimal::new(1, -127).to_int(), None);
    }

    #[test]
    fn digits_are_grouped_by_sixteen() {
        assert_eq!(Decimal::wide(i256::MIN, 0).chunks()[4], 5_789_604_461_865);
        let number = -(3 * i128::from(CHUNK) + 2);
        assert_eq!(Decimal::new(number, 0).chunks(), [2, 3, 0, 0, 0]);
    }
}
