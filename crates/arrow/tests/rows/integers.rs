//! Numbers into columns of other widths and kinds.

use arrow_array::*;

use crate::harness::{bytes, misfit, texts, ty, unfit, with_modifier, words};

const INT2: u32 = 21;
const INT4: u32 = 23;
const INT8: u32 = 20;
const NUMERIC: u32 = 1700;
const FLOAT4: u32 = 700;
const FLOAT8: u32 = 701;

#[test]
fn an_integer_is_as_wide_as_its_column() {
    let array = Int32Array::from(vec![-2]);
    assert_eq!(bytes(&array, &ty(INT2)), [(-2_i16).to_be_bytes()]);
    assert_eq!(bytes(&array, &ty(INT4)), [(-2_i32).to_be_bytes()]);
    assert_eq!(bytes(&array, &ty(INT8)), [(-2_i64).to_be_bytes()]);
    assert_eq!(bytes(&array, &ty(FLOAT4)), [(-2_f32).to_be_bytes()]);
    assert_eq!(bytes(&array, &ty(FLOAT8)), [(-2_f64).to_be_bytes()]);
    assert_eq!(bytes(&array, &ty(25)), [b"-2"]);
    assert_eq!(unfit(&array, &ty(26)), "-2 is out of range for oid");
    assert_eq!(
        unfit(&Int64Array::from(vec![40_000]), &ty(INT2)),
        "40000 is out of range for smallint"
    );
    assert_eq!(bytes(&UInt32Array::from(vec![u32::MAX]), &ty(26)), [[0xFF; 4]]);
}

/// pgpq and ADBC copy the four bytes of the integer.
#[test]
fn an_integer_is_a_numeric_there() {
    assert_eq!(words(&bytes(&Int32Array::from(vec![70_000]), &ty(NUMERIC))[0]), [1, 1, 0, 0, 7]);
    let negative = bytes(&Int8Array::from(vec![-7]), &ty(NUMERIC));
    assert_eq!(words(&negative[0]), [1, 0, 0x4000, 0, 7]);
}

#[test]
fn an_unsigned_integer_stays_positive() {
    let array = UInt64Array::from(vec![u64::MAX]);
    assert_eq!(unfit(&array, &ty(INT8)), "18446744073709551615 is out of range for bigint");
    let value = bytes(&array, &ty(NUMERIC));
    assert_eq!(words(&value[0]), [5, 4, 0, 0, 1844, 6744, 737, 955, 1615]);
    assert_eq!(texts(&array, &ty(NUMERIC)), ["18446744073709551615"]);
    assert!(unfit(&array, &ty(FLOAT8)).contains("double precision"));
}

fn decimal(value: i128, scale: i8) -> Decimal128Array {
    let array = Decimal128Array::from(vec![value]);
    array.with_precision_and_scale(38, scale).expect("a decimal")
}

#[test]
fn a_decimal_keeps_its_inner_zeros() {
    let value = bytes(&decimal(10_000_000_000_050, 2), &ty(NUMERIC));
    assert_eq!(words(&value[0]), [4, 2, 0, 2, 1000, 0, 0, 5000]);
    assert_eq!(texts(&decimal(10_000_000_000_050, 2), &ty(NUMERIC)), ["100000000000.50"]);
}

#[test]
fn a_negative_scale_is_zeros() {
    assert_eq!(texts(&decimal(-12, -3), &ty(NUMERIC)), ["-12000"]);
    assert_eq!(words(&bytes(&decimal(-12, -3), &ty(NUMERIC))[0]), [2, 1, 0x4000, 0, 1, 2000]);
    assert_eq!(bytes(&decimal(-12, -3), &ty(INT4)), [(-12_000_i32).to_be_bytes()]);
}

#[test]
fn no_digit_of_a_decimal_is_rounded_away() {
    let two = with_modifier(NUMERIC, (10 << 16 | 2) + 4);
    assert_eq!(texts(&decimal(1500, 3), &two), ["1.500"]);
    let why = "1.505 has more digits than the column's scale of 2 allows";
    assert_eq!(unfit(&decimal(1505, 3), &two), why);
    assert_eq!(unfit(&decimal(15, 1), &ty(INT4)), "1.5 is not an integer");
    assert_eq!(texts(&decimal(1500, 2), &ty(INT4)), ["15"]);
    assert!(unfit(&Float64Array::from(vec![0.125]), &two).starts_with("0.125 has more digits"));
    assert_eq!(texts(&Float64Array::from(vec![0.5]), &two), ["0.5"]);
    assert!(misfit(&decimal(1, 1), &ty(FLOAT8)).contains("make the column numeric"));
}

#[test]
fn wide_decimals_are_whole() {
    let nines = "9".repeat(76);
    let value = arrow_buffer::i256::from_string(&nines).expect("a number");
    let array = Decimal256Array::from(vec![value]).with_precision_and_scale(76, 38).expect("fits");
    assert_eq!(texts(&array, &ty(NUMERIC)), [format!("{}.{}", &nines[..38], &nines[38..])]);
    assert!(unfit(&array, &ty(INT8)).ends_with("is not an integer"));
}

#[test]
fn a_float_is_an_integer_where_it_is_one() {
    let floats = Float64Array::from(vec![Some(3.0), None, Some(-0.0)]);
    assert_eq!(texts(&floats, &ty(INT4)), ["3", "\\N", "0"]);
    for (value, why) in [
        (0.5, "0.5 is not an integer"),
        (f64::NAN, "NaN is not an integer"),
        (1e300, "1e+300 is out of range for bigint"),
        (9_223_372_036_854_775_808.0, "9.223372036854776e+18 is out of range for bigint"),
    ] {
        assert_eq!(unfit(&Float64Array::from(vec![value]), &ty(INT8)), why);
    }
}

#[test]
fn a_float_is_narrowed_as_the_server_casts_it() {
    let floats = Float64Array::from(vec![0.5, f64::NEG_INFINITY, f64::NAN]);
    assert_eq!(texts(&floats, &ty(FLOAT4)), ["0.5", "-Infinity", "NaN"]);
    let nearest = Float64Array::from(vec![0.1, 16_777_217.0, 1e-45, 3.4028235677973366e38 - 1e31]);
    assert_eq!(texts(&nearest, &ty(FLOAT4)), ["0.1", "1.6777216e+07", "1e-45", "3.4028235e+38"]);
    for (value, expected) in [(1e39, "1e+39"), (-3.5e38, "-3.5e+38"), (1e-46, "1e-46")] {
        let why = unfit(&Float64Array::from(vec![value]), &ty(FLOAT4));
        assert_eq!(why, format!("{expected} is out of range for real"));
    }
    assert!(unfit(&Int32Array::from(vec![16_777_217]), &ty(FLOAT4)).contains("real"));
    let half =
        Float16Array::from(vec![<types::Float16Type as ArrowPrimitiveType>::Native::from_f32(1.5)]);
    assert_eq!(texts(&half, &ty(FLOAT8)), ["1.5"]);
}

#[test]
fn a_float_is_a_numeric_of_its_shortest_digits() {
    let floats = Float64Array::from(vec![0.1, 1e22, f64::NAN, f64::INFINITY]);
    assert_eq!(texts(&floats, &ty(NUMERIC)), ["0.1", "10000000000000000000000", "NaN", "Infinity"]);
    let values = bytes(&floats, &ty(NUMERIC));
    assert_eq!(words(&values[0]), [1, u16::MAX, 0, 1, 1000]);
    assert_eq!([words(&values[2])[2], words(&values[3])[2]], [0xC000, 0xD000]);
    assert_eq!(texts(&Float32Array::from(vec![0.1]), &ty(NUMERIC)), ["0.1"]);
}
