//! Numbers in the notations of other programs.

use pgsluice_core::format::Syntax;
use pgsluice_core::parse::Parser;

use super::Advice;
use super::case::{HintCase, OwnedValue};
use crate::error::quote_shell;
use crate::inspect::guess::SampleRow;
use crate::source::FileFormat;

const COMMAS: &str = "If commas separate thousands";

/// Explains a decimal comma, and integers that are written with a decimal point.
pub(super) fn spelling(case: &HintCase<'_>) -> Option<Advice> {
    if case.code() != "22P02" || case.how.file_format != FileFormat::Delimited {
        return None;
    }
    let row = case.sample.as_ref()?.row.as_ref()?;
    if Parser::new(case.format, Vec::new()).all(row).len() != case.columns.len() {
        // Its commas may separate fields.
        return None;
    }
    let OwnedValue::Text(value) = case.field(case.format, row, case.column?) else { return None };
    let value = str::from_utf8(&value).ok()?;
    if let Some(advice) = rewrite_filter(case) {
        return Some(advice);
    }
    if is_split_by(value, '.') && value.trim_end_matches('0').ends_with('.') {
        return Some(Advice::hint(
            "The column has an integer type. pandas writes integers with a decimal point if a \
             column has missing values: convert it in pandas with astype(\"Int64\").",
        ));
    }
    if is_rounded(value) {
        return Some(Advice::hint(
            "A spreadsheet rounded the number and lost its last digits. Load the original file instead.",
        ));
    }
    is_split_by(value, ',').then(|| {
        Advice::hint(
            "The number has a decimal comma. Make the program that writes the file use a decimal \
             point.",
        )
    })
}

/// Returns a program that removes thousands separators, currency signs and decimal commas from the input. It
/// is tried on the sample, in which no free text may change.
fn rewrite_filter(case: &HintCase<'_>) -> Option<Advice> {
    let mut text = case.text()?.to_vec();
    let values = amounts(case)?;
    let any = |is: &dyn Fn(&str) -> bool| values.iter().any(|value| is(value));
    let mut scripts = Vec::new();
    let mut what = COMMAS;
    let signs = ["$", "\u{20ac}", "\u{a3}"];
    if let Some(sign) = signs.into_iter().find(|sign| any(&|value| value.contains(sign))) {
        let class = if sign == "$" { "[$]" } else { sign };
        scripts.push(format!("s/ *{class} *//g"));
        text = without_sign(&text, sign.as_bytes());
        what = "To remove the sign of the currency";
    }
    if case.how.format.delimiter != b',' && any(&has_decimal_comma) {
        for (label, separator) in [('a', '.'), ('b', ' ')] {
            if any(&|value| value.contains(separator)) {
                let script = format!("s/([0-9])[{separator}]([0-9]{{3}})([^0-9]|$)/\\1\\2\\3/");
                scripts.extend([format!(":{label}"), script, format!("t{label}")]);
                text = without_groups(&text, separator as u8);
            }
        }
        scripts.push("y/,/./".to_owned());
        text.iter_mut().filter(|byte| **byte == b',').for_each(|byte| *byte = b'.');
        what = "If a comma stands before decimals";
    } else if matches!(case.how.format.syntax, Syntax::Csv { quote: b'"', .. })
        && any(&|value| value.contains(','))
    {
        let script = "s/\"([-+]?[0-9]+),([0-9]{3}(,[0-9]{3})*([.][0-9]*)?)\"/\"\\1\\2\"/";
        scripts.extend([":a", script, "ta"].map(str::to_owned));
        text = without_commas(&text);
    }
    // Commas are removed only from quoted fields that are numbers.
    let is_safe = what == COMMAS || case.has_no_other_text();
    if scripts.is_empty() || !is_safe || !case.fits_changed(&text) {
        return None;
    }
    let scripts: Vec<String> = scripts.iter().map(|it| format!("-e {}", quote_shell(it))).collect();
    let filter = format!("sed -E {}", scripts.join(" "));
    Some(case.sample.as_ref()?.filter(what, &filter).into())
}

/// Returns the values of all columns that do not accept free text.
fn amounts(case: &HintCase<'_>) -> Option<Vec<String>> {
    let present = case.present()?;
    let is_typed = |at: usize| case.columns.get(at).is_some_and(|column| !column.is_free());
    let typed = |row: &SampleRow| -> Vec<String> {
        let fields = row.iter().zip(&present.layout).filter(|(_, at)| at.is_some_and(is_typed));
        fields.filter_map(|(field, _)| String::from_utf8(field.clone()?).ok()).collect()
    };
    Some(present.rows.iter().flat_map(typed).collect())
}

/// Whether the last comma of a number cannot be a thousands separator.
fn has_decimal_comma(value: &str) -> bool {
    let Some((_, decimals)) = value.rsplit_once(',') else { return false };
    let digits = decimals.trim_end_matches(|c: char| !c.is_ascii_digit());
    digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.len() != 3
}

/// Removes a sign and the spaces around it.
fn without_sign(text: &[u8], sign: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        match rest[blanks..].strip_prefix(sign) {
            Some(after) => {
                let blanks = after.iter().take_while(|byte| **byte == b' ').count();
                rest = &after[blanks..];
            }
            None => {
                plain.push(byte);
                rest = after;
            }
        }
    }
    plain
}

/// Removes each separator that follows a digit and precedes exactly three digits.
fn without_groups(text: &[u8], separator: u8) -> Vec<u8> {
    let is_digit = |at: usize| text.get(at).is_some_and(u8::is_ascii_digit);
    let is_group = |at: usize| {
        let is_before = at > 0 && is_digit(at - 1) && text[at] == separator;
        is_before && (at + 1..at + 4).all(is_digit) && !is_digit(at + 4)
    };
    (0..text.len()).filter(|&at| !is_group(at)).map(|at| text[at]).collect()
}

/// Removes commas from each quoted number if each comma is followed by three digits.
fn without_commas(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some((&byte, after)) = rest.split_first() {
        plain.push(byte);
        rest = after;
        let number = (byte == b'"').then(|| after.split(|byte| *byte == b'"').next()).flatten();
        let Some(number) = number.filter(|it| it.len() < after.len() && is_grouped(it)) else {
            continue;
        };
        plain.extend(number.iter().filter(|byte| **byte != b','));
        rest = &after[number.len()..];
    }
    plain
}

/// Whether the digits are grouped, as in `-1,234,567.50`.
fn is_grouped(number: &[u8]) -> bool {
    let Ok(text) = str::from_utf8(number) else { return false };
    let text = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (whole, decimals) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let mut groups = whole.split(',');
    let first = groups.next().is_some_and(|first| !first.is_empty() && is_digits(first));
    let others: Vec<&str> = groups.collect();
    let are_groups = others.iter().all(|group| group.len() == 3 && is_digits(group));
    first && !others.is_empty() && are_groups && is_digits(decimals)
}

/// Whether the value is a number such as `1.05076E+11`.
fn is_rounded(value: &str) -> bool {
    let (digits, power) = value.split_once("E+").unwrap_or_default();
    is_split_by(digits, '.') && power.bytes().all(|byte| byte.is_ascii_digit())
}

/// Whether there are digits on both sides of a separator.
fn is_split_by(value: &str, separator: char) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let value = value.trim().trim_start_matches(['-', '+']);
    value.split_once(separator).is_some_and(|(whole, rest)| digits(whole) && digits(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separators_are_removed_from_numbers_only() {
        let commas = |text: &str| String::from_utf8(without_commas(text.as_bytes())).expect("text");
        assert_eq!(commas("1,\"1,234,567.5\",\"a\",\"-1,000\""), "1,\"1234567.5\",\"a\",\"-1000\"");
        assert_eq!(commas("\"1,23\",\"a 1,234\",\"1,234"), "\"1,23\",\"a 1,234\",\"1,234");
        assert_eq!(without_groups(b"1.240.294,00;0.5;x.123", b'.'), b"1240294,00;0.5;x.123");
        assert_eq!(without_groups(b"31.12.2025;1.234", b'.'), b"31.12.2025;1234");
        assert_eq!(without_sign(b"1,$5.00;7 $ ;", b"$"), b"1,5.00;7;");
        assert!(has_decimal_comma("1.240,5") && has_decimal_comma("0,25 $"));
        assert!(!has_decimal_comma("1,234") && !has_decimal_comma("1,234.5"));
    }

    #[test]
    fn numbers_have_digits_on_both_sides() {
        assert!(is_split_by("-1,50", ',') && is_split_by(" 3.0", '.'));
        assert!(
            !is_split_by("1,234.50", ',') && !is_split_by("a,5", ',') && !is_split_by("5,", ',')
        );
    }
}
