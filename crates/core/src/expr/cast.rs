//! Casts between the types that expressions support, without modifiers.
//!
//! The result is `None` if the server would reject the value, such as a number out of range or text that is not
//! a number. It is also `None` for casts to text that depend on a setting.

use std::io::Write;

use super::arithmetic::{limits, within};
use super::value::{ExprValue, read};
use crate::types::datetime::USECS_PER_DAY;
use crate::types::{KeyType, float, numeric};

/// A cast, named after its effect on a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cast {
    /// Keeps the datum unchanged.
    Relabel,
    /// To an integer type, which may be narrower: `int84` and so on, `src/backend/utils/adt/int8.c`.
    Integer,
    /// To double precision: `i8tod`, `i4tod`.
    IntegerToFloat8,
    /// To real, rounded once: `i8tof`, `i4tof`.
    IntegerToFloat4,
    /// `int8_numeric` and its siblings.
    IntegerToNumeric,
    /// `int8out` and its siblings.
    IntegerToText,
    /// `int4_bool`.
    IntegerToBool,
    /// `booltext`.
    BoolToText,
    /// `dtof`, `src/backend/utils/adt/float.c`.
    Float8ToFloat4,
    /// To the nearest integer, halves to the even one: `dtoi4` and its siblings.
    FloatToInteger,
    /// To the nearest integer, halves away from zero: `numeric_int8` and its siblings.
    NumericToInteger,
    /// By the input function of the target type.
    TextToValue,
    /// To a bpchar, which ignores trailing blanks.
    TextToBpchar,
    /// `uuid_out`.
    UuidToText,
    /// `date_timestamp`, `src/backend/utils/adt/date.c`.
    DateToTimestamp,
    /// `timestamp_date`.
    TimestampToDate,
    /// `timestamp_time`.
    TimestampToTime,
}

impl Cast {
    /// Returns the cast between two types without modifiers, if it is supported.
    pub(super) fn find(from: &KeyType, to: &KeyType) -> Option<Self> {
        use KeyType::{
            Bool, Bpchar, Date, Float4, Float8, Int2, Int4, Int8, Name, Numeric, Text, Time,
            Timestamp, Uuid, Varchar,
        };
        Some(match (from, to) {
            (Int2 | Int4 | Int8, Int2 | Int4 | Int8) => Self::Integer,
            (Int2 | Int4 | Int8, Float8) => Self::IntegerToFloat8,
            (Int2 | Int4 | Int8, Float4) => Self::IntegerToFloat4,
            (Int2 | Int4 | Int8, Numeric { .. }) => Self::IntegerToNumeric,
            (Int2 | Int4 | Int8, Text | Varchar { .. }) => Self::IntegerToText,
            (Int4, Bool) => Self::IntegerToBool,
            (Bool, Int4) | (Float4, Float8) => Self::Relabel,
            (Bool, Text | Varchar { .. }) => Self::BoolToText,
            (Float8, Float4) => Self::Float8ToFloat4,
            (Float4 | Float8, Int2 | Int4 | Int8) => Self::FloatToInteger,
            (Numeric { .. }, Int2 | Int4 | Int8) => Self::NumericToInteger,
            (Text | Varchar { .. } | Bpchar { .. } | Name, Text | Varchar { .. }) => Self::Relabel,
            (Text | Varchar { .. }, Bpchar { .. }) => Self::TextToBpchar,
            (Text | Varchar { .. }, Int2 | Int4 | Int8 | Float4 | Float8 | Bool | Uuid) => {
                Self::TextToValue
            }
            (Uuid, Text | Varchar { .. }) => Self::UuidToText,
            (Date, Timestamp { .. }) => Self::DateToTimestamp,
            (Timestamp { .. }, Date) => Self::TimestampToDate,
            (Timestamp { .. }, Time { .. }) => Self::TimestampToTime,
            _ => return None,
        })
    }

    /// Converts the value to the type `to`.
    pub(super) fn apply<'a>(
        self,
        value: ExprValue<'a>,
        to: &KeyType,
        scratch: &mut Vec<u8>,
    ) -> Option<ExprValue<'a>> {
        match self {
            Self::Relabel => Some(value),
            Self::IntegerToText => to_text(value.int()?, scratch),
            Self::IntegerToNumeric => to_numeric(value.int()?, 0, scratch),
            Self::BoolToText => {
                Some(ExprValue::Given(if value.int()? == 0 { b"false" } else { b"true" }))
            }
            Self::UuidToText => uuid_to_text(value, scratch),
            Self::TextToValue => match read(to, value.bytes(scratch)?, &mut Vec::new())? {
                ExprValue::Int(value) => Some(ExprValue::Int(value)),
                ExprValue::Uuid(value) => Some(ExprValue::Uuid(value)),
                _ => None,
            },
            Self::TextToBpchar => {
                let blanks = value.bytes(scratch)?.iter().rev().take_while(|&&byte| byte == b' ');
                let end = value.bytes(scratch)?.len() - blanks.count();
                Some(value.part(0..end))
            }
            Self::NumericToInteger => {
                let whole = numeric::to_integer(value.bytes(scratch)?)?;
                within(to, whole).map(ExprValue::Int)
            }
            _ => self.convert_int(value.int()?, to).map(ExprValue::Int),
        }
    }

    /// Converts one integer datum to another.
    fn convert_int(self, value: i64, to: &KeyType) -> Option<i64> {
        match self {
            Self::Integer => within(to, value),
            Self::IntegerToBool => Some((value != 0).into()),
            Self::IntegerToFloat8 => Some(float::sortable(value as f64)),
            Self::IntegerToFloat4 => Some(float::sortable((value as f32).into())),
            Self::Float8ToFloat4 => narrow(float::value(value)),
            Self::FloatToInteger => round(float::value(value), to),
            Self::DateToTimestamp => date_to_timestamp(value),
            Self::TimestampToDate => timestamp_to_date(value),
            Self::TimestampToTime => finite(value).map(|usecs| usecs.rem_euclid(USECS_PER_DAY)),
            _ => None,
        }
    }
}

fn to_text<'a>(value: i64, scratch: &mut Vec<u8>) -> Option<ExprValue<'a>> {
    scratch.clear();
    write!(scratch, "{value}").ok()?;
    Some(ExprValue::from_scratch(scratch))
}

/// Returns `value` as a numeric whose last `scale` digits are after the decimal point.
pub(super) fn to_numeric<'a>(
    value: i64,
    scale: u8,
    scratch: &mut Vec<u8>,
) -> Option<ExprValue<'a>> {
    let mut text = [0; 24];
    let mut rest = &mut text[..];
    write!(rest, "{value}e-{scale}").ok()?;
    let left = rest.len();
    match read(&KeyType::Numeric { scale: None }, &text[..text.len() - left], scratch)? {
        ExprValue::Scratch { start, end } => Some(ExprValue::Scratch { start, end }),
        _ => None,
    }
}

/// Writes the uuid in lower case, with the usual hyphens.
fn uuid_to_text<'a>(value: ExprValue<'_>, scratch: &mut Vec<u8>) -> Option<ExprValue<'a>> {
    let ExprValue::Uuid(value) = value else { return None };
    scratch.clear();
    for (index, byte) in value.to_be_bytes().into_iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            scratch.push(b'-');
        }
        scratch.extend([byte >> 4, byte & 15].map(|digit| b"0123456789abcdef"[usize::from(digit)]));
    }
    Some(ExprValue::from_scratch(scratch))
}

/// Rounds to a real; `None` if a finite number would become infinite, or a nonzero number zero.
fn narrow(value: f64) -> Option<i64> {
    let narrow = value as f32;
    let overflow = narrow.is_infinite() && !value.is_infinite();
    let underflow = narrow == 0.0 && value != 0.0;
    (!overflow && !underflow).then(|| float::sortable(narrow.into()))
}

fn round(value: f64, to: &KeyType) -> Option<i64> {
    let (min, _) = limits(to)?;
    let value = value.round_ties_even();
    let fits = value >= min as f64 && value < -(min as f64);
    fits.then_some(value as i64)
}

fn finite(usecs: i64) -> Option<i64> {
    (usecs != i64::MIN && usecs != i64::MAX).then_some(usecs)
}

fn date_to_timestamp(days: i64) -> Option<i64> {
    match i32::try_from(days).ok()? {
        i32::MIN => Some(i64::MIN),
        i32::MAX => Some(i64::MAX),
        days => i64::from(days).checked_mul(USECS_PER_DAY),
    }
}

fn timestamp_to_date(usecs: i64) -> Option<i64> {
    Some(match usecs {
        i64::MIN => i32::MIN.into(),
        i64::MAX => i32::MAX.into(),
        usecs => usecs.div_euclid(USECS_PER_DAY),
    })
}
