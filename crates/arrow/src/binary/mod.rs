//! Values in COPY BINARY, the input of each type's receive function.

mod numeric;

use pgsluice_core::types::wire;

use crate::array::{self, ArrayOf};
use crate::composite::CompositeOf;
use crate::decimal::Decimal;
use crate::fit;
use crate::source::{ArrowValue, Items, Row, Source};
use crate::time::EPOCH_DAYS;
use crate::writer::{ColumnWriter, Interval, SpelledType, ValueError, ValueResult, ValueSink};

/// `JSONB_VERSION_NUMBER` as `jsonb_send` writes it, `src/backend/utils/adt/jsonb.c`, PostgreSQL 13 to 18.
const JSONB_VERSION: u8 = 1;

/// Appends a field of a row: its length, or -1 for NULL, and the value.
#[inline]
pub(crate) fn field(
    writer: &ColumnWriter,
    source: &Source<'_>,
    row: usize,
    out: &mut Vec<u8>,
) -> ValueResult {
    match source.value(row) {
        ArrowValue::Null => {
            wire::put_null(out);
            Ok(())
        }
        value => fit::put(writer, value, source, row, &mut Binary(out)),
    }
}

/// A sink that writes fields with their lengths.
struct Binary<'o>(&'o mut Vec<u8>);

impl ValueSink for Binary<'_> {
    fn bool(&mut self, value: bool) {
        wire::put1(value.into(), self.0);
    }

    fn int2(&mut self, value: i16) {
        wire::put2(value as u16, self.0);
    }

    #[inline]
    fn int4(&mut self, value: i32) {
        wire::put4(value as u32, self.0);
    }

    #[inline]
    fn int8(&mut self, value: i64) {
        wire::put8(value as u64, self.0);
    }

    fn oid(&mut self, value: u32) {
        wire::put4(value, self.0);
    }

    fn float4(&mut self, value: f32) {
        // The NaN that the server produces: `get_float4_nan`, `src/include/utils/float.h`.
        wire::put4(if value.is_nan() { 0x7FC0_0000 } else { value.to_bits() }, self.0);
    }

    #[inline]
    fn float8(&mut self, value: f64) {
        wire::put8(if value.is_nan() { 0x7FF8 << 48 } else { value.to_bits() }, self.0);
    }

    #[inline]
    fn numeric(&mut self, value: &Decimal) {
        numeric::put(value, self.0);
    }

    fn infinite(&mut self, value: f64) {
        numeric::put_infinite(value, self.0);
    }

    #[inline]
    fn put_spelled(&mut self, text: &str, ty: &SpelledType) -> ValueResult {
        let written = ty.codec.as_ref().and_then(|codec| codec.encode(text.as_bytes(), self.0));
        written.ok_or_else(|| unspelled(text))
    }

    fn text(&mut self, spell: impl FnOnce(&mut Vec<u8>) -> ValueResult) -> ValueResult {
        put_with(self.0, spell)
    }

    fn bytea(&mut self, value: &[u8]) -> ValueResult {
        wire::put_bytes(value, self.0).ok_or(ValueError::Spelling)
    }

    fn uuid(&mut self, value: [u8; 16]) {
        wire::put16(u128::from_be_bytes(value), self.0);
    }

    #[inline]
    fn date(&mut self, days: i32) {
        // The server's range of dates is far from overflowing here.
        wire::put4((i64::from(days) - EPOCH_DAYS) as u32, self.0);
    }

    fn time(&mut self, micros: i64) {
        wire::put8(micros as u64, self.0);
    }

    #[inline]
    fn timestamp(&mut self, micros: i64) {
        wire::put8(micros as u64, self.0);
    }

    #[inline]
    fn timestamptz(&mut self, micros: i64) {
        self.timestamp(micros);
    }

    fn interval(&mut self, value: &Interval) {
        let [months, days] = [value.months, value.days].map(|number| u128::from(number as u32));
        wire::put16(u128::from(value.micros as u64) << 64 | days << 32 | months, self.0);
    }

    fn json(
        &mut self,
        jsonb: bool,
        write: impl FnOnce(&mut Vec<u8>) -> ValueResult,
    ) -> ValueResult {
        put_with(self.0, |out| {
            if jsonb {
                out.push(JSONB_VERSION);
            }
            write(out)
        })
    }

    /// Follows `array_recv`, `src/backend/utils/adt/arrayfuncs.c`, PostgreSQL 13 to 18.
    fn array(&mut self, ty: &ArrayOf, items: Items<'_, '_>) -> ValueResult {
        let lengths = ty.lengths(items)?;
        put_with(self.0, |out| {
            let start = out.len();
            for word in [count(lengths.all().len())?, 0, ty.oid] {
                out.extend_from_slice(&word.to_be_bytes());
            }
            for &length in lengths.all() {
                let first: u32 = 1;
                out.extend_from_slice(&count(length)?.to_be_bytes());
                out.extend_from_slice(&first.to_be_bytes());
            }
            let has_nulls = elements(ty, items, 1, out)?;
            out[start + 7] = has_nulls.into();
            Ok(())
        })
    }

    /// Follows `record_recv`, `src/backend/utils/adt/rowtypes.c`, PostgreSQL 13 to 18.
    fn composite(&mut self, ty: &CompositeOf, row: Row<'_, '_>) -> ValueResult {
        put_with(self.0, |out| {
            out.extend_from_slice(&count(ty.columns.len())?.to_be_bytes());
            ty.columns.iter().try_for_each(|column| {
                let (source, row) =
                    row.field(column.field).ok_or_else(|| fit::strange(&ArrowValue::Broken))?;
                out.extend_from_slice(&column.oid.to_be_bytes());
                field(&column.writer, source, row, out)
            })
        })
    }
}

/// Appends the elements of all dimensions. Returns whether any is NULL.
fn elements(
    ty: &ArrayOf,
    items: Items<'_, '_>,
    dimension: usize,
    out: &mut Vec<u8>,
) -> ValueResult<bool> {
    let mut has_nulls = false;
    for row in items.rows() {
        if dimension < ty.dimensions {
            let inner = array::list(items.source().value(row))?;
            has_nulls |= elements(ty, inner, dimension + 1, out)?;
        } else {
            has_nulls |= items.source().is_null(row);
            field(&ty.element, items.source(), row, out)?;
        }
    }
    Ok(has_nulls)
}

/// Converts a number of elements or columns. A number that does not fit is too large for the server.
fn count(number: usize) -> ValueResult<u32> {
    u32::try_from(number).map_err(|_| ValueError::Spelling)
}

/// Appends the value that `write` appends, with its length.
fn put_with(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>) -> ValueResult) -> ValueResult {
    let mut written = Ok(());
    let put = wire::put_with(out, |out| {
        written = write(out);
        written.is_ok().then_some(())
    });
    written?;
    // The value is too long for the server.
    put.ok_or(ValueError::Spelling)
}

/// Returns the reason why a codec rejects a text.
#[cold]
fn unspelled(text: &str) -> ValueError {
    if memchr::memchr(0, text.as_bytes()).is_some() {
        fit::has_zero()
    } else {
        ValueError::Spelling
    }
}
