//! The arrays of a batch, each downcast once, and the value in a row.
//!
//! Offsets of slices, validity, dictionaries and runs are resolved here: the code that follows sees only values.

mod bind;
mod nested;
mod weigh;

pub(crate) use nested::{Items, Pairs, Row};

use arrow_array::types::{ArrowPrimitiveType, Float16Type};
use arrow_array::{
    BinaryArray, BinaryViewArray, FixedSizeBinaryArray, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow_buffer::{
    BooleanBuffer, IntervalDayTime, IntervalMonthDayNano, NullBuffer, RunEndBuffer, i256,
};
use arrow_schema::TimeUnit;

use crate::extension::Extension;
use nested::{DictionaryKeys, Places, StructFields};

/// A floating-point number of two bytes.
type Half = <Float16Type as ArrowPrimitiveType>::Native;

/// An array, ready to be read by row.
pub(crate) struct Source<'b> {
    nulls: Option<&'b NullBuffer>,
    data: Data<'b>,
    /// The number of rows.
    length: usize,
    /// The field's extension type.
    pub(crate) extension: Extension,
}

enum Data<'b> {
    Null,
    Bool(&'b BooleanBuffer),
    Int8(&'b [i8]),
    Int16(&'b [i16]),
    Int32(&'b [i32]),
    Int64(&'b [i64]),
    UInt8(&'b [u8]),
    UInt16(&'b [u16]),
    UInt32(&'b [u32]),
    UInt64(&'b [u64]),
    Float16(&'b [Half]),
    Float32(&'b [f32]),
    Float64(&'b [f64]),
    Decimal32(&'b [i32], i8),
    Decimal64(&'b [i64], i8),
    Decimal128(&'b [i128], i8),
    Decimal256(&'b [i256], i8),
    Utf8(&'b StringArray),
    LargeUtf8(&'b LargeStringArray),
    Utf8View(&'b StringViewArray),
    Binary(&'b BinaryArray),
    LargeBinary(&'b LargeBinaryArray),
    BinaryView(&'b BinaryViewArray),
    FixedSizeBinary(&'b FixedSizeBinaryArray),
    Date32(&'b [i32]),
    Date64(&'b [i64]),
    Time32(&'b [i32], TimeUnit),
    Time64(&'b [i64], TimeUnit),
    Timestamp(&'b [i64], TimeUnit, bool),
    Duration(&'b [i64], TimeUnit),
    Months(&'b [i32]),
    DayTime(&'b [IntervalDayTime]),
    MonthDayNano(&'b [IntervalMonthDayNano]),
    Dictionary(DictionaryKeys<'b>, Box<Source<'b>>),
    Runs16(&'b RunEndBuffer<i16>, Box<Source<'b>>),
    Runs32(&'b RunEndBuffer<i32>, Box<Source<'b>>),
    Runs64(&'b RunEndBuffer<i64>, Box<Source<'b>>),
    List(Places<'b>, Box<Source<'b>>),
    Struct(StructFields<'b>),
    Map(Places<'b>, Box<[Source<'b>; 2]>),
}

/// The value in a row.
pub(crate) enum ArrowValue<'s, 'b> {
    Null,
    Bool(bool),
    Int(i64),
    /// An unsigned integer; it may be too large for [`ArrowValue::Int`].
    Unsigned(u64),
    Float4(f32),
    Float8(f64),
    /// Digits and scale.
    Decimal(i128, i8),
    Wide(&'s i256, i8),
    Text(&'s str),
    Bytes(&'s [u8]),
    /// Days from 1970-01-01.
    Date(i32),
    /// Milliseconds from 1970-01-01, of whole days.
    DateMillis(i64),
    /// Ticks since midnight.
    Time(i64, TimeUnit),
    /// Ticks since 1970-01-01, and whether they are in UTC, so that the instant is known.
    Timestamp(i64, TimeUnit, bool),
    Duration(i64, TimeUnit),
    Interval {
        months: i32,
        days: i32,
        nanos: i64,
    },
    List(Items<'s, 'b>),
    Struct(Row<'s, 'b>),
    Map(Pairs<'s, 'b>),
    /// A missing value, in an array that was never validated.
    Broken,
}

impl<'b> Source<'b> {
    /// Returns the value of `row`, which is less than the length of the array.
    #[inline]
    pub(crate) fn value<'s>(&'s self, row: usize) -> ArrowValue<'s, 'b> {
        if self.nulls.is_some_and(|nulls| nulls.is_null(row)) {
            return ArrowValue::Null;
        }
        match &self.data {
            Data::Int32(values) => ArrowValue::Int(values[row].into()),
            Data::Int64(values) => ArrowValue::Int(values[row]),
            Data::Decimal128(values, scale) => ArrowValue::Decimal(values[row], *scale),
            Data::Utf8(values) => ArrowValue::Text(values.value(row)),
            Data::Utf8View(values) => ArrowValue::Text(values.value(row)),
            Data::Date32(values) => ArrowValue::Date(values[row]),
            Data::Timestamp(values, unit, zoned) => {
                ArrowValue::Timestamp(values[row], *unit, *zoned)
            }
            Data::Float64(values) => ArrowValue::Float8(values[row]),
            _ => self.rare(row),
        }
    }

    fn rare<'s>(&'s self, row: usize) -> ArrowValue<'s, 'b> {
        match &self.data {
            Data::Null => ArrowValue::Null,
            Data::Bool(values) => ArrowValue::Bool(values.value(row)),
            Data::Int8(values) if self.extension == Extension::Bool8 => {
                ArrowValue::Bool(values[row] != 0)
            }
            Data::Int8(values) => ArrowValue::Int(values[row].into()),
            Data::Int16(values) => ArrowValue::Int(values[row].into()),
            Data::UInt8(values) => ArrowValue::Int(values[row].into()),
            Data::UInt16(values) => ArrowValue::Int(values[row].into()),
            Data::UInt32(values) => ArrowValue::Int(values[row].into()),
            Data::UInt64(values) => ArrowValue::Unsigned(values[row]),
            Data::Float16(values) => ArrowValue::Float4(values[row].to_f32()),
            Data::Float32(values) => ArrowValue::Float4(values[row]),
            Data::Decimal32(values, scale) => ArrowValue::Decimal(values[row].into(), *scale),
            Data::Decimal64(values, scale) => ArrowValue::Decimal(values[row].into(), *scale),
            Data::Decimal256(values, scale) => ArrowValue::Wide(&values[row], *scale),
            Data::LargeUtf8(values) => ArrowValue::Text(values.value(row)),
            Data::Binary(values) => ArrowValue::Bytes(values.value(row)),
            Data::LargeBinary(values) => ArrowValue::Bytes(values.value(row)),
            Data::BinaryView(values) => ArrowValue::Bytes(values.value(row)),
            Data::FixedSizeBinary(values) => ArrowValue::Bytes(values.value(row)),
            Data::Date64(values) => ArrowValue::DateMillis(values[row]),
            Data::Time32(values, unit) => ArrowValue::Time(values[row].into(), *unit),
            Data::Time64(values, unit) => ArrowValue::Time(values[row], *unit),
            Data::Duration(values, unit) => ArrowValue::Duration(values[row], *unit),
            Data::Months(values) => ArrowValue::Interval { months: values[row], days: 0, nanos: 0 },
            Data::DayTime(values) => {
                let IntervalDayTime { days, milliseconds } = values[row];
                ArrowValue::Interval { months: 0, days, nanos: i64::from(milliseconds) * 1_000_000 }
            }
            Data::MonthDayNano(values) => {
                let IntervalMonthDayNano { months, days, nanoseconds: nanos } = values[row];
                ArrowValue::Interval { months, days, nanos }
            }
            Data::Dictionary(keys, values) => values.value_or_null(keys.get(row)),
            Data::Runs16(ends, values) => values.value_or_null(Some(ends.get_physical_index(row))),
            Data::Runs32(ends, values) => values.value_or_null(Some(ends.get_physical_index(row))),
            Data::Runs64(ends, values) => values.value_or_null(Some(ends.get_physical_index(row))),
            Data::List(places, child) => {
                places.items(child, row).map_or(ArrowValue::Broken, ArrowValue::List)
            }
            Data::Struct(fields) => ArrowValue::Struct(fields.row(row)),
            Data::Map(places, pairs) => {
                places.pairs(pairs, row).map_or(ArrowValue::Broken, ArrowValue::Map)
            }
            // `value` reads these.
            Data::Int32(_)
            | Data::Int64(_)
            | Data::Float64(_)
            | Data::Decimal128(..)
            | Data::Utf8(_)
            | Data::Utf8View(_)
            | Data::Date32(_)
            | Data::Timestamp(..) => ArrowValue::Broken,
        }
    }

    /// Returns the value of a row that may not exist.
    fn value_or_null<'s>(&'s self, row: Option<usize>) -> ArrowValue<'s, 'b> {
        row.filter(|&row| row < self.length).map_or(ArrowValue::Broken, |row| self.value(row))
    }

    pub(crate) fn is_null(&self, row: usize) -> bool {
        matches!(self.value(row), ArrowValue::Null)
    }
}
