//! Parse: finds the fields of a row.
//!
//! If rows are sent unchanged, only the partition keys are parsed, so that a second parser has no chance to
//! misread the rest. Rows to be encoded are parsed completely. Each syntax has its field reader in its own file.

mod csv;
mod projection;
mod text;

pub use projection::Projection;

use wide::u8x16;

use crate::format::{Format, Syntax};
use crate::marks::{self, look, mark};
use crate::types::{Datum, KeyType};

/// A field of a row, before it is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The row has too few fields.
    Missing,
    /// The field is NULL.
    Null,
    /// The value is at these offsets of the row, unchanged.
    Plain(usize, usize),
    /// The value is at these offsets of the row, with escapes or quotes in it. After decoding, the offsets are
    /// those in the decoded values.
    Coded(usize, usize),
    /// The value is at these offsets of the row, in its binary form.
    Binary(usize, usize),
}

/// The content of a field of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The row has too few fields.
    Missing,
    /// NULL.
    Null,
    /// The text of the value, without quotes and escapes.
    Text(&'a [u8]),
    /// The value in binary, as the receive function of its type expects it.
    Binary(&'a [u8]),
}

impl<'a> Value<'a> {
    /// Returns the bytes of the value, unless it is missing or NULL.
    pub fn bytes(self) -> Option<&'a [u8]> {
        match self {
            Self::Missing | Self::Null => None,
            Self::Text(bytes) | Self::Binary(bytes) => Some(bytes),
        }
    }

    /// Parses a value of the type `ty`. Returns `None` for NULL, for a missing field, and for a value that only
    /// the server can read.
    #[inline]
    pub fn read(self, ty: &KeyType, scratch: &'a mut Vec<u8>) -> Option<Datum<'a>> {
        match self {
            Self::Missing | Self::Null => None,
            Self::Text(text) => ty.parse(text, scratch),
            Self::Binary(bytes) => ty.receive(bytes, scratch),
        }
    }
}

/// Writes a row of COPY text with `values` at their positions, which ascend, and NULL at all others. The row
/// ends before the first missing value.
pub fn text_row<'v>(values: impl IntoIterator<Item = (usize, Value<'v>)>, row: &mut Vec<u8>) {
    row.clear();
    let mut next = 0;
    for (position, value) in values {
        while next <= position {
            if next > 0 {
                row.push(b'\t');
            }
            if next < position {
                row.extend(b"\\N");
            }
            next += 1;
        }
        match value {
            Value::Missing => {
                row.pop();
                return;
            }
            // A value in binary has no text here.
            Value::Null | Value::Binary(_) => row.extend(b"\\N"),
            Value::Text(text) => text::encode(text, row),
        }
    }
}

/// The wanted fields of one row, reused from row to row.
#[derive(Clone, Debug, Default)]
pub struct Fields {
    fields: Vec<Field>,
    /// The concatenated values of the coded fields, whose offsets refer to it.
    decoded: Vec<u8>,
    /// Whether more fields follow the last one wanted.
    surplus: bool,
}

impl Fields {
    /// Returns the field at index `slot` of the wanted fields; `row` is the row that was parsed.
    #[inline]
    pub fn get<'a>(&'a self, slot: usize, row: &'a [u8]) -> Value<'a> {
        match self.fields[slot] {
            Field::Missing => Value::Missing,
            Field::Null => Value::Null,
            Field::Plain(start, end) => Value::Text(&row[start..end]),
            Field::Coded(start, end) => Value::Text(&self.decoded[start..end]),
            Field::Binary(start, end) => Value::Binary(&row[start..end]),
        }
    }

    /// Finds the fields of a row of COPY BINARY at the positions `wanted`, which count from 0, ascend, and are
    /// distinct. A field that the row does not contain completely is missing.
    pub fn read_binary(&mut self, row: &[u8], wanted: &[usize]) {
        self.decoded.clear();
        self.surplus = false;
        self.fields.clear();
        // Skip the number of fields.
        let (mut next, mut at) = (0, 2);
        for &position in wanted {
            let mut field = Field::Missing;
            while next <= position {
                (field, at) = binary_field(row, at);
                next += 1;
            }
            self.fields.push(field);
        }
    }

    /// Returns all fields and the decoded values.
    #[inline]
    pub fn all(&self) -> (&[Field], &[u8]) {
        (&self.fields, &self.decoded)
    }

    /// Whether the row has all wanted fields and no further ones.
    #[inline]
    pub fn is_exact(&self) -> bool {
        !self.surplus && self.fields.last() != Some(&Field::Missing)
    }
}

/// Returns the field of a row of COPY BINARY whose length is at `at`, and the end of the field.
#[inline]
fn binary_field(row: &[u8], at: usize) -> (Field, usize) {
    let Some((length, rest)) = row.get(at..).and_then(|rest| rest.split_first_chunk()) else {
        return (Field::Missing, at);
    };
    let start = at + 4;
    match usize::try_from(i32::from_be_bytes(*length)) {
        Ok(length) if length <= rest.len() => {
            (Field::Binary(start, start + length), start + length)
        }
        Ok(_) => (Field::Missing, row.len()),
        Err(_) => (Field::Null, start),
    }
}

/// A parser that finds and decodes the fields of rows in one format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parser {
    format: Format,
    wanted: Vec<usize>,
    /// Whether the wanted fields are the first ones, without gaps.
    first: bool,
    /// The byte that begins a quote or an escape.
    special: u8,
    /// Whether the special byte is a quote, which represents itself only if it is doubled.
    quotes: bool,
    /// Length of NULL, unless NULL contains the special byte.
    null: Option<usize>,
}

impl Parser {
    /// Creates a parser for the fields at the positions `wanted`, which count from 0, ascend, and are distinct.
    pub fn new(format: &Format, wanted: Vec<usize>) -> Self {
        debug_assert!(wanted.is_sorted_by(|one, next| one < next));
        let first = wanted.iter().copied().eq(0..wanted.len());
        let (special, quotes) = match format.syntax {
            Syntax::Text => (b'\\', false),
            Syntax::Csv { quote, escape, .. } => (quote, quote == escape),
        };
        let null = (!format.null.contains(&special)).then_some(format.null.len());
        Self { format: format.clone(), wanted, first, special, quotes, null }
    }

    /// Finds and decodes the wanted fields of `row`, in the order wanted.
    ///
    /// Searches for the ends of many fields at a time, including those before the wanted ones. Reads a field
    /// with a quote or a backslash individually.
    pub fn parse(&self, row: &[u8], into: &mut Fields) {
        self.parse_first(row, into);
        if !self.first {
            self.wanted
                .iter()
                .enumerate()
                .for_each(|(slot, &at)| into.fields[slot] = into.fields[at]);
            into.fields.truncate(self.wanted.len());
        }
    }

    /// Parses the fields up to the last wanted one.
    fn parse_first(&self, row: &[u8], into: &mut Fields) {
        let Fields { fields, decoded, surplus } = into;
        decoded.clear();
        fields.resize(self.wanted.last().map_or(0, |last| last + 1), Field::Missing);
        let [delimiter, special] = [self.format.delimiter, self.special].map(u8x16::splat);
        // No field is as long as this default.
        let null = self.null.unwrap_or(usize::MAX);
        let (mut start, mut from) = (0, 0);
        let mut places = fields.iter_mut();
        *surplus = loop {
            let [ends, specials] = look(row, from, |chunk| {
                [delimiter, special].map(|byte| mark(chunk, |chunk| chunk.cmp_eq(byte)))
            });
            let is_last = from + marks::REACH >= row.len();
            // Keep the delimiters before the first special byte.
            let mut ends = ends & specials.wrapping_sub(1) & !specials;
            while ends != 0 {
                let Some(place) = places.next() else { return *surplus = true };
                let end = from + ends.trailing_zeros() as usize;
                *place = Field::Plain(start, end);
                if end - start == null && self.is_null(row, start) {
                    *place = Field::Null;
                }
                start = end + 1;
                ends &= ends - 1;
            }
            if specials == 0 && !is_last {
                from += marks::REACH;
                continue;
            }
            let Some(place) = places.next() else { break true };
            if specials == 0 {
                let is_null = row.len() - start == null && self.is_null(row, start);
                *place = if is_null { Field::Null } else { Field::Plain(start, row.len()) };
                break false;
            }
            if self.quotes
                && row[start] == self.special
                && let Some(close) = self.closing_quote(row, start)
            {
                *place = Field::Plain(start + 1, close);
                if close + 1 == row.len() {
                    break false;
                }
                (start, from) = (close + 2, close + 2);
                continue;
            }
            let (field, next) = self.decode_field(row, start, decoded);
            *place = field;
            let Some(next) = next else { break false };
            (start, from) = (next, next);
        };
        places.for_each(|place| *place = Field::Missing);
    }

    /// Returns the end of the field whose quote opens at `start`, if the field is short and has quotes only
    /// around the whole of it.
    #[inline]
    fn closing_quote(&self, row: &[u8], start: usize) -> Option<usize> {
        let quote = u8x16::splat(self.special);
        let [quotes] = look(row, start + 1, |chunk| [mark(chunk, |chunk| chunk.cmp_eq(quote))]);
        if quotes == 0 {
            return None;
        }
        let close = start + 1 + quotes.trailing_zeros() as usize;
        row.get(close + 1).is_none_or(|after| *after == self.format.delimiter).then_some(close)
    }

    /// Whether the text at `start`, which has the length of NULL, is NULL.
    #[inline(never)]
    fn is_null(&self, row: &[u8], start: usize) -> bool {
        row[start..].starts_with(&self.format.null)
    }

    /// Returns all fields of `row`, decoded, as header lines need; `None` is NULL.
    pub fn all(&self, row: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut values = Vec::new();
        let mut next = Some(0);
        while let Some(start) = next {
            let (field, after) = self.field(row, start);
            let mut decoded = Vec::new();
            values.push(match field {
                Field::Missing | Field::Null | Field::Binary(..) => None,
                Field::Plain(start, end) => Some(row[start..end].to_vec()),
                Field::Coded(start, end) => {
                    self.decode(&row[start..end], &mut decoded);
                    Some(decoded)
                }
            });
            next = after;
        }
        values
    }

    /// Returns the result of [`Self::field`], with its value decoded if necessary.
    fn decode_field(
        &self,
        row: &[u8],
        start: usize,
        decoded: &mut Vec<u8>,
    ) -> (Field, Option<usize>) {
        let (field, next) = self.field(row, start);
        let Field::Coded(start, end) = field else { return (field, next) };
        let begin = decoded.len();
        self.decode(&row[start..end], decoded);
        (Field::Coded(begin, decoded.len()), next)
    }

    /// Appends the decoded value of `raw`.
    fn decode(&self, raw: &[u8], value: &mut Vec<u8>) {
        match self.format.syntax {
            Syntax::Text => text::decode(raw, value),
            Syntax::Csv { quote, escape, .. } => csv::decode(raw, quote, escape, value),
        }
    }

    /// Returns the field that begins at `start`, and the start of the next one, if any.
    fn field(&self, row: &[u8], start: usize) -> (Field, Option<usize>) {
        let Format { delimiter, null, syntax } = &self.format;
        match *syntax {
            Syntax::Text => text::field(row, start, *delimiter, null),
            Syntax::Csv { quote, escape, .. } => {
                csv::field(row, start, *delimiter, null, quote, escape)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_text_hold_any_value() {
        let mut row = Vec::new();
        let value = Value::Text(b"a\tb\\N\n");
        text_row([(1, value), (2, Value::Null), (4, Value::Text(b""))], &mut row);
        assert_eq!(row, b"\\N\ta\\\tb\\\\N\\n\t\\N\t\\N\t");
        let mut keys = Fields::default();
        Parser::new(&Format::text(), vec![1, 2, 4]).parse(&row, &mut keys);
        assert_eq!(keys.get(0, &row), value);
        assert_eq!([keys.get(1, &row), keys.get(2, &row)], [Value::Null, Value::Text(b"")]);
    }

    #[test]
    fn fields_of_binary_rows_are_found() {
        let row = b"\0\x03\0\0\0\x01a\xFF\xFF\xFF\xFF\0\0\0\x02bc";
        let mut keys = Fields::default();
        keys.read_binary(row, &[0, 2, 3]);
        let values = [0, 1, 2].map(|slot| keys.get(slot, row));
        assert_eq!(values, [Value::Binary(b"a"), Value::Binary(b"bc"), Value::Missing]);
        keys.read_binary(row, &[1]);
        assert_eq!(keys.get(0, row), Value::Null);
        for end in 0..row.len() {
            keys.read_binary(&row[..end], &[2]);
            assert_eq!(keys.get(0, row), Value::Missing, "{end}");
        }
    }

    #[test]
    fn a_row_of_text_ends_before_a_missing_value() {
        let mut row = Vec::new();
        text_row([(0, Value::Text(b"a")), (3, Value::Missing)], &mut row);
        let mut keys = Fields::default();
        Parser::new(&Format::text(), vec![0, 3]).parse(&row, &mut keys);
        assert_eq!([keys.get(0, &row), keys.get(1, &row)], [Value::Text(b"a"), Value::Missing]);
    }
}
