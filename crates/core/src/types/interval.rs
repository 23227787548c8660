//! interval, as one span of time. Reads fields in the order of their size, spelled as under IntervalStyle
//! `postgres`, if neither that setting nor rounding can change the value.

use super::datetime::{ALL_DIGITS, USECS_PER_DAY, USECS_PER_SECOND, is_exact, parse_fraction};
use super::{integer, wire};

/// Returns the span that `interval_cmp_value` compares (`src/backend/utils/adt/timestamp.c`, PostgreSQL 13 to
/// 18): a month is 30 days. The infinities of version 17 and later are the ends of its range.
pub(super) fn span(months: i32, days: i32, usecs: i64) -> i128 {
    let days = i128::from(months) * 30 + i128::from(days);
    i128::from(usecs) + days * i128::from(USECS_PER_DAY)
}

/// Hashes like `interval_hash_extended` (same file).
pub(super) fn hash_extended(span: i128, seed: u64) -> u64 {
    integer::hash_extended(span as i64, seed)
}

/// Parses `N years N mons N days HH:MM:SS.f`, with at least one of the parts, like `interval_in`.
///
/// Reads a sign only if there is a single part: under IntervalStyle `sql_standard` the sign of the first part
/// applies to all parts.
pub(super) fn parse(text: &[u8], precision: u8) -> Option<i128> {
    let IntervalFields { months, days, usecs } = read(text, precision)?;
    Some(span(months, days, usecs))
}

/// Decodes the binary form that `interval_recv` (same file) reads, unless the server would round it to the
/// precision.
pub(super) fn receive(binary: &[u8], precision: u8) -> Option<i128> {
    let (usecs, rest) = binary.split_first_chunk()?;
    let (days, months) = rest.split_first_chunk()?;
    let (usecs, days) = (i64::from_be_bytes(*usecs), i32::from_be_bytes(*days));
    let months = i32::from_be_bytes(months.try_into().ok()?);
    is_exact(usecs, precision).then(|| span(months, days, usecs))
}

/// Encodes the same intervals as `interval_recv` (same file) expects them. It rounds as `interval_in` does.
pub(super) fn encode(text: &[u8], field: &mut Vec<u8>) -> Option<()> {
    let IntervalFields { months, days, usecs } = read(text, ALL_DIGITS)?;
    let [months, days] = [months, days].map(|number| u128::from(number as u32));
    wire::put16(u128::from(usecs as u64) << 64 | days << 32 | months, field);
    Some(())
}

/// The fields of an interval.
#[derive(Default)]
struct IntervalFields {
    months: i32,
    days: i32,
    usecs: i64,
}

fn read(text: &[u8], precision: u8) -> Option<IntervalFields> {
    match text {
        [b'-', rest @ ..] if parts(rest) == 1 => {
            let IntervalFields { months, days, usecs } = parse_positive(rest, precision)?;
            Some(IntervalFields { months: -months, days: -days, usecs: -usecs })
        }
        _ => parse_positive(text, precision),
    }
}

/// Counts the parts; a number and its unit are one part.
fn parts(text: &[u8]) -> usize {
    let words = text.split(|&byte| byte == b' ').count();
    if text.contains(&b':') { words } else { words.div_ceil(2) }
}

fn parse_positive(text: &[u8], precision: u8) -> Option<IntervalFields> {
    let mut words = text.split(|&byte| byte == b' ');
    let mut fields = IntervalFields::default();
    let mut last = None;
    while let Some(word) = words.next() {
        if word.contains(&b':') {
            fields.usecs = parse_time(word, precision)?;
            return words.next().is_none().then_some(fields);
        }
        let number = parse_number(word)?;
        let unit = IntervalUnit::parse(words.next()?)?;
        if last >= Some(unit) {
            return None;
        }
        last = Some(unit);
        match unit {
            IntervalUnit::Year => fields.months += number * 12,
            IntervalUnit::Month => fields.months += number,
            IntervalUnit::Day => fields.days = number,
        }
    }
    Some(fields)
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum IntervalUnit {
    Year,
    Month,
    Day,
}

impl IntervalUnit {
    fn parse(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"year" | b"years" => Self::Year,
            b"mon" | b"mons" | b"month" | b"months" => Self::Month,
            b"day" | b"days" => Self::Day,
            _ => return None,
        })
    }
}

/// Parses a number with so few digits that no field can overflow.
fn parse_number(word: &[u8]) -> Option<i32> {
    let digits = (1..=7).contains(&word.len()) && word.iter().all(u8::is_ascii_digit);
    digits.then(|| word.iter().fold(0, |value, digit| value * 10 + i32::from(digit - b'0')))
}

/// Parses `HH:MM[:SS[.f]]` with any number of hours into microseconds.
fn parse_time(word: &[u8], precision: u8) -> Option<i64> {
    let mut fields = word.splitn(3, |&byte| byte == b':');
    let hours = parse_number(fields.next()?)?;
    let minutes = parse_sixtieth(fields.next()?)?;
    let (seconds, fraction) = match fields.next() {
        None => (0, 0),
        Some(field) => match field.split_at_checked(2)? {
            (seconds, []) => (parse_sixtieth(seconds)?, 0),
            (seconds, [b'.', fraction @ ..]) => {
                let (fraction, []) = parse_fraction(fraction, precision)? else { return None };
                (parse_sixtieth(seconds)?, fraction)
            }
            _ => return None,
        },
    };
    let seconds = (i64::from(hours) * 60 + i64::from(minutes)) * 60 + i64::from(seconds);
    Some(seconds * USECS_PER_SECOND + fraction)
}

fn parse_sixtieth(word: &[u8]) -> Option<i32> {
    (word.len() == 2).then(|| parse_number(word))?.filter(|&number| number < 60)
}

#[cfg(test)]
mod tests {
    use super::{parse, span};

    #[test]
    fn fields_from_the_greatest_to_the_least() {
        for (text, value) in [
            ("1 year 2 mons 3 days 04:05:06.7", span(14, 3, 14_706_700_000)),
            ("100:00", span(0, 0, 360_000_000_000)),
            ("1 mon", span(0, 30, 0)),
            ("-3 days", span(0, -3, 0)),
            ("-00:00:01.5", span(0, 0, -1_500_000)),
            ("0 days", 0),
            ("00:00:00", 0),
        ] {
            assert_eq!(parse(text.as_bytes(), 6), Some(value), "{text}");
        }
    }

    #[test]
    fn anything_else_is_left_to_the_server() {
        for text in [
            "",
            " ",
            "1",
            "1 day 2 days",
            "1 day 1 year",
            "-1 day 02:03:04",
            "1 day -02:03:04",
            "1.5 days",
            "1  day",
            "1 day ",
            "1 DAY",
            "P1D",
            "@ 1 day",
            "1 day ago",
            "1 week",
            "00:60:00",
            "00:00:60",
            "00:00:00.1234567",
            "1:2:3",
            "12345678 days",
            "infinity",
            "--1 day",
            "- 1 day",
            "01:02:03 1 day",
        ] {
            assert_eq!(parse(text.as_bytes(), 6), None, "{text}");
        }
        assert_eq!(parse(b"00:00:00.12", 1), None);
    }
}
