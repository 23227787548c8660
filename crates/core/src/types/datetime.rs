//! date, timestamp and timestamptz, as the server reads them under every DateStyle: the infinities as the server
//! writes them, and the ISO spellings with a four-digit year. Source: `DecodeDateTime` and the functions that it
//! calls, `src/backend/utils/adt/datetime.c`, PostgreSQL 13 to 18.
//!
//! Values that the server would round, roll over or look up are left to it: more digits than the type has,
//! second 60, hour 24, time zone names.

use super::{digits, wire};

pub(crate) const USECS_PER_SECOND: i64 = 1_000_000;
pub(crate) const USECS_PER_DAY: i64 = 86_400 * USECS_PER_SECOND;

/// Parses `YYYY-MM-DD` into days from 2000-01-01. The infinities are the ends of the 32-bit range.
#[inline]
pub(super) fn parse_date(text: &[u8]) -> Option<i64> {
    match text.try_into() {
        Ok(date) => days_of_date(date),
        Err(_) => infinity(text).map(|end| end.clamp(i32::MIN.into(), i32::MAX.into())),
    }
}

/// Parses a date, or a date and a time without a zone, into microseconds from 2000-01-01. The infinities are the
/// ends of the 64-bit range.
pub(super) fn parse_timestamp(text: &[u8], precision: u8) -> Option<i64> {
    if let Some(end) = infinity(text) {
        return Some(end);
    }
    let (usecs, zone) = parse_local(text, precision)?;
    zone.is_empty().then_some(usecs)
}

/// Parses a timestamp with or without an offset into microseconds from 2000-01-01 UTC. A text without an offset
/// is in the fixed zone `zone`.
pub(super) fn parse_timestamptz(text: &[u8], precision: u8, zone: Option<i32>) -> Option<i64> {
    if let Some(end) = infinity(text) {
        return Some(end);
    }
    let (usecs, offset) = parse_local(text, precision)?;
    let east = if offset.is_empty() { zone? } else { parse_offset(offset)? };
    Some(usecs - i64::from(east) * USECS_PER_SECOND)
}

/// The number of fractional digits that the server reads before it rounds to the column's precision.
pub(super) const ALL_DIGITS: u8 = 6;

/// Whether `usecs` has at most `precision` fractional digits of a second.
#[inline]
pub(super) fn is_exact(usecs: i64, precision: u8) -> bool {
    precision >= ALL_DIGITS || usecs % 10_i64.pow((ALL_DIGITS - precision).into()) == 0
}

/// Encodes the value that [`parse_date`] returns as `date_recv` (`src/backend/utils/adt/date.c`, PostgreSQL 13
/// to 18) expects it.
#[inline(never)]
pub(super) fn encode_date(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put4(parse_date(text)? as u32, field);
    Some(())
}

/// Encodes the value that [`parse_timestamp`] returns as `timestamp_recv` (`src/backend/utils/adt/timestamp.c`,
/// PostgreSQL 13 to 18) expects it. `timestamp_recv` rounds as `timestamp_in` does.
#[inline(never)]
pub(super) fn encode_timestamp(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    wire::put8(parse_timestamp(text, ALL_DIGITS)? as u64, field);
    Some(())
}

/// Encodes a timestamp with time zone for `timestamptz_recv` in the same way.
#[inline(never)]
pub(super) fn encode_timestamptz(
    text: &[u8],
    zone: Option<i32>,
    field: &mut Vec<u8>,
) -> Option<()> {
    wire::put8(parse_timestamptz(text, ALL_DIGITS, zone)? as u64, field);
    Some(())
}

fn infinity(text: &[u8]) -> Option<i64> {
    match text {
        b"infinity" => Some(i64::MAX),
        b"-infinity" => Some(i64::MIN),
        _ => None,
    }
}

/// Parses the leading date and time into microseconds and returns the rest. After a date alone, the rest is
/// empty.
fn parse_local(text: &[u8], precision: u8) -> Option<(i64, &[u8])> {
    let (date, time) = text.split_first_chunk::<10>()?;
    let midnight = days_of_date(date)? * USECS_PER_DAY;
    if time.is_empty() {
        return Some((midnight, time));
    }
    let [b' ' | b'T', time @ ..] = time else { return None };
    let (usecs, rest) = parse_clock(time, precision, 24)?;
    Some((midnight + usecs, rest))
}

/// Parses `HH:MM[:SS[.f]]` with an hour below `hours` into microseconds and returns the rest.
pub(super) fn parse_clock(text: &[u8], precision: u8, hours: u32) -> Option<(i64, &[u8])> {
    let (word, rest) = match text.split_first_chunk::<8>() {
        Some((clock @ [_, _, b':', _, _, b':', _, _], rest)) => {
            let word = u64::from_be_bytes(*clock);
            let minutes = (word >> 16 & 0xFFFF_0000_0000) | (word >> 8 & 0xFFFF_0000);
            (minutes | word & 0xFFFF, Some(rest))
        }
        _ => {
            let [h1, h2, b':', m1, m2, ..] = *text else { return None };
            (u64::from_be_bytes([0, 0, h1, h2, m1, m2, b'0', b'0']), None)
        }
    };
    let number = digits::eight(word | digits::ZEROS << 48)?;
    let (hour, minute, second) = (number / 10_000, number / 100 % 100, number % 100);
    if hour >= hours || minute >= 60 || second >= 60 {
        return None;
    }
    let (fraction, rest) = match rest {
        Some([b'.', fraction @ ..]) => parse_fraction(fraction, precision)?,
        Some(rest) => (0, rest),
        None => (0, &text[5..]),
    };
    let seconds = (hour * 60 + minute) * 60 + second;
    Some((i64::from(seconds) * USECS_PER_SECOND + fraction, rest))
}

/// Parses one to `precision` fractional digits into microseconds and returns the rest. Returns `None` for more
/// digits, which the server would round.
pub(super) fn parse_fraction(text: &[u8], precision: u8) -> Option<(i64, &[u8])> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    if end == 0 || end > usize::from(precision.min(6)) {
        return None;
    }
    let (digits, rest) = text.split_at(end);
    let value = i64::from(digits::up_to_8(digits)?);
    Some((value * [0, 100_000, 10_000, 1_000, 100, 10, 1][end], rest))
}

/// Parses `Z`, `+HH`, `+HHMM`, `+HH:MM` or `+HH:MM:SS`, after an optional space, into seconds east of UTC.
///
/// Like `DecodeTimezone`, allows at most 15 hours (`MAX_TZDISP_HOUR`).
pub(super) fn parse_offset(text: &[u8]) -> Option<i32> {
    let text = text.strip_prefix(b" ").unwrap_or(text);
    let (sign, h, m, s) = match text {
        [b'Z' | b'z'] => return Some(0),
        [sign, h1, h2] => (sign, [h1, h2], [&b'0'; 2], [&b'0'; 2]),
        [sign, h1, h2, m1, m2] | [sign, h1, h2, b':', m1, m2] => {
            (sign, [h1, h2], [m1, m2], [&b'0'; 2])
        }
        [sign, h1, h2, b':', m1, m2, b':', s1, s2] => (sign, [h1, h2], [m1, m2], [s1, s2]),
        _ => return None,
    };
    let minutes = below(16, *h[0], *h[1])? * 60 + below(60, *m[0], *m[1])?;
    let seconds = (minutes * 60 + below(60, *s[0], *s[1])?) as i32;
    match sign {
        b'+' => Some(seconds),
        b'-' => Some(-seconds),
        _ => None,
    }
}

#[inline]
fn days_of_date(text: &[u8; 10]) -> Option<i64> {
    const DASHES: u64 = 0xFF00_00FF;
    let [year_and_month @ .., d1, d2] = *text;
    let word = u64::from_be_bytes(year_and_month);
    if word & DASHES != u64::from_be_bytes(*b"\0\0\0\0-\0\0-") {
        return None;
    }
    let word = word & 0xFFFF_FFFF_0000_0000
        | (word & 0x00FF_FF00) << 8
        | u64::from(u16::from_be_bytes([d1, d2]));
    let pairs = digits::pairs(word)?;
    let [century, year, month, day] = [48, 32, 16, 0].map(|at| (pairs >> at) as u16 as usize);
    let year = century * 100 + year;
    let (begin, end) = (*YEARS.get(year)?, *YEARS.get(year + 1)?);
    let months = &MONTHS[usize::from(end - begin > 365)];
    let [before, through] = *months.get(month.wrapping_sub(1))?;
    let day = day as i32;
    let valid = year > 0 && day > 0 && before + day <= through;
    valid.then(|| i64::from(begin + before + day - 1))
}

/// The first day of each year from 0 to 10,000, in days from 2000-01-01.
static YEARS: [i32; 10_001] = {
    let mut years = [0; 10_001];
    let mut year = 1;
    while year < years.len() {
        years[year] = days_of(year as u32, 1, 1) as i32;
        year += 1;
    }
    // Nothing asks for days before the year 1, but the year 0 must have the length of a year.
    years[0] = years[1] - 366;
    years
};

/// The days before each month and through its end, for a common year and a leap year.
static MONTHS: [[[i32; 2]; 12]; 2] = {
    let mut months = [[[0; 2]; 12]; 2];
    let mut leap = 0;
    while leap < 2 {
        // 2003 is a common year, 2004 a leap year.
        let year = 2003 + leap as u32;
        let begin = days_of(year, 1, 1);
        let mut month = 0;
        while month < 12 {
            let (next, of) = if month < 11 { (month as u32 + 2, year) } else { (1, year + 1) };
            let before = days_of(year, month as u32 + 1, 1) - begin;
            months[leap][month] = [before as i32, (days_of(of, next, 1) - begin) as i32];
            month += 1;
        }
        leap += 1;
    }
    months
};

/// Counts the days from 2000-01-01 in the proleptic Gregorian calendar, like `date2j`
/// (`src/backend/utils/adt/datetime.c`, PostgreSQL 13 to 18). The year begins in March here, so that a leap day
/// ends it.
pub(crate) const fn days_of(year: u32, month: u32, day: u32) -> i64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day;
    days as i64 - 730_426
}

/// Returns the value of two digits if it is below `end`.
fn below(end: u32, tens: u8, units: u8) -> Option<u32> {
    let (tens, units) = (tens.wrapping_sub(b'0'), units.wrapping_sub(b'0'));
    let value = u32::from(tens) * 10 + u32::from(units);
    (tens < 10 && units < 10 && value < end).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::{USECS_PER_DAY, parse_date, parse_timestamp, parse_timestamptz};

    /// Returns 0 for an invalid month.
    fn days_in_month(year: u32, month: u32) -> u32 {
        const DAYS: [u32; 13] = [0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        let leap =
            year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
        let days = DAYS.get(month as usize).copied().unwrap_or(0);
        days + u32::from(leap && month == 2)
    }

    fn date(text: &str) -> Option<i64> {
        parse_date(text.as_bytes())
    }

    fn timestamp(text: &str) -> Option<i64> {
        parse_timestamp(text.as_bytes(), 6)
    }

    fn timestamptz(text: &str) -> Option<i64> {
        parse_timestamptz(text.as_bytes(), 6, None)
    }

    /// Checks against a slow twin that counts every day, one after the other.
    #[test]
    fn every_day_of_9999_years_follows_the_one_before() {
        let mut days = -730_119; // the server's date '0001-01-01' - date '2000-01-01'
        for year in 1..=9999 {
            for month in 0..=13 {
                for day in 0..=32 {
                    let parsed = date(&format!("{year:04}-{month:02}-{day:02}"));
                    let exists = (1..=12).contains(&month)
                        && (1..=days_in_month(year, month)).contains(&day);
                    assert_eq!(parsed, exists.then_some(days), "{year}-{month}-{day}");
                    days += i64::from(exists);
                }
            }
        }
        assert_eq!(date("2000-01-01"), Some(0));
    }

    #[test]
    fn dates_in_any_other_spelling_are_left_to_the_server() {
        for text in [
            "",
            "0000-01-01",
            "2023-02-29",
            "1900-02-29",
            "2024-2-29",
            "2024/02/29",
            "20240229",
            "24-02-29",
            "12024-02-29",
            "2024-02-29 ",
            " 2024-02-29",
            "2024-02-29 BC",
            "+024-02-29",
            "Infinity",
            "+infinity",
            " infinity",
            "2024-Feb-29",
            "2024-02-29 00:00",
        ] {
            assert_eq!(date(text), None, "{text}");
        }
    }

    #[test]
    fn infinities_are_the_ends_of_the_range() {
        assert_eq!(date("infinity"), Some(i32::MAX.into()));
        assert_eq!(date("-infinity"), Some(i32::MIN.into()));
        assert_eq!(timestamp("-infinity"), Some(i64::MIN));
        assert_eq!(timestamptz("infinity"), Some(i64::MAX));
    }

    #[test]
    fn times_of_day() {
        assert_eq!(timestamp("2000-01-01"), Some(0));
        assert_eq!(timestamp("2000-01-02 00:00"), Some(USECS_PER_DAY));
        assert_eq!(timestamp("2000-01-01T23:59:59.999999"), Some(USECS_PER_DAY - 1));
        assert_eq!(timestamp("1999-12-31 23:59:59.5"), Some(-500_000));
        for text in [
            "2000-01-01 ",
            "2000-01-01 1",
            "2000-01-01 24:00",
            "2000-01-01 00:60",
            "2000-01-01 00:00:60",
            "2000-01-01 00:00:00.",
            "2000-01-01 00:00:00.0000001",
            "2000-01-01  00:00",
            "2000-01-01t00:00",
            "2000-01-01 00:00:00Z",
            "2000-01-01 00:00:00+00",
            "2000-01-01 00:00:00 ",
            "2000-01-01 00:00:0",
            "2000-01-01 00:00 AM",
        ] {
            assert_eq!(timestamp(text), None, "{text}");
        }
    }

    #[test]
    fn a_fraction_longer_than_the_precision_is_left_to_the_server() {
        assert_eq!(parse_timestamp(b"2000-01-01 00:00:00.12", 2), Some(120_000));
        assert_eq!(parse_timestamp(b"2000-01-01 00:00:00.120", 2), None);
        assert_eq!(parse_timestamp(b"2000-01-01 00:00:00.0", 0), None);
        assert_eq!(parse_timestamp(b"2000-01-01 00:00:00.1234567", 255), None);
    }

    #[test]
    fn offsets_move_to_utc() {
        for (text, seconds) in [
            ("2000-01-01 00:00:00Z", 0),
            ("2000-01-01T00:00z", 0),
            ("2000-01-01 00:00:00 +01", -3600),
            ("2000-01-01 00:00:00-0130", 5400),
            ("2000-01-01 00:00:00-00:30", 1800),
            ("2000-01-01 00:00:00+15:59:59", -57599),
        ] {
            assert_eq!(timestamptz(text), Some(seconds * 1_000_000), "{text}");
        }
        for text in [
            "2000-01-01",
            "2000-01-01 00:00:00",
            "2000-01-01 00:00:00+16",
            "2000-01-01 00:00:00+1",
            "2000-01-01 00:00:00+01:60",
            "2000-01-01 00:00:00+013000",
            "2000-01-01 00:00:00  +01",
            "2000-01-01 00:00:00 UTC",
            "2000-01-01+01",
            "2000-01-01 00:00:00~01",
        ] {
            assert_eq!(timestamptz(text), None, "{text}");
        }
    }

    #[test]
    fn without_an_offset_the_fixed_zone_counts() {
        let text = b"2000-01-01 01:00";
        assert_eq!(parse_timestamptz(text, 6, Some(3600)), Some(0));
        assert_eq!(parse_timestamptz(b"2000-01-01", 6, Some(-1)), Some(1_000_000));
        assert_eq!(parse_timestamptz(b"2000-01-01 00:00+00", 6, Some(3600)), Some(0));
    }
}
