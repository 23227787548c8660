//! Arrays of any type, derived from decisions.

use std::sync::Arc;

use arrow_array::types::*;
use arrow_array::{
    Array, ArrayRef, ArrowPrimitiveType, BinaryArray, BinaryViewArray, BooleanArray,
    DictionaryArray, FixedSizeBinaryArray, FixedSizeListArray, Int32Array, LargeBinaryArray,
    LargeListArray, LargeListViewArray, LargeStringArray, ListArray, ListViewArray, MapArray,
    NullArray, PrimitiveArray, RunArray, StringArray, StringViewArray, StructArray,
};
use arrow_buffer::{IntervalDayTime, IntervalMonthDayNano, NullBuffer, OffsetBuffer, i256};
use arrow_schema::{DataType, Field, TimeUnit};

use super::values::{bytes, number, string, wide};
use crate::choices::Choices;

type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// The number of types without children.
const FLAT: usize = 36;

/// Returns an array, sometimes a slice of a longer one, nested at most `depth` levels.
pub fn array(c: &mut Choices<'_>, length: usize, depth: usize) -> ArrayRef {
    if c.once_in(4) {
        return whole(c, length + 3, depth).slice(2, length);
    }
    whole(c, length, depth)
}

fn whole(c: &mut Choices<'_>, length: usize, depth: usize) -> ArrayRef {
    match c.below(if depth == 0 { FLAT } else { FLAT + 10 }) {
        kind @ 0..FLAT => flat(c, kind, length),
        kind => nested(c, kind - FLAT, length, depth - 1),
    }
}

/// Returns a field for an array, sometimes of an extension type.
pub fn field(c: &mut Choices<'_>, name: &str, array: &dyn Array) -> Field {
    let field = Field::new(name, array.data_type().clone(), true);
    match c.below(6) {
        kind @ 4..6 => {
            let extension = ["arrow.json", "arrow.uuid"][kind - 4].to_owned();
            field.with_metadata([("ARROW:extension:name".to_owned(), extension)].into())
        }
        _ => field,
    }
}

fn of<T: ArrowPrimitiveType>(
    c: &mut Choices<'_>,
    length: usize,
    mut make: impl FnMut(&mut Choices<'_>) -> T::Native,
) -> PrimitiveArray<T> {
    (0..length).map(|_| (!c.once_in(8)).then(|| make(c))).collect()
}

fn options<T>(
    c: &mut Choices<'_>,
    length: usize,
    mut make: impl FnMut(&mut Choices<'_>) -> T,
) -> Vec<Option<T>> {
    (0..length).map(|_| (!c.once_in(8)).then(|| make(c))).collect()
}

/// Integers, times and decimals, which are all derived from a number.
macro_rules! numbers {
    ($c:expr, $length:expr, $ty:ty) => {
        Arc::new(of::<$ty>($c, $length, |c| number(c) as _))
    };
}

fn flat(c: &mut Choices<'_>, kind: usize, length: usize) -> ArrayRef {
    match kind {
        0 => numbers!(c, length, Int32Type),
        1 => numbers!(c, length, Int64Type),
        2 => numbers!(c, length, Int8Type),
        3 => numbers!(c, length, Int16Type),
        4 => numbers!(c, length, UInt8Type),
        5 => numbers!(c, length, UInt16Type),
        6 => numbers!(c, length, UInt32Type),
        7 => numbers!(c, length, UInt64Type),
        8 => Arc::new(of::<Float16Type>(c, length, |c| Half::from_bits(number(c) as u16))),
        9 => Arc::new(of::<Float32Type>(c, length, |c| f32::from_bits(number(c) as u32))),
        10 => Arc::new(of::<Float64Type>(c, length, |c| f64::from_bits(number(c) as u64))),
        11 => Arc::new(of::<Float64Type>(c, length, |c| number(c) as f64 / 8.0)),
        12 => Arc::new(BooleanArray::from(options(c, length, |c| c.once_in(2)))),
        13 => Arc::new(StringArray::from_iter(options(c, length, string))),
        14 => Arc::new(LargeStringArray::from_iter(options(c, length, string))),
        15 => Arc::new(StringViewArray::from_iter(options(c, length, string))),
        16 => Arc::new(BinaryArray::from_iter(options(c, length, bytes))),
        17 => Arc::new(LargeBinaryArray::from_iter(options(c, length, bytes))),
        18 => Arc::new(BinaryViewArray::from_iter(options(c, length, bytes))),
        19 => {
            let width = c.pick(&[16, 3]);
            let values = options(c, length, |c| vec![c.byte(); width]);
            let values = FixedSizeBinaryArray::try_from_sparse_iter_with_size(
                values.into_iter(),
                width as _,
            );
            Arc::new(values.expect("values of one width"))
        }
        20 => Arc::new(NullArray::new(length)),
        21 | 22 => {
            let (precision, scale) = (c.pick(&[9, 18]), c.byte() as i8);
            if precision == 9 {
                let values = of::<Decimal32Type>(c, length, |c| number(c) as _);
                Arc::new(values.with_data_type(DataType::Decimal32(9, scale)))
            } else {
                let values = of::<Decimal64Type>(c, length, number);
                Arc::new(values.with_data_type(DataType::Decimal64(18, scale)))
            }
        }
        23 | 24 => {
            let scale = c.byte() as i8;
            let values = of::<Decimal128Type>(c, length, wide);
            Arc::new(values.with_data_type(DataType::Decimal128(38, scale)))
        }
        25 => {
            let scale = c.byte() as i8;
            let values =
                of::<Decimal256Type>(c, length, |c| i256::from_parts(wide(c) as u128, wide(c)));
            Arc::new(values.with_data_type(DataType::Decimal256(76, scale)))
        }
        _ => time(c, kind, length),
    }
}

fn time(c: &mut Choices<'_>, kind: usize, length: usize) -> ArrayRef {
    match kind {
        26 => numbers!(c, length, Date32Type),
        27 => numbers!(c, length, Date64Type),
        28 => numbers!(c, length, Time32SecondType),
        29 => numbers!(c, length, Time32MillisecondType),
        30 => numbers!(c, length, Time64MicrosecondType),
        31 => numbers!(c, length, Time64NanosecondType),
        32 => {
            let zone = c.once_in(2).then(|| Arc::from("+02:00"));
            match c.pick(&super::UNITS) {
                TimeUnit::Second => {
                    Arc::new(of::<TimestampSecondType>(c, length, number).with_timezone_opt(zone))
                }
                TimeUnit::Millisecond => Arc::new(
                    of::<TimestampMillisecondType>(c, length, number).with_timezone_opt(zone),
                ),
                TimeUnit::Microsecond => Arc::new(
                    of::<TimestampMicrosecondType>(c, length, number).with_timezone_opt(zone),
                ),
                TimeUnit::Nanosecond => Arc::new(
                    of::<TimestampNanosecondType>(c, length, number).with_timezone_opt(zone),
                ),
            }
        }
        33 => match c.pick(&super::UNITS) {
            TimeUnit::Second => numbers!(c, length, DurationSecondType),
            TimeUnit::Millisecond => numbers!(c, length, DurationMillisecondType),
            TimeUnit::Microsecond => numbers!(c, length, DurationMicrosecondType),
            TimeUnit::Nanosecond => numbers!(c, length, DurationNanosecondType),
        },
        34 => match c.once_in(2) {
            true => numbers!(c, length, IntervalYearMonthType),
            false => Arc::new(of::<IntervalDayTimeType>(c, length, |c| {
                IntervalDayTime::new(number(c) as i32, number(c) as i32)
            })),
        },
        _ => Arc::new(of::<IntervalMonthDayNanoType>(c, length, |c| {
            IntervalMonthDayNano::new(number(c) as i32, number(c) as i32, number(c))
        })),
    }
}

fn nested(c: &mut Choices<'_>, kind: usize, length: usize, depth: usize) -> ArrayRef {
    let nulls = c.once_in(3).then(|| NullBuffer::from_iter((0..length).map(|_| !c.once_in(4))));
    let lengths: Vec<usize> = (0..length).map(|_| c.below(4)).collect();
    let count = lengths.iter().sum();
    match kind {
        0 | 1 => {
            let child = array(c, count, depth);
            let item = Arc::new(field(c, "item", &child));
            match kind {
                0 => {
                    let offsets = OffsetBuffer::from_lengths(lengths);
                    Arc::new(ListArray::new(item, offsets, child, nulls))
                }
                _ => {
                    let offsets = OffsetBuffer::from_lengths(lengths);
                    Arc::new(LargeListArray::new(item, offsets, child, nulls))
                }
            }
        }
        2 | 3 => {
            let child = array(c, count + 3, depth);
            let item = Arc::new(field(c, "item", &child));
            let starts: Vec<usize> = lengths.iter().map(|n| c.below(count + 4 - n)).collect();
            if kind == 2 {
                let starts = starts.iter().map(|&at| at as i32).collect();
                let sizes = lengths.iter().map(|&n| n as i32).collect();
                Arc::new(ListViewArray::new(item, starts, sizes, child, nulls))
            } else {
                let starts = starts.iter().map(|&at| at as i64).collect();
                let sizes = lengths.iter().map(|&n| n as i64).collect();
                Arc::new(LargeListViewArray::new(item, starts, sizes, child, nulls))
            }
        }
        4 => {
            let size = 1 + c.below(3);
            let child = array(c, length * size, depth);
            let item = Arc::new(field(c, "item", &child));
            Arc::new(FixedSizeListArray::new(item, size as i32, child, nulls))
        }
        5 | 6 => {
            let names = &["a", "b", "c", "a"][..1 + c.below(4)];
            let columns: Vec<ArrayRef> = names.iter().map(|_| array(c, length, depth)).collect();
            let fields: Vec<Field> =
                names.iter().zip(&columns).map(|(name, column)| field(c, name, column)).collect();
            Arc::new(StructArray::new(fields.into(), columns, nulls))
        }
        7 => {
            let keys: ArrayRef = match c.once_in(4) {
                true => Arc::new((0..count).map(|_| number(c) as i32).collect::<Int32Array>()),
                false => Arc::new(StringArray::from_iter_values((0..count).map(|_| string(c)))),
            };
            let values = array(c, count, depth);
            let fields = [field(c, "key", &keys).with_nullable(false), field(c, "value", &values)];
            let entries = StructArray::new(fields.to_vec().into(), vec![keys, values], None);
            let entry = Arc::new(Field::new("entries", entries.data_type().clone(), false));
            let offsets = OffsetBuffer::from_lengths(lengths);
            Arc::new(MapArray::new(entry, offsets, entries, nulls, false))
        }
        8 => {
            let count = 1 + c.below(3);
            let values = array(c, count, depth);
            let keys = of::<Int8Type>(c, length, |c| c.below(count) as i8);
            Arc::new(DictionaryArray::new(keys, values))
        }
        _ => {
            let mut end = 0;
            let mut ends = Vec::new();
            while end < length.max(1) {
                end += 1 + c.below(3);
                ends.push(end as i32);
            }
            let values = array(c, ends.len(), depth);
            let runs = RunArray::<Int32Type>::try_new(&Int32Array::from(ends), &values);
            Arc::new(runs.expect("ends that grow").slice(0, length))
        }
    }
}
