//! Prepares an array of any type for reading by row.

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrowPrimitiveType};
use arrow_schema::{DataType, Field, IntervalUnit, TimeUnit};

use super::nested::{DictionaryKeys, Places, StructFields};
use super::{Data, Source};
use crate::extension::Extension;

impl<'b> Source<'b> {
    /// Binds an array; returns `None` for unsupported types.
    pub(crate) fn bind(array: &'b dyn Array, field: &Field) -> Option<Self> {
        Self::bind_array(array, Extension::from_field(field))
    }

    /// Returns a source of `length` NULLs.
    pub(crate) fn null(length: usize) -> Self {
        Self { nulls: None, data: Data::Null, length, extension: Extension::None }
    }

    fn bind_array(array: &'b dyn Array, extension: Extension) -> Option<Self> {
        let data = match array.data_type() {
            DataType::Dictionary(key, _) => dictionary(array, key, extension)?,
            DataType::RunEndEncoded(ends, _) => runs(array, ends.data_type(), extension)?,
            ty if ty.is_nested() => bind_nested(array)?,
            DataType::Timestamp(..)
            | DataType::Date32
            | DataType::Date64
            | DataType::Time32(_)
            | DataType::Time64(_)
            | DataType::Duration(_)
            | DataType::Interval(_) => time(array)?,
            _ => scalar(array)?,
        };
        Some(Self { nulls: array.nulls(), data, length: array.len(), extension })
    }
}

fn slice<T: ArrowPrimitiveType>(array: &dyn Array) -> Option<&[T::Native]> {
    Some(array.as_primitive_opt::<T>()?.values())
}

fn scalar(array: &dyn Array) -> Option<Data<'_>> {
    Some(match array.data_type() {
        DataType::Null => Data::Null,
        DataType::Boolean => Data::Bool(array.as_boolean_opt()?.values()),
        DataType::Int8 => Data::Int8(slice::<Int8Type>(array)?),
        DataType::Int16 => Data::Int16(slice::<Int16Type>(array)?),
        DataType::Int32 => Data::Int32(slice::<Int32Type>(array)?),
        DataType::Int64 => Data::Int64(slice::<Int64Type>(array)?),
        DataType::UInt8 => Data::UInt8(slice::<UInt8Type>(array)?),
        DataType::UInt16 => Data::UInt16(slice::<UInt16Type>(array)?),
        DataType::UInt32 => Data::UInt32(slice::<UInt32Type>(array)?),
        DataType::UInt64 => Data::UInt64(slice::<UInt64Type>(array)?),
        DataType::Float16 => Data::Float16(slice::<Float16Type>(array)?),
        DataType::Float32 => Data::Float32(slice::<Float32Type>(array)?),
        DataType::Float64 => Data::Float64(slice::<Float64Type>(array)?),
        DataType::Decimal32(_, scale) => Data::Decimal32(slice::<Decimal32Type>(array)?, *scale),
        DataType::Decimal64(_, scale) => Data::Decimal64(slice::<Decimal64Type>(array)?, *scale),
        DataType::Decimal128(_, scale) => Data::Decimal128(slice::<Decimal128Type>(array)?, *scale),
        DataType::Decimal256(_, scale) => Data::Decimal256(slice::<Decimal256Type>(array)?, *scale),
        DataType::Utf8 => Data::Utf8(array.as_string_opt()?),
        DataType::LargeUtf8 => Data::LargeUtf8(array.as_string_opt()?),
        DataType::Utf8View => Data::Utf8View(array.as_string_view_opt()?),
        DataType::Binary => Data::Binary(array.as_binary_opt()?),
        DataType::LargeBinary => Data::LargeBinary(array.as_binary_opt()?),
        DataType::BinaryView => Data::BinaryView(array.as_binary_view_opt()?),
        DataType::FixedSizeBinary(_) => Data::FixedSizeBinary(array.as_fixed_size_binary_opt()?),
        _ => return None,
    })
}

fn time(array: &dyn Array) -> Option<Data<'_>> {
    use TimeUnit::{Microsecond, Millisecond, Nanosecond, Second};
    Some(match array.data_type() {
        DataType::Date32 => Data::Date32(slice::<Date32Type>(array)?),
        DataType::Date64 => Data::Date64(slice::<Date64Type>(array)?),
        DataType::Time32(Second) => Data::Time32(slice::<Time32SecondType>(array)?, Second),
        DataType::Time32(Millisecond) => {
            Data::Time32(slice::<Time32MillisecondType>(array)?, Millisecond)
        }
        DataType::Time64(Microsecond) => {
            Data::Time64(slice::<Time64MicrosecondType>(array)?, Microsecond)
        }
        DataType::Time64(Nanosecond) => {
            Data::Time64(slice::<Time64NanosecondType>(array)?, Nanosecond)
        }
        DataType::Timestamp(unit, zone) => {
            let values = match unit {
                Second => slice::<TimestampSecondType>(array)?,
                Millisecond => slice::<TimestampMillisecondType>(array)?,
                Microsecond => slice::<TimestampMicrosecondType>(array)?,
                Nanosecond => slice::<TimestampNanosecondType>(array)?,
            };
            Data::Timestamp(values, *unit, zone.is_some())
        }
        DataType::Duration(unit) => {
            let values = match unit {
                Second => slice::<DurationSecondType>(array)?,
                Millisecond => slice::<DurationMillisecondType>(array)?,
                Microsecond => slice::<DurationMicrosecondType>(array)?,
                Nanosecond => slice::<DurationNanosecondType>(array)?,
            };
            Data::Duration(values, *unit)
        }
        DataType::Interval(unit) => match unit {
            IntervalUnit::YearMonth => Data::Months(slice::<IntervalYearMonthType>(array)?),
            IntervalUnit::DayTime => Data::DayTime(slice::<IntervalDayTimeType>(array)?),
            IntervalUnit::MonthDayNano => {
                Data::MonthDayNano(slice::<IntervalMonthDayNanoType>(array)?)
            }
        },
        _ => return None,
    })
}

fn bind_nested(array: &dyn Array) -> Option<Data<'_>> {
    let (places, child, field) = match array.data_type() {
        DataType::List(field) => {
            let list = array.as_list_opt::<i32>()?;
            (Places::Offsets(list.value_offsets()), list.values(), field)
        }
        DataType::LargeList(field) => {
            let list = array.as_list_opt::<i64>()?;
            (Places::LargeOffsets(list.value_offsets()), list.values(), field)
        }
        DataType::ListView(field) => {
            let list = array.as_list_view_opt::<i32>()?;
            (Places::Views(list.value_offsets(), list.value_sizes()), list.values(), field)
        }
        DataType::LargeListView(field) => {
            let list = array.as_list_view_opt::<i64>()?;
            (Places::LargeViews(list.value_offsets(), list.value_sizes()), list.values(), field)
        }
        DataType::FixedSizeList(field, size) => {
            let list = array.as_fixed_size_list_opt()?;
            (Places::Fixed(usize::try_from(*size).ok()?), list.values(), field)
        }
        DataType::Struct(names) => {
            let columns = array.as_struct_opt()?.columns().iter().zip(names);
            let sources = columns.map(|(column, field)| Source::bind(column, field));
            return Some(Data::Struct(StructFields {
                names,
                sources: sources.collect::<Option<_>>()?,
            }));
        }
        DataType::Map(..) => {
            let map = array.as_map_opt()?;
            let (key, value) = map.entries_fields();
            let pairs = [Source::bind(map.keys(), key)?, Source::bind(map.values(), value)?];
            return Some(Data::Map(Places::Offsets(map.value_offsets()), pairs.into()));
        }
        _ => return None,
    };
    Some(Data::List(places, Source::bind(child, field)?.into()))
}

fn dictionary<'b>(array: &'b dyn Array, key: &DataType, extension: Extension) -> Option<Data<'b>> {
    fn keys<K: ArrowDictionaryKeyType>(array: &dyn Array) -> Option<&[K::Native]> {
        Some(array.as_dictionary_opt::<K>()?.keys().values())
    }
    let keys = match key {
        DataType::Int8 => DictionaryKeys::Int8(keys::<Int8Type>(array)?),
        DataType::Int16 => DictionaryKeys::Int16(keys::<Int16Type>(array)?),
        DataType::Int32 => DictionaryKeys::Int32(keys::<Int32Type>(array)?),
        DataType::Int64 => DictionaryKeys::Int64(keys::<Int64Type>(array)?),
        DataType::UInt8 => DictionaryKeys::UInt8(keys::<UInt8Type>(array)?),
        DataType::UInt16 => DictionaryKeys::UInt16(keys::<UInt16Type>(array)?),
        DataType::UInt32 => DictionaryKeys::UInt32(keys::<UInt32Type>(array)?),
        DataType::UInt64 => DictionaryKeys::UInt64(keys::<UInt64Type>(array)?),
        _ => return None,
    };
    let values = array.as_any_dictionary_opt()?.values();
    Some(Data::Dictionary(keys, Source::bind_array(values, extension)?.into()))
}

fn runs<'b>(array: &'b dyn Array, ends: &DataType, extension: Extension) -> Option<Data<'b>> {
    Some(match ends {
        DataType::Int16 => {
            let runs = array.as_run_opt::<Int16Type>()?;
            Data::Runs16(runs.run_ends(), Source::bind_array(runs.values(), extension)?.into())
        }
        DataType::Int32 => {
            let runs = array.as_run_opt::<Int32Type>()?;
            Data::Runs32(runs.run_ends(), Source::bind_array(runs.values(), extension)?.into())
        }
        DataType::Int64 => {
            let runs = array.as_run_opt::<Int64Type>()?;
            Data::Runs64(runs.run_ends(), Source::bind_array(runs.values(), extension)?.into())
        }
        _ => return None,
    })
}
