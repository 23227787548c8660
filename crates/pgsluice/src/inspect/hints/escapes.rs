//! Backslashes that escape nothing, or that escape characters which CSV escapes in another way.

use pgsluice_core::format::{Format, Syntax};

use super::Advice;
use super::case::HintCase;
use super::reading::without_quotes;
use crate::error::{Remedy, option};
use crate::inspect::guess::delimiter_value;

/// A byte that rarely occurs in text.
pub(super) const RARE: u8 = 1;

/// Suggests CSV for rows of COPY text that only fit if a backslash is an ordinary character.
pub(super) fn plain(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text()?;
    let Format { delimiter, null, syntax: Syntax::Text } = &case.how.format else { return None };
    if !case.is_about_fields() || !text.contains(&b'\\') {
        return None;
    }
    let sample = case.sample.as_ref()?;
    let base = Format { delimiter: *delimiter, null: null.clone(), ..Format::csv() };
    let double = without_quotes(&base, text, b'"').filter(|_| sample.is_whole);
    let is_double = double.is_some();
    let format = double.or_else(|| without_quotes(&base, text, RARE))?;
    // An escape such as \20 is read as a byte that is not UTF-8.
    let is_byte = case.code() == "22021" && sample.raw.as_ref().is_some_and(|raw| is_utf8(raw));
    let fits = match is_byte {
        true => case.fits_in(text, &format),
        false => case.fits_only(text, &format),
    };
    if !fits {
        return None;
    }
    let null = String::from_utf8(null.clone()).ok()?;
    let mut options = vec![
        option("format").with("csv"),
        option("delimiter").with(delimiter_value(*delimiter)),
        option("null").with(null),
    ];
    if !is_double {
        options.push(option("quote").with(char::from(RARE)));
    }
    Some(Remedy::options("If a backslash is an ordinary character", options).into())
}

/// Suggests `--escape` for CSV with a backslash before each quote that is data.
pub(super) fn before_quotes(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text()?;
    let Syntax::Csv { quote, escape, end_marker } = case.how.format.syntax else { return None };
    let has_some = text.windows(2).any(|two| two == [b'\\', quote]);
    if escape != quote || !case.is_about_fields() || !has_some {
        return None;
    }
    let delimiter = case.how.format.delimiter;
    let syntax = Syntax::Csv { quote, escape: b'\\', end_marker };
    let format = Format { syntax, ..case.how.format.clone() };
    let what = "If a backslash stands before each quote that is data";
    (case.fits_only(text, &format) && !has_doubled(text, quote, delimiter))
        .then(|| Advice::from(Remedy::options(what, [option("escape").with("\\")])).instead())
}

/// Whether a quote is doubled within a field. An empty field consists of two quotes as well.
fn has_doubled(text: &[u8], quote: u8, delimiter: u8) -> bool {
    let is_end = |byte: Option<&u8>| {
        byte.is_none_or(|byte| *byte == delimiter || matches!(byte, b'\n' | b'\r'))
    };
    let pairs = text.windows(2).enumerate().filter(|(_, two)| *two == [quote, quote]);
    let mut places = pairs.map(|(at, _)| at);
    places.any(|at| {
        let before = at.checked_sub(1).map(|before| &text[before]);
        let is_escaped = before == Some(&b'\\');
        !(is_escaped || is_end(before) && is_end(text.get(at + 2)))
    })
}

/// Suggests COPY's text format for CSV with a backslash before each delimiter that is data.
pub(super) fn before_delimiters(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text()?;
    let Format { delimiter, null, syntax: Syntax::Csv { quote, .. } } = &case.how.format else {
        return None;
    };
    let has_some = text.windows(2).any(|two| two == [b'\\', *delimiter]);
    if !case.is_about_fields() || !has_some || text.contains(quote) {
        return None;
    }
    let format = Format { delimiter: *delimiter, null: null.clone(), ..Format::text() };
    let null = String::from_utf8(null.clone()).ok()?;
    let options = [
        option("format").with("text"),
        option("delimiter").with(delimiter_value(*delimiter)),
        option("null").with(null),
    ];
    let what = "If a backslash escapes delimiters, as in COPY's text format";
    case.fits_only(text, &format).then(|| Remedy::options(what, options).into())
}

fn is_utf8(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok()
}
