//! The rules for the values of a program, by column.

use pgsluice_core::types::{Column, ColumnType, TypeStructure};

use super::Values;
use crate::key_match::KeyMatcher;
use crate::target::{KeyTarget, MissingKey};

fn ty(oid: u32, structure: TypeStructure) -> ColumnType {
    ColumnType { oid, modifier: -1, name: format!("type{oid}"), structure }
}

fn target(key: &str, ty: ColumnType) -> KeyTarget {
    let column = Column { name: key.to_owned(), ty };
    KeyTarget { key: key.to_owned(), column, missing: MissingKey::Null }
}

/// Writes a value for a column of a built-in type.
fn one(oid: u32, value: &str) -> Result<String, String> {
    convert(ty(oid, TypeStructure::Plain), value, true)
}

fn convert(ty: ColumnType, value: &str, are_rows: bool) -> Result<String, String> {
    let targets = [target("a", ty)];
    let values = Values::new(&targets, are_rows, KeyMatcher::from_targets(&targets));
    let line = if are_rows { format!("[{value}]") } else { format!("{{\"a\": {value}}}") };
    let mut out = Vec::new();
    values.put_plain(line.as_bytes(), &mut out).map_err(|refused| refused.message)?;
    let out = String::from_utf8(out).expect("UTF-8");
    let value = out.strip_prefix("{\"a\":").and_then(|out| out.strip_suffix('}'));
    Ok(value.expect(&out).to_owned())
}

const TEXT: u32 = 25;
const INT: u32 = 23;
const DOUBLE: u32 = 701;
const REAL: u32 = 700;
const NUMERIC: u32 = 1700;
const BYTEA: u32 = 17;
const DATE: u32 = 1082;
const TIME: u32 = 1083;
const TIMESTAMP: u32 = 1114;
const TIMESTAMPTZ: u32 = 1184;
const INTERVAL: u32 = 1186;
const JSONB: u32 = 3802;

#[test]
fn values_go_into_columns_that_hold_them() {
    for (oid, value, expected) in [
        (TEXT, r#""x""#, r#""x""#),
        (TEXT, "1.50", "1.50"),
        (TEXT, "true", "true"),
        (INT, "null", "null"),
        (INT, "1.0", "1"),
        (INT, r#""\u0000n1E+3""#, "1000"),
        (NUMERIC, r#""\u0000n1E+3""#, r#""1E+3""#),
        (NUMERIC, r#""\u0000fNaN""#, r#""NaN""#),
        (REAL, r#""\u0000g0.1""#, r#""0.1""#),
        (DOUBLE, r#""\u0000g0.1""#, r#""1.0000000149011612e-1""#),
        (BYTEA, r#""\u0000b00ff""#, r#""\\x00ff""#),
        (TEXT, r#""\u0000bc3a9""#, r#""é""#),
        (DATE, r#""\u0000d2026-01-02""#, r#""2026-01-02""#),
        (DATE, r#""\u0000s2026-01-02T00:00:00""#, r#""2026-01-02""#),
        (
            TIMESTAMPTZ,
            r#""\u0000z2026-01-02T03:04:05+00:19:32""#,
            r#""2026-01-02T03:04:05+00:19:32""#,
        ),
        (TEXT, r#""\u0000s2026-01-02T03:04:05.000000001""#, r#""2026-01-02T03:04:05.000000001""#),
        (INTERVAL, r#""\u0000i3 mons""#, r#""3 mons""#),
        (JSONB, r#"{"a": ["\u0000n1.50", "\u0000d2026-01-02"]}"#, r#"{"a": [1.50, "2026-01-02"]}"#),
        (JSONB, r#""{\"a\": 1}""#, r#"{"a": 1}"#),
        (JSONB, r#""\u0000b5b315d""#, "[1]"),
        (TEXT, r#"["\u0000u1-2"]"#, r#"["1-2"]"#),
    ] {
        assert_eq!(one(oid, value).as_deref(), Ok(expected), "{oid} {value}");
    }
    let array = ty(
        1231,
        TypeStructure::Array { delimiter: b',', element: ty(DOUBLE, TypeStructure::Plain).into() },
    );
    let value = r#"[["\u0000fNaN", 1], [null, "\u0000n0.5"]]"#;
    assert_eq!(convert(array, value, true).as_deref(), Ok(r#"[["NaN",1],[null,"0.5"]]"#));
    // A string in an object is the value itself.
    assert_eq!(convert(ty(JSONB, TypeStructure::Plain), r#""x""#, false).as_deref(), Ok(r#""x""#));
}

#[test]
fn other_values_are_refused_by_name() {
    for (oid, value, message) in [
        (INTERVAL, "5", "column a of type type1186 cannot hold a number"),
        (DATE, "20260102", "cannot hold a number"),
        (BYTEA, "true", "cannot hold a bool"),
        (INT, "true", "cannot hold a bool"),
        (INT, "1.5", "cannot hold 1.5: it is not an integer"),
        (INT, r#""\u0000fNaN""#, "cannot hold NaN"),
        (TEXT, r#""\u0000fNaN""#, "cannot hold NaN"),
        (TIMESTAMP, r#""\u0000f-Infinity""#, "cannot hold -Infinity"),
        (TIMESTAMP, r#""\u0000z2026-01-02T03:04:05+01:00""#, "its time zone would be lost"),
        (TIMESTAMP, r#""\u0000s2026-01-02T03:04:05.0000001""#, "it has nanoseconds"),
        (TIME, r#""\u0000T03:04:05+01:00""#, "a time with a time zone: its time zone"),
        (TIME, r#""\u0000s2026-01-02T03:04:05""#, "cannot hold a datetime"),
        (DATE, r#""\u0000s2026-01-02T03:04:05""#, "its time would be lost"),
        (TIMESTAMP, r#""\u0000i1 days""#, "cannot hold a timedelta"),
        (INT, r#""\u0000b31""#, "cannot hold bytes"),
        (TEXT, r#""\u0000bff""#, "bytes: they are not valid UTF-8"),
        (JSONB, r#"{"a": ["\u0000fNaN"]}"#, "cannot hold NaN"),
        (JSONB, r#"["\u0000b00"]"#, "cannot hold bytes"),
        (JSONB, r#""not valid JSON""#, "a str or bytes that are not valid JSON"),
        (DATE, r#""\u0000u1-2""#, "cannot hold a UUID"),
    ] {
        let error = one(oid, value).expect_err(value);
        assert!(error.contains(message), "{oid} {value}: {error}");
    }
    let array = ty(
        1005,
        TypeStructure::Array { delimiter: b',', element: ty(DATE, TypeStructure::Plain).into() },
    );
    let error = convert(array, r#"[["\u0000d2026-01-02", 5]]"#, true).expect_err("a number");
    assert!(error.contains("cannot hold a number"), "{error}");
    let composite = ty(
        9,
        TypeStructure::Composite(vec![Column {
            name: "x".into(),
            ty: ty(INT, TypeStructure::Plain),
        }]),
    );
    let error = convert(composite, r#"{"x": 1.5}"#, true).expect_err("no integer");
    assert!(error.contains("it is not an integer"), "{error}");
}

#[test]
fn the_server_rounds_times_if_it_is_asked_to() {
    let targets = [target("a", ty(TIMESTAMP, TypeStructure::Plain))];
    let line = br#"["\u0000s2026-01-02T03:04:05.0000001"]"#;
    for rounds in [false, true] {
        let values =
            Values::new(&targets, true, KeyMatcher::from_targets(&targets)).rounding(rounds);
        let mut out = Vec::new();
        match values.put_plain(line, &mut out) {
            Ok(()) => assert_eq!(out, br#"{"a":"2026-01-02T03:04:05.0000001"}"#),
            Err(refused) => assert!(refused.can_round && !rounds, "{refused}"),
        }
    }
}

#[test]
fn rows_have_all_columns() {
    let targets =
        [target("a", ty(INT, TypeStructure::Plain)), target("b", ty(TEXT, TypeStructure::Plain))];
    let values = Values::new(&targets, true, KeyMatcher::from_targets(&targets));
    let plain = |line: &str| {
        let mut out = Vec::new();
        let done = values.put_plain(line.as_bytes(), &mut out);
        done.map(|()| String::from_utf8(out).expect("UTF-8")).map_err(|refused| refused.message)
    };
    assert_eq!(plain(r#"[1, "x"]"#).as_deref(), Ok(r#"{"a":1,"b":"x"}"#));
    assert_eq!(plain("[1]"), Err("missing data for column \"b\"".to_owned()));
    assert_eq!(plain("[1,2,3]"), Err("extra data after last expected column".to_owned()));
    let shown = String::from_utf8(values.reject_line(br#"[1.5,["\u0000n1","\u0000fNaN"]]"#));
    assert_eq!(shown.as_deref(), Ok(r#"{"a":1.5,"b":["1","NaN"]}"#));
}
