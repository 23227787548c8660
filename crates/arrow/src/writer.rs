//! What is written into a column, and the two ways to write it.

use pgsluice_core::types::Codec;

use crate::array::ArrayOf;
use crate::composite::CompositeOf;
use crate::decimal::Decimal;
use crate::inexact::{DeclaredScale, Inexact, Precision};
use crate::source::{Items, Row};

/// What a column takes, chosen by its type.
#[derive(Debug)]
pub(crate) enum ColumnWriter {
    /// Nothing but NULL.
    Null,
    /// A string, which spells the value.
    Spelled(SpelledType),
    /// Bytes that are such a string if they are valid UTF-8.
    Utf8(SpelledType),
    /// Any scalar, as it is spelled.
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
    /// How it is written in COPY BINARY, if it can be.
    pub(crate) codec: Option<Codec>,
    /// The bytes that the type holds; its input function cuts off what is behind them.
    pub(crate) most: usize,
    /// The name of the type.
    pub(crate) name: String,
}

/// Why a value is not written.
#[derive(Debug)]
pub(crate) enum Fail {
    Unfit(String),
    /// The column could hold the value if that were rounded.
    Inexact(String),
    /// What the string means is for the server to say.
    Spelling,
}

impl Fail {
    /// Returns the same for a column that does not round.
    pub(crate) fn for_good(self) -> Self {
        match self {
            Self::Inexact(why) => Self::Unfit(why),
            other => other,
        }
    }
}

pub(crate) type Written = Result<(), Fail>;

/// A way to write values that are not NULL and are known to fit.
pub(crate) trait ValueSink: Sized {
    fn bool(&mut self, value: bool);
    fn int2(&mut self, value: i16);
    fn int4(&mut self, value: i32);
    fn int8(&mut self, value: i64);
    fn oid(&mut self, value: u32);
    fn float4(&mut self, value: f32);
    fn float8(&mut self, value: f64);
    fn numeric(&mut self, value: &Decimal);
    /// A number that is not finite.
    fn infinite(&mut self, value: f64);
    fn spelled(&mut self, text: &str, ty: &SpelledType) -> Written;
    /// The text that `spell` appends.
    fn text(&mut self, spell: impl FnOnce(&mut Vec<u8>) -> Written) -> Written;
    fn bytea(&mut self, value: &[u8]) -> Written;
    fn uuid(&mut self, value: [u8; 16]);
    /// Days from 1970-01-01.
    fn date(&mut self, days: i32);
    /// Microseconds from midnight.
    fn time(&mut self, micros: i64);
    /// Microseconds from 2000-01-01.
    fn timestamp(&mut self, micros: i64);
    /// The same, in UTC.
    fn timestamptz(&mut self, micros: i64);
    fn interval(&mut self, value: &Interval);
    /// The JSON that `write` appends.
    fn json(&mut self, jsonb: bool, write: impl FnOnce(&mut Vec<u8>) -> Written) -> Written;
    fn array(&mut self, ty: &ArrayOf, items: Items<'_, '_>) -> Written;
    fn composite(&mut self, ty: &CompositeOf, row: Row<'_, '_>) -> Written;
}

/// The fields of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Interval {
    pub(crate) months: i32,
    pub(crate) days: i32,
    pub(crate) micros: i64,
}

impl ColumnWriter {
    /// The name of a type in it that has no form in COPY BINARY here.
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
