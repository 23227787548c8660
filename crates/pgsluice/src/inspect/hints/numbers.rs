//! Numbers in spellings of other programs.

use super::Advice;
use super::case::{Case, OwnedValue};
use crate::source::FileFormat;

/// Explains a decimal comma, and whole numbers that are written with a decimal point.
pub(super) fn spelling(case: &Case<'_>) -> Option<Advice> {
    if case.code() != "22P02" || case.how.file_format != FileFormat::Delimited {
        return None;
    }
    let row = case.sample.as_ref()?.row.as_ref()?;
    let OwnedValue::Text(value) = case.field(case.format, row, case.column?) else { return None };
    let value = str::from_utf8(&value).ok()?;
    if is_split_by(value, '.') && value.trim_end_matches('0').ends_with('.') {
        return Some(Advice::hint(
            "The column has an integer type. pandas writes integers with a decimal point if a \
             column has missing values: convert it in pandas with astype(\"Int64\").",
        ));
    }
    is_split_by(value, ',').then(|| {
        Advice::hint(
            "The number has a decimal comma. Make the program that writes the file use a decimal \
             point.",
        )
    })
}

/// Whether digits stand before and behind a separator.
fn is_split_by(value: &str, separator: char) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let value = value.trim().trim_start_matches(['-', '+']);
    value.split_once(separator).is_some_and(|(whole, rest)| digits(whole) && digits(rest))
}

#[cfg(test)]
mod tests {
    use super::is_split_by;

    #[test]
    fn numbers_have_digits_on_both_sides() {
        assert!(is_split_by("-1,50", ',') && is_split_by(" 3.0", '.'));
        assert!(
            !is_split_by("1,234.50", ',') && !is_split_by("a,5", ',') && !is_split_by("5,", ',')
        );
    }
}
