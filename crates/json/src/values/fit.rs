//! Writes a program's value for a column of some kind, or explains why it cannot.

use serde_json::value::RawValue;

use super::kind::ValueKind;
use super::tag::{Tag, Tagged};
use crate::string;

/// The reason why a column cannot hold a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueMisfit {
    /// The value, by its type.
    pub(crate) value: String,
    /// The loss, unless the types just differ.
    pub(crate) why: Option<&'static str>,
    /// The next step.
    pub(crate) hint: &'static str,
    /// Whether rounding would make it fit.
    pub(crate) can_round: bool,
}

const CONVERT: &str = "Convert it in the code that produces the rows, to a value of the column's \
                       type or to a str that PostgreSQL can read as one.";
const DECODE: &str = "Decode them in the code that produces the rows. bytea columns accept bytes; \
                      text and json columns accept them if they are valid UTF-8.";
const ROUND: &str = "Round it to microseconds in the code that produces the rows, or make the \
                     column text.";
const ZONE: &str = "Convert it in the code that produces the rows, with .astimezone() and \
                    .replace(tzinfo=None), or make the column timestamptz.";
const MISSING: &str =
    "Use None for missing values, for which pandas has NaN, or convert the value with str(...).";
const FINITE: &str = "JSON has no NaN or Infinity: use None or a str instead.";

impl ValueMisfit {
    fn new(value: impl Into<String>, why: Option<&'static str>, hint: &'static str) -> Self {
        Self { value: value.into(), why, hint, can_round: false }
    }

    fn wrong_type(value: impl Into<String>) -> Self {
        Self::new(value, None, CONVERT)
    }
}

/// Appends a tagged value as JSON that the column reads as this value. A time may have more digits than the
/// column if the server `rounds` it.
pub(crate) fn put(
    value: Tagged<'_>,
    kind: &ValueKind,
    rounds: bool,
    out: &mut Vec<u8>,
) -> Result<(), ValueMisfit> {
    let is_json = matches!(kind, ValueKind::Json | ValueKind::Document);
    match value.tag {
        Tag::Bytes if is_json => match value.bytes() {
            Some(bytes) => put_document(&bytes, out),
            None => Err(ValueMisfit::wrong_type("bytes")),
        },
        _ if is_json => put_in_json(value, out),
        Tag::Decimal | Tag::Infinite | Tag::Single => put_number(value, kind, out),
        Tag::Bytes => put_bytes(value, kind, out),
        Tag::Uuid => {
            put_if(matches!(kind, ValueKind::Uuid | ValueKind::Text | ValueKind::Other), value, out)
        }
        Tag::Address => put_if(
            matches!(kind, ValueKind::Network | ValueKind::Text | ValueKind::Other),
            value,
            out,
        ),
        _ => put_time(value, kind, rounds, out),
    }
}

/// Appends a tagged value within a value of the type json or jsonb.
pub(crate) fn put_in_json(value: Tagged<'_>, out: &mut Vec<u8>) -> Result<(), ValueMisfit> {
    match value.tag {
        Tag::Decimal | Tag::Single if value.is_finite() => out.extend(value.text.as_bytes()),
        Tag::Decimal | Tag::Single | Tag::Infinite => {
            return Err(ValueMisfit::new(value.text, None, FINITE));
        }
        Tag::Bytes => return Err(ValueMisfit::new("bytes", None, DECODE)),
        _ => put_string(value.text, out),
    }
    Ok(())
}

/// Appends a JSON text that is a whole value.
pub(crate) fn put_document(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), ValueMisfit> {
    let text = str::from_utf8(bytes).map_err(|_| ValueMisfit::new("bytes", None, DECODE))?;
    let document: &RawValue = serde_json::from_str(text)
        .map_err(|_| ValueMisfit::new("a str or bytes that are not valid JSON", None, CONVERT))?;
    out.extend_from_slice(document.get().as_bytes());
    Ok(())
}

fn put_string(text: &str, out: &mut Vec<u8>) {
    string::put_json(text.as_bytes(), out);
}

fn put_if(fits: bool, value: Tagged<'_>, out: &mut Vec<u8>) -> Result<(), ValueMisfit> {
    if !fits {
        return Err(ValueMisfit::wrong_type(value.name()));
    }
    put_string(value.text, out);
    Ok(())
}

fn put_bytes(value: Tagged<'_>, kind: &ValueKind, out: &mut Vec<u8>) -> Result<(), ValueMisfit> {
    let misfit = |why| ValueMisfit::new("bytes", why, DECODE);
    match kind {
        ValueKind::Bytea => put_string(&format!("\\x{}", value.text), out),
        ValueKind::Text => {
            let text = value.bytes().and_then(|bytes| String::from_utf8(bytes).ok());
            let text = text.filter(|text| !text.contains('\0'));
            put_string(&text.ok_or_else(|| misfit(Some("they are not valid UTF-8")))?, out);
        }
        _ => return Err(misfit(None)),
    }
    Ok(())
}

fn put_time(
    value: Tagged<'_>,
    kind: &ValueKind,
    rounds: bool,
    out: &mut Vec<u8>,
) -> Result<(), ValueMisfit> {
    use ValueKind::{Date, Interval, Other, Text, Time, Timestamp, Timestamptz, Timetz};
    let misfit = |why, hint| Err(ValueMisfit::new(value.name(), Some(why), hint));
    let fits = match (value.tag, kind) {
        (_, Text | Other)
        | (Tag::Date, Date | Timestamp | Timestamptz)
        | (Tag::Datetime, Timestamp | Timestamptz)
        | (Tag::Zoned, Timestamptz)
        | (Tag::Time, Time | Timetz)
        | (Tag::ZonedTime, Timetz)
        | (Tag::Interval, Interval) => true,
        (Tag::Datetime, Date) => match value.date_at_midnight() {
            Some(date) => {
                put_string(&date, out);
                return Ok(());
            }
            None => {
                return misfit(
                    "its time would be lost",
                    "Use .date() in the code that produces the rows.",
                );
            }
        },
        (Tag::Zoned, Timestamp | Date | Time) | (Tag::ZonedTime, Time) => {
            return misfit("its time zone would be lost", ZONE);
        }
        _ => false,
    };
    if fits && !matches!(kind, Text) && value.has_nanoseconds() && !rounds {
        let why = Some("it has nanoseconds, which would be lost");
        return Err(ValueMisfit { can_round: true, ..ValueMisfit::new(value.name(), why, ROUND) });
    }
    put_if(fits, value, out)
}

fn put_number(value: Tagged<'_>, kind: &ValueKind, out: &mut Vec<u8>) -> Result<(), ValueMisfit> {
    match kind {
        ValueKind::Double if value.tag == Tag::Single => {
            // Every number of single precision is also one of double precision.
            let wide = value.text.parse::<f32>().map(f64::from);
            let wide = wide.map_err(|_| ValueMisfit::wrong_type(value.name()))?;
            put_string(&format!("{wide:e}"), out);
        }
        ValueKind::Int if value.is_finite() => put_integer(value.text, out)?,
        ValueKind::Text | ValueKind::Other if value.tag == Tag::Infinite && value.text == "NaN" => {
            return Err(ValueMisfit::new("NaN", None, MISSING));
        }
        ValueKind::Text | ValueKind::Double | ValueKind::Number | ValueKind::Other => {
            put_string(value.text, out)
        }
        _ => return Err(ValueMisfit::wrong_type(value.name())),
    }
    Ok(())
}

/// Appends a decimal number for a column of integers, or fails if it is not an integer.
pub(crate) fn put_integer(number: &str, out: &mut Vec<u8>) -> Result<(), ValueMisfit> {
    let integer = integer(number).ok_or_else(|| {
        let hint = "Round it in the code that produces the rows, or make the column numeric.";
        ValueMisfit::new(number, Some("it is not an integer"), hint)
    })?;
    out.extend_from_slice(integer.as_bytes());
    Ok(())
}

/// Returns the digits of an integer that is written as a decimal number, such as `-1.50e+2`. Returns `None` for
/// other numbers, and for some that no column could hold.
fn integer(number: &str) -> Option<String> {
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent = exponent.parse::<i64>().ok()?;
    let fraction = fraction.trim_end_matches('0');
    let (sign, whole) = match whole.strip_prefix('-') {
        Some(whole) => ("-", whole),
        None => ("", whole),
    };
    let shift = exponent - i64::try_from(fraction.len()).ok()?;
    let digits = format!("{whole}{fraction}");
    let digits = match usize::try_from(shift) {
        // No integer type has that many digits.
        Ok(zeros) if zeros > 40 => return digits.bytes().all(|it| it == b'0').then(|| "0".into()),
        Ok(zeros) => format!("{digits}{}", "0".repeat(zeros)),
        Err(_) => {
            let gone = usize::try_from(shift.unsigned_abs()).ok()?;
            let kept = digits.len().saturating_sub(gone);
            if digits[kept..].bytes().any(|digit| digit != b'0') {
                return None;
            }
            digits[..kept].to_owned()
        }
    };
    let digits = digits.trim_start_matches('0');
    Some(if digits.is_empty() { "0".to_owned() } else { format!("{sign}{digits}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_found_in_decimal_numbers() {
        for (number, expected) in [
            ("1.0", Some("1")),
            ("-1.50e+2", Some("-150")),
            ("1E+3", Some("1000")),
            ("1500e-2", Some("15")),
            ("0.0", Some("0")),
            ("-0.0", Some("0")),
            ("0E-8", Some("0")),
            ("1.5", None),
            ("1e-1", None),
            ("1e300", None),
            ("9223372036854775808", Some("9223372036854775808")),
        ] {
            assert_eq!(integer(number).as_deref(), expected, "{number}");
        }
    }
}
