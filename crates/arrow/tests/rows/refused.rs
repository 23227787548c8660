//! Types that are refused: the error names the column, both types and the reason.

use arrow_array::*;
use arrow_buffer::ScalarBuffer;
use arrow_schema::{DataType, Field, UnionFields};

use crate::harness::{jsonb, misfit, ty};

#[test]
fn a_refusal_says_what_is_refused() {
    let array = TimestampSecondArray::from(vec![0]);
    assert_eq!(
        misfit(&array, &ty(23)),
        "column \"c\" is of type type 23 but its values are of type Timestamp(s): the type cannot \
         store such values: cast them in the code that produces the rows"
    );
}

#[test]
fn unions_are_refused() {
    let fields = UnionFields::try_new([0], [Field::new("a", DataType::Null, true)]).expect("one");
    let ids = ScalarBuffer::from(vec![0_i8]);
    let union =
        UnionArray::try_new(fields, ids, None, vec![std::sync::Arc::new(NullArray::new(1))]);
    let union = union.expect("a union");
    for ty in [ty(23), ty(25), jsonb()] {
        assert!(misfit(&union, &ty).contains("unions are not supported"));
    }
}

#[test]
fn money_is_refused_but_for_strings() {
    assert!(misfit(&Int32Array::from(vec![1]), &ty(790)).contains("lc_monetary"));
}
