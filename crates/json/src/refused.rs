//! Rejected lines: the reason, the place, and the next step.

use std::fmt;

use pgsluice_core::words::{Words, option};

/// The reason why a line cannot be a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedLine {
    /// The index of the column in the row whose value is wrong.
    pub column: Option<usize>,
    /// The error, in PostgreSQL's words if it has the same one.
    pub message: String,
    /// The next step.
    pub hint: Option<Words>,
    /// Whether the line would be accepted if values were rounded.
    pub can_round: bool,
    /// The byte offset in the line.
    pub at: usize,
}

impl RefusedLine {
    /// Rejects `part`, a part of `line`.
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

    /// Rejects a key with this value that appears twice.
    pub(crate) fn duplicate(line: &str, key: &str, value: &str) -> Self {
        Self::new(line, place(line, key, value), format!("duplicate key \"{key}\""))
    }

    /// Rejects a key with this value that matches no column.
    pub(crate) fn unknown(line: &str, key: &str, value: &str) -> Self {
        let message = format!("key \"{key}\" matches no column of the table");
        Self::new(line, place(line, key, value), message).with_hint(
            "To ignore such keys, use "
                + option("ignore-extra")
                + "; to load a key into a column, use "
                + option("map").with("KEY=COLUMN")
                + ".",
        )
    }

    /// Rejects a key of a `column` that rows do not have because the first objects lack it.
    pub(crate) fn left_out(line: &str, key: &str, value: &str, column: &str) -> Self {
        let message = format!(
            "key \"{key}\" matches column \"{column}\", which is not loaded: the first objects do \
             not have it"
        );
        Self::new(line, place(line, key, value), message)
    }

    /// Rejects a key that matches two columns.
    pub(crate) fn either(line: &str, key: &str, value: &str, [one, other]: [&str; 2]) -> Self {
        let message = format!("key \"{key}\" matches both column \"{one}\" and column \"{other}\"");
        Self::new(line, place(line, key, value), message)
            .with_hint("Choose one with " + option("map") + ".")
    }

    /// Rejects a second key that matches the column of another one.
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

    /// Rejects a line that is not UTF-8, like `report_invalid_encoding` in `src/backend/utils/mb/mbutils.c`.
    pub(crate) fn encoding(line: &[u8], error: std::str::Utf8Error) -> Self {
        let at = error.valid_up_to();
        let length = error.error_len().unwrap_or(line.len() - at);
        let bytes: Vec<String> =
            line[at..].iter().take(length).map(|byte| format!("0x{byte:02x}")).collect();
        let message = format!("invalid byte sequence for encoding \"UTF8\": {}", bytes.join(" "));
        Self { column: None, message, hint: None, can_round: false, at }
    }

    /// Rejects `text`, a part of `line`, that is not JSON.
    pub(crate) fn syntax(line: &str, text: &str, error: &serde_json::Error) -> Self {
        let lines_before = error.line().saturating_sub(1);
        let before: usize = text.split_inclusive('\n').take(lines_before).map(str::len).sum();
        let within = before + error.column().saturating_sub(1);
        let reported = error.to_string();
        let expected = reported.split(" at line ").next().unwrap_or_default();
        let mut at = (offset(line, text).unwrap_or_default() + within).min(line.len());
        // The library reports the position before it, in values but not in keys.
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

/// Returns the key, if it is a part of the line, as keys without escapes are; otherwise the value.
fn place<'k>(line: &str, key: &'k str, value: &'k str) -> &'k str {
    if offset(line, key).is_some() { key } else { value }
}

/// Returns the position of `part` in `line`, if it is a part of it.
fn offset(line: &str, part: &str) -> Option<usize> {
    let distance = part.as_ptr().addr().wrapping_sub(line.as_ptr().addr());
    (distance <= line.len()).then_some(distance)
}
