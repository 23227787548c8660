//! Lists as arrays, structs as composites.

use std::sync::Arc;

use arrow_array::builder::*;
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_schema::{DataType, Field, Fields};

use crate::harness::{array_of, bytes, composite_of, given, misfit, texts, ty, unfit};

fn int_array() -> pgsluice_core::types::ColumnType {
    array_of(1007, ty(23))
}

fn join_words(words: &[i32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

#[test]
fn a_list_is_an_array() {
    let rows = || [Some(vec![Some(7), None]), Some(vec![])];
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>(rows());
    let large = LargeListArray::from_iter_primitive::<Int32Type, _, _>(rows());
    let views = ListViewArray::from_iter_primitive::<Int32Type, _, _>(rows());
    let large_views = LargeListViewArray::from_iter_primitive::<Int32Type, _, _>(rows());
    let all: [&dyn Array; 4] = [&lists, &large, &views, &large_views];
    for array in all {
        let expected = [join_words(&[1, 1, 23, 2, 1, 4, 7, -1]), join_words(&[0, 0, 23])];
        assert_eq!(bytes(array, &int_array()), expected);
        assert_eq!(texts(array, &int_array()), ["{7,NULL}", "{}"]);
    }
    assert!(misfit(&lists, &ty(23)).contains("needs an array"));
    assert!(misfit(&lists, &ty(25)).contains("needs an array"));
}

#[test]
fn elements_are_chosen_by_the_target() {
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(7)])]);
    let value = bytes(&lists, &array_of(1016, ty(20)));
    assert_eq!(value, [join_words(&[1, 0, 20, 1, 1, 8, 0, 7])]);
    let lists = ListArray::from_iter_primitive::<Int32Type, _, _>([Some(vec![Some(70_000)])]);
    assert_eq!(unfit(&lists, &array_of(1005, ty(21))), "70000 is out of range for smallint");
}

fn matrix(rows: &[Option<&[i32]>]) -> ListArray {
    let mut lists = ListBuilder::new(ListBuilder::new(Int32Builder::new()));
    for row in rows {
        match row {
            Some(row) => lists.values().append_value(row.iter().map(|&number| Some(number))),
            None => lists.values().append_null(),
        }
    }
    lists.append(true);
    lists.finish()
}

#[test]
fn lists_of_lists_are_dimensions() {
    let square = matrix(&[Some(&[1, 2]), Some(&[3, 4])]);
    let expected = join_words(&[2, 0, 23, 2, 1, 2, 1, 4, 1, 4, 2, 4, 3, 4, 4]);
    assert_eq!(bytes(&square, &int_array()), [expected]);
    assert_eq!(texts(&square, &int_array()), ["{{1,2},{3,4}}"]);
    let ragged = matrix(&[Some(&[1]), Some(&[2, 3])]);
    assert!(unfit(&ragged, &int_array()).contains("different lengths"));
    assert!(unfit(&matrix(&[Some(&[1]), None]), &int_array()).contains("NULL"));
    assert!(unfit(&matrix(&[None, Some(&[1])]), &int_array()).contains("NULL"));
    assert!(unfit(&matrix(&[Some(&[])]), &int_array()).contains("empty list"));
    assert_eq!(texts(&matrix(&[]), &int_array()), ["{}"]);
    let json = array_of(3807, ty(3802));
    assert_eq!(texts(&ragged, &json), [r#"{"[1]","[2,3]"}"#.replace('\\', "")]);
}

#[test]
fn strings_in_arrays_are_quoted() {
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("a b"), Some(""), Some("null"), None, Some("\"\\\t")]);
    let value = lists.finish();
    let expected = r#"{"a b","","null",NULL,"\\"\\\\\t"}"#;
    assert_eq!(texts(&value, &array_of(1009, ty(25))), [expected]);
    let mut lists = ListBuilder::new(StringBuilder::new());
    lists.append_value([Some("tomorrow")]);
    let dates = given(&lists.finish(), &array_of(1182, ty(1082)));
    assert_eq!(dates.binary(), [Err("spelling".to_owned())]);
    assert_eq!(dates.text(), [Ok("{tomorrow}".to_owned())]);
}

fn pair() -> StructArray {
    let fields = [("n", DataType::Int64), ("s", DataType::Utf8)];
    let fields: Fields = fields.into_iter().map(|(name, ty)| Field::new(name, ty, true)).collect();
    let numbers: ArrayRef = Arc::new(Int64Array::from(vec![Some(7), None, Some(9)]));
    let strings: ArrayRef = Arc::new(StringArray::from(vec![Some("a,b"), None, Some("")]));
    StructArray::new(fields, vec![numbers, strings], Some(vec![true, true, false].into()))
}

#[test]
fn a_struct_is_a_composite_by_the_names() {
    let composite = composite_of(50_000, vec![("s", ty(25)), ("n", ty(23))]);
    let values = given(&pair(), &composite).binary();
    let first = [join_words(&[2, 25, 3]), b"a,b".to_vec(), join_words(&[23, 4, 7])].concat();
    let second = join_words(&[2, 25, -1, 23, -1]);
    assert_eq!(values, [Ok(Some(first)), Ok(Some(second)), Ok(None)]);
    assert_eq!(texts(&pair(), &composite), [r#"("a,b",7)"#, "(,)", "\\N"]);
    assert_eq!(texts(&pair().slice(1, 2), &composite), ["(,)", "\\N"]);
}

#[test]
fn a_struct_has_all_fields_of_the_composite_and_no_more() {
    let composite = |columns| composite_of(50_000, columns);
    let less = misfit(&pair(), &composite(vec![("s", ty(25))]));
    assert!(less.contains("has no column \"n\""), "{less}");
    let more = vec![("s", ty(25)), ("n", ty(23)), ("m", ty(23))];
    let more = misfit(&pair(), &composite(more));
    assert!(more.contains("has no field \"m\""), "{more}");
    let other = misfit(&pair(), &composite(vec![("s", ty(25)), ("n", ty(16))]));
    assert!(other.contains("its field \"n\""), "{other}");
    assert!(misfit(&pair(), &ty(25)).contains("composite type"));
    let money = composite(vec![("s", ty(790)), ("n", ty(23))]);
    assert!(given(&pair(), &money).mapping.has_binary().is_err());
}

#[test]
fn composites_stand_in_arrays() {
    let field = Arc::new(Field::new("item", pair().data_type().clone(), true));
    let offsets = arrow_buffer::OffsetBuffer::from_lengths([3]);
    let lists = ListArray::new(field, offsets, Arc::new(pair()), None);
    let composite = composite_of(50_000, vec![("s", ty(25)), ("n", ty(23))]);
    assert_eq!(texts(&lists, &array_of(50_001, composite)), [r#"{"(\\"a,b\\",7)","(,)",NULL}"#]);
}
