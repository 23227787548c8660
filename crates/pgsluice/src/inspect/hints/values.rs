//! Values in the notations of other programs.

use pgsluice_core::format::Syntax;
use pgsluice_core::types::Codec;
use serde_json::Value;

use super::Advice;
use super::case::{HintCase, OwnedValue};
use crate::source::FileFormat;

/// Replaces objects whose only key begins with a dollar sign by their values.
const UNWRAP: &str = "jq -c 'walk(if type == \"object\" and length == 1 and (keys[0] | startswith(\"$\")) \
                      then .[keys[0]] else . end)'";

/// Removes \u0000 unless another backslash precedes it.
const WITHOUT_NUL: &str = "sed -E -e ':a' -e 's/(^|[^\\])((\\\\\\\\)*)\\\\u0000/\\1\\2/' -e 'ta'";

/// Suggests to replace the brackets of JSON arrays by braces, if only array columns contain brackets.
pub(super) fn arrays(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|text| !text.contains(&b'\\'))?;
    let value = value(case).filter(|_| case.error.message().starts_with("malformed array"))?;
    if !value.starts_with('[') || !value.ends_with(']') {
        return None;
    }
    let braces = |byte: &u8| match byte {
        b'[' => b'{',
        b']' => b'}',
        other => *other,
    };
    let changed: Vec<u8> = text.iter().map(braces).collect();
    let what = "Arrays are in brackets, and PostgreSQL reads braces";
    let remedy = case.sample.as_ref()?.filter(what, "tr '[]' '\\173\\175' <");
    (case.has_no_other_text() && case.fits_changed(&changed)).then(|| remedy.into())
}

/// Suggests to replace the bytes 0 and 1, which MySQL writes for `bit(1)`, by digits.
pub(super) fn bits(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| matches!(case.code(), "22P02" | "22021"))?;
    let is_bool = |at: usize| matches!(case.columns[at].codec, Some(Codec::Bool));
    let row = case.sample.as_ref()?.row.as_ref()?;
    let is_bit = |at: usize| {
        let field = case.field(case.format, row, at);
        matches!(field, OwnedValue::Text(text) if matches!(&text[..], [0 | 1]))
    };
    if !(0..case.columns.len()).any(|at| is_bool(at) && is_bit(at)) {
        return None;
    }
    let digit = |byte: &u8| if *byte < 2 { b'0' + byte } else { *byte };
    let changed: Vec<u8> = text.iter().map(digit).collect();
    let what = "The bytes 0 and 1 stand for false and true";
    let remedy = case.sample.as_ref()?.filter(what, "tr '\\000\\001' '01' <");
    case.fits_changed(&changed).then(|| Advice::from(remedy).instead())
}

/// Suggests to remove `\u0000`, which `jsonb` cannot contain.
pub(super) fn nul(case: &HintCase<'_>) -> Option<Advice> {
    let sample = case.sample.as_ref().filter(|_| case.code() == "22P05")?;
    let raw = sample.raw.as_ref()?;
    let has_nul = memchr::memmem::find(raw, b"\\u0000").is_some();
    let is_csv = case.text().is_some_and(|_| case.how.format.syntax != Syntax::Text);
    let is_json = case.how.file_format == FileFormat::Ndjson && case.how.encoding.is_utf8();
    let is_meant = has_nul && (is_csv || is_json);
    let what = "To remove the character \\u0000, which PostgreSQL cannot store";
    is_meant.then(|| sample.filter(what, WITHOUT_NUL).into())
}

/// Suggests to unwrap the values of MongoDB's extended JSON: `{"$date": "2026-01-05"}`.
pub(super) fn extended_json(case: &HintCase<'_>) -> Option<Advice> {
    if case.how.file_format != FileFormat::Ndjson || !case.how.encoding.is_utf8() {
        return None;
    }
    let Value::Object(object) = serde_json::from_str(&value(case)?).ok()? else { return None };
    let is_wrapped = object.len() == 1 && object.keys().all(|key| key.starts_with('$'));
    let what = "The values are in MongoDB's extended JSON; to load them as plain values";
    is_wrapped.then_some(())?;
    Some(case.sample.as_ref()?.filter(what, UNWRAP).into())
}

/// Explains Python's notation of dicts and lists.
pub(super) fn python(case: &HintCase<'_>) -> Option<Advice> {
    let at = case.column.filter(|_| case.code() == "22P02")?;
    let value = value(case).filter(|_| case.is_json(at))?;
    let is_python = value.starts_with(['{', '[']) && value.contains('\'');
    is_python.then(|| {
        Advice::hint("The value is a Python literal, not JSON. Write it with json.dumps instead.")
    })
}

/// Returns the refused value.
pub(super) fn value(case: &HintCase<'_>) -> Option<String> {
    let row = case.sample.as_ref()?.row.as_ref()?;
    let OwnedValue::Text(value) = case.field(case.format, row, case.column?) else { return None };
    String::from_utf8(value).ok()
}

/// Suggests to remove the spaces after delimiters, if each field except the first begins with one.
pub(super) fn padded(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| case.is_about_fields())?;
    let Syntax::Csv { quote, .. } = case.how.format.syntax else { return None };
    let delimiter = case.how.format.delimiter;
    let is_plain = matches!(delimiter, b',' | b';' | b'|' | b':');
    if text.contains(&quote) || !is_plain || !case.has_no_other_text() {
        return None;
    }
    let mut pairs = text.windows(2).filter(|two| two[0] == delimiter);
    if !text.contains(&delimiter) || !pairs.all(|two| two[1] == b' ') {
        return None;
    }
    let mut changed = Vec::with_capacity(text.len());
    for byte in text {
        if *byte != b' ' || changed.last() != Some(&delimiter) {
            changed.push(*byte);
        }
    }
    let delimiter = char::from(delimiter);
    let filter = format!("sed 's/[{delimiter}] */{delimiter}/g'");
    let what = "A space follows each delimiter; to remove it";
    let fits = case.reading(&changed, &case.how.format).is_some_and(|reading| case.fits(&reading));
    fits.then(|| case.sample.as_ref().map(|sample| sample.filter(what, &filter).into()))?
}
