//! The spelling of values, which the server reads under any DateStyle, IntervalStyle or locale.
//!
//! It is the server's own output under DateStyle `ISO` and IntervalStyle `postgres`: `EncodeDateTime` and
//! `EncodeInterval`, `src/backend/utils/adt/datetime.c`, PostgreSQL 13 to 18.

use std::io::Write;

use crate::decimal::{Decimal, Digits};
use crate::writer::Interval;

/// The most zeros that are written before or after the digits of a number.
const MAX_ZEROS: usize = 130;

pub(crate) fn bool(value: bool, out: &mut Vec<u8>) {
    out.extend_from_slice(if value { b"true" } else { b"false" });
}

pub(crate) fn int(value: impl itoa::Integer, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Appends the shortest spelling that is read as the same number again.
pub(crate) fn float8(value: f64, out: &mut Vec<u8>) {
    match value.abs() {
        size if !size.is_finite() => infinite(value, out),
        0.0 | 1e-4..1e15 => put(out, format_args!("{value}")),
        _ => scientific(format_args!("{value:e}"), out),
    }
}

/// Appends the shortest spelling of a `real`.
pub(crate) fn float4(value: f32, out: &mut Vec<u8>) {
    match value.abs() {
        size if !size.is_finite() => infinite(value.into(), out),
        0.0 | 1e-4..1e6 => put(out, format_args!("{value}")),
        _ => scientific(format_args!("{value:e}"), out),
    }
}

/// Appends a number in scientific notation. The exponent has a sign and at least two digits.
fn scientific(number: std::fmt::Arguments<'_>, out: &mut Vec<u8>) {
    put(out, number);
    let Some(digits) = out.iter().rposition(|byte| *byte == b'e').map(|at| at + 1) else { return };
    let is_negative = out.get(digits) == Some(&b'-');
    if !is_negative {
        out.insert(digits, b'+');
    }
    if out.len() - digits < 3 {
        out.insert(digits + 1, b'0');
    }
}

pub(crate) fn infinite(value: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(match value {
        f64::INFINITY => b"Infinity",
        f64::NEG_INFINITY => b"-Infinity",
        _ => b"NaN",
    });
}

/// Appends a decimal with all digits of its scale.
pub(crate) fn decimal(value: &Decimal, out: &mut Vec<u8>) {
    if value.is_negative() {
        out.push(b'-');
    }
    let start = out.len();
    magnitude(value, out);
    let length = out.len() - start;
    let size = value.scale.unsigned_abs() as usize;
    if size > MAX_ZEROS {
        put(out, format_args!("e{}", -value.scale));
    } else if value.scale > 0 {
        let zeros = (size + 1).saturating_sub(length);
        out.splice(start..start, std::iter::repeat_n(b'0', zeros));
        let point = out.len() - size;
        out.insert(point, b'.');
    } else if out[start..] != *b"0" {
        out.resize(out.len() + size, b'0');
    }
}

fn magnitude(value: &Decimal, out: &mut Vec<u8>) {
    match value.digits {
        Digits::Short(digits) => match u64::try_from(digits.unsigned_abs()) {
            Ok(short) => int(short, out),
            Err(_) => int(digits.unsigned_abs(), out),
        },
        Digits::Long(_) => {
            let mut chunks = value.chunks().into_iter().rev().skip_while(|&chunk| chunk == 0);
            int(chunks.next().unwrap_or(0), out);
            chunks.for_each(|chunk| put(out, format_args!("{chunk:016}")));
        }
    }
}

pub(crate) fn uuid(value: [u8; 16], out: &mut Vec<u8>) {
    for (place, byte) in value.into_iter().enumerate() {
        if matches!(place, 4 | 6 | 8 | 10) {
            out.push(b'-');
        }
        out.extend_from_slice(&hex(byte));
    }
}

/// Returns a byte as two hexadecimal digits.
pub(crate) fn hex(byte: u8) -> [u8; 2] {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    [byte >> 4, byte & 15].map(|digit| DIGITS[usize::from(digit)])
}

/// Appends a date, given as days from 1970-01-01.
pub(crate) fn date(days: i64, out: &mut Vec<u8>) {
    let before_christ = day(days, out);
    end_year(before_christ, out);
}

/// Appends a date and time, given as seconds from 1970-01-01 and nanoseconds. `between` separates them: a space,
/// or `T` in JSON.
pub(crate) fn timestamp((seconds, nanos): (i64, u32), between: u8, zoned: bool, out: &mut Vec<u8>) {
    let before_christ = day(seconds.div_euclid(86_400), out);
    out.push(between);
    time(seconds.rem_euclid(86_400), nanos, out);
    if zoned {
        // JSON uses the form of RFC 3339.
        out.extend_from_slice(if between == b'T' { b"+00:00" } else { b"+00" });
    }
    end_year(before_christ, out);
}

/// Appends a time of seconds and nanoseconds, without trailing zeros. Hours may exceed 24.
pub(crate) fn time(seconds: i64, nanos: u32, out: &mut Vec<u8>) {
    let hours = seconds / 3600;
    if hours < 100 {
        out.extend_from_slice(&two(hours));
    } else {
        int(hours, out);
    }
    let [m1, m2] = two(seconds / 60 % 60);
    let [s1, s2] = two(seconds % 60);
    out.extend_from_slice(&[b':', m1, m2, b':', s1, s2]);
    if nanos > 0 {
        out.push(b'.');
        let start = out.len();
        let mut rest = nanos;
        for place in [100_000_000, 10_000_000, 1_000_000, 100_000, 10_000, 1_000, 100, 10, 1] {
            out.push(b'0' + (rest / place) as u8);
            rest %= place;
        }
        let zeros = out[start..].iter().rev().take_while(|&&digit| digit == b'0').count();
        out.truncate(out.len() - zeros);
    }
}

/// Appends an interval. A field after a negative one has an explicit sign, so that IntervalStyle `sql_standard`
/// does not change it.
pub(crate) fn interval(value: &Interval, out: &mut Vec<u8>) {
    let start = out.len();
    let mut signed = false;
    for (number, unit) in [(value.months, "mons"), (value.days, "days")] {
        if number == 0 {
            continue;
        }
        if out.len() > start {
            out.push(b' ');
        }
        if signed && number > 0 {
            out.push(b'+');
        }
        signed |= number < 0;
        int(number, out);
        put(out, format_args!(" {unit}"));
    }
    if value.micros == 0 && out.len() > start {
        return;
    }
    if out.len() > start {
        out.push(b' ');
    }
    if value.micros < 0 {
        out.push(b'-');
    } else if signed {
        out.push(b'+');
    }
    let micros = value.micros.unsigned_abs();
    // Both are less than 2^63.
    time((micros / 1_000_000) as i64, (micros % 1_000_000) as u32 * 1_000, out);
}

/// Appends the day in the proleptic Gregorian calendar, without the suffix of the year. Returns whether that is
/// `BC`.
///
/// After Howard Hinnant's `civil_from_days`: years begin in March, and an era has 400 of them.
fn day(days: i64, out: &mut Vec<u8>) -> bool {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    let year = year + era * 400 + next;
    let shown = if year > 0 { year } else { 1 - year };
    if shown < 10_000 {
        out.extend_from_slice(&two(shown / 100));
        out.extend_from_slice(&two(shown % 100));
    } else {
        int(shown, out);
    }
    let ([m1, m2], [d1, d2]) = (two(month), two(day));
    out.extend_from_slice(&[b'-', m1, m2, b'-', d1, d2]);
    year <= 0
}

fn end_year(before_christ: bool, out: &mut Vec<u8>) {
    if before_christ {
        out.extend_from_slice(b" BC");
    }
}

/// Returns the two digits of a number below a hundred.
fn two(number: i64) -> [u8; 2] {
    [number / 10, number % 10].map(|digit| b'0' + digit as u8)
}

fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to memory does not fail.
    let _ = out.write_fmt(text);
}

/// Returns the text that `spell` appends, for messages.
pub(crate) fn to_text(spell: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    spell(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

#[cfg(test)]
mod tests;
