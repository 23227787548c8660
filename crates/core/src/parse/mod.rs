//! Parse: the fields of a row, as far as the partition keys need them.
//!
//! Only key columns are decoded; all others pass through to the server as they stand in the
//! input, so there is no second parser for them to get wrong. The field reader of each syntax
//! has a file of its own.

mod csv;
mod text;

use crate::format::{Format, Syntax};

/// A field of a row, as far as it can be told without decoding it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The row has too few fields.
    Missing,
    /// The field is spelled as NULL.
    Null,
    /// The value stands at these offsets of the row as it is.
    Plain(usize, usize),
    /// The value stands at these offsets of the row, with escapes or quotes in it.
    Coded(usize, usize),
}

/// What a key column of a row holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value<'a> {
    /// The row has too few fields.
    Missing,
    /// NULL.
    Null,
    /// The text of the value, without quotes and escapes.
    Text(&'a [u8]),
}

/// The key columns of one row; reused from row to row.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    fields: Vec<Field>,
    decoded: Vec<Vec<u8>>,
}

impl Keys {
    /// The key column at `slot`, its place among the fields wanted; `row` is the row parsed.
    pub fn get<'a>(&'a self, slot: usize, row: &'a [u8]) -> Value<'a> {
        match self.fields[slot] {
            Field::Missing => Value::Missing,
            Field::Null => Value::Null,
            Field::Plain(start, end) => Value::Text(&row[start..end]),
            Field::Coded(..) => Value::Text(&self.decoded[slot]),
        }
    }
}

/// Finds and decodes the fields of rows in one format.
#[derive(Clone, Debug)]
pub struct Parser {
    format: Format,
    wanted: Vec<usize>,
}

impl Parser {
    /// A parser that looks for the fields at the positions `wanted`, counted from 0, ascending.
    pub fn new(format: &Format, wanted: Vec<usize>) -> Self {
        debug_assert!(wanted.is_sorted());
        Self { format: format.clone(), wanted }
    }

    /// Finds and decodes the wanted fields of `row`, in the order wanted.
    pub fn parse(&self, row: &[u8], keys: &mut Keys) {
        keys.fields.clear();
        keys.decoded.resize_with(self.wanted.len(), Vec::new);
        let mut next = Some(0);
        let mut position = 0;
        for (&wanted, decoded) in self.wanted.iter().zip(&mut keys.decoded) {
            while position < wanted {
                next = next.and_then(|start| self.field(row, start).1);
                position += 1;
            }
            let Some(start) = next else {
                keys.fields.push(Field::Missing);
                continue;
            };
            let (field, after) = self.field(row, start);
            if let Field::Coded(start, end) = field {
                self.decode(&row[start..end], decoded);
            }
            keys.fields.push(field);
            (next, position) = (after, position + 1);
        }
    }

    /// All fields of `row`, decoded; None is NULL. For header lines.
    pub fn all(&self, row: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut values = Vec::new();
        let mut next = Some(0);
        while let Some(start) = next {
            let (field, after) = self.field(row, start);
            let mut decoded = Vec::new();
            values.push(match field {
                Field::Missing | Field::Null => None,
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

    fn decode(&self, raw: &[u8], value: &mut Vec<u8>) {
        value.clear();
        match self.format.syntax {
            Syntax::Text => text::decode(raw, value),
            Syntax::Csv { quote, escape, .. } => csv::decode(raw, quote, escape, value),
        }
    }

    /// The field that begins at `start`, and where the next one begins if there is one.
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
