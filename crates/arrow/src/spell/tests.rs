//! Spellings that PostgreSQL 15 and 18 confirmed.

use arrow_buffer::i256;

use super::*;

#[test]
fn dates_have_years_of_any_size() {
    for (days, text) in [
        (0, "1970-01-01"),
        (-1, "1969-12-31"),
        (19_782, "2024-02-29"),
        (2_932_896, "9999-12-31"),
        (2_932_897, "10000-01-01"),
        (-719_162, "0001-01-01"),
        (-719_163, "0001-12-31 BC"),
        (-2_440_588, "4714-11-24 BC"),
        (2_145_042_905, "5874897-12-31"),
    ] {
        assert_eq!(to_text(|out| date(days, out)), text);
    }
}

#[test]
fn times_end_with_what_is_needed() {
    let timestamp =
        |seconds, nanos, zoned| to_text(|out| super::timestamp((seconds, nanos), b' ', zoned, out));
    assert_eq!(timestamp(0, 0, false), "1970-01-01 00:00:00");
    assert_eq!(timestamp(-1, 500_000_000, true), "1969-12-31 23:59:59.5+00");
    assert_eq!(timestamp(-62_135_596_801, 1, true), "0001-12-31 23:59:59.000000001+00 BC");
    assert_eq!(to_text(|out| time(86_400, 0, out)), "24:00:00");
}

#[test]
fn numbers_are_whole() {
    let decimal = |digits: i128, scale| {
        to_text(|out| super::decimal(&Decimal { digits: Digits::Short(digits), scale }, out))
    };
    assert_eq!(decimal(2_116_823, 2), "21168.23");
    assert_eq!(decimal(-4, 2), "-0.04");
    assert_eq!(decimal(0, 2), "0.00");
    assert_eq!(decimal(12, -3), "12000");
    assert_eq!(decimal(0, -3), "0");
    assert_eq!(decimal(5, 324), "5e-324");
    assert_eq!(decimal(i128::MIN, 0), i128::MIN.to_string());
    let long = i256::MIN;
    assert_eq!(to_text(|out| super::decimal(&Decimal::wide(long, 0), out)), long.to_string());
    for (value, text) in
        [(1.0, "1"), (-0.1, "-0.1"), (1e300, "1e+300"), (-0.0, "-0"), (1e15, "1e+15")]
    {
        assert_eq!(to_text(|out| float8(value, out)), text);
    }
    assert_eq!(to_text(|out| float4(0.1, out)), "0.1");
}

#[test]
fn an_interval_says_each_sign_once_there_is_one() {
    for (months, days, micros, text) in [
        (0, 0, 0, "00:00:00"),
        (14, 3, 14_706_700_000, "14 mons 3 days 04:05:06.7"),
        (-1, 2, 0, "-1 mons +2 days"),
        (-1, -2, 3_000_000, "-1 mons -2 days +00:00:03"),
        (1, 0, -1, "1 mons -00:00:00.000001"),
        (0, 0, i64::MIN, "-2562047788:00:54.775808"),
    ] {
        assert_eq!(to_text(|out| interval(&Interval { months, days, micros }, out)), text);
    }
}
