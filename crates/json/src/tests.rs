//! The rules for lines and their values, one by one. Other tests compare them with a server.

use std::sync::Arc;

use pgsluice_core::column_lookup::ColumnLookup;
use pgsluice_core::types::{Column, ColumnType, TypeStructure};
use pgsluice_core::words::Words;

use crate::{KeyTarget, MissingKey, MissingKeyReason, Objects, RefusedLine, UnknownKeys, is_blank};

const TEXT: u32 = 25;
const JSON: u32 = 114;

fn objects(keys: &[(&str, u32, MissingKey)], unknown: UnknownKeys) -> Objects {
    let targets = keys.iter().cloned().map(|(key, oid, missing)| {
        let ty =
            ColumnType { oid, modifier: -1, name: String::new(), structure: TypeStructure::Plain };
        KeyTarget { key: key.to_owned(), column: Column { name: key.to_owned(), ty }, missing }
    });
    Objects::new(targets.collect(), unknown)
}

/// Returns the row of a line, for a text column, one with a default, and a json column.
fn row(line: &str) -> Result<String, RefusedLine> {
    let columns = [
        ("a", TEXT, MissingKey::Null),
        ("b", TEXT, MissingKey::Default),
        ("j", JSON, MissingKey::Null),
    ];
    row_of(&mut objects(&columns, UnknownKeys::Refuse), line)
}

fn row_of(objects: &mut Objects, line: &str) -> Result<String, RefusedLine> {
    let mut out = b"before".to_vec();
    let done = objects.put_row(line.as_bytes(), &mut out);
    let row = String::from_utf8(out).expect("UTF-8");
    let row = row.strip_prefix("before").expect("what was there").to_owned();
    if done.is_err() {
        assert_eq!(row, "");
    }
    done.map(|_| row)
}

fn refused(line: &str) -> RefusedLine {
    row(line).expect_err(line)
}

#[test]
fn values_are_their_text() {
    for (line, expected) in [
        (r#"{"a":"x","b":"","j":"s"}"#, "x\t\t\"s\""),
        (r#" { "a" : 1.50 , "b" : true , "j" : false } "#, "1.50\ttrue\tfalse"),
        (r#"{"a":-1e+400,"b":0.10,"j":1E5}"#, "-1e+400\t0.10\t1E5"),
        (r#"{"a":null,"b":null,"j":null}"#, r"\N	\N	\N"),
        (r#"{"a":"\\N","b":"\\D","j":"\\."}"#, r#"\\N	\\D	"\\\\.""#),
        (
            r#"{"a":"\t\n\r\\\/\"\b","b":"\u0009\ud83d\ude00","j":"\u0041"}"#,
            "\\t\\n\\r\\\\/\"\u{8}\t\\t😀\t\"A\"",
        ),
        (
            r#"{"a":{ "k" : [1, "\n"] },"b":[ ],"j":{"k":1,"k":2.0}}"#,
            r#"{ "k" : [1, "\\n"] }	[ ]	{"k":1,"k":2.0}"#,
        ),
        ("{\"a\":[\t1,\r2]}", "[\\t1,\\r2]\t\\D\t\\N"),
    ] {
        assert_eq!(row(line).as_deref(), Ok(expected), "{line}");
    }
    let digits = "1234567890".repeat(1000);
    let expected = format!("{digits}\t\\D\t-0.{digits}e7");
    assert_eq!(row(&format!(r#"{{"a":{digits},"j":-0.{digits}e7}}"#)), Ok(expected));
}

#[test]
fn keys_come_in_any_order_or_not_at_all() {
    for (line, expected) in [
        ("{}", r"\N	\D	\N"),
        (r#"{"b":1}"#, r"\N	1	\N"),
        (r#"{"j":3,"a":1}"#, r"1	\D	3"),
        (r#"{"j":3,"b":2,"a":1}"#, "1\t2\t3"),
        (r#"{"\u0061":1,"\u006A":3}"#, r"1	\D	3"),
    ] {
        assert_eq!(row(line).as_deref(), Ok(expected), "{line}");
    }
}

#[test]
fn keys_that_go_nowhere_are_refused_or_left_out() {
    let refusal = refused(r#"{"a":1,"x\u0079":2}"#);
    assert_eq!(refusal.message, "key \"xy\" matches no column of the table");
    let hint = refusal.hint.expect("hint");
    let hint = hint.as_str();
    assert!(hint.contains("--ignore-extra") && hint.contains("--map KEY=COLUMN"), "{hint}");
    assert_eq!(refused(r#"{"a":1, "x":2}"#).at, 9);

    let mut ignoring = objects(&[("a", TEXT, MissingKey::Null)], UnknownKeys::Ignore);
    let mut row = |line| row_of(&mut ignoring, line).map_err(|refused| refused.message);
    assert_eq!(row(r#"{"x":{"a":[2]},"a":1,"y":null}"#).as_deref(), Ok("1"));
    for (line, text) in [
        (r#"{"a":1,"x":[1,]}"#, "invalid JSON at column 15: expected value"),
        (r#"{"x":1,"a":1,"x":1}"#, "duplicate key \"x\""),
        (r#"{"x":["\ud83d"]}"#, "low surrogate must follow"),
        (r#"{"\u0000":1}"#, "\\u0000 cannot be converted to text."),
    ] {
        let message = row(line).expect_err(line);
        assert!(message.contains(text), "{message}");
    }
}

#[test]
fn a_key_that_comes_twice_is_refused() {
    let refusal = refused(r#"{"a":1,"b":2,"a":1}"#);
    assert_eq!((refusal.message.as_str(), refusal.at), ("duplicate key \"a\"", 14));
}

#[test]
fn strings_that_are_no_text_are_refused() {
    for line in [r#"{"b":"\u0000"}"#, r#"{"b":["\u0000"]}"#, r#"{"b":{"\u0000":1}}"#] {
        let refusal = refused(line);
        assert!(refusal.message.starts_with("unsupported Unicode escape sequence"), "{refusal}");
        assert_eq!(refusal.column, Some(1));
        assert_eq!(refusal.at, line.find('\\').expect("escape"));
        // The server also unescapes values for json.
        assert_eq!(refused(&line.replace("\"b\"", "\"j\"")).column, Some(2));
    }
    let mut out = Vec::new();
    let done = objects(&[("a", TEXT, MissingKey::Null)], UnknownKeys::Refuse)
        .put_row(b"{\"a\":\"\xe2\x82z\"}", &mut out);
    let refusal = done.expect_err("encoding");
    assert_eq!(refusal.message, "invalid byte sequence for encoding \"UTF8\": 0xe2 0x82");
    assert_eq!(refusal.at, 6);
}

#[test]
fn invalid_json_is_refused_at_its_first_bad_byte() {
    for (line, text) in [
        (r#"{"a":1,}"#, "column 8: trailing comma"),
        (r#"{"a":"é" "b"}"#, "column 10: expected `,` or `}`"),
        (r#"{"a":NaN}"#, "column 6: expected value"),
        (r#"{"a":'x'}"#, "column 6: expected value"),
        (r#"{'a':1}"#, "column 2: key must be a string"),
        (r#"{"a":1 /* c */}"#, "column 8: expected `,` or `}`"),
        (r#"{"a" 1}"#, "column 6: expected `:`"),
        (r#"{"a":01}"#, "column 7: invalid number"),
        (r#"{"a":"x"#, "EOF while parsing a string"),
        (r#"{"a":1} {"a":2}"#, "column 9: trailing characters"),
        (
            "{\"a\":\"x\ty\"}",
            "column 8: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        (
            "{\"a\tb\":1}",
            "column 4: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        ("{\"a\":\n1 2}", "column 9: expected `,` or `}`"),
    ] {
        let refusal = refused(line);
        assert!(refusal.message.starts_with("invalid JSON at column"), "{refusal}");
        assert!(refusal.message.ends_with(text), "{refusal}");
    }
}

#[test]
fn lines_that_are_no_objects_are_refused() {
    for (line, text) in [
        ("[{\"a\":1},", "not an array"),
        ("{", "this one ends after its \"{\""),
        (" {\r", "this one ends after its \"{\""),
        ("\"a\": 1,", "begins with \"{\""),
        ("}", "begins with \"{\""),
        ("{\"a\":1,", "EOF while parsing a value"),
        ("{\"a\":1}{\"a\":1}", "trailing characters"),
        ("", "begins with \"{\""),
    ] {
        let refusal = refused(line);
        assert!(refusal.message.ends_with(text), "{refusal:?}");
    }
    assert!(is_blank(b"") && is_blank(b" \t\r\n") && !is_blank(b" {"));
}

#[test]
fn values_may_be_nested_to_any_depth() {
    for depth in [100, 1_000_000] {
        let value = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let line = format!(r#"{{"a":{value},"j":{value}}}"#);
        assert_eq!(row(&line), Ok(format!("{value}\t\\D\t{value}")));
        assert!(row(&line[..line.len() / 4]).is_err());
    }
}

#[test]
fn rows_are_objects_again() {
    let columns = [
        ("a", TEXT, MissingKey::Null),
        ("b", TEXT, MissingKey::Default),
        ("j", JSON, MissingKey::Null),
    ];
    let objects = objects(&columns, UnknownKeys::Refuse);
    for (row, object) in [
        (r"1	\D	\N", r#"{"a":"1","j":null}"#),
        (r"\D	\\D	[1, 2.50]", r#"{"b":"\\D","j":[1, 2.50]}"#),
        ("\\t\\N\t\t\"s\"", r#"{"a":"\tN","b":"","j":"s"}"#),
        ("x\ty\tno json", r#"{"a":"x","b":"y","j":"no json"}"#),
        ("x\ty\t[\\n1]", r#"{"a":"x","b":"y","j":[ 1]}"#),
        ("x", r#"{"a":"x"}"#),
    ] {
        let mut out = Vec::new();
        objects.put_object(row.as_bytes(), &mut out);
        assert_eq!(String::from_utf8_lossy(&out), object);
    }
}

#[test]
fn keys_lead_to_the_columns_of_a_table() {
    let column = |name: &str| Column {
        name: name.to_owned(),
        ty: ColumnType {
            oid: TEXT,
            modifier: -1,
            name: String::new(),
            structure: TypeStructure::Plain,
        },
    };
    let target =
        |name: &str, missing| KeyTarget { key: name.to_owned(), column: column(name), missing };
    let reason = MissingKeyReason { why: "it is needed".to_owned(), hint: "Give it.".into() };
    let refuse = || MissingKey::Refused(Arc::new(reason.clone()));
    let table = ["id", "a", "gone", "late"].map(str::to_owned);
    let objects = |unknown| {
        let targets =
            vec![target("id", refuse()), target("a", refuse()), target("gone", MissingKey::Null)];
        let lookup = Arc::new(ColumnLookup::new(&table, [("x".to_owned(), 1)].into()));
        let hints = [("late".to_owned(), Words::from("Map {key}."))].into();
        Objects::with_lookup(targets, unknown, lookup, hints).deleting(2, true)
    };
    let mut ignoring = objects(UnknownKeys::Ignore);
    for (line, expected) in [
        (r#"{"id":1,"a":2}"#, "1\t2\t\\N"),
        (r#"{"ID":1,"x":2,"w":3}"#, "1\t2\t\\N"),
        (r#"{"ID":1,"id":2,"a":3}"#, "2\t3\t\\N"),
        (r#"{"a":3,"id":2,"Id":1}"#, "2\t3\t\\N"),
        (r#"{"ID":1,"gone":true}"#, "1\t\\N\ttrue"),
    ] {
        assert_eq!(row_of(&mut ignoring, line).as_deref(), Ok(expected), "{line}");
    }
    assert_eq!(ignoring.take_left_out(), ["w", "ID", "Id"]);
    for (line, text) in [
        (r#"{"id":1,"late":2,"a":3}"#, "which is not loaded: the first objects do not have it"),
        (r#"{"id":1,"LATE":2,"a":3}"#, "key \"LATE\" matches column \"late\""),
        (r#"{"id":1,"gone":false}"#, "key \"a\" is missing, and it is needed"),
        (r#"{"id":1,"a":2,"x":3}"#, "keys \"a\" and \"x\" match the same column"),
        (r#"{"ID":1,"Id":2,"a":3}"#, "keys \"ID\" and \"Id\" match the same column"),
    ] {
        let refused = row_of(&mut ignoring, line).expect_err(line);
        assert!(refused.message.contains(text), "{refused}");
        assert!(refused.hint.is_some(), "{refused}");
    }
    let late = row_of(&mut ignoring, r#"{"id":1,"LATE":2,"a":3}"#).expect_err("late");
    assert_eq!(late.hint.as_ref().map(Words::as_str), Some("Map LATE."));
    let refused =
        row_of(&mut objects(UnknownKeys::Refuse), r#"{"ID":1,"id":2,"a":3}"#).expect_err("both");
    assert_eq!(refused.message, "keys \"ID\" and \"id\" match the same column");
}
