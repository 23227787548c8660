//! Dictionaries, runs, slices and validity: the encoding of values in an array does not matter.

use std::sync::Arc;

use arrow_array::types::{Int8Type, Int16Type, Int32Type, UInt64Type};
use arrow_array::*;
use arrow_buffer::NullBuffer;

use crate::harness::{array_of, bytes, given, texts, ty};

#[test]
fn a_dictionary_is_its_values() {
    let words: DictionaryArray<Int8Type> =
        vec![Some("a"), None, Some("b"), Some("a")].into_iter().collect();
    assert_eq!(texts(&words, &ty(25)), ["a", "\\N", "b", "a"]);
    assert_eq!(bytes(&words.slice(2, 2), &ty(25)), [b"b", b"a"]);
    let keys = UInt64Array::from(vec![1, 0]);
    let values: ArrayRef = Arc::new(Int64Array::from(vec![Some(70_000), None]));
    let numbers = DictionaryArray::<UInt64Type>::new(keys, values);
    assert_eq!(texts(&numbers, &ty(1700)), ["\\N", "70000"]);
}

#[test]
fn runs_are_their_values() {
    let values = StringArray::from(vec![Some("a"), None, Some("b")]);
    let short = RunArray::<Int16Type>::try_new(&Int16Array::from(vec![2, 3, 5]), &values);
    let short = short.expect("runs");
    assert_eq!(texts(&short, &ty(25)), ["a", "a", "\\N", "b", "b"]);
    assert_eq!(texts(&short.slice(1, 3), &ty(25)), ["a", "\\N", "b"]);
    let long = RunArray::<Int32Type>::try_new(&Int32Array::from(vec![1, 2, 3]), &values);
    assert_eq!(texts(&long.expect("runs"), &ty(25)), ["a", "\\N", "b"]);
}

/// ADBC reads the validity and the offsets of a slice from the beginning of its parent.
#[test]
fn a_slice_begins_where_it_does() {
    let numbers = Int32Array::from(vec![Some(1), None, Some(3), None, Some(5)]);
    assert_eq!(texts(&numbers.slice(1, 3), &ty(23)), ["\\N", "3", "\\N"]);
    let flags = BooleanArray::from(vec![Some(true), None, Some(false), Some(true)]);
    assert_eq!(texts(&flags.slice(1, 3), &ty(16)), ["\\N", "false", "true"]);
    let words = StringArray::from(vec![Some("a"), None, Some("ccc")]);
    assert_eq!(texts(&words.slice(1, 2), &ty(25)), ["\\N", "ccc"]);
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([
        Some(vec![Some(1)]),
        None,
        Some(vec![Some(2), None, Some(3)]),
        Some(vec![]),
    ]);
    let integers = array_of(1007, ty(23));
    assert_eq!(texts(&lists.slice(1, 3), &integers), ["\\N", "{2,NULL,3}", "{}"]);
    let fixed = FixedSizeListArray::from_iter_primitive::<Int32Type, _, _>(
        [Some(vec![Some(1), Some(2)]), None, Some(vec![Some(5), Some(6)])],
        2,
    );
    assert_eq!(texts(&fixed.slice(1, 2), &integers), ["\\N", "{5,6}"]);
}

#[test]
fn the_value_below_a_null_is_not_looked_at() {
    let nulls = Some(NullBuffer::from(vec![false, true]));
    let array = Int64Array::new(vec![i64::MAX, 1].into(), nulls);
    assert_eq!(given(&array, &ty(21)).binary(), [Ok(None), Ok(Some(vec![0, 1]))]);
}

#[test]
fn nothing_at_all_is_null_everywhere() {
    for oid in [16, 23, 1700, 790, 99_999] {
        assert_eq!(given(&NullArray::new(2), &ty(oid)).binary(), [Ok(None), Ok(None)]);
        assert_eq!(texts(&NullArray::new(1), &ty(oid)), ["\\N"]);
    }
}
