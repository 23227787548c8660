//! Columns without a key in a line.

use crate::copy::NULL;
use crate::refused::RefusedLine;
use crate::target::{MissingKey, ObjectColumn};

/// Facts about a written row that its reader needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowFacts {
    /// Whether one of its fields is [`DEFAULT`](crate::copy::DEFAULT).
    pub has_default: bool,
}

/// The spellings of true.
const TRUE: [&[u8]; 6] = [b"true", b"t", b"yes", b"y", b"on", b"1"];

/// Checks the keys that the line lacks. A row that `deletes` another one sets no columns.
pub(crate) fn check_missing(
    line: &str,
    columns: &[ObjectColumn],
    deletes: bool,
) -> Result<RowFacts, RefusedLine> {
    let mut facts = RowFacts { has_default: false };
    for (place, column) in columns.iter().enumerate().filter(|(_, it)| it.field.is_none()) {
        match &column.missing {
            MissingKey::Default => facts.has_default = true,
            MissingKey::Refused(reason) if !deletes => {
                let message = format!("key \"{}\" is missing, and {}", column.key, reason.why);
                let refused = RefusedLine::new(line, line, message).with_hint(reason.hint.clone());
                return Err(RefusedLine { column: Some(place), ..refused });
            }
            MissingKey::Null | MissingKey::Refused(_) => {}
        }
    }
    Ok(facts)
}

/// Whether the row being written deletes another one.
pub(crate) fn deletes(
    (place, is_boolean): (usize, bool),
    columns: &[ObjectColumn],
    out: &[u8],
) -> bool {
    let field = columns.get(place).and_then(|column| column.field);
    let value = field.map(|(from, to)| &out[from..to]);
    match value {
        Some(value) if is_boolean => TRUE.contains(&value),
        Some(value) => value != NULL,
        None => false,
    }
}

/// Appends the tab before the field at `place`.
pub(crate) fn put_tab(place: usize, out: &mut Vec<u8>) {
    if place > 0 {
        out.push(b'\t');
    }
}

/// Appends the columns whose keys are missing; the first has the index `first`.
pub(crate) fn put_missing(columns: &[ObjectColumn], first: usize, out: &mut Vec<u8>) {
    for (place, column) in columns.iter().enumerate() {
        put_tab(first + place, out);
        out.extend_from_slice(column.missing.field());
    }
}
