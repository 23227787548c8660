//! Dates, times, instants and intervals.

use arrow_array::types::*;
use arrow_array::*;
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano};
use arrow_schema::{DataType, TimeUnit};

use crate::harness::{bytes, given, misfit, texts, ty, unfit, with_modifier};

const DATE: u32 = 1082;
const TIME: u32 = 1083;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const INTERVAL: u32 = 1186;

#[test]
fn dates_of_both_kinds() {
    let days = Date32Array::from(vec![0, 10_957, 2_932_896, -719_163]);
    assert_eq!(
        texts(&days, &ty(DATE)),
        ["1970-01-01", "2000-01-01", "9999-12-31", "0001-12-31 BC"]
    );
    let values = bytes(&days, &ty(DATE));
    assert_eq!(values[0], (-10_957_i32).to_be_bytes());
    assert_eq!(values[1], [0; 4]);
    assert_eq!(values[2], 2_921_939_i32.to_be_bytes());
    let millis = Date64Array::from(vec![86_400_000 * 10_958]);
    assert_eq!(bytes(&millis, &ty(DATE)), [1_i32.to_be_bytes()]);
    assert_eq!(texts(&millis, &ty(TIMESTAMP)), ["2000-01-02 00:00:00"]);
    let why = unfit(&Date64Array::from(vec![1]), &ty(DATE));
    assert_eq!(why, "1970-01-01 00:00:00.001 has a time, which date cannot hold");
}

#[test]
fn no_date_is_infinite_by_accident() {
    for days in [i32::MIN, i32::MAX, -2_440_589, 2_145_042_906] {
        assert!(
            unfit(&Date32Array::from(vec![days]), &ty(DATE)).ends_with("out of range for date")
        );
    }
    let ends = Date32Array::from(vec![-2_440_588, 2_145_042_905]);
    assert_eq!(texts(&ends, &ty(DATE)), ["4714-11-24 BC", "5874897-12-31"]);
    assert_eq!(bytes(&ends, &ty(DATE))[0], (-2_451_545_i32).to_be_bytes());
}

#[test]
fn times_of_all_units() {
    let noon = 43_200_i64;
    let seconds = Time32SecondArray::from(vec![noon as i32]);
    let millis = Time32MillisecondArray::from(vec![noon as i32 * 1_000]);
    let micros = Time64MicrosecondArray::from(vec![noon * 1_000_000]);
    let nanos = Time64NanosecondArray::from(vec![noon * 1_000_000_000]);
    let arrays: [&dyn Array; 4] = [&seconds, &millis, &micros, &nanos];
    for array in arrays {
        assert_eq!(bytes(array, &ty(TIME)), [(noon * 1_000_000).to_be_bytes()]);
        assert_eq!(texts(array, &ty(TIME)), ["12:00:00"]);
        assert!(misfit(array, &ty(1266)).contains("no time zone"));
    }
    assert_eq!(texts(&Time32SecondArray::from(vec![86_400]), &ty(TIME)), ["24:00:00"]);
    for array in [Time32SecondArray::from(vec![-1]), Time32SecondArray::from(vec![86_401])] {
        assert!(unfit(&array, &ty(TIME)).contains("out of range for time"));
    }
    assert!(unfit(&Time64NanosecondArray::from(vec![1]), &ty(TIME)).contains("nanoseconds"));
    let tenth = Time32MillisecondArray::from(vec![100]);
    assert!(unfit(&tenth, &with_modifier(TIME, 0)).contains("has more digits than time(0)"));
}

#[test]
fn the_zone_of_an_instant_is_not_lost() {
    let local = TimestampMicrosecondArray::from(vec![0]);
    let instant = local.clone().with_timezone("Europe/Berlin");
    assert_eq!(texts(&local, &ty(TIMESTAMP)), ["1970-01-01 00:00:00"]);
    assert_eq!(texts(&instant, &ty(TIMESTAMPTZ)), ["1970-01-01 00:00:00+00"]);
    let expected = [(-946_684_800_000_000_i64).to_be_bytes()];
    assert_eq!(bytes(&local, &ty(TIMESTAMP)), expected);
    assert_eq!(bytes(&instant, &ty(TIMESTAMPTZ)), expected);
    assert!(misfit(&instant, &ty(TIMESTAMP)).contains("time zone would be lost"));
    assert!(misfit(&local, &ty(TIMESTAMPTZ)).contains("it has no time zone"));
    assert!(misfit(&Date32Array::from(vec![0]), &ty(TIMESTAMPTZ)).contains("it has no time zone"));
}

#[test]
fn nanoseconds_are_not_cut_off() {
    let exact = TimestampNanosecondArray::from(vec![1_704_067_200_123_456_000]);
    assert_eq!(texts(&exact, &ty(TIMESTAMP)), ["2024-01-01 00:00:00.123456"]);
    let finer = TimestampNanosecondArray::from(vec![1_704_067_200_123_456_789]);
    let why = "2024-01-01 00:00:00.123456789 has nanoseconds, which timestamp cannot hold";
    assert_eq!(unfit(&finer, &ty(TIMESTAMP)), why);
    assert_eq!(texts(&finer, &ty(25)), ["2024-01-01 00:00:00.123456789"]);
    let why = "2024-01-01 00:00:00.123456 has more digits than timestamp(3) can hold";
    assert_eq!(unfit(&exact, &with_modifier(TIMESTAMP, 3)), why);
}

#[test]
fn instants_have_the_range_of_the_server() {
    for ticks in [i64::MIN, i64::MAX] {
        let array = TimestampMicrosecondArray::from(vec![ticks]);
        assert!(unfit(&array, &ty(TIMESTAMP)).ends_with("is out of range for timestamp"));
        let array = TimestampSecondArray::from(vec![ticks]);
        assert!(unfit(&array, &ty(TIMESTAMP)).ends_with("is out of range for timestamp"));
    }
    let seconds = TimestampSecondArray::from(vec![
        253_402_300_799,
        253_402_300_800,
        9_224_318_015_999,
        -210_866_803_200,
    ]);
    let expected = [
        "9999-12-31 23:59:59",
        "10000-01-01 00:00:00",
        "294276-12-31 23:59:59",
        "4714-11-24 00:00:00 BC",
    ];
    assert_eq!(texts(&seconds, &ty(TIMESTAMP)), expected);
    assert_eq!(bytes(&seconds, &ty(TIMESTAMP))[3], (-211_813_488_000_000_000_i64).to_be_bytes());
    assert!(
        unfit(&TimestampSecondArray::from(vec![9_224_318_016_000]), &ty(TIMESTAMP))
            .contains("range")
    );
}

#[test]
fn a_midnight_is_a_date() {
    let array = TimestampNanosecondArray::from(vec![Some(86_400_000_000_000), None]);
    assert_eq!(texts(&array, &ty(DATE)), ["1970-01-02", "\\N"]);
    assert!(unfit(&TimestampSecondArray::from(vec![1]), &ty(DATE)).contains("has a time"));
    let zoned = TimestampSecondArray::from(vec![0]).with_timezone("UTC");
    assert!(misfit(&zoned, &ty(DATE)).contains("time zone"));
}

#[test]
fn intervals_of_all_kinds() {
    let wire = |months: i32, days: i32, micros: i64| {
        [&micros.to_be_bytes()[..], &days.to_be_bytes(), &months.to_be_bytes()].concat()
    };
    let duration = DurationMillisecondArray::from(vec![-1_500]);
    assert_eq!(bytes(&duration, &ty(INTERVAL)), [wire(0, 0, -1_500_000)]);
    assert_eq!(texts(&duration, &ty(INTERVAL)), ["-00:00:01.5"]);
    let months = IntervalYearMonthArray::from(vec![-14]);
    assert_eq!(bytes(&months, &ty(INTERVAL)), [wire(-14, 0, 0)]);
    let days = IntervalDayTimeArray::from(vec![IntervalDayTime::new(-1, 2)]);
    assert_eq!(bytes(&days, &ty(INTERVAL)), [wire(0, -1, 2_000)]);
    assert_eq!(texts(&days, &ty(INTERVAL)), ["-1 days +00:00:00.002"]);
    let all = IntervalMonthDayNanoArray::from(vec![IntervalMonthDayNano::new(1, 2, 3_000)]);
    assert_eq!(bytes(&all, &ty(INTERVAL)), [wire(1, 2, 3)]);
    let finer =
        PrimitiveArray::<IntervalMonthDayNanoType>::from(vec![IntervalMonthDayNano::new(0, 0, 1)]);
    assert!(unfit(&finer, &ty(INTERVAL)).contains("nanoseconds"));
    let only_years = with_modifier(INTERVAL, 4 << 16 | 0xFFFF);
    assert!(misfit(&months, &only_years).contains("only some fields"));
}

#[test]
fn units_are_what_the_type_says() {
    let array = TimestampMillisecondArray::from(vec![1]);
    assert_eq!(array.data_type(), &DataType::Timestamp(TimeUnit::Millisecond, None));
    let given = given(&array, &ty(25));
    assert_eq!(given.text(), [Ok("1970-01-01 00:00:00.001".to_owned())]);
}
