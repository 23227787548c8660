//! Quotes that are characters of the data, such as the sign for inches.

use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::parse::Parser;

use super::Advice;
use super::case::Case;
use crate::error::Remedy;
use crate::inspect::guess::{rows, spelled};
use crate::source::FileFormat;

/// Advises `--format text` where a quote is not closed and each line has as many fields as there are columns without
/// regard to quotes. In that format a backslash escapes, so no line may have one.
pub(super) fn plain(case: &Case<'_>) -> Option<Advice> {
    let is_open =
        case.code() == "22P04" && case.error.message().starts_with("unterminated CSV quoted");
    let Syntax::Csv { .. } = case.format.syntax else { return None };
    if !is_open || case.how.file_format != FileFormat::Delimited || case.how.header.is_by_name() {
        return None;
    }
    let sample = case.sample.as_ref()?;
    let Format { delimiter, null, .. } = case.format;
    let text = Format { delimiter: *delimiter, null: null.clone(), ..Format::text() };
    text.check().ok()?;
    let parser = Parser::new(&text, Vec::new());
    let mut found = rows(&sample.text, &text).into_iter().map(|(_, row)| row);
    let is_plain =
        |row: Vec<u8>| !row.contains(&b'\\') && parser.all(&row).len() == case.columns.len();
    let null = String::from_utf8(null.clone()).ok()?;
    let options = ["--format", "text", "--delimiter", &spelled(*delimiter), "--null", &null];
    let what = "If quotes are ordinary characters";
    let is_whole = sample.is_whole && !sample.text.is_empty();
    (is_whole && found.all(is_plain)).then(|| Remedy::options(what, options).into())
}
