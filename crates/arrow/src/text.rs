//! Values as text: a spelling that the input function of the type reads as exactly the value.

use crate::array::{self, ArrayOf};
use crate::composite::CompositeOf;
use crate::decimal::Decimal;
use crate::fit;
use crate::quote;
use crate::scalar;
use crate::source::{ArrowValue, Items, Row, Source};
use crate::spell;
use crate::time;
use crate::writer::{ColumnWriter, Interval, SpelledType, ValueResult, ValueSink};

/// Appends a field of a row in COPY text.
pub(crate) fn field(
    writer: &ColumnWriter,
    source: &Source<'_>,
    row: usize,
    out: &mut Vec<u8>,
) -> ValueResult {
    let start = out.len();
    match source.value(row) {
        ArrowValue::Null => out.extend_from_slice(b"\\N"),
        value => {
            fit::put(writer, value, source, row, &mut TextSink(out))?;
            if !is_plain(writer) {
                quote::escape(start, out);
            }
        }
    }
    Ok(())
}

/// Whether no spelling contains characters that must be escaped.
fn is_plain(writer: &ColumnWriter) -> bool {
    !matches!(
        writer,
        ColumnWriter::Spelled(_)
            | ColumnWriter::Utf8(_)
            | ColumnWriter::Text
            | ColumnWriter::Bytea
            | ColumnWriter::Json(_)
            | ColumnWriter::Array(_)
            | ColumnWriter::Composite(_)
    )
}

/// A sink that writes spellings without escapes.
struct TextSink<'o>(&'o mut Vec<u8>);

impl ValueSink for TextSink<'_> {
    fn bool(&mut self, value: bool) {
        spell::bool(value, self.0);
    }

    fn int2(&mut self, value: i16) {
        spell::int(value, self.0);
    }

    fn int4(&mut self, value: i32) {
        spell::int(value, self.0);
    }

    fn int8(&mut self, value: i64) {
        spell::int(value, self.0);
    }

    fn oid(&mut self, value: u32) {
        spell::int(value, self.0);
    }

    fn float4(&mut self, value: f32) {
        spell::float4(value, self.0);
    }

    fn float8(&mut self, value: f64) {
        spell::float8(value, self.0);
    }

    fn numeric(&mut self, value: &Decimal) {
        spell::decimal(value, self.0);
    }

    fn infinite(&mut self, value: f64) {
        spell::infinite(value, self.0);
    }

    fn put_spelled(&mut self, text: &str, _: &SpelledType) -> ValueResult {
        scalar::string(text, self.0)
    }

    fn text(&mut self, spell: impl FnOnce(&mut Vec<u8>) -> ValueResult) -> ValueResult {
        spell(self.0)
    }

    fn bytea(&mut self, value: &[u8]) -> ValueResult {
        self.0.extend_from_slice(b"\\x");
        self.0.extend(value.iter().flat_map(|&byte| spell::hex(byte)));
        Ok(())
    }

    fn uuid(&mut self, value: [u8; 16]) {
        spell::uuid(value, self.0);
    }

    fn date(&mut self, days: i32) {
        spell::date(days.into(), self.0);
    }

    fn time(&mut self, micros: i64) {
        let (seconds, nanos) = seconds(micros);
        spell::time(seconds, nanos, self.0);
    }

    fn timestamp(&mut self, micros: i64) {
        spell::timestamp(from_2000(micros), b' ', false, self.0);
    }

    fn timestamptz(&mut self, micros: i64) {
        spell::timestamp(from_2000(micros), b' ', true, self.0);
    }

    fn interval(&mut self, value: &Interval) {
        spell::interval(value, self.0);
    }

    fn json(&mut self, _: bool, write: impl FnOnce(&mut Vec<u8>) -> ValueResult) -> ValueResult {
        write(self.0)
    }

    fn array(&mut self, ty: &ArrayOf, items: Items<'_, '_>) -> ValueResult {
        // Only the binary writer needs the lengths; here they are only checked.
        ty.lengths(items)?;
        self.list(ty, items, 1)
    }

    fn composite(&mut self, ty: &CompositeOf, row: Row<'_, '_>) -> ValueResult {
        for (place, column) in ty.columns.iter().enumerate() {
            self.0.push(if place == 0 { b'(' } else { b',' });
            let (source, row) =
                row.field(column.field).ok_or_else(|| fit::strange(&ArrowValue::Broken))?;
            // NULL is written as nothing.
            self.part(&column.writer, source, row, b"")?;
        }
        if ty.columns.is_empty() {
            self.0.push(b'(');
        }
        self.0.push(b')');
        Ok(())
    }
}

impl TextSink<'_> {
    fn list(&mut self, ty: &ArrayOf, items: Items<'_, '_>, dimension: usize) -> ValueResult {
        self.0.push(b'{');
        for (place, row) in items.rows().enumerate() {
            if place > 0 {
                self.0.push(ty.delimiter);
            }
            if dimension < ty.dimensions {
                self.list(ty, array::list(items.source().value(row))?, dimension + 1)?;
            } else {
                self.part(&ty.element, items.source(), row, b"NULL")?;
            }
        }
        self.0.push(b'}');
        Ok(())
    }

    /// Appends a value within another, quoted if necessary.
    fn part(
        &mut self,
        writer: &ColumnWriter,
        source: &Source<'_>,
        row: usize,
        null: &[u8],
    ) -> ValueResult {
        match source.value(row) {
            ArrowValue::Null => self.0.extend_from_slice(null),
            value => {
                let start = self.0.len();
                fit::put(writer, value, source, row, self)?;
                quote::quote(start, self.0);
            }
        }
        Ok(())
    }
}

fn seconds(micros: i64) -> (i64, u32) {
    time::seconds(micros, arrow_schema::TimeUnit::Microsecond)
}

/// Converts microseconds from 2000-01-01 to seconds from 1970-01-01, and nanoseconds.
fn from_2000(micros: i64) -> (i64, u32) {
    let (seconds, nanos) = seconds(micros);
    (seconds + time::EPOCH_DAYS * 86_400, nanos)
}
