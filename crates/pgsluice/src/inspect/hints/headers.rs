//! Headers that are repeated further on, as in concatenated files.

use super::Advice;
use super::case::HintCase;
use crate::source::FileFormat;

/// Removes each repetition of the first line.
const FIRST_ONLY: &str = "awk 'NR == 1 { first = $0 } NR == 1 || $0 != first'";

/// Suggests to remove repetitions of the header if the refused row is one.
pub(super) fn again(case: &HintCase<'_>) -> Option<Advice> {
    let is_text = case.how.file_format == FileFormat::Delimited && case.how.encoding.is_utf8();
    if !is_text || case.how.header.rows() != 1 || !case.code().starts_with("22") {
        return None;
    }
    let sample = case.sample.as_ref()?;
    let row = sample.raw.as_ref()?;
    let header = sample.text.strip_prefix(&row[..])?;
    let is_line = header.first().is_some_and(|next| matches!(next, b'\r' | b'\n'));
    let place = case.error.place()?;
    let what = format!("Line {} repeats the header; to remove every repetition", place.line);
    (is_line && place.line > 1 && !row.is_empty() && !row.contains(&b'\n'))
        .then(|| sample.filter(what, FIRST_ONLY).into())
}
