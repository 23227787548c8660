//! Functions of points in time: `date_trunc`, `date_part`, `EXTRACT`, `date_bin`, `AT TIME ZONE`.
//!
//! Follows `src/backend/utils/adt/timestamp.c` and `date.c`, PostgreSQL 13 to 18. The infinities, and times
//! before the year 1 or after 9999, are left to the server.

use super::calendar::{Date, iso_week, weekday};
use super::cast::to_numeric;
use super::value::ExprValue;
use crate::types::datetime::USECS_PER_DAY;
pub(super) use crate::types::datetime::USECS_PER_SECOND;
use crate::types::{KeyType, float};

const USECS_PER_MINUTE: i64 = 60 * USECS_PER_SECOND;
const USECS_PER_HOUR: i64 = 60 * USECS_PER_MINUTE;
/// 1970-01-01, in microseconds from 2000-01-01.
const UNIX_EPOCH: i64 = -10_957 * USECS_PER_DAY;

/// A unit that `date_trunc` truncates to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TruncUnit {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
}

impl TruncUnit {
    /// All units, with their names in the documentation.
    pub const ALL: [(&str, Self); 13] = [
        ("microseconds", Self::Microseconds),
        ("milliseconds", Self::Milliseconds),
        ("second", Self::Second),
        ("minute", Self::Minute),
        ("hour", Self::Hour),
        ("day", Self::Day),
        ("week", Self::Week),
        ("month", Self::Month),
        ("quarter", Self::Quarter),
        ("year", Self::Year),
        ("decade", Self::Decade),
        ("century", Self::Century),
        ("millennium", Self::Millennium),
    ];

    /// Returns the unit with this name, ignoring case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        find_by_name(&Self::ALL, name)
    }
}

/// A field that `date_part` and `EXTRACT` return.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ExtractField {
    Microseconds,
    Milliseconds,
    Second,
    Minute,
    Hour,
    Epoch,
    Day,
    Month,
    Quarter,
    Year,
    Decade,
    Century,
    Millennium,
    Week,
    IsoYear,
    DayOfWeek,
    IsoDayOfWeek,
    DayOfYear,
}

impl ExtractField {
    /// All fields, with their names in the documentation.
    pub const ALL: [(&str, Self); 18] = [
        ("microseconds", Self::Microseconds),
        ("milliseconds", Self::Milliseconds),
        ("second", Self::Second),
        ("minute", Self::Minute),
        ("hour", Self::Hour),
        ("epoch", Self::Epoch),
        ("day", Self::Day),
        ("month", Self::Month),
        ("quarter", Self::Quarter),
        ("year", Self::Year),
        ("decade", Self::Decade),
        ("century", Self::Century),
        ("millennium", Self::Millennium),
        ("week", Self::Week),
        ("isoyear", Self::IsoYear),
        ("dow", Self::DayOfWeek),
        ("isodow", Self::IsoDayOfWeek),
        ("doy", Self::DayOfYear),
    ];

    /// Returns the field with this name, ignoring case.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        find_by_name(&Self::ALL, name)
    }

    /// Whether `EXTRACT` supports the field for the type `ty`.
    pub(super) fn is_of(self, ty: &KeyType) -> bool {
        match ty {
            KeyType::Timestamp { .. } => true,
            KeyType::Date => !self.is_of_clock(),
            KeyType::Time { .. } => self.is_of_clock() || self == Self::Epoch,
            _ => false,
        }
    }

    fn is_of_clock(self) -> bool {
        use ExtractField::{Hour, Microseconds, Milliseconds, Minute, Second};
        matches!(self, Microseconds | Milliseconds | Second | Minute | Hour)
    }
}

fn find_by_name<T: Copy>(all: &[(&str, T)], name: &str) -> Option<T> {
    let found = all.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| *value)
}

pub(super) fn is_finite(usecs: i64) -> bool {
    usecs != i64::MIN && usecs != i64::MAX
}

/// Truncates like `timestamp_trunc`.
pub(super) fn truncate(unit: TruncUnit, usecs: i64) -> Option<i64> {
    let days = usecs.div_euclid(USECS_PER_DAY);
    let date = Date::from_days(days)?;
    let down_to = |step: i64| Some(usecs - usecs.rem_euclid(step));
    let month = |month: u32| Some(Date { month, day: 1, ..date }.days() * USECS_PER_DAY);
    // The year 0 would be 1 BC.
    let year =
        |year: u32| (year > 0).then(|| Date { year, month: 1, day: 1 }.days() * USECS_PER_DAY);
    match unit {
        TruncUnit::Microseconds => Some(usecs),
        TruncUnit::Milliseconds => down_to(1_000),
        TruncUnit::Second => down_to(USECS_PER_SECOND),
        TruncUnit::Minute => down_to(USECS_PER_MINUTE),
        TruncUnit::Hour => down_to(USECS_PER_HOUR),
        TruncUnit::Day => down_to(USECS_PER_DAY),
        TruncUnit::Week => Some((days - weekday(days)) * USECS_PER_DAY),
        TruncUnit::Month => month(date.month),
        TruncUnit::Quarter => month((date.month - 1) / 3 * 3 + 1),
        TruncUnit::Year => year(date.year),
        TruncUnit::Decade => year(date.year / 10 * 10),
        TruncUnit::Century => year((date.year - 1) / 100 * 100 + 1),
        TruncUnit::Millennium => year((date.year - 1) / 1000 * 1000 + 1),
    }
}

/// Extracts a field of a value of the type `of`, like `timestamp_part`, `time_part` and the `extract_`
/// functions. The result has the type `to`, double precision or numeric.
pub(super) fn part<'a>(
    field: ExtractField,
    value: ExprValue<'_>,
    of: &KeyType,
    to: &KeyType,
    scratch: &mut Vec<u8>,
) -> Option<ExprValue<'a>> {
    let usecs = value.int()?;
    let number = match of {
        KeyType::Time { .. } => extract_clock(field, usecs)?,
        _ => extract_timestamp(field, usecs)?,
    };
    match to {
        KeyType::Float8 => Some(ExprValue::Int(float::sortable(number.to_float()))),
        _ => to_numeric(number.digits, number.scale, scratch),
    }
}

/// A number whose last `scale` digits are after the decimal point. `seconds` marks the fields that contain the
/// seconds of a minute, because the server computes them as a sum if the result is a float.
struct Number {
    digits: i64,
    scale: u8,
    seconds: bool,
}

impl Number {
    fn whole(digits: i64) -> Self {
        Self { digits, scale: 0, seconds: false }
    }

    /// Converts to a float, rounding as often as the server does.
    fn to_float(&self) -> f64 {
        let unit = [1_i64, 10, 100, 1_000, 10_000, 100_000, 1_000_000][usize::from(self.scale)];
        match (self.seconds, self.scale) {
            (true, 6) => (self.digits / unit) as f64 + (self.digits % unit) as f64 / unit as f64,
            (true, 3) => {
                let fraction = self.digits % USECS_PER_SECOND;
                (self.digits / USECS_PER_SECOND) as f64 * 1000.0 + fraction as f64 / 1000.0
            }
            (_, 0) => self.digits as f64,
            _ => self.digits as f64 / unit as f64,
        }
    }
}

/// Extracts a field of the clock from the microseconds since midnight, up to a whole day.
fn extract_clock(field: ExtractField, usecs: i64) -> Option<Number> {
    let seconds = |scale| Number { digits: usecs % USECS_PER_MINUTE, scale, seconds: true };
    Some(match field {
        ExtractField::Microseconds => seconds(0),
        ExtractField::Milliseconds => seconds(3),
        ExtractField::Second => seconds(6),
        ExtractField::Minute => Number::whole(usecs / USECS_PER_MINUTE % 60),
        ExtractField::Hour => Number::whole(usecs / USECS_PER_HOUR),
        ExtractField::Epoch => Number { digits: usecs, scale: 6, seconds: false },
        _ => return None,
    })
}

fn extract_timestamp(field: ExtractField, usecs: i64) -> Option<Number> {
    let days = usecs.div_euclid(USECS_PER_DAY);
    let date = Date::from_days(days)?;
    let year = i64::from(date.year);
    Some(Number::whole(match field {
        ExtractField::Epoch => {
            return Some(Number { digits: usecs - UNIX_EPOCH, scale: 6, seconds: false });
        }
        ExtractField::Day => date.day.into(),
        ExtractField::Month => date.month.into(),
        ExtractField::Quarter => ((date.month - 1) / 3 + 1).into(),
        ExtractField::Year => year,
        ExtractField::Decade => year / 10,
        ExtractField::Century => (year + 99) / 100,
        ExtractField::Millennium => (year + 999) / 1000,
        ExtractField::Week => iso_week(days)?.1,
        ExtractField::IsoYear => iso_week(days)?.0.into(),
        ExtractField::DayOfWeek => (weekday(days) + 1) % 7,
        ExtractField::IsoDayOfWeek => weekday(days) + 1,
        ExtractField::DayOfYear => days - Date { month: 1, day: 1, ..date }.days() + 1,
        clock => return extract_clock(clock, usecs.rem_euclid(USECS_PER_DAY)),
    }))
}

/// Truncates like `timestamp_bin`, PostgreSQL 14 to 18. Returns `None` if `usecs` is a whole number of steps
/// before `origin`, because some minor versions return a result that is one step too early.
pub(super) fn bin(stride: i64, usecs: i64, origin: i64) -> Option<i64> {
    let since = is_finite(usecs).then(|| usecs.checked_sub(origin))??;
    let over = since.checked_rem_euclid(stride)?;
    let exact = over == 0 && since < 0;
    if exact { None } else { usecs.checked_sub(over) }
}

/// Shifts a timestamp like `timestamp_zone` and `timestamptz_zone`.
pub(super) fn shift(usecs: i64, by: i64) -> Option<i64> {
    let moved = usecs.checked_add(by)?;
    Date::from_days(usecs.div_euclid(USECS_PER_DAY))
        .and(Date::from_days(moved.div_euclid(USECS_PER_DAY)))?;
    Some(moved)
}

#[cfg(test)]
mod tests {
    use super::super::value::read;
    use super::*;

    fn timestamp(text: &str) -> i64 {
        let ty = KeyType::Timestamp { precision: 6 };
        match read(&ty, text.as_bytes(), &mut Vec::new()) {
            Some(ExprValue::Int(usecs)) => usecs,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn whole_steps_before_an_origin_are_left_to_the_server() {
        let origin = timestamp("2000-01-03");
        let bin = |text: &str| bin(USECS_PER_DAY, timestamp(text), origin);
        assert_eq!(bin("2000-01-02"), None);
        assert_eq!(bin("2000-01-01 23:59"), Some(timestamp("2000-01-01")));
        assert_eq!(bin("2000-01-03"), Some(origin));
        assert_eq!(bin("2000-01-04 23:59"), Some(timestamp("2000-01-04")));
        assert_eq!([bin("infinity"), bin("-infinity")], [None; 2]);
    }

    #[test]
    fn years_without_four_digits_are_left_to_the_server() {
        let (first, last) = (timestamp("0001-01-01"), timestamp("9999-12-31 23:59:59.999999"));
        assert_eq!(truncate(TruncUnit::Decade, timestamp("0009-12-31")), None);
        assert_eq!(
            truncate(TruncUnit::Decade, timestamp("0010-01-01")),
            Some(timestamp("0010-01-01"))
        );
        assert_eq!(truncate(TruncUnit::Millennium, timestamp("1000-12-31")), Some(first));
        assert_eq!([shift(first, -1), shift(last, 1), shift(i64::MAX, 0)], [None; 3]);
        assert_eq!(shift(first, 1), Some(first + 1));
        for (_, unit) in TruncUnit::ALL {
            assert_eq!([first - 1, last + 1].map(|usecs| truncate(unit, usecs)), [None; 2]);
            assert_eq!([i64::MIN, i64::MAX].map(|usecs| truncate(unit, usecs)), [None; 2]);
        }
    }
}
