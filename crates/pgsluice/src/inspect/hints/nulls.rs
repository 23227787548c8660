//! Spellings of NULL in the input that the options do not name.

use pgsluice_core::format::{Format, Syntax};

use super::Advice;
use super::case::{HintCase, OwnedValue};
use crate::error::{Remedy, option};
use crate::inspect::guess::list;
use crate::job::Columns;
use crate::source::FileFormat;

/// The spellings of NULL in various programs.
const SPELLINGS: [&str; 38] = [
    "",
    "\\N",
    "NULL",
    "null",
    "Null",
    "<NULL>",
    "<null>",
    "(NULL)",
    "(null)",
    "[NULL]",
    "None",
    "none",
    "nil",
    "NaN",
    "nan",
    "NA",
    "N/A",
    "n/a",
    "#N/A",
    "-",
    "?",
    "NaT",
    "*",
    ".",
    "..",
    "...",
    "--",
    "---",
    "_",
    "(blank)",
    "N.A.",
    "n.a.",
    "#DIV/0!",
    "#VALUE!",
    "#REF!",
    "#NULL!",
    // MySQL's zero dates.
    "0000-00-00",
    "0000-00-00 00:00:00",
];

/// Spellings that can only mean NULL, even in a text column.
const ONLY_NULL: [&str; 9] =
    ["\\N", "NULL", "null", "Null", "<NULL>", "<null>", "(NULL)", "(null)", "[NULL]"];

/// Suggests `--null` or `--force-null` if the refused value is a spelling of NULL, the column accepts NULL,
/// and no field of the sample changes its meaning.
pub(super) fn spelling(case: &HintCase<'_>) -> Option<Advice> {
    let is_value = matches!(case.code(), "22P02" | "22007" | "22008" | "22003");
    let at = case.column?;
    let column = &case.columns[at];
    if !is_value || column.nullness.is_not_null || column.is_bound {
        return None;
    }
    if case.how.file_format != FileFormat::Delimited {
        return None;
    }
    let row = case.sample.as_ref()?.row.as_ref()?;
    let OwnedValue::Text(value) = case.field(case.format, row, at) else { return None };
    let value = String::from_utf8(value).ok()?;
    if !SPELLINGS.contains(&&*value) {
        return None;
    }
    let other = Format { null: value.clone().into_bytes(), ..case.format.clone() };
    let shown = if value.is_empty() { "an empty field".to_owned() } else { format!("\"{value}\"") };
    let is_unquoted = case.field(&other, row, at) == OwnedValue::Null;
    let mut options = Vec::new();
    if other.null != case.format.null {
        other.check().ok()?;
        keeps_values(case, &other, &value)?;
        options.push(option("null").with(value.clone()));
    }
    if is_unquoted {
        let what = format!("If {shown} stands for NULL");
        return Some(Remedy::options(what, options).into());
    }
    let is_csv = matches!(case.format.syntax, Syntax::Csv { .. });
    let forced = case.how.fields.force_null.with(column.name).filter(|_| is_csv)?;
    options.push(option("force-null").with(forced));
    let what = format!(
        "If \"{value}\" in quotes stands for NULL in column {}",
        list(&[column.name.to_owned()])
    );
    Some(Remedy::options(what, options).into())
}

/// Checks that no field of the rows changes its meaning with another spelling of NULL: no NULL becomes a
/// value, and no value becomes NULL in a NOT NULL column or where it may be a valid value.
fn keeps_values(case: &HintCase<'_>, other: &Format, value: &str) -> Option<()> {
    let (before, after) = (case.all_fields(case.format), case.all_fields(other));
    let kept = before.iter().zip(&after).all(|(before, after)| {
        before.iter().zip(after).zip(&case.columns).all(|((before, after), column)| {
            match (before, after) {
                (None, Some(_)) => false,
                (Some(text), None) => {
                    let is_null = ONLY_NULL.contains(&value) || value.is_empty();
                    let is_value = column
                        .codec
                        .is_none_or(|codec| codec.encode(text, &mut Vec::new()).is_some());
                    !column.nullness.is_not_null && (is_null || !is_value)
                }
                _ => true,
            }
        })
    });
    kept.then_some(())
}

impl Columns {
    /// Returns the list with one more column in the form for an option, or `None` if it has the column
    /// already.
    pub(super) fn with(&self, name: &str) -> Option<String> {
        let mut names = match self {
            Self::None => Vec::new(),
            Self::All => return None,
            Self::Named(names) => names.clone(),
        };
        if names.iter().any(|known| known == name) {
            return None;
        }
        names.push(name.to_owned());
        Some(list(&names))
    }
}
