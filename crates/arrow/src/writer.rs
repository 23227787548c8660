//! The kinds of value that columns accept, and the interface of the two writers.

use pgsluice_core::types::Codec;

use crate::array::ArrayOf;
use crate::composite::CompositeOf;
use crate::decimal::Decimal;
use crate::inexact::{DeclaredScale, Inexact, Precision};
use crate::source::{Items, Row};

/// The kind of value that a column accepts, chosen by its type.
#[derive(Debug)]
pub(crate) enum ColumnWriter {
    /// Only NULL.
    Null,
    /// A string, which spells the value.
    Spelled(SpelledType),
    /// Bytes that are such a string, if they are valid UTF-8.
    Utf8(SpelledType),
    /// Any scalar, as text.
    Text,
    Bool,
    Int2,
    Int4,
    Int8,
    Oid,
    Float4(Inexact),
    Float8(Inexact),
    Numeric {
        scale: DeclaredScale,
    },
    Bytea,
    Uuid,
    Date,
    Time(Precision),
    Timestamp(Precision),
    Timestamptz(Precision),
    Interval(Precision),
    /// Any value as JSON; whether it is `jsonb`.
    Json(bool),
    Array(Box<ArrayOf>),
    Composite(Box<CompositeOf>),
}

/// A type that is written from strings.
#[derive(Debug)]
pub(crate) struct SpelledType {
    /// Its codec for COPY BINARY, if it has one.
    pub(crate) codec: Option<Codec>,
    /// The maximum length in bytes; the type's input function truncates longer values.
    pub(crate) max: usize,
    /// The name of the type.
    pub(crate) name: String,
}

/// The reason why a value is not written.
#[derive(Debug)]
pub(crate) enum ValueError {
    Unfit(String),
    /// The column could hold the value after rounding.
    Inexact(String),
    /// Only the server can interpret the string.
    Spelling,
}

impl ValueError {
    /// Returns the failure for a column that does not round.
    pub(crate) fn for_good(self) -> Self {
        match self {
            Self::Inexact(why) => Self::Unfit(why),
            other => other,
        }
    }
}

pub(crate) type ValueResult<T = ()> = Result<T, ValueError>;

/// A writer of values that are not NULL and are known to fit.
pub(crate) trait ValueSink: Sized {
    fn bool(&mut self, value: bool);
    fn int2(&mut self, value: i16);
    fn int4(&mut self, value: i32);
    fn int8(&mut self, value: i64);
    fn oid(&mut self, value: u32);
    fn float4(&mut self, value: f32);
    fn float8(&mut self, value: f64);
    fn numeric(&mut self, value: &Decimal);
    /// Writes a number that is not finite.
    fn infinite(&mut self, value: f64);
    fn put_spelled(&mut self, text: &str, ty: &SpelledType) -> ValueResult;
    /// Writes the text that `spell` appends.
    fn text(&mut self, spell: impl FnOnce(&mut Vec<u8>) -> ValueResult) -> ValueResult;
    fn bytea(&mut self, value: &[u8]) -> ValueResult;
    fn uuid(&mut self, value: [u8; 16]);
    /// Writes a date, in days from 1970-01-01.
    fn date(&mut self, days: i32);
    /// Writes a time, in microseconds from midnight.
    fn time(&mut self, micros: i64);
    /// Writes a timestamp, in microseconds from 2000-01-01.
    fn timestamp(&mut self, micros: i64);
    /// Writes a timestamp with time zone, in microseconds from 2000-01-01 UTC.
    fn timestamptz(&mut self, micros: i64);
    fn interval(&mut self, value: &Interval);
    /// Writes the JSON that `write` appends.
    fn json(&mut self, jsonb: bool, write: impl FnOnce(&mut Vec<u8>) -> ValueResult)
    -> ValueResult;
    fn array(&mut self, ty: &ArrayOf, items: Items<'_, '_>) -> ValueResult;
    fn composite(&mut self, ty: &CompositeOf, row: Row<'_, '_>) -> ValueResult;
}

/// The fields of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) months: i32,
    pub(crate) days: i32,
    pub(crate) micros: i64,
}

impl ColumnWriter {
    /// Returns the name of a type within this one that cannot be written in COPY BINARY.
    pub(crate) fn only_text(&self) -> Option<&str> {
        match self {
            Self::Spelled(ty) | Self::Utf8(ty) => ty.codec.is_none().then_some(&ty.name),
            Self::Array(array) => array.element.only_text(),
            Self::Composite(composite) => {
                composite.columns.iter().find_map(|column| column.writer.only_text())
            }
            _ => None,
        }
    }
}
