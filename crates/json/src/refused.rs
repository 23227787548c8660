//! What a line is refused for, where, and what to do.

use std::fmt;

use pgsluice_core::words::{Words, option};

/// Why a line cannot be a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedLine {
    /// The column whose value it is about, counted from 0 among those of the row.
    pub column: Option<usize>,
    /// What is wrong, in PostgreSQL's words where it says the same.
    pub message: String,
    /// What to look at, or to do.
    pub hint: Option<Words>,
    /// Whether the line would be taken if values were rounded.
    pub can_round: bool,
    /// Where in the line: a byte, counted from 0.
    pub at: usize,
}

impl RefusedLine {
    /// A refusal of `part`, which is a part of `line`.
    pub(crate) fn new(line: &str, part: &str, message: impl Into<String>) -> Self {
        Self {
            column: None,
            message: message.into(),
            hint: None,
            can_round: false,
            at: offset(line, part).unwrap_or_default(),
        }
    }

    pub(crate) fn with_hint(self, hint: impl Into<Words>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// A refusal of a key with this value that comes twice.
    pub(crate) fn duplicate(line: &str, key: &str, value: &str) -> Self {
        Self::new(line, place(line, key, value), format!("duplicate key \"{key}\""))
    }

    /// A refusal of a key with this value that goes to no column.
    pub(crate) fn unknown(line: &str, key: &str, value: &str) -> Self {
        let message = format!("key \"{key}\" matches no column of the table");
        Self::new(line, place(line, key, value), message).with_hint(
            "To ignore such keys, use "
                + option("ignore-extra")
                + "; to load a key into a column, use "
                + option("map").of("KEY=COLUMN")
                + ".",
        )
    }

    /// A refusal of a key of a `column` that rows do not have, because the first objects lack it.
    pub(crate) fn left_out(line: &str, key: &str, value: &str, column: &str) -> Self {
        let message = format!(
            "key \"{key}\" matches column \"{column}\", which is not loaded: the first objects do \
             not have it"
        );
        Self::new(line, place(line, key, value), message)
    }

    /// A refusal of a key that may be that of either of two columns.
    pub(crate) fn either(line: &str, key: &str, value: &str, [one, other]: [&str; 2]) -> Self {
        let message = format!("key \"{key}\" matches both column \"{one}\" and column \"{other}\"");
        Self::new(line, place(line, key, value), message)
            .with_hint("Choose one with " + option("map") + ".")
    }

    /// A refusal of a second key that goes to the column of another one.
    pub(crate) fn second(line: &str, key: &str, value: &str, first: &str) -> Self {
        let message = format!("keys \"{first}\" and \"{key}\" match the same column");
        Self::new(line, place(line, key, value), message).with_hint(
            "With "
                + option("ignore-extra")
                + ", the key that equals the column name is used; otherwise choose one with "
                + option("map")
                + ".",
        )
    }

    /// A refusal of a line that is not UTF-8, as `report_invalid_encoding` in `src/backend/utils/mb/mbutils.c`
    /// has it.
    pub(crate) fn encoding(line: &[u8], error: std::str::Utf8Error) -> Self {
        let at = error.valid_up_to();
        let length = error.error_len().unwrap_or(line.len() - at);
        let bytes: Vec<String> =
            line[at..].iter().take(length).map(|byte| format!("0x{byte:02x}")).collect();
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", bytes.join(" "));
        Self { column: None, message, hint: None, can_round: false, at }
    }

    /// A refusal of `text`, a part of `line`, that is no JSON.
    pub(crate) fn syntax(line: &str, text: &str, error: &serde_json::Error) -> Self {
        let lines_before = error.line().saturating_sub(1);
        let before: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
        let within = before + error.column().saturating_sub(1);
        let said = error.to_string();
        let expected = said.split(" at line ").next().unwrap_or_default();
        let mut at = (offset(line, text).unwrap_or_default() + within).min(line.len());
        // The library names the place before it, in values but not in keys.
        if expected.starts_with("control character") && !is_control(line, at) {
            at = (at + 1).min(line.len());
        }
        while !line.is_char_boundary(at) {
            at -= 1;
        }
        let column = line[..at].chars().count() + 1;
        let message = format!("invalid JSON at column {column}: {expected}");
        Self { column: None, message, hint: None, can_round: false, at }
    }
}

impl fmt::Display for RefusedLine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for RefusedLine {}

fn is_control(line: &str, at: usize) -> bool {
    line.as_bytes().get(at).is_some_and(|byte| *byte < b' ')
}

/// What stands in the line: a key without escapes does, and its value always.
fn place<'k>(line: &str, key: &'k str, value: &'k str) -> &'k str {
    if offset(line, key).is_some() { key } else { value }
}

/// Where `part` stands in `line`, if it is a part of it.
fn offset(line: &str, part: &str) -> Option<usize> {
    let distance = part.as_ptr().addr().wrapping_sub(line.as_ptr().addr());
    (distance <= line.len()).then_some(distance)
}
