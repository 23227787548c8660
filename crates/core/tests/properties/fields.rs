//! The parser finds the fields that PostgreSQL finds, and returns the same fields for any selection of them.

use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::parse::{Fields, Parser, Projection, Value};
use pgsluice_core::split::Splitter;

use crate::attributes;
use crate::choices::Choices;

/// Checks the property for CSV.
pub fn check_csv(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let format = choices.csv_format();
    check(choices, &format);
}

/// Checks the property for COPY text.
pub fn check_text(bytes: &[u8]) {
    let mut choices = Choices::new(bytes);
    let format = choices.text_format();
    check(choices, &format);
}

fn check(mut choices: Choices<'_>, format: &Format) {
    // The first few fields, or any fields.
    let mask = if choices.once_in(2) { (1 << choices.below(8)) - 1 } else { choices.byte() };
    let parser = Parser::new(format, (0..8).filter(|field| mask >> field & 1 == 1).collect());
    let input = choices.input(format);
    let mut keys = Fields::default();
    // Any bytes, including invalid rows.
    check_wanted(&parser, &input, mask, &mut keys);
    let mut rows = Vec::new();
    // Rows before an error are valid.
    let _ = Splitter::new(format).scan(&input, true, &mut rows);
    for row in rows {
        check_wanted(&parser, row.slice(&input), mask, &mut keys);
        check_projected(format, row.slice(&input), mask);
        let mut line = row.slice(&input);
        if format.syntax == Syntax::Text && &input[row.end as usize..] == b"\\" {
            line = &input[row.start as usize..];
        }
        assert_eq!(parser.all(row.slice(&input)), twin(format, line), "{format:?} {line:?}");
    }
}

fn twin(format: &Format, line: &[u8]) -> attributes::Fields {
    let Format { delimiter, null, syntax } = format;
    match *syntax {
        Syntax::Text => attributes::text(line, *delimiter, null),
        Syntax::Csv { quote, escape, .. } => {
            attributes::csv(line, *delimiter, null, quote, escape).expect("quotes are closed")
        }
    }
}

/// Checks that [`Parser::parse`] finds the same fields as [`Parser::all`]. `keys` may hold another row.
fn check_wanted(parser: &Parser, row: &[u8], mask: u8, keys: &mut Fields) {
    let all = parser.all(row);
    parser.parse(row, keys);
    let wanted = (0..8).filter(|field| mask >> field & 1 == 1);
    let exact = all.len() == wanted.clone().next_back().map_or(0, |last| last + 1);
    assert_eq!(keys.is_exact(), exact, "{all:?} of {row:?}");
    for (slot, field) in wanted.enumerate() {
        let expected = match all.get(field) {
            None => Value::Missing,
            Some(None) => Value::Null,
            Some(Some(text)) => Value::Text(text),
        };
        assert_eq!(keys.get(slot, row), expected, "field {field} of {row:?}");
    }
}

/// Checks that a projected row has the selected fields if the row had the expected number of fields.
/// Otherwise it must also have a wrong number.
fn check_projected(format: &Format, row: &[u8], mask: u8) {
    let parser = Parser::new(format, Vec::new());
    let all = parser.all(row);
    for count in [all.len() - 1, all.len(), all.len() + 1] {
        let kept: Vec<bool> = (0..count).map(|field| mask >> (field % 8) & 1 == 1).collect();
        if !kept.contains(&true) {
            continue;
        }
        let mut projected = Vec::new();
        Projection::new(parser.clone(), kept.clone()).project(row, &mut projected);
        let found = parser.all(&projected);
        let wanted = all.iter().zip(&kept).filter(|(_, kept)| **kept).map(|(field, _)| field);
        // A NULL next to an empty field would be read as the end of the data, and is refused instead.
        let may_be_refused = projected.iter().all(|byte| *byte == format.delimiter);
        match count == all.len() {
            true if may_be_refused && !found.iter().eq(wanted.clone()) => {
                assert!(wanted.flatten().all(|text| text.is_empty()), "{kept:?} of {row:?}");
            }
            true => assert!(found.iter().eq(wanted), "{kept:?} of {row:?}: {projected:?}"),
            false => assert_ne!(
                found.len(),
                kept.iter().filter(|kept| **kept).count(),
                "{kept:?} of {row:?}: {projected:?}"
            ),
        }
    }
}
