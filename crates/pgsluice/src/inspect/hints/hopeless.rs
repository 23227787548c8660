//! Inputs whose rows all have the same mistake, so that rejecting rows would leave nothing.

use pgsluice_core::parse::Parser;

use super::case::{HintCase, OwnedValue};
use crate::inspect::guess::SampleRow;

/// The hint if no other is known.
pub(super) const HINT: &str = "All rows at the beginning of the input have such a value, so rejecting them would leave nothing.";

/// Whether all rows of the sample have the mistake of the refused row.
pub(super) fn is_in_all(case: &HintCase<'_>) -> bool {
    let Some(sample) = &case.sample else { return false };
    let (Some(row), true) = (&sample.row, sample.rows.len() > 1) else { return false };
    match case.column {
        Some(at) if case.is_about_fields() => {
            let value = |row: &Vec<u8>| case.field(case.format, row, at);
            let OwnedValue::Text(refused) = value(row) else { return false };
            let is_alike = |field: OwnedValue| match field {
                OwnedValue::Text(text) => is_as_bad(case, at, &text, &refused),
                _ => false,
            };
            sample.rows.iter().map(value).all(is_alike)
        }
        None if case.error.message().starts_with("extra data") => {
            let parser = Parser::new(case.format, Vec::new());
            let has_more = |fields: SampleRow| fields.len() > case.columns.len();
            sample.rows.iter().all(|row| has_more(parser.all(row)))
        }
        _ => false,
    }
}

/// Whether a value has the same mistake as a refused one.
fn is_as_bad(case: &HintCase<'_>, at: usize, value: &[u8], refused: &[u8]) -> bool {
    let codec = case.columns[at].codec.filter(|_| !case.columns[at].is_free());
    let is_unread = codec.is_some_and(|codec| codec.encode(value, &mut Vec::new()).is_none());
    let is_syntax = matches!(case.code(), "22P02" | "22007" | "22023");
    let is_count = refused.iter().all(u8::is_ascii_digit);
    let is_alike = (is_syntax || is_count) && is_unread && shape(value) == shape(refused);
    is_alike || !case.may_be(at, Some(value))
}

/// Returns the sequence of kinds of characters.
fn shape(value: &[u8]) -> Vec<u8> {
    let kind = |byte: &u8| match byte {
        b'0'..=b'9' => b'9',
        b'a'..=b'z' | b'A'..=b'Z' | 0x80.. => b'a',
        other => *other,
    };
    let mut kinds: Vec<u8> = value.iter().map(kind).collect();
    kinds.dedup();
    kinds
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn shapes_are_kinds_of_characters() {
        assert_eq!(shape(b"2015-07-01-00.20"), b"9-9-9-9.9");
        assert_ne!(shape(b"25/12/2026"), shape(b"2026-12-25"));
    }
}
