//! Checks whether a column can hold a value, and converts it. A value that would change is rejected, or rounded
//! if the column rounds.

use std::str::FromStr;

use arrow_schema::TimeUnit;

use crate::decimal::Decimal;
use crate::inexact::{DeclaredScale, Inexact, Precision};
use crate::json;
use crate::scalar;
use crate::source::{ArrowValue, Source};
use crate::spell;
use crate::time::{self, MICROS_PER_DAY, Misses};
use crate::writer::{ColumnWriter, Interval, SpelledType, ValueError, ValueResult, ValueSink};

/// Writes a value that is not NULL. It comes from row `row` of the array `source`.
#[inline]
pub(crate) fn put<S: ValueSink>(
    writer: &ColumnWriter,
    value: ArrowValue<'_, '_>,
    source: &Source<'_>,
    row: usize,
    sink: &mut S,
) -> ValueResult {
    match (writer, value) {
        (ColumnWriter::Spelled(ty), ArrowValue::Text(text)) => put_spelled(text, ty, sink)?,
        (ColumnWriter::Int4, value) => sink.int4(int(&value, "integer")?),
        (ColumnWriter::Int8, value) => sink.int8(int(&value, "bigint")?),
        (ColumnWriter::Numeric { scale }, ArrowValue::Decimal(digits, places)) => {
            numeric(Decimal::new(digits, places), *scale, sink)?;
        }
        (ColumnWriter::Float8(_), ArrowValue::Float8(value)) => sink.float8(value),
        (ColumnWriter::Date, value) => sink.date(date(&value)?),
        (ColumnWriter::Timestamp(precision), value) => {
            sink.timestamp(timestamp(&value, *precision, "timestamp")?);
        }
        (ColumnWriter::Timestamptz(precision), value) => {
            sink.timestamptz(timestamp(&value, *precision, "timestamptz")?);
        }
        (writer, value) => return rare(writer, value, source, row, sink),
    }
    Ok(())
}

fn rare<S: ValueSink>(
    writer: &ColumnWriter,
    value: ArrowValue<'_, '_>,
    source: &Source<'_>,
    row: usize,
    sink: &mut S,
) -> ValueResult {
    match (writer, value) {
        (ColumnWriter::Bool, ArrowValue::Bool(value)) => sink.bool(value),
        (ColumnWriter::Int2, value) => sink.int2(int(&value, "smallint")?),
        (ColumnWriter::Oid, value) => sink.oid(int(&value, "oid")?),
        (ColumnWriter::Float4(inexact), value) => sink.float4(float4(&value, *inexact)?),
        (ColumnWriter::Float8(inexact), value) => sink.float8(float8(&value, *inexact)?),
        (ColumnWriter::Numeric { scale }, ArrowValue::Float4(value)) => {
            match float4_digits(value, *scale) {
                Some(decimal) => numeric(decimal, *scale, sink)?,
                None => sink.infinite(value.into()),
            }
        }
        (ColumnWriter::Numeric { scale }, ArrowValue::Float8(value)) => {
            match float8_digits(value, *scale) {
                Some(decimal) => numeric(decimal, *scale, sink)?,
                None => sink.infinite(value),
            }
        }
        (ColumnWriter::Numeric { scale }, ArrowValue::Wide(digits, places)) => {
            numeric(Decimal::wide(*digits, places), *scale, sink)?;
        }
        (ColumnWriter::Numeric { scale }, ArrowValue::Int(value)) => {
            numeric(Decimal::new(value, 0), *scale, sink)?;
        }
        (ColumnWriter::Numeric { scale }, ArrowValue::Unsigned(value)) => {
            numeric(Decimal::new(value, 0), *scale, sink)?;
        }
        (ColumnWriter::Text, value) => {
            sink.text(|out| scalar::put(&value, source.extension, out))?
        }
        (ColumnWriter::Utf8(ty), ArrowValue::Bytes(bytes)) => match str::from_utf8(bytes) {
            Ok(text) => put_spelled(text, ty, sink)?,
            Err(_) => return unfit("is not valid UTF-8, which text requires".to_owned()),
        },
        (ColumnWriter::Bytea, ArrowValue::Bytes(bytes)) => sink.bytea(bytes)?,
        (ColumnWriter::Uuid, ArrowValue::Bytes(bytes)) => match bytes.try_into() {
            Ok(bytes) => sink.uuid(bytes),
            Err(_) => return unfit("is not a uuid (16 bytes expected)".to_owned()),
        },
        (ColumnWriter::Time(precision), ArrowValue::Time(ticks, unit)) => {
            sink.time(time_of_day(ticks, unit, *precision)?);
        }
        (ColumnWriter::Interval(precision), value) => {
            let mut value = interval(&value, precision.inexact)?;
            let time = ArrowValue::Time(value.micros, TimeUnit::Microsecond);
            value.micros = precise(value.micros, *precision, &time, "interval")?;
            sink.interval(&value);
        }
        (ColumnWriter::Json(jsonb), _) => sink.json(*jsonb, |out| json::put(source, row, out))?,
        (ColumnWriter::Array(ty), ArrowValue::List(items)) => sink.array(ty, items)?,
        (ColumnWriter::Composite(ty), ArrowValue::Struct(row)) => sink.composite(ty, row)?,
        (_, value) => return Err(strange(&value)),
    }
    Ok(())
}

#[inline]
fn put_spelled<S: ValueSink>(text: &str, ty: &SpelledType, sink: &mut S) -> ValueResult {
    if text.len() > ty.max {
        return unfit(format!(
            "has {} bytes, but {} holds at most {}",
            text.len(),
            ty.name,
            ty.max
        ));
    }
    sink.put_spelled(text, ty)
}

/// Returns the error for a string with a zero byte, which the server's strings cannot contain.
#[cold]
pub(crate) fn has_zero() -> ValueError {
    ValueError::Unfit("has a zero byte, which text in PostgreSQL cannot contain".to_owned())
}

#[inline]
fn int<T: TryFrom<i64> + TryFrom<i128>>(value: &ArrowValue<'_, '_>, ty: &str) -> ValueResult<T> {
    let fits = match *value {
        ArrowValue::Int(value) => T::try_from(value).ok(),
        _ => integral(value)?.and_then(|value| T::try_from(value).ok()),
    };
    fits.ok_or_else(|| out_of_range(value, ty))
}

#[inline(never)]
fn integral(value: &ArrowValue<'_, '_>) -> ValueResult<Option<i128>> {
    // An i128 holds every integer in PostgreSQL's range exactly; larger numbers stay out of range.
    let of_float =
        |value: f64| (value.trunc() == value && value.is_finite()).then_some(value as i128);
    Ok(match *value {
        ArrowValue::Unsigned(value) => Some(value.into()),
        ArrowValue::Float4(value) => of_float(value.into()),
        ArrowValue::Float8(value) => of_float(value),
        ArrowValue::Decimal(digits, scale) => Decimal::new(digits, scale).to_int(),
        ArrowValue::Wide(digits, scale) => Decimal::wide(*digits, scale).to_int(),
        _ => return Err(strange(value)),
    })
}

fn float8(value: &ArrowValue<'_, '_>, inexact: Inexact) -> ValueResult<f64> {
    let exact =
        |whole: i128| (inexact.rounds() || whole as f64 as i128 == whole).then_some(whole as f64);
    let exact = match *value {
        ArrowValue::Float4(value) => Some(value.into()),
        ArrowValue::Float8(value) => Some(value),
        ArrowValue::Int(value) => exact(value.into()),
        ArrowValue::Unsigned(value) => exact(value.into()),
        _ => return float_of_decimal(value, "double precision"),
    };
    exact.ok_or_else(|| rounded(value, "double precision"))
}

fn float4(value: &ArrowValue<'_, '_>, inexact: Inexact) -> ValueResult<f32> {
    let exact =
        |whole: i128| (inexact.rounds() || whole as f32 as i128 == whole).then_some(whole as f32);
    let exact = match *value {
        ArrowValue::Float4(value) => Some(value),
        ArrowValue::Float8(number) => {
            return nearest(number).ok_or_else(|| out_of_float(value, "real"));
        }
        ArrowValue::Int(value) => exact(value.into()),
        ArrowValue::Unsigned(value) => exact(value.into()),
        _ => return float_of_decimal(value, "real"),
    };
    exact.ok_or_else(|| rounded(value, "real"))
}

/// Returns the floating-point number nearest to a decimal, as the server reads it: `float8in_internal` and
/// `float4in`, `src/backend/utils/adt/float.c`, PostgreSQL 13 to 18.
fn float_of_decimal<F: FromStr + Copy + Into<f64>>(
    value: &ArrowValue<'_, '_>,
    ty: &str,
) -> ValueResult<F> {
    let decimal = match *value {
        ArrowValue::Decimal(digits, scale) => Decimal::new(digits, scale),
        ArrowValue::Wide(digits, scale) => Decimal::wide(*digits, scale),
        _ => return Err(strange(value)),
    };
    let nearest = spell::to_text(|out| spell::decimal(&decimal, out)).parse::<F>().ok();
    let is_near = |number: &F| {
        let wide: f64 = (*number).into();
        wide.is_finite() && (wide == 0.0) == decimal.is_zero()
    };
    nearest.filter(is_near).ok_or_else(|| out_of_float(value, ty))
}

/// Returns the nearest number of single precision; `None` if the server's cast overflows or underflows: `dtof`,
/// `src/backend/utils/adt/float.c`, PostgreSQL 13 to 18.
fn nearest(value: f64) -> Option<f32> {
    let narrow = value as f32;
    let is_lost = narrow.is_infinite() != value.is_infinite() || (narrow == 0.0) != (value == 0.0);
    (!is_lost).then_some(narrow)
}

fn float4_digits(value: f32, scale: DeclaredScale) -> Option<Decimal> {
    let rounds = scale.inexact.rounds();
    if rounds { Decimal::even_of_float4(value) } else { Decimal::from_float4(value) }
}

fn float8_digits(value: f64, scale: DeclaredScale) -> Option<Decimal> {
    let rounds = scale.inexact.rounds();
    if rounds { Decimal::even_of_float8(value) } else { Decimal::from_float8(value) }
}

#[inline]
fn numeric<S: ValueSink>(value: Decimal, scale: DeclaredScale, sink: &mut S) -> ValueResult {
    match scale.digits {
        Some(digits) if !value.fits(digits) => {
            if scale.inexact.rounds() {
                sink.numeric(&value.round(digits));
                return Ok(());
            }
            let spelled = spell::to_text(|out| spell::decimal(&value, out));
            Err(ValueError::Inexact(format!(
                "{spelled} has more digits than the column's scale of {digits} allows"
            )))
        }
        _ => {
            sink.numeric(&value);
            Ok(())
        }
    }
}

/// Converts a value to the days of a date.
#[inline]
fn date(value: &ArrowValue<'_, '_>) -> ValueResult<i32> {
    match *value {
        ArrowValue::Date(days) if time::is_date(days.into()) => Ok(days),
        ArrowValue::Date(_) => Err(out_of_range(value, "date")),
        _ => date_of_time(value),
    }
}

fn date_of_time(value: &ArrowValue<'_, '_>) -> ValueResult<i32> {
    let (seconds, nanos) = match *value {
        ArrowValue::DateMillis(millis) => time::seconds(millis, TimeUnit::Millisecond),
        ArrowValue::Timestamp(ticks, unit, _) => time::seconds(ticks, unit),
        _ => return Err(strange(value)),
    };
    if nanos > 0 || seconds % 86_400 != 0 {
        return unfit(format!("{} has a time, which date cannot hold", describe(value)));
    }
    let days = i32::try_from(seconds / 86_400).ok().filter(|&days| time::is_date(days.into()));
    days.ok_or_else(|| out_of_range(value, "date"))
}

/// Converts a value to the microseconds of a timestamp.
#[inline]
fn timestamp(value: &ArrowValue<'_, '_>, precision: Precision, ty: &str) -> ValueResult<i64> {
    let micros = match *value {
        ArrowValue::Timestamp(ticks, unit, _) => time::timestamp(ticks, unit),
        ArrowValue::Date(days) => time::midnight(days.into()),
        ArrowValue::DateMillis(millis) => time::timestamp(millis, TimeUnit::Millisecond),
        _ => return Err(strange(value)),
    };
    let micros = match (micros, value) {
        (Err(Misses::Nanos), ArrowValue::Timestamp(ticks, ..)) if precision.inexact.rounds() => {
            time::round_timestamp(*ticks)
        }
        (Err(Misses::Nanos), _) => return Err(too_fine(value, ty)),
        (Err(Misses::Range), _) => return Err(out_of_range(value, ty)),
        (Ok(micros), _) => micros,
    };
    let micros = precise(micros, precision, value, ty)?;
    if time::is_timestamp(micros) { Ok(micros) } else { Err(out_of_range(value, ty)) }
}

/// Converts ticks to the microseconds of a time of day.
fn time_of_day(ticks: i64, unit: TimeUnit, precision: Precision) -> ValueResult<i64> {
    let micros = match time::micros(ticks, unit) {
        Err(Misses::Nanos) if precision.inexact.rounds() && ticks < 0 => Err(Misses::Range),
        Err(Misses::Nanos) if precision.inexact.rounds() => Ok(time::round_nanos(ticks)),
        micros => micros,
    };
    let micros = micros.map_err(|why| missed(why, ticks, "time"))?;
    if !(0..=MICROS_PER_DAY).contains(&micros) {
        return Err(missed(Misses::Range, ticks, "time"));
    }
    precise(micros, precision, &ArrowValue::Time(micros, TimeUnit::Microsecond), "time")
}

/// Reduces the microseconds to the column's precision, or fails; `value` is their source, for messages.
#[inline]
fn precise(
    micros: i64,
    precision: Precision,
    value: &ArrowValue<'_, '_>,
    ty: &str,
) -> ValueResult<i64> {
    if time::is_within(micros, precision.digits) {
        return Ok(micros);
    }
    match precision.inexact {
        Inexact::Refuse => Err(too_precise(value, precision.digits, ty)),
        Inexact::Round => {
            time::round(micros, precision.digits).ok_or_else(|| out_of_range(value, ty))
        }
    }
}

/// Converts a value to the fields of an interval.
pub(crate) fn interval(value: &ArrowValue<'_, '_>, inexact: Inexact) -> ValueResult<Interval> {
    let nano = TimeUnit::Nanosecond;
    let (months, days, (ticks, unit)) = match *value {
        ArrowValue::Duration(ticks, unit) => (0, 0, (ticks, unit)),
        ArrowValue::Interval { months, days, nanos } => (months, days, (nanos, nano)),
        _ => return Err(strange(value)),
    };
    let micros = match time::micros(ticks, unit) {
        Err(Misses::Nanos) if inexact.rounds() => Ok(time::round_span(ticks)),
        micros => micros,
    };
    let micros = micros.map_err(|why| missed(why, ticks, "interval"))?;
    // From PostgreSQL 17 on these represent infinity: `INTERVAL_NOBEGIN`, `src/include/datatype/timestamp.h`.
    if [(i32::MIN, i32::MIN, i64::MIN), (i32::MAX, i32::MAX, i64::MAX)]
        .contains(&(months, days, micros))
    {
        return Err(missed(Misses::Range, ticks, "interval"));
    }
    Ok(Interval { months, days, micros })
}

fn unfit<T>(why: String) -> ValueResult<T> {
    Err(ValueError::Unfit(why))
}

#[cold]
fn missed(why: Misses, ticks: i64, ty: &str) -> ValueError {
    match why {
        Misses::Nanos => {
            ValueError::Inexact(format!("{ticks} ns has nanoseconds, which {ty} cannot hold"))
        }
        Misses::Range => ValueError::Unfit(format!("{ticks} is out of range for {ty}")),
    }
}

#[cold]
fn too_fine(value: &ArrowValue<'_, '_>, ty: &str) -> ValueError {
    ValueError::Inexact(format!("{} has nanoseconds, which {ty} cannot hold", describe(value)))
}

#[cold]
fn too_precise(value: &ArrowValue<'_, '_>, precision: Option<u8>, ty: &str) -> ValueError {
    let digits = precision.unwrap_or(6);
    ValueError::Inexact(format!("{} has more digits than {ty}({digits}) can hold", describe(value)))
}

#[cold]
fn rounded(value: &ArrowValue<'_, '_>, ty: &str) -> ValueError {
    ValueError::Inexact(format!("{} cannot be represented exactly in {ty}", describe(value)))
}

#[cold]
fn out_of_float(value: &ArrowValue<'_, '_>, ty: &str) -> ValueError {
    ValueError::Unfit(format!("{} is out of range for {ty}", describe(value)))
}

#[cold]
fn out_of_range(value: &ArrowValue<'_, '_>, ty: &str) -> ValueError {
    let whole = match value {
        ArrowValue::Float4(value) => value.fract() == 0.0,
        ArrowValue::Float8(value) => value.fract() == 0.0,
        ArrowValue::Decimal(digits, scale) => Decimal::new(*digits, *scale).fits(0),
        ArrowValue::Wide(digits, scale) => Decimal::wide(**digits, *scale).fits(0),
        _ => true,
    };
    let why =
        if whole { format!("is out of range for {ty}") } else { "is not an integer".to_owned() };
    ValueError::Unfit(format!("{} {why}", describe(value)))
}

/// Returns the error for an unexpected value: the array does not match its type.
#[cold]
pub(crate) fn strange(value: &ArrowValue<'_, '_>) -> ValueError {
    ValueError::Unfit(match value {
        ArrowValue::Broken => "is missing: the array is damaged".to_owned(),
        _ => "does not have the type of its column".to_owned(),
    })
}

/// Formats a value for messages.
fn describe(value: &ArrowValue<'_, '_>) -> String {
    // A value that cannot be formatted is left out.
    spell::to_text(|out| drop(scalar::put(value, crate::extension::Extension::None, out)))
}
