//! Fields that are NULL in NOT NULL columns with a default.

use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::types::Codec;

use super::Advice;
use super::case::{HintCase, OwnedValue};
use crate::error::{Remedy, option};
use crate::source::FileFormat;

/// The first version whose COPY has `DEFAULT`.
const FIRST_WITH_DEFAULT: u32 = 160_000;

/// Suggests `--default` if every field with this spelling is in such a column; otherwise suggests to leave
/// the column out. In a column without a default, an empty field may stand for an empty string.
pub(super) fn empty(case: &HintCase<'_>) -> Option<Advice> {
    let column = &case.columns[case.column.filter(|_| case.code() == "23502")?];
    if !column.nullness.has_default {
        return as_string(case).map(Advice::from);
    }
    let left_out = || {
        let name = column.name;
        Advice::hint(format!(
            "Column {name} has a default, which is used if the input does not contain the column."
        ))
    };
    Some(by_option(case).map_or_else(left_out, Advice::from))
}

/// Returns the option that makes an empty field of the column an empty string.
fn as_string(case: &HintCase<'_>) -> Option<Remedy> {
    let at = case.column?;
    let column = &case.columns[at];
    let takes_empty = |codec: &Codec| codec.encode(b"", &mut Vec::new()).is_some();
    let Syntax::Csv { .. } = case.format.syntax else { return None };
    let is_delimited = case.how.file_format == FileFormat::Delimited;
    if !is_delimited || !case.format.null.is_empty() || !column.codec.is_some_and(takes_empty) {
        return None;
    }
    let row = case.sample.as_ref()?.row.as_ref()?;
    if case.field(case.format, row, at) != OwnedValue::Null {
        return None;
    }
    let forced = case.how.fields.force_not_null.with(column.name)?;
    let what = format!("If an empty field stands for an empty string in column {}", column.name);
    Some(Remedy::options(what, [option("force-not-null").with(forced)]))
}

fn by_option(case: &HintCase<'_>) -> Option<Remedy> {
    let Format { null, syntax, .. } = case.format;
    let is_possible = case.how.file_format == FileFormat::Delimited
        && case.version >= FIRST_WITH_DEFAULT
        && case.how.fields.default.is_none()
        && !case.changes;
    let sample = case.sample.as_ref().filter(|_| is_possible)?;
    let at = case.column?;
    if case.field(case.format, sample.row.as_ref()?, at) != OwnedValue::Null {
        return None;
    }
    let default = String::from_utf8(null.clone()).ok()?;
    let other = match (syntax, &*default) {
        (Syntax::Csv { .. }, "") => "\\N",
        (_, "") => "\\N",
        _ => "",
    };
    let is_kept = case.all_fields(case.format).iter().all(|row| {
        row.iter().zip(&case.columns).all(|(field, column)| match field {
            // It would become the default.
            None => column.nullness.is_not_null && column.nullness.has_default,
            // It would become NULL.
            Some(text) => text != other.as_bytes(),
        })
    });
    let what = match &*default {
        "" => "If an empty field stands for the default of its column".to_owned(),
        text => format!("If \"{text}\" stands for the default of its column"),
    };
    let options = [option("default").with(default), option("null").with(other)];
    is_kept.then(|| Remedy::options(what, options))
}
