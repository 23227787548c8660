//! Times in PostgreSQL's units: microseconds, within its range.

use arrow_schema::TimeUnit;

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;

/// The days from 1970-01-01 to 2000-01-01, PostgreSQL's epoch.
pub(crate) const EPOCH_DAYS: i64 = 10_957;

/// The range of dates: `IS_VALID_DATE`, `src/include/datatype/timestamp.h`, PostgreSQL 13 to 18, counted from
/// 1970-01-01: from 4714-11-24 BC through 5874897-12-31.
const FIRST_DAY: i64 = EPOCH_DAYS - 2_451_545;
const LAST_DAY: i64 = EPOCH_DAYS + 2_147_483_493 - 2_451_545;

/// The range of timestamps: `IS_VALID_TIMESTAMP` in the same file, counted from 2000-01-01: from the same day
/// through 294276-12-31.
const FIRST_MICRO: i64 = -211_813_488_000_000_000;
const END_MICRO: i64 = 9_223_371_331_200_000_000;

/// The reason why PostgreSQL has no such time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misses {
    /// The time is finer than a microsecond.
    Nanos,
    Range,
}

/// Converts ticks to microseconds.
#[inline]
pub(crate) fn micros(ticks: i64, unit: TimeUnit) -> Result<i64, Misses> {
    match unit {
        TimeUnit::Second => ticks.checked_mul(MICROS_PER_SECOND).ok_or(Misses::Range),
        TimeUnit::Millisecond => ticks.checked_mul(1_000).ok_or(Misses::Range),
        TimeUnit::Microsecond => Ok(ticks),
        TimeUnit::Nanosecond if ticks % 1_000 != 0 => Err(Misses::Nanos),
        TimeUnit::Nanosecond => Ok(ticks / 1_000),
    }
}

/// Converts ticks to whole seconds and the nanoseconds that remain.
pub(crate) fn seconds(ticks: i64, unit: TimeUnit) -> (i64, u32) {
    let per_second: i64 = match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    };
    let rest = ticks.rem_euclid(per_second) * (1_000_000_000 / per_second);
    // The rest is below a billion.
    (ticks.div_euclid(per_second), rest as u32)
}

/// Whether PostgreSQL has a date for this number of days from 1970-01-01.
#[inline]
pub(crate) fn is_date(days: i64) -> bool {
    (FIRST_DAY..=LAST_DAY).contains(&days)
}

/// Converts ticks from 1970-01-01 to microseconds from 2000-01-01, if PostgreSQL has such a timestamp.
#[inline]
pub(crate) fn timestamp(ticks: i64, unit: TimeUnit) -> Result<i64, Misses> {
    let epoch = match unit {
        TimeUnit::Second => EPOCH_DAYS * 86_400,
        TimeUnit::Millisecond => EPOCH_DAYS * 86_400_000,
        // This value stands for infinity, or for no time at all.
        TimeUnit::Microsecond if ticks == i64::MAX => return Err(Misses::Range),
        TimeUnit::Microsecond => EPOCH_DAYS * MICROS_PER_DAY,
        TimeUnit::Nanosecond => {
            // Nanoseconds reach at most 292 years, so the result is in range.
            return Ok(micros(ticks, unit)? - EPOCH_DAYS * MICROS_PER_DAY);
        }
    };
    let micros = micros(ticks.checked_sub(epoch).ok_or(Misses::Range)?, unit)?;
    if is_timestamp(micros) { Ok(micros) } else { Err(Misses::Range) }
}

/// Rounds nanoseconds from 1970-01-01 to microseconds from 2000-01-01.
pub(crate) fn round_timestamp(nanos: i64) -> i64 {
    round_nanos(nanos) - EPOCH_DAYS * MICROS_PER_DAY
}

/// Returns the timestamp at the start of the day, if PostgreSQL has it.
pub(crate) fn midnight(days: i64) -> Result<i64, Misses> {
    timestamp(days.checked_mul(86_400).ok_or(Misses::Range)?, TimeUnit::Second)
}

/// Whether a number of microseconds from 2000-01-01 is a valid timestamp.
#[inline]
pub(crate) fn is_timestamp(micros: i64) -> bool {
    (FIRST_MICRO..END_MICRO).contains(&micros)
}

/// Whether the time needs at most `precision` fractional digits of a second.
#[inline]
pub(crate) fn is_within(micros: i64, precision: Option<u8>) -> bool {
    step(precision).is_none_or(|step| micros % step == 0)
}

/// Returns the microseconds between two times with `precision` fractional digits, if there are fewer than six.
#[inline]
fn step(precision: Option<u8>) -> Option<i64> {
    const STEPS: [i64; 6] = [1_000_000, 100_000, 10_000, 1_000, 100, 10];
    precision.and_then(|precision| STEPS.get(usize::from(precision)).copied())
}

/// Rounds to `precision` fractional digits of a second, halves away from zero: `AdjustTimestampForTypmod`,
/// `src/backend/utils/adt/timestamp.c`, PostgreSQL 13 to 18. Times and intervals are rounded alike. Returns
/// `None` on overflow.
pub(crate) fn round(micros: i64, precision: Option<u8>) -> Option<i64> {
    let Some(step) = step(precision) else { return Some(micros) };
    let beyond = micros.checked_add(micros.signum() * (step / 2))?;
    Some(beyond - beyond % step)
}

/// Rounds nanoseconds from a midnight to microseconds. In the text of a time, the fraction counts forward, even
/// before 1970.
pub(crate) fn round_nanos(nanos: i64) -> i64 {
    let (seconds, nanos) = seconds(nanos, TimeUnit::Nanosecond);
    seconds * MICROS_PER_SECOND + round_fraction(nanos)
}

/// Rounds the nanoseconds of a span to microseconds. Its text is a sign and then a number of seconds.
pub(crate) fn round_span(nanos: i64) -> i64 {
    const PER_SECOND: u64 = 1_000_000_000;
    let magnitude = nanos.unsigned_abs();
    // Both are far below the maximum of their types.
    let (seconds, rest) = ((magnitude / PER_SECOND) as i64, (magnitude % PER_SECOND) as u32);
    nanos.signum() * (seconds * MICROS_PER_SECOND + round_fraction(rest))
}

/// Rounds the nanoseconds of one second to microseconds, in floating point like the server: `ParseFraction`,
/// `src/backend/utils/adt/datetime.c`, PostgreSQL 13 to 18.
fn round_fraction(nanos: u32) -> i64 {
    (f64::from(nanos) / 1e9 * 1e6).round_ties_even() as i64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_whole_microseconds_or_refused() {
        assert_eq!(micros(-3, TimeUnit::Second), Ok(-3_000_000));
        assert_eq!(micros(-3_000, TimeUnit::Nanosecond), Ok(-3));
        assert_eq!(micros(-3_001, TimeUnit::Nanosecond), Err(Misses::Nanos));
        assert_eq!(micros(i64::MAX, TimeUnit::Millisecond), Err(Misses::Range));
        assert_eq!(seconds(-1, TimeUnit::Nanosecond), (-1, 999_999_999));
        assert_eq!(seconds(1_500, TimeUnit::Millisecond), (1, 500_000_000));
    }

    #[test]
    fn no_time_becomes_an_infinity() {
        let unix = FIRST_MICRO + EPOCH_DAYS * MICROS_PER_DAY;
        for ticks in [i64::MIN, i64::MAX, unix - 1] {
            assert_eq!(timestamp(ticks, TimeUnit::Microsecond), Err(Misses::Range), "{ticks}");
        }
        assert_eq!(timestamp(unix, TimeUnit::Microsecond), Ok(FIRST_MICRO));
        let end = END_MICRO / 1_000 + EPOCH_DAYS * 86_400_000;
        assert_eq!(timestamp(end - 1, TimeUnit::Millisecond), Ok(END_MICRO - 1_000));
        assert_eq!(timestamp(end, TimeUnit::Millisecond), Err(Misses::Range));
        assert_eq!(timestamp(i64::MAX, TimeUnit::Second), Err(Misses::Range));
        assert!([i32::MIN, i32::MAX].iter().all(|&days| !is_date(days.into())));
    }

    #[test]
    fn a_precision_is_digits_of_a_second() {
        assert!(is_within(1_500_000, Some(1)) && !is_within(1_500_000, Some(0)));
        assert!(is_within(1, Some(6)) && is_within(1, None) && !is_within(-1, Some(5)));
    }

    #[test]
    fn halves_are_rounded_away_from_zero() {
        for (micros, precision, expected) in [
            (500_000, Some(0), Some(1_000_000)),
            (-500_000, Some(0), Some(-1_000_000)),
            (-499_999, Some(0), Some(0)),
            (1_449_999, Some(1), Some(1_400_000)),
            (-15, Some(5), Some(-20)),
            (15, Some(6), Some(15)),
            (i64::MAX, None, Some(i64::MAX)),
            (i64::MAX, Some(0), None),
            (i64::MIN, Some(5), None),
        ] {
            assert_eq!(round(micros, precision), expected, "{micros} {precision:?}");
        }
    }

    #[test]
    fn nanoseconds_are_rounded_as_a_fraction_of_their_second() {
        for (nanos, micros) in [(499, 0), (500, 0), (501, 1), (1_500, 2), (-500, 0), (-1_501, -2)] {
            assert_eq!((round_nanos(nanos), round_span(nanos)), (micros, micros), "{nanos}");
        }
        assert_eq!(round_nanos(999_999_999), 1_000_000);
        // The fractions are 0.9999985 and 0.0000015.
        assert_eq!((round_nanos(-1_500), round_span(-1_500)), (-2, -2));
        assert_eq!(round_span(i64::MIN), -9_223_372_036_854_776);
    }
}
