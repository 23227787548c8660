//! Tests of spellings of numbers, their order and where they end.

use super::{Scale, parse, take, to_integer};

fn read(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    parse(text.as_bytes(), None, &mut bytes)?;
    Some(bytes)
}

#[test]
fn spellings_of_one_number_are_the_same() {
    for spellings in [
        &["0", "-0", "0.000", "00e5", " .0 ", "0e-900"][..],
        &["1", "+1", "1.", "01.0", "0.1e1", "10e-1", "1e0", "1000e-3", ".00001e5"],
        &["-120000", "-12e4", "-0000120000.00", "-.12E+6"],
        &["0.00012", "12e-5", ".0001200"],
        &["inf", "Infinity", "+INF", "+infinity"],
    ] {
        for spelling in spellings {
            assert_eq!(read(spelling), read(spellings[0]), "{spelling}");
        }
    }
}

#[test]
fn integers_are_rounded_away_from_zero() {
    let integer = |text: &str| to_integer(&read(text).expect("a number"));
    for (text, value) in [
        ("0", Some(0)),
        ("0.4999999", Some(0)),
        ("0.5", Some(1)),
        ("-0.5", Some(-1)),
        ("0.00005", Some(0)),
        ("-10000", Some(-10_000)),
        ("12345678.5", Some(12_345_679)),
        ("9999.9999", Some(10_000)),
        ("1e18", Some(1_000_000_000_000_000_000)),
        ("9223372036854775807.4", Some(i64::MAX)),
        ("9223372036854775807.5", None),
        ("-9223372036854775808.4", Some(i64::MIN)),
        ("-9223372036854775809", None),
        ("1e900", None),
        ("nan", None),
        ("inf", None),
    ] {
        assert_eq!(integer(text), value, "{text}");
    }
}

#[test]
fn bytes_sort_as_numbers() {
    let ascending = [
        "-inf",
        "-1e20",
        "-10000",
        "-9999",
        "-2",
        "-1.00010001",
        "-1.0001",
        "-1.00005",
        "-1",
        "-0.1",
        "-0.00001",
        "0",
        "1e-900",
        "0.00001",
        "0.1",
        "1",
        "1.00000001",
        "1.0001",
        "1.5",
        "2",
        "9999",
        "10000",
        "10000.1",
        "10001",
        "1e20",
        "1e999",
        "inf",
        "nan",
    ];
    assert!(ascending.map(read).is_sorted_by(|a, b| a.is_some() && a < b));
}

#[test]
fn a_number_ends_where_it_says() {
    for text in ["0", "1", "-1", "1e4", "-1e-4", "123456789.5", "-inf", "NaN"] {
        let number = read(text).unwrap();
        let followed = [&number[..], b"\x01\xFF\0"].concat();
        let mut rest = &followed[..];
        assert_eq!(take(&mut rest), number, "{text}");
        assert_eq!(rest, b"\x01\xFF\0", "{text}");
    }
}

#[test]
fn anything_else_is_left_to_the_server() {
    for text in [
        "", " ", ".", "-", "e5", "1e", "1e+", "1e 5", "1 2", "1_0", "0x10", "+nan", "1,5", "--1",
        "1.2.3", "1e1000", "1e-1001", "1e99999", "\u{b}1", "- 1", "infinit",
    ] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn values_that_do_not_fit_the_scale_are_left_to_the_server() {
    let fits = |text: &str, precision, scale| {
        let scale = Some(Scale { precision, scale });
        parse(text.as_bytes(), scale, &mut Vec::new()).is_some()
    };
    for text in ["0", "0.00", "99.99", "1.500", "-99.9900", "999e-1", "nan"] {
        assert!(fits(text, 4, 2), "{text}");
    }
    for text in ["100", "0.001", "99.995", "-100", "1e2", "inf"] {
        assert!(!fits(text, 4, 2), "{text}");
    }
    assert!(fits("12300", 3, -2) && !fits("12340", 3, -2) && !fits("123400", 3, -2));
    assert!(fits("0.00123", 3, 5) && !fits("0.0123", 3, 5));
}
