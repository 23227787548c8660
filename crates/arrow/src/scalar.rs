//! Scalars as text without loss: for text columns, for JSON and for messages.

use crate::decimal::Decimal;
use crate::extension::Extension;
use crate::fit;
use crate::inexact::Inexact;
use crate::source::ArrowValue;
use crate::spell;
use crate::time;
use crate::writer::{ValueError, ValueResult};

/// Appends a scalar for a text column, without loss.
pub(crate) fn put(
    value: &ArrowValue<'_, '_>,
    extension: Extension,
    out: &mut Vec<u8>,
) -> ValueResult {
    match *value {
        ArrowValue::Bool(value) => spell::bool(value, out),
        ArrowValue::Int(value) => spell::int(value, out),
        ArrowValue::Unsigned(value) => spell::int(value, out),
        ArrowValue::Float4(value) => spell::float4(value, out),
        ArrowValue::Float8(value) => spell::float8(value, out),
        ArrowValue::Decimal(digits, scale) => spell::decimal(&Decimal::new(digits, scale), out),
        ArrowValue::Wide(digits, scale) => spell::decimal(&Decimal::wide(*digits, scale), out),
        ArrowValue::Text(text) => string(text, out)?,
        ArrowValue::Bytes(bytes) if extension == Extension::Uuid => match bytes.try_into() {
            Ok(bytes) => spell::uuid(bytes, out),
            Err(_) => return Err(fit::strange(value)),
        },
        _ => time(value, b' ', out)?,
    }
    Ok(())
}

/// Appends a date or time. `between` separates the date from the time.
pub(crate) fn time(value: &ArrowValue<'_, '_>, between: u8, out: &mut Vec<u8>) -> ValueResult {
    match *value {
        ArrowValue::Date(days) => spell::date(days.into(), out),
        ArrowValue::DateMillis(millis) => {
            let (seconds, nanos) = time::seconds(millis, arrow_schema::TimeUnit::Millisecond);
            if nanos == 0 && seconds % 86_400 == 0 {
                spell::date(seconds / 86_400, out);
            } else {
                spell::timestamp((seconds, nanos), between, false, out);
            }
        }
        ArrowValue::Time(ticks, unit) => match time::seconds(ticks, unit) {
            (seconds @ 0..86_400, nanos) | (seconds @ 86_400, nanos @ 0) => {
                spell::time(seconds, nanos, out);
            }
            _ => return Err(ValueError::Unfit(format!("{ticks} is not a time of day"))),
        },
        ArrowValue::Timestamp(ticks, unit, zoned) => {
            spell::timestamp(time::seconds(ticks, unit), between, zoned, out);
        }
        ArrowValue::Duration(..) | ArrowValue::Interval { .. } => {
            // Text keeps all digits, so nothing is rounded.
            let fields = fit::interval(value, Inexact::Refuse).map_err(ValueError::for_good)?;
            spell::interval(&fields, out);
        }
        _ => return Err(fit::strange(value)),
    }
    Ok(())
}

/// Appends a string.
pub(crate) fn string(text: &str, out: &mut Vec<u8>) -> ValueResult {
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return Err(fit::has_zero());
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}
