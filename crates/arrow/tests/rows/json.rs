//! Values of all kinds as JSON.

use std::sync::Arc;

use arrow_array::builder::*;
use arrow_array::*;
use arrow_schema::{DataType, Field, Fields};

use crate::harness::{
    Given, bytes, extended, fixed, given, jsonb, misfit, plain, texts, ty, unfit,
};

fn json(array: &dyn Array) -> String {
    let [row] = &given(array, &jsonb()).binary()[..] else { panic!("one row") };
    let value = row.clone().expect("fits").expect("a value");
    let text = value.strip_prefix(b"\x01").expect("a version").to_vec();
    assert_eq!(bytes(array, &ty(114))[0], text);
    String::from_utf8(text).expect("UTF-8")
}

#[test]
fn scalars_are_json() {
    assert_eq!(json(&UInt64Array::from(vec![u64::MAX])), "18446744073709551615");
    assert_eq!(json(&BooleanArray::from(vec![true])), "true");
    assert_eq!(json(&Float64Array::from(vec![1e300])), "1e+300");
    let decimal = Decimal128Array::from(vec![-5]).with_precision_and_scale(38, 20).expect("fits");
    assert_eq!(json(&decimal), "-0.00000000000000000005");
    assert_eq!(json(&Date32Array::from(vec![0])), r#""1970-01-01""#);
    let instant = TimestampNanosecondArray::from(vec![1]).with_timezone("UTC");
    assert_eq!(json(&instant), r#""1970-01-01T00:00:00.000000001+00:00""#);
    assert!(unfit(&Float32Array::from(vec![f32::NAN]), &jsonb()).contains("finite"));
    let uuid = fixed(b"0123456789abcdef");
    let given = Given::new(&uuid, extended(&uuid, "arrow.uuid"), &jsonb()).expect("fits");
    assert_eq!(given.text(), [Ok(r#""30313233-3435-3637-3839-616263646566""#.to_owned())]);
}

#[test]
fn a_string_is_json_at_the_top_and_a_string_within() {
    assert_eq!(json(&StringArray::from(vec!["[1]"])), "[1]");
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a\"\n"), None]);
    assert_eq!(json(&lists.finish()), r#"["a\"\n",null]"#);
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("\0")]);
    assert!(unfit(&lists.finish(), &jsonb()).contains("zero byte"));
}

fn read_documents(text: &str) -> StructArray {
    let strings: ArrayRef = Arc::new(StringArray::from(vec![text]));
    let field = extended(&strings, "arrow.json").with_name("d");
    StructArray::new(Fields::from(vec![field]), vec![strings], None)
}

#[test]
fn documents_within_stay_documents() {
    assert_eq!(json(&read_documents("[1, 2]")), r#"{"d":[1, 2]}"#);
    assert!(unfit(&read_documents("[1"), &jsonb()).contains("not valid JSON"));
}

fn map(pairs: &[(&str, i32)]) -> MapArray {
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for (key, value) in pairs {
        map.keys().append_value(key);
        map.values().append_value(*value);
    }
    map.append(true).expect("as many keys as values");
    map.finish()
}

#[test]
fn maps_are_objects() {
    assert_eq!(json(&map(&[("b", 1), ("a\"", 2)])), r#"{"b":1,"a\"":2}"#);
    assert_eq!(texts(&map(&[]), &jsonb()), ["{}"]);
    assert_eq!(unfit(&map(&[("a", 1), ("a", 2)]), &jsonb()), "has the key \"a\" twice");
    let mut numbers = MapBuilder::new(None, Int32Builder::new(), Int32Builder::new());
    numbers.append(true).expect("empty");
    assert!(misfit(&numbers.finish(), &jsonb()).contains("keys"));
    assert!(misfit(&map(&[]), &ty(25)).contains("jsonb"));
}

#[test]
fn bytes_are_no_json() {
    let bytes: ArrayRef = Arc::new(BinaryArray::from(vec![&b"{}"[..]]));
    let field = Field::new("b", DataType::Binary, true);
    let of_bytes = StructArray::new(Fields::from(vec![field]), vec![bytes], None);
    assert!(misfit(&of_bytes, &jsonb()).contains("JSON cannot represent bytes"));
    let field = Arc::new(plain(&of_bytes));
    let list = ListArray::new_null(field, 1);
    assert!(misfit(&list, &jsonb()).contains("JSON cannot represent bytes"));
}
