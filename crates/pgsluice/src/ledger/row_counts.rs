//! The outcomes of a receipt's rows in the ledger: the numbers other than 0, by name.

use serde_json::{Map, Value};

use crate::row_counts::RowCounts;

/// Returns the counts as JSON, or `None` if all rows were inserted or rejected; the receipt's count is then
/// enough.
pub(super) fn written(counts: RowCounts) -> Option<String> {
    let known = counts.by_name().into_iter().filter(|(_, rows)| *rows > 0);
    let known: Map<String, Value> =
        known.map(|(name, rows)| (name.to_owned(), Value::from(rows))).collect();
    (!known.is_empty()).then(|| Value::Object(known).to_string())
}

/// Reads the result of [`written`].
pub(super) fn read(text: &str) -> RowCounts {
    let known: Map<String, Value> = serde_json::from_str(text).unwrap_or_default();
    let number = |name: &str| known.get(name).and_then(Value::as_u64).unwrap_or_default();
    RowCounts::from_numbers(0, RowCounts::default().by_name().map(|(name, _)| number(name)))
}
