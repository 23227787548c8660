//! Values during the evaluation of an expression. A substring stays in the row or in the scratch, without a copy.
//!
//! The scratch holds one value at a time: a function that stores text there overwrites the previous one. So no
//! function may keep one operand there while it evaluates another.

use std::ops::Range;

use crate::parse;
use crate::types::{Datum, KeyType};

/// A value that is not NULL.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExprValue<'a> {
    /// Like [`Datum::Int`].
    Int(i64),
    Uuid(u128),
    /// Bytes of the row, of its decoded fields, or of a constant.
    Given(&'a [u8]),
    /// Bytes in the scratch.
    Scratch {
        start: usize,
        end: usize,
    },
}

impl<'a> ExprValue<'a> {
    pub(super) fn int(self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(value),
            _ => None,
        }
    }

    pub(super) fn bytes<'s>(self, scratch: &'s [u8]) -> Option<&'s [u8]>
    where
        'a: 's,
    {
        match self {
            Self::Given(bytes) => Some(bytes),
            Self::Scratch { start, end } => scratch.get(start..end),
            _ => None,
        }
    }

    /// Returns the part at `range` of a text value; `range` must be within the text.
    pub(super) fn part(self, range: Range<usize>) -> Self {
        match self {
            Self::Given(bytes) => Self::Given(bytes.get(range).unwrap_or_default()),
            Self::Scratch { start, .. } => {
                Self::Scratch { start: start + range.start, end: start + range.end }
            }
            other => other,
        }
    }

    pub(super) fn into_datum(self, scratch: &'a [u8]) -> Datum<'a> {
        match self {
            Self::Int(value) => Datum::Int(value),
            Self::Uuid(value) => Datum::Uuid(value),
            Self::Given(bytes) => Datum::Bytes(bytes),
            Self::Scratch { start, end } => {
                Datum::Bytes(scratch.get(start..end).unwrap_or_default())
            }
        }
    }

    /// Converts a datum; returns `None` if expressions do not support its type.
    pub(super) fn from_datum(datum: Datum<'a>) -> Option<Self> {
        match datum {
            Datum::Int(value) => Some(Self::Int(value)),
            Datum::Uuid(value) => Some(Self::Uuid(value)),
            Datum::Bytes(bytes) => Some(Self::Given(bytes)),
            _ => None,
        }
    }

    /// Returns the text that `scratch` contains.
    pub(super) fn from_scratch(scratch: &[u8]) -> Self {
        Self::Scratch { start: 0, end: scratch.len() }
    }
}

/// Parses `text` as a value of the type `ty`; returns `None` if the value is not certain.
pub(super) fn read<'a>(
    ty: &KeyType,
    text: &'a [u8],
    scratch: &mut Vec<u8>,
) -> Option<ExprValue<'a>> {
    read_column(ty, parse::Value::Text(text), scratch)
}

/// Parses a column of the type `ty`; returns `None` if the value is not certain.
pub(super) fn read_column<'a>(
    ty: &KeyType,
    value: parse::Value<'a>,
    scratch: &mut Vec<u8>,
) -> Option<ExprValue<'a>> {
    let given = value.bytes()?;
    let length = match value.read(ty, scratch)? {
        Datum::Int(value) => return Some(ExprValue::Int(value)),
        Datum::Uuid(value) => return Some(ExprValue::Uuid(value)),
        Datum::Bytes(bytes) => bytes.len(),
        _ => return None,
    };
    Some(match ty {
        KeyType::Numeric { .. } => ExprValue::Scratch { start: 0, end: length },
        // Strings are their own text, except for trailing blanks.
        _ => ExprValue::Given(&given[..length]),
    })
}
