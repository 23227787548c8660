//! Values of a program, such as Python's: lines whose values keep their types, converted to NDJSON by the types
//! of the columns.
//!
//! A line is an object, or an array of the values of all columns in their order. A value without a form in JSON
//! is a tagged string. A value goes into a column that can hold it, and a row with any other value is rejected:
//! nothing is truncated, or read as a value of another type, and times are rounded only on request.

mod fit;
mod kind;
mod tag;

use crate::key_match::{KeyMatch, KeyMatcher};
use crate::refused::RefusedLine;
use crate::target::KeyTarget;
use crate::{string, visit};
use fit::ValueMisfit;
use kind::ValueKind;
use tag::{MARK, Tagged};

/// Converts lines of a program's values to NDJSON.
#[derive(Clone, Debug)]
pub(crate) struct Values {
    columns: Vec<ValueColumn>,
    matcher: KeyMatcher,
    /// Whether lines are arrays.
    are_rows: bool,
    /// Whether the server rounds times that have more digits than their columns.
    rounds: bool,
}

#[derive(Clone, Debug)]
struct ValueColumn {
    key: String,
    name: String,
    /// The name of the column's type.
    ty: String,
    kind: ValueKind,
}

impl Values {
    pub(crate) fn new(targets: &[KeyTarget], are_rows: bool, matcher: KeyMatcher) -> Self {
        // In a row, a string is the text of its value, as a field of a file is.
        let json = if are_rows { ValueKind::Document } else { ValueKind::Json };
        let columns = targets.iter().map(|KeyTarget { key, column, .. }| ValueColumn {
            key: key.clone(),
            name: column.name.clone(),
            ty: column.ty.name.clone(),
            kind: ValueKind::from_type(&column.ty, &json),
        });
        Self { columns: columns.collect(), matcher, are_rows, rounds: false }
    }

    /// Lets the server round times if it `rounds`.
    pub(crate) fn rounding(self, rounds: bool) -> Self {
        Self { rounds, ..self }
    }

    pub(crate) fn are_rows(&self) -> bool {
        self.are_rows
    }

    /// Appends the object of a line, with each value as its column reads it.
    pub(crate) fn put_plain(&self, line: &[u8], out: &mut Vec<u8>) -> Result<(), RefusedLine> {
        let line = str::from_utf8(line).map_err(|error| RefusedLine::encoding(line, error))?;
        out.push(b'{');
        match self.are_rows {
            true => self.put_row(line, out)?,
            false => visit::members(line, line, |key, value| {
                put_key(&key, out);
                match self.matcher.find(&key) {
                    KeyMatch::Column { place, .. } => self.put_value(place, line, value, out),
                    // The member is left out, or its key will be rejected.
                    _ => {
                        out.extend(b"null");
                        Ok(())
                    }
                }
            })?,
        }
        out.push(b'}');
        Ok(())
    }

    fn put_row(&self, line: &str, out: &mut Vec<u8>) -> Result<(), RefusedLine> {
        let mut place = 0;
        visit::elements(line, line, |value| {
            let Some(column) = self.columns.get(place) else {
                return Err(RefusedLine::new(line, value, "extra data after last expected column"));
            };
            put_key(&column.key, out);
            place += 1;
            self.put_value(place - 1, line, value, out)
        })?;
        match self.columns.get(place) {
            None => Ok(()),
            Some(ValueColumn { name, .. }) => {
                Err(RefusedLine::new(line, line, format!("missing data for column \"{name}\"")))
            }
        }
    }

    fn put_value(
        &self,
        place: usize,
        line: &str,
        value: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), RefusedLine> {
        let ValueColumn { name, ty, kind, .. } = &self.columns[place];
        put(line, value, kind, self.rounds, out).map_err(|flaw| match flaw {
            ValueFlaw::Refused(refused) => refused,
            ValueFlaw::Misfit(ValueMisfit { value: what, why, hint, can_round }) => {
                let why = why.map(|why| format!(": {why}")).unwrap_or_default();
                let message = format!("column {name} of type {ty} cannot hold {what}{why}");
                let refused = RefusedLine::new(line, value, message).with_hint(hint);
                RefusedLine { column: Some(place), can_round, ..refused }
            }
        })
    }

    /// Returns a line for a file of rejected rows, with every value as JSON.
    pub(crate) fn reject_line(&self, line: &[u8]) -> Vec<u8> {
        let text = String::from_utf8_lossy(line);
        let mut out = Vec::new();
        if !self.are_rows {
            put_untagged(&text, &mut out);
            return out;
        }
        out.push(b'{');
        let mut columns = self.columns.iter();
        let done = visit::elements(&text, &text, |value| {
            if let Some(column) = columns.next() {
                put_key(&column.key, &mut out);
                put_untagged(value, &mut out);
            }
            Ok(())
        });
        out.push(b'}');
        if done.is_ok() { out } else { line.to_vec() }
    }
}

/// The reason why a value is not written.
enum ValueFlaw {
    Refused(RefusedLine),
    Misfit(ValueMisfit),
}

impl From<ValueMisfit> for ValueFlaw {
    fn from(misfit: ValueMisfit) -> Self {
        Self::Misfit(misfit)
    }
}

impl From<RefusedLine> for ValueFlaw {
    fn from(refused: RefusedLine) -> Self {
        Self::Refused(refused)
    }
}

/// Appends a key and a colon, after a comma unless it is the first.
fn put_key(key: &str, out: &mut Vec<u8>) {
    put_comma(out);
    string::put_json(key.as_bytes(), out);
    out.push(b':');
}

fn put_comma(out: &mut Vec<u8>) {
    if !matches!(out.last(), None | Some(b'{' | b'[')) {
        out.push(b',');
    }
}

/// Appends a value for a column of this kind, which may round.
fn put(
    line: &str,
    value: &str,
    kind: &ValueKind,
    rounds: bool,
    out: &mut Vec<u8>,
) -> Result<(), ValueFlaw> {
    if let Some(tagged) = Tagged::read(value) {
        return Ok(fit::put(tagged, kind, rounds, out)?);
    }
    let misfit = |value: &str| {
        let hint = "Convert it in the code that produces the rows to a value of the column's type.";
        Err(ValueFlaw::Misfit(ValueMisfit {
            value: value.to_owned(),
            why: None,
            hint,
            can_round: false,
        }))
    };
    match (value.as_bytes().first(), kind) {
        (Some(b'['), ValueKind::Array(element)) => {
            return put_elements(line, value, element, rounds, out);
        }
        (Some(b'{'), ValueKind::Composite(columns)) => {
            return put_members(line, value, columns, rounds, out);
        }
        (Some(b'{' | b'['), _) => put_within(value, out)?,
        (Some(b'"'), ValueKind::Document) => {
            let mut text = Vec::new();
            string::unescape::<string::Plain>(line, string::inner(value), &mut text)?;
            fit::put_document(&text, out)?;
        }
        (Some(b'-' | b'0'..=b'9'), ValueKind::Int) => fit::put_integer(value, out)?,
        (Some(b'-' | b'0'..=b'9'), kind) if !kind.takes_numbers() => return misfit("a number"),
        (Some(b't' | b'f'), kind) if !kind.takes_booleans() => return misfit("a bool"),
        _ => out.extend_from_slice(value.as_bytes()),
    }
    Ok(())
}

/// Appends the elements of an array. Nested arrays are further dimensions.
fn put_elements(
    line: &str,
    value: &str,
    element: &ValueKind,
    rounds: bool,
    out: &mut Vec<u8>,
) -> Result<(), ValueFlaw> {
    let mut flaw = None;
    out.push(b'[');
    visit::elements(line, value, |value| {
        put_comma(out);
        let put = match value.starts_with('[') {
            true => put_elements,
            false => put,
        };
        put(line, value, element, rounds, out).map_err(|found| stop(line, value, &mut flaw, found))
    })
    .map_err(|refused| flaw.take().unwrap_or(ValueFlaw::Refused(refused)))?;
    out.push(b']');
    Ok(())
}

/// Appends the members of an object for a composite type.
fn put_members(
    line: &str,
    value: &str,
    columns: &[(String, ValueKind)],
    rounds: bool,
    out: &mut Vec<u8>,
) -> Result<(), ValueFlaw> {
    let mut flaw = None;
    out.push(b'{');
    visit::members(line, value, |key, value| {
        put_key(&key, out);
        let kind = columns.iter().find(|(name, _)| *name == key).map(|(_, kind)| kind);
        put(line, value, kind.unwrap_or(&ValueKind::Json), rounds, out)
            .map_err(|found| stop(line, value, &mut flaw, found))
    })
    .map_err(|refused| flaw.take().unwrap_or(ValueFlaw::Refused(refused)))?;
    out.push(b'}');
    Ok(())
}

/// Ends a visit early. The flaw bypasses serde's errors.
fn stop(line: &str, value: &str, flaw: &mut Option<ValueFlaw>, found: ValueFlaw) -> RefusedLine {
    *flaw = Some(found);
    RefusedLine::new(line, value, "")
}

/// Appends a value whose contents are all JSON.
fn put_within(value: &str, out: &mut Vec<u8>) -> Result<(), ValueMisfit> {
    replace(value, out, fit::put_in_json)
}

/// Appends a value as JSON, with tagged strings as strings without their tags.
fn put_untagged(value: &str, out: &mut Vec<u8>) {
    let put = |tagged: Tagged<'_>, out: &mut Vec<u8>| {
        string::put_json(tagged.text.as_bytes(), out);
        Ok::<(), ()>(())
    };
    let _ = replace(value, out, put);
}

/// Appends JSON text, replacing each tagged string by the output of `put`.
fn replace<E>(
    text: &str,
    out: &mut Vec<u8>,
    put: impl Fn(Tagged<'_>, &mut Vec<u8>) -> Result<(), E>,
) -> Result<(), E> {
    let mut rest = text;
    while let Some(at) = rest.find(MARK) {
        let (before, from) = rest.split_at(at);
        out.extend_from_slice(before.as_bytes());
        let end = from[MARK.len()..].find('"').map_or(from.len(), |end| MARK.len() + end + 1);
        let (value, after) = from.split_at(end);
        match Tagged::read(value) {
            Some(tagged) => put(tagged, out)?,
            None => out.extend_from_slice(value.as_bytes()),
        }
        rest = after;
    }
    out.extend_from_slice(rest.as_bytes());
    Ok(())
}

#[cfg(test)]
mod tests;
