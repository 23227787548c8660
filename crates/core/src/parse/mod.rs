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

    /// Finds the wanted fields of `row`, in the order wanted; `fields` is overwritten.
    pub fn fields(&self, row: &[u8], fields: &mut Vec<Field>) {
        fields.clear();
        let mut at = Some(0);
        let mut position = 0;
        for &wanted in &self.wanted {
            while position < wanted {
                at = at.and_then(|start| self.field(row, start).1);
                position += 1;
            }
            let Some(start) = at else {
                fields.push(Field::Missing);
                continue;
            };
            let (field, next) = self.field(row, start);
            fields.push(field);
            (at, position) = (next, position + 1);
        }
    }

    /// All fields of `row`, decoded; None is NULL. For header lines.
    pub fn all(&self, row: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut values = Vec::new();
        let mut at = Some(0);
        while let Some(start) = at {
            let (field, next) = self.field(row, start);
            let mut scratch = Vec::new();
            values.push(self.value(row, field, &mut scratch).map(<[u8]>::to_vec));
            at = next;
        }
        values
    }

    /// The decoded value of a field, borrowed from the row or from `scratch`; None where there is
    /// none.
    pub fn value<'a>(
        &self,
        row: &'a [u8],
        field: Field,
        scratch: &'a mut Vec<u8>,
    ) -> Option<&'a [u8]> {
        match field {
            Field::Missing | Field::Null => None,
            Field::Plain(start, end) => Some(&row[start..end]),
            Field::Coded(start, end) => {
                scratch.clear();
                match self.format.syntax {
                    Syntax::Text => text::decode(&row[start..end], scratch),
                    Syntax::Csv { quote, escape, .. } => {
                        csv::decode(&row[start..end], quote, escape, scratch);
                    }
                }
                Some(scratch)
            }
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
