//! The key in the server's error about a row, for errors that do not say which line they are about.

use pgsluice_core::bucket::Wire;
use pgsluice_core::encode;
use pgsluice_core::parse::{Fields, Parser, Value};

use crate::plan::Plan;

/// Columns and their values, as the server writes them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RowKey {
    columns: Vec<String>,
    values: Vec<String>,
}

impl RowKey {
    /// Parses `Key (a, b)=(1, 2) is not present in table "t".` in the server's language; the parentheses are
    /// the same in all languages. Returns `None` if it is unclear which value belongs to which column.
    pub(crate) fn parse(detail: &str) -> Option<Self> {
        let (before, after) = detail.split_once(")=(")?;
        let (_, columns) = before.split_once('(')?;
        // A value may contain parentheses, but the text after it does not.
        let (values, _) = after.rsplit_once(')')?;
        let parts = |list: &str| list.split(", ").map(str::to_owned).collect::<Vec<String>>();
        let columns = parts(columns);
        let values = if columns.len() == 1 { vec![values.to_owned()] } else { parts(values) };
        let columns = columns.into_iter().map(|column| unquote(&column)).collect::<Vec<String>>();
        (columns.len() == values.len()).then_some(Self { columns, values })
    }

    /// Returns a finder for the rows with this key, if their values are spelled as the server would spell
    /// them.
    pub(crate) fn finder(&self, plan: &Plan, wire: Wire) -> Option<Finder> {
        let columns = &plan.catalogue.columns;
        let mut wanted = Vec::new();
        for (name, value) in self.columns.iter().zip(&self.values) {
            let position = columns.iter().position(|column| column == name)?;
            let mut bytes = Vec::new();
            match wire {
                Wire::Text => bytes.extend_from_slice(value.as_bytes()),
                Wire::Binary => {
                    let codec = plan.catalogue.codecs[position].as_ref().ok()?;
                    codec.encode(value.as_bytes(), &mut bytes)?;
                    // The length is removed.
                    bytes.drain(..4);
                }
            }
            wanted.push((position, bytes));
        }
        wanted.sort_unstable();
        let positions = wanted.iter().map(|(position, _)| *position).collect();
        let parser = Parser::new(&plan.shape.format, positions);
        Some(Finder { wanted, wire, parser, fields: Fields::default() })
    }
}

/// A matcher for rows that have a key.
pub(crate) struct Finder {
    /// Fields and their bytes, in the order of the row.
    wanted: Vec<(usize, Vec<u8>)>,
    wire: Wire,
    parser: Parser,
    fields: Fields,
}

impl Finder {
    /// Whether `row`, in the form in which it is sent, has the key.
    pub(crate) fn has_key(&mut self, row: &[u8]) -> bool {
        let Self { wanted, wire, parser, fields } = self;
        match wire {
            Wire::Binary => wanted.iter().all(|(at, value)| encode::field(row, *at) == Some(value)),
            Wire::Text => {
                let row = row.strip_suffix(b"\n").unwrap_or(row);
                parser.parse(row, fields);
                let mut wanted = wanted.iter().enumerate();
                wanted.all(|(slot, (_, value))| fields.get(slot, row) == Value::Text(value))
            }
        }
    }
}

fn unquote(column: &str) -> String {
    match column.strip_prefix('"').and_then(|column| column.strip_suffix('"')) {
        Some(quoted) => quoted.replace("\"\"", "\""),
        None => column.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::RowKey;

    fn key(detail: &str) -> Option<(Vec<String>, Vec<String>)> {
        RowKey::parse(detail).map(|RowKey { columns, values }| (columns, values))
    }

    #[test]
    fn a_key_is_read_in_any_language() {
        let strings = |parts: &[&str]| parts.iter().map(|part| (*part).to_owned()).collect();
        for (detail, columns, values) in [
            ("Key (a)=(1) is not present in table \"t\".", &["a"][..], &["1"][..]),
            (
                "Schlüssel (a, b)=(1, x) ist nicht in Tabelle »t« vorhanden.",
                &["a", "b"],
                &["1", "x"],
            ),
            ("Key (\"A \"\"b\")=(a, (b)) is not present in table \"t\".", &["A \"b"], &["a, (b)"]),
        ] {
            assert_eq!(key(detail), Some((strings(columns), strings(values))), "{detail}");
        }
        assert_eq!(key("Key (a, b)=(1, 2, 3) is not present in table \"t\"."), None);
        assert_eq!(key("Failing row contains (1, 2)."), None);
    }
}
