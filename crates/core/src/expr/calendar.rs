//! Dates of the proleptic Gregorian calendar, from the year 1 to 9999, and their ISO weeks.

use crate::types::datetime::days_of;

/// A date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Date {
    pub(super) year: u32,
    pub(super) month: u32,
    pub(super) day: u32,
}

/// Number of days from 0000-03-01 to 2000-01-01.
const FROM_MARCH: i64 = 730_425;

impl Date {
    /// Returns the date `days` days after 2000-01-01, like `j2date` (`src/backend/utils/adt/datetime.c`,
    /// PostgreSQL 13 to 18); `None` before the year 1 and after the year 9999.
    ///
    /// A year begins in March here, so that a leap day ends it; 400 years have 146,097 days.
    pub(super) fn from_days(days: i64) -> Option<Self> {
        let days = u32::try_from(days.checked_add(FROM_MARCH)?).ok()?;
        let (era, day) = (days / 146_097, days % 146_097);
        let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
        let day = day - (365 * year + year / 4 - year / 100);
        let month = (5 * day + 2) / 153;
        let day = day - (153 * month + 2) / 5 + 1;
        let year = era * 400 + year;
        let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
        (1..=9999).contains(&year).then_some(Self { year, month, day })
    }

    /// Returns the number of days from 2000-01-01.
    pub(super) fn days(self) -> i64 {
        days_of(self.year, self.month, self.day)
    }
}

/// Returns the number of days since Monday; 2000-01-01 was a Saturday.
pub(super) fn weekday(days: i64) -> i64 {
    (days + 5).rem_euclid(7)
}

/// Returns the year that the day's week belongs to, and the number of the week, like `date2isoyear` and
/// `date2isoweek` (`src/backend/utils/adt/timestamp.c`, PostgreSQL 13 to 18). A week belongs to the year of its
/// Thursday.
pub(super) fn iso_week(days: i64) -> Option<(u32, i64)> {
    let thursday = days - weekday(days) + 3;
    let year = Date::from_days(thursday)?.year;
    Some((year, (thursday - days_of(year, 1, 1)) / 7 + 1))
}

#[cfg(test)]
mod tests {
    use super::{Date, iso_week, weekday};
    use crate::types::datetime::days_of;

    #[test]
    fn dates_are_the_inverse_of_their_days() {
        let (first, last) = (days_of(1, 1, 1), days_of(9999, 12, 31));
        assert_eq!([Date::from_days(first - 1), Date::from_days(last + 1)], [None, None]);
        assert_eq!([Date::from_days(i64::MIN), Date::from_days(i64::MAX)], [None, None]);
        for days in first..=last {
            assert_eq!(Date::from_days(days).map(Date::days), Some(days));
        }
    }

    #[test]
    fn a_week_belongs_where_its_thursday_does() {
        assert_eq!(weekday(days_of(2024, 1, 1)), 0);
        for (date, week) in [
            ((2021, 1, 3), (2020, 53)),
            ((2021, 1, 4), (2021, 1)),
            ((2024, 12, 30), (2025, 1)),
            ((2023, 1, 1), (2022, 52)),
            ((1, 1, 1), (1, 1)),
        ] {
            let (year, month, day) = date;
            assert_eq!(iso_week(days_of(year, month, day)), Some(week), "{date:?}");
        }
        assert_eq!(iso_week(days_of(9999, 12, 31)), Some((9999, 52)));
    }
}
