//! Quotes that are data, such as the sign for inches.

use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::parse::Parser;

use super::Advice;
use super::case::HintCase;
use super::escapes::RARE;
use super::reading::{SampleReading, without_quotes};
use crate::error::{Remedy, option};
use crate::inspect::guess::{delimiter_value, rows};
use crate::source::FileFormat;

/// Suggests `--format text` if a quote is not closed, and if each line has as many fields as there are
/// columns when quotes are ordinary characters. In that format a backslash escapes, so no line may contain
/// one.
pub(super) fn plain(case: &HintCase<'_>) -> Option<Advice> {
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
    let is_plain = |row: Vec<u8>| {
        let fields = parser.all(&row);
        let is_quoted = fields.iter().flatten().any(|field| is_within(field, b'"'));
        !row.contains(&b'\\') && !is_quoted && fields.len() == case.columns.len()
    };
    let null = String::from_utf8(null.clone()).ok()?;
    let options = [
        option("format").with("text"),
        option("delimiter").with(delimiter_value(*delimiter)),
        option("null").with(null),
    ];
    let what = "If quotes are ordinary characters";
    let is_whole = sample.is_whole && !sample.text.is_empty();
    (is_whole && found.all(is_plain)).then(|| Remedy::options(what, options).into())
}

/// Quote characters of various programs.
const QUOTES: [u8; 9] = *b"\"'#~^%$`*";

/// Suggests `--quote` if each row fits with another quote character.
pub(super) fn other(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| case.is_about_fields())?;
    let Syntax::Csv { quote, escape, end_marker } = case.how.format.syntax else { return None };
    if quote != escape || text.contains(&quote) {
        return None;
    }
    let present = case.present()?;
    let is_used = |byte: u8| {
        let mut fields = present.rows.iter().flatten().flatten();
        fields.any(|field| field.first() == Some(&byte))
    };
    let found = QUOTES.into_iter().find(|&byte| {
        let syntax = Syntax::Csv { quote: byte, escape: byte, end_marker };
        let format = Format { syntax, ..case.how.format.clone() };
        byte != format.delimiter && is_used(byte) && case.fits_only(text, &format)
    })?;
    let what = format!("Fields are quoted by {}", char::from(found));
    Some(Remedy::options(what, [option("quote").with(char::from(found))]).into())
}

/// Suggests a quote character that the input does not contain, if quotes join lines and no field is quoted.
pub(super) fn none(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| case.is_about_fields())?;
    let Syntax::Csv { quote, .. } = case.how.format.syntax else { return None };
    let row = case.sample.as_ref()?.raw.as_deref().unwrap_or_default();
    let is_open = case.error.message().starts_with("unterminated CSV quoted");
    let is_joined = row.contains(&b'\n') && row.contains(&quote);
    if !is_open && !is_joined {
        return None;
    }
    let format = without_quotes(&case.how.format, text, RARE)?;
    let SampleReading { rows, .. } = case.reading(text, &format).filter(|it| case.fits(it))?;
    let mut fields = rows.iter().flatten().flatten();
    let what = "If quotes are ordinary characters";
    (!fields.any(|field| is_within(field, quote)))
        .then(|| Remedy::options(what, [option("quote").with(char::from(RARE))]).into())
}

/// Whether a field begins and ends with a quote.
fn is_within(field: &[u8], quote: u8) -> bool {
    field.len() > 1 && field.first() == Some(&quote) && field.last() == Some(&quote)
}
