//! Values as JSON, for `json` and `jsonb`: both writers produce the same text.

use std::collections::HashSet;

use serde::de::IgnoredAny;

use crate::extension::Extension;
use crate::fit;
use crate::scalar;
use crate::source::{ArrowValue, Pairs, Source};
use crate::spell;
use crate::writer::{ValueError, ValueResult};

/// Appends the value of a row.
pub(crate) fn put(source: &Source<'_>, row: usize, out: &mut Vec<u8>) -> ValueResult {
    match source.value(row) {
        ArrowValue::Null => out.extend_from_slice(b"null"),
        ArrowValue::Bool(value) => spell::bool(value, out),
        ArrowValue::Int(value) => spell::int(value, out),
        ArrowValue::Unsigned(value) => spell::int(value, out),
        ArrowValue::Float4(value) if value.is_finite() => spell::float4(value, out),
        ArrowValue::Float8(value) if value.is_finite() => spell::float8(value, out),
        ArrowValue::Float4(_) | ArrowValue::Float8(_) => {
            return Err(ValueError::Unfit(
                "is not a finite number, and JSON has no others".to_owned(),
            ));
        }
        ArrowValue::Text(text) if source.extension == Extension::Json => document(text, out)?,
        ArrowValue::Text(text) => string(text, out)?,
        ArrowValue::List(items) => {
            let elements = items.rows().map(|row| (items.source(), row));
            put_separated(*b"[]", elements, out, |(child, row), out| put(child, row, out))?;
        }
        ArrowValue::Struct(row) => {
            put_separated(*b"{}", row.named_fields(), out, |(name, child, row), out| {
                string(name, out)?;
                out.push(b':');
                put(child, row, out)
            })?
        }
        ArrowValue::Map(pairs) => map(pairs, out)?,
        value @ (ArrowValue::Decimal(..) | ArrowValue::Wide(..)) => {
            scalar::put(&value, source.extension, out)?;
        }
        // These contain no characters that a JSON string must escape.
        value @ ArrowValue::Bytes(_) => {
            put_quoted(out, |out| scalar::put(&value, source.extension, out))?
        }
        value => put_quoted(out, |out| scalar::time(&value, b'T', out))?,
    }
    Ok(())
}

/// Appends the parts between `ends`, separated by commas.
fn put_separated<T>(
    ends: [u8; 2],
    parts: impl Iterator<Item = T>,
    out: &mut Vec<u8>,
    mut put: impl FnMut(T, &mut Vec<u8>) -> ValueResult,
) -> ValueResult {
    let [open, close] = ends;
    out.push(open);
    for (place, part) in parts.enumerate() {
        if place > 0 {
            out.push(b',');
        }
        put(part, out)?;
    }
    out.push(close);
    Ok(())
}

fn map(pairs: Pairs<'_, '_>, out: &mut Vec<u8>) -> ValueResult {
    let Pairs { keys, values } = pairs;
    let mut seen = HashSet::new();
    put_separated(*b"{}", keys.rows().zip(values.rows()), out, |(key, value), out| {
        let ArrowValue::Text(key) = keys.source().value(key) else {
            return Err(ValueError::Unfit("has a key that is NULL".to_owned()));
        };
        if !seen.insert(key) {
            return Err(ValueError::Unfit(format!("has the key {key:?} twice")));
        }
        string(key, out)?;
        out.push(b':');
        put(values.source(), value, out)
    })
}

/// Appends a JSON text within another, unchanged.
fn document(text: &str, out: &mut Vec<u8>) -> ValueResult {
    if serde_json::from_str::<IgnoredAny>(text).is_err() {
        return Err(ValueError::Unfit("contains a string that is not valid JSON".to_owned()));
    }
    out.extend_from_slice(text.as_bytes());
    Ok(())
}

fn string(text: &str, out: &mut Vec<u8>) -> ValueResult {
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return Err(fit::has_zero());
    }
    // Writing a string to memory cannot fail.
    let _ = serde_json::to_writer(out, text);
    Ok(())
}

fn put_quoted(out: &mut Vec<u8>, spell: impl FnOnce(&mut Vec<u8>) -> ValueResult) -> ValueResult {
    out.push(b'"');
    spell(out)?;
    out.push(b'"');
    Ok(())
}
