//! Columns whose type is too small for the value.

use pgsluice_core::catalog::{ROOT, label};

use super::Advice;
use super::case::HintCase;
use super::values::value;
use crate::pg::sql;

/// Returns the statement that changes the column to a type that accepts the value. The user decides whether
/// that is right.
pub(super) fn wider(case: &HintCase<'_>) -> Option<Advice> {
    let value = value(case)?;
    let (what, name) = match case.code() {
        "22003" => ("larger numbers", number(case, &value)?),
        "22001" if case.error.message().starts_with("value too long for type character") => {
            ("longer values", "text")
        }
        "22008" if is_long_time(&value) => ("times of more than 24 hours", "interval"),
        "22008" | "22007" if is_epoch(&value) => return epoch(case, &value),
        _ => return None,
    };
    let change = alter(case, &format!("TYPE {name}"))?;
    Some(Advice::hint(format!("If {what} are right, the column needs another type: {change}")))
}

fn alter(case: &HintCase<'_>, action: &str) -> Option<String> {
    let plan = case.plan?;
    let column = case.columns.get(case.column?)?.name;
    let mut keys = plan.tree.nodes.iter().filter_map(|node| node.key.as_ref());
    let is_key = keys.any(|key| key.columns.iter().any(|it| it.name() == column));
    let table = plan.tree.nodes[ROOT].relation.label();
    // The type of a partition key is fixed.
    (!is_key).then(|| sql::alter_column(&table, &label(column), action))
}

/// Returns the smallest type that accepts a number.
fn number(case: &HintCase<'_>, value: &str) -> Option<&'static str> {
    let message = case.error.message();
    if message.starts_with("numeric field overflow") {
        return Some("numeric");
    }
    let is_whole = ["type smallint", "type integer", "type bigint"];
    if !is_whole.iter().any(|name| message.ends_with(name)) {
        return None;
    }
    let is_number = value.trim().trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(if value.trim().parse::<i64>().is_ok() { "bigint" } else { "numeric" })
}

/// Whether the value is a time such as `25:10:00`, which timetables use for the night.
fn is_long_time(value: &str) -> bool {
    let parts: Vec<Option<u32>> = value.trim().split(':').map(|part| part.parse().ok()).collect();
    matches!(parts[..], [Some(24..), Some(0..60)] | [Some(24..), Some(0..60), Some(0..60)])
}

/// Whether the value may be a number of seconds, milliseconds, microseconds or nanoseconds since 1970.
fn is_epoch(value: &str) -> bool {
    matches!(value.len(), 9..=10 | 12..=13 | 15..=16 | 18..=19)
        && value.bytes().all(|byte| byte.is_ascii_digit())
}

fn epoch(case: &HintCase<'_>, value: &str) -> Option<Advice> {
    let (unit, divisor) = match value.len() {
        ..=10 => ("seconds", ""),
        11..=13 => ("milliseconds", " / 1e3"),
        14..=16 => ("microseconds", " / 1e6"),
        _ => ("nanoseconds", " / 1e9"),
    };
    let column = label(case.columns.get(case.column?)?.name);
    let action = format!("TYPE timestamptz USING to_timestamp({column}{divisor})");
    let change = alter(case, &action)?;
    Some(Advice::hint(format!(
        "The value may count {unit} since 1970. Load it into a column of type bigint, and then run: {change}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_epochs_are_told_by_their_digits() {
        assert!(is_long_time("25:10:00") && is_long_time("24:01") && is_long_time("100:15:00"));
        assert!(!is_long_time("23:10:00") && !is_long_time("25:70:00") && !is_long_time("25"));
        assert!(is_epoch("1692352800000") && is_epoch("1692352800"));
        assert!(!is_epoch("20260105") && !is_epoch("-169235280"));
    }
}
