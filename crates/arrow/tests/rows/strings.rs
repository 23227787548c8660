//! Strings and bytes.

use std::sync::Arc;

use arrow_array::*;
use pgsluice_core::types::{Column, TypeStructure};

use crate::harness::{
    Given, bytes, extended, fixed, given, jsonb, misfit, structured, texts, ty, unfit,
};

const TEXT: u32 = 25;
const UUID: u32 = 2950;

#[test]
fn strings_of_all_kinds_are_text() {
    let all: [&dyn Array; 3] = [
        &StringArray::from(vec!["a\t\\"]),
        &LargeStringArray::from(vec!["a\t\\"]),
        &StringViewArray::from(vec!["a\t\\"]),
    ];
    for array in all {
        assert_eq!(bytes(array, &ty(TEXT)), [b"a\t\\"]);
        assert_eq!(texts(array, &ty(TEXT)), [r"a\t\\"]);
    }
    let mood = structured(99_999, TypeStructure::Enum);
    assert_eq!(bytes(&StringArray::from(vec!["sad"]), &mood), [b"sad"]);
    let domain = structured(99_998, TypeStructure::Domain(mood.into()));
    assert_eq!(bytes(&StringArray::from(vec!["sad"]), &domain), [b"sad"]);
}

#[test]
fn a_string_spells_the_value_of_any_type() {
    assert_eq!(bytes(&StringArray::from(vec![" 7"]), &ty(23)), [7_i32.to_be_bytes()]);
    assert_eq!(bytes(&StringArray::from(vec!["2000-01-02"]), &ty(1082)), [1_i32.to_be_bytes()]);
    // Only the server can read this value.
    let odd = given(&StringArray::from(vec!["tomorrow"]), &ty(1082));
    assert_eq!(odd.binary(), [Err("spelling".to_owned())]);
    assert_eq!(odd.text(), [Ok("tomorrow".to_owned())]);
}

#[test]
fn a_type_without_a_binary_form_is_reported() {
    let array = StringArray::from(vec!["$1"]);
    for oid in [790, 3614, 99_999] {
        let given = given(&array, &ty(oid));
        let why = given.mapping.has_binary().expect_err("text only");
        assert_eq!(why, format!("column \"c\": type type {oid} is not encoded natively"));
        assert_eq!(given.text(), [Ok("$1".to_owned())]);
    }
    assert_eq!(given(&array, &ty(TEXT)).mapping.has_binary(), Ok(()));
    assert_eq!(given(&NullArray::new(1), &ty(790)).mapping.has_binary(), Ok(()));
}

#[test]
fn jsonb_has_its_version() {
    assert_eq!(bytes(&StringArray::from(vec!["{}"]), &jsonb()), [b"\x01{}"]);
    assert_eq!(bytes(&StringArray::from(vec!["{}"]), &ty(114)), [b"{}"]);
    assert_eq!(bytes(&BinaryArray::from(vec![&b"{}"[..]]), &jsonb()), [b"\x01{}"]);
}

#[test]
fn no_string_has_a_zero_byte() {
    for oid in [TEXT, 19, 23, 114, 3802] {
        let why = unfit(&StringArray::from(vec!["a\0b"]), &ty(oid));
        assert_eq!(why, "has a zero byte, which text in PostgreSQL cannot contain");
    }
}

#[test]
fn nothing_is_cut_off() {
    let long = "a".repeat(64);
    assert_eq!(
        unfit(&StringArray::from(vec![&*long]), &ty(19)),
        "has 64 bytes, but type 19 holds at most 63"
    );
    assert_eq!(
        unfit(&StringArray::from(vec!["ab"]), &ty(18)),
        "has 2 bytes, but type 18 holds at most 1"
    );
}

#[test]
fn bytes_of_all_kinds_are_bytea() {
    let all: [&dyn Array; 4] = [
        &BinaryArray::from(vec![&b"\0\xFF"[..]]),
        &LargeBinaryArray::from(vec![&b"\0\xFF"[..]]),
        &BinaryViewArray::from(vec![&b"\0\xFF"[..]]),
        &fixed(b"\0\xFF"),
    ];
    for array in all {
        assert_eq!(bytes(array, &ty(17)), [[0, 0xFF]]);
        assert_eq!(texts(array, &ty(17)), [r"\\x00ff"]);
        assert!(unfit(array, &ty(TEXT)).contains("UTF-8"));
        assert!(misfit(array, &ty(23)).contains("bytea"));
    }
    assert_eq!(bytes(&BinaryArray::from(vec![&b"\xC3\xA4"[..]]), &ty(TEXT)), ["ä".as_bytes()]);
}

#[test]
fn sixteen_bytes_are_a_uuid() {
    let array = fixed(b"0123456789abcdef");
    assert_eq!(bytes(&array, &ty(UUID)), [b"0123456789abcdef"]);
    assert_eq!(texts(&array, &ty(UUID)), ["30313233-3435-3637-3839-616263646566"]);
    let field = extended(&array, "arrow.uuid");
    for oid in [UUID, TEXT] {
        let given = Given::new(&array, field.clone(), &ty(oid)).expect("fits");
        assert_eq!(given.text(), [Ok("30313233-3435-3637-3839-616263646566".to_owned())]);
    }
    assert!(misfit(&fixed(b"short"), &ty(UUID)).contains("bytes"));
}

#[test]
fn booleans() {
    let array = BooleanArray::from(vec![true, false]);
    assert_eq!(bytes(&array, &ty(16)), [[1], [0]]);
    assert_eq!(texts(&array, &ty(TEXT)), ["true", "false"]);
    assert!(misfit(&array, &ty(23)).contains("boolean"));
    assert!(misfit(&Int8Array::from(vec![1]), &ty(16)).contains("cast"));
}

#[test]
fn keys_are_written_alone() {
    use arrow_schema::{DataType, Field, Schema};
    let fields = ["a", "b"].map(|name| Field::new(name, DataType::Int32, true));
    let schema = Arc::new(Schema::new(fields.to_vec()));
    let columns = ["b", "a", "b"].map(|name| Column { name: name.to_owned(), ty: ty(23) });
    let places: Vec<_> = [1, 0, 1].into_iter().zip(columns).collect();
    let mapping = pgsluice_arrow::Mapping::new(&schema, &places).expect("fits");
    let [a, b] = [1, 2].map(|number| Arc::new(Int32Array::from(vec![number])) as ArrayRef);
    let batch = RecordBatch::try_new(schema, vec![a, b]).expect("a batch");
    let bound = mapping.bind(&batch).expect("fits");
    let mut out = Vec::new();
    bound.put_keys(&[false, true, false], 0, &mut out).expect("fits");
    assert_eq!(out, b"\t1\t");
    out.clear();
    bound.put_text(0, &mut out).expect("fits");
    assert_eq!(out, b"2\t1\t2");
    let other = RecordBatch::try_from_iter([("a", Arc::new(NullArray::new(1)) as ArrayRef)]);
    assert!(mapping.bind(&other.expect("a batch")).is_err());
    assert!(pgsluice_arrow::Mapping::new(&Schema::empty(), &places).is_err());
}

#[test]
fn a_column_without_a_field_is_null() {
    use arrow_schema::{DataType, Field, Schema};
    let schema = Arc::new(Schema::new(vec![Field::new("a", DataType::Int32, true)]));
    let columns = ["a", "b"].map(|name| Column { name: name.to_owned(), ty: ty(23) });
    let places: Vec<_> = [Some(0), None].into_iter().zip(columns).collect();
    let mapping = pgsluice_arrow::Mapping::new(&schema, &places).expect("fits");
    let a = Arc::new(Int32Array::from(vec![7])) as ArrayRef;
    let batch = RecordBatch::try_new(schema, vec![a]).expect("a batch");
    let bound = mapping.bind(&batch).expect("fits");
    let (mut text, mut binary) = (Vec::new(), Vec::new());
    bound.put_text(0, &mut text).expect("fits");
    bound.put_binary(0, &mut binary).expect("fits");
    assert_eq!(text, b"7\t\\N");
    assert!(binary.ends_with(&[0, 0, 0, 7, 0xff, 0xff, 0xff, 0xff]));
}
