//! Lines that are not rows, and rows that are not lines.

use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::parse::Parser;

use super::Advice;
use super::case::HintCase;
use super::reading::SampleReading;
use crate::error::{Remedy, option, quote_shell};
use crate::inspect::guess::{SampleRow, in_columns, list, rows};
use crate::source::Header;

/// Number of lines in which a header is looked for.
const PREAMBLE: usize = 20;

/// The beginnings of comments, and their patterns for `sed`.
const COMMENTS: [(&[u8], &str); 4] =
    [(b"#", "/^#/d"), (b"//", "/^\\/\\//d"), (b"--", "/^--/d"), (b"%", "/^%/d")];

/// Suggests to skip the lines before the header, if a line further on names the columns.
pub(super) fn preamble(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| case.is_about_fields())?;
    if case.how.header.is_by_name() || case.how.columns.is_some() || !case.has_all_columns {
        return None;
    }
    let columns: Vec<String> = case.columns.iter().map(|column| column.name.into()).collect();
    let all = rows(text, &case.how.format);
    let parser = Parser::new(&case.how.format, Vec::new());
    let names = |row: &Vec<u8>| {
        let fields = parser.all(row).into_iter();
        let names = fields.map(|name| String::from_utf8(name?).ok()).collect::<Option<Vec<_>>>()?;
        in_columns(&names, &columns).filter(|found| found.len() == columns.len())
    };
    let first = all.iter().take(PREAMBLE).enumerate();
    let (at, found) = first.skip(1).find_map(|(at, (_, row))| Some((at, names(row)?)))?;
    let is_skipped = case.how.header != Header::Absent && case.how.header.rows() > at;
    if is_skipped || all.first().is_some_and(|(_, row)| names(row).is_some()) {
        return None;
    }
    let mut options = vec![option("header").with((at + 1).to_string())];
    if found != columns {
        options.push(option("columns").with(list(&found)));
    }
    let what = format!("The header is line {}; to skip it and the lines before it", at + 1);
    Some(Remedy::options(what, options).into())
}

/// Suggests to remove comments, if all other lines are rows.
pub(super) fn comments(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| case.is_about_fields())?;
    let sample = case.sample.as_ref()?;
    let row = sample.raw.as_deref().unwrap_or_default();
    let begins = |start: &[u8]| row.starts_with(start) || text.starts_with(start);
    let (start, script) = COMMENTS.iter().find(|(start, _)| begins(start))?;
    let rest = without_lines(text, |line| line.starts_with(start));
    let filter = format!("sed {}", quote_shell(script));
    let what = format!("If lines that begin with {} are comments", String::from_utf8_lossy(start));
    let is_free = case.columns.first().is_none_or(|column| column.is_free());
    let is_sure = !is_free || case.has_no_other_text();
    (is_sure && is_of_lines(case, &rest)).then(|| sample.filter(what, &filter).into())
}

/// Suggests to remove lines without a value, which spreadsheets and Python's csv module on Windows write.
pub(super) fn empty(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| case.is_about_fields() || case.code() == "23502")?;
    let sample = case.sample.as_ref()?;
    let delimiter = case.how.format.delimiter;
    let is_empty = |line: &[u8]| line.iter().all(|byte| *byte == delimiter || *byte == b'\r');
    let is_first = text.starts_with(b"\n") || text.starts_with(b"\r\n");
    let is_row = sample.raw.as_ref().is_some_and(|row| is_empty(row));
    if !is_row && !is_first || !delimiter.is_ascii() || matches!(delimiter, b'^' | b'\\' | b']') {
        return None;
    }
    let rest = without_lines(text, is_empty);
    let is_crlf = text.windows(2).any(|two| two == b"\r\n");
    let end = if is_crlf { "\r" } else { "" };
    let script = match text
        .split(|byte| *byte == b'\n')
        .any(|line| line.first() == Some(&delimiter) && is_empty(line))
    {
        true => format!("/^[{}{end}]*$/d", char::from(delimiter)),
        false => format!("/^{end}$/d"),
    };
    let filter = format!("sed {}", quote_shell(&script));
    let what = "To remove lines without a value";
    is_of_lines(case, &rest).then(|| sample.filter(what, &filter).into())
}

/// Suggests to remove the quotes from lines that are quoted as a whole.
pub(super) fn in_quotes(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| case.is_about_fields())?;
    let sample = case.sample.as_ref()?;
    let Syntax::Csv { quote: b'"', escape: b'"', .. } = case.how.format.syntax else { return None };
    let present = case.present()?;
    let is_one = |row: &SampleRow| row.len() == 1;
    if present.layout.len() < 2 || !present.rows.iter().all(is_one) || text.contains(&b'\r') {
        return None;
    }
    let lines = text.split(|byte| *byte == b'\n').map(unquote);
    let rest = lines.collect::<Vec<_>>().join(&b'\n');
    let filter = "sed -e 's/^\"//' -e 's/\"$//' -e 's/\"\"/\"/g'";
    fits_by_line(case, &rest).then(|| sample.filter("Each line is in quotes", filter).into())
}

/// Returns the output of the filter of [`in_quotes`] for a line.
fn unquote(line: &[u8]) -> Vec<u8> {
    let line = line.strip_prefix(b"\"").unwrap_or(line);
    let line = line.strip_suffix(b"\"").unwrap_or(line);
    let mut plain = Vec::with_capacity(line.len());
    let mut rest = line;
    while let Some((&byte, after)) = rest.split_first() {
        plain.push(byte);
        rest = if rest.starts_with(b"\"\"") { &after[1..] } else { after };
    }
    plain
}

/// Suggests to add the delimiters that a program has omitted at the end of rows.
pub(super) fn short(case: &HintCase<'_>) -> Option<Advice> {
    let text = case.text().filter(|_| case.error.message().starts_with("missing data"))?;
    let sample = case.sample.as_ref()?;
    let Format { delimiter, null, syntax } = &case.how.format;
    let has_quotes = matches!(syntax, Syntax::Csv { quote, .. } if text.contains(quote));
    let is_plain = delimiter.is_ascii_punctuation() || *delimiter == b'\t';
    let is_plain = is_plain && case.has_no_other_text();
    if has_quotes || !null.is_empty() || !is_plain || matches!(delimiter, b'"' | b'\\') {
        return None;
    }
    if text.contains(&b'\r') || matches!(syntax, Syntax::Text) && text.contains(&b'\\') {
        return None;
    }
    let SampleReading { mut rows, layout } = case.present()?;
    let count = layout.len();
    let is_broken = rows.windows(2).any(|two| is_one_row(&two[0], &two[1], count));
    if is_broken || !rows.iter().any(|row| row.len() == count) {
        return None;
    }
    rows.iter_mut().filter(|row| row.len() < count).for_each(|row| row.resize(count, None));
    if !case.fits(&SampleReading { rows, layout }) {
        return None;
    }
    // awk takes a single character literally, except for these.
    if b"|*+?.^$()[{ ".contains(delimiter) {
        return None;
    }
    let by =
        if *delimiter == b'\t' { r"\t".to_owned() } else { char::from(*delimiter).to_string() };
    let by = quote_shell(&by);
    let script = quote_shell(&format!("NF < {count} {{ ${count} = \"\" }} 1"));
    let filter = format!("awk -F {by} -v OFS={by} {script}");
    Some(sample.filter("If fields that are missing at the end of a row are empty", &filter).into())
}

/// Explains a row that continues on the next line.
pub(super) fn broken(case: &HintCase<'_>) -> Option<Advice> {
    let message = case.error.message();
    let place = case.error.place()?;
    let sample = case.sample.as_ref()?;
    let row = sample.raw.as_ref().filter(|row| !row.is_empty())?;
    case.text().filter(|_| message.starts_with("missing data"))?;
    let all = rows(&sample.text, &case.how.format);
    let at = all.iter().position(|(_, found)| found == row)?;
    let parser = Parser::new(&case.how.format, Vec::new());
    let next = parser.all(&all.get(at + 1)?.1);
    is_one_row(&parser.all(row), &next, case.present()?.layout.len()).then(|| {
        Advice::hint(format!(
            "Lines {} and {} may be one row, with a line end in a field that is not quoted: have the program that \
             writes the file quote such fields.",
            place.line,
            place.line + 1
        ))
    })
}

/// Whether two short rows have as many fields as one row that a line end divides within a field.
fn is_one_row(one: &SampleRow, other: &SampleRow, count: usize) -> bool {
    one.len() < count && other.len() < count && one.len() + other.len() == count + 1
}

fn without_lines(text: &[u8], is_removed: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    let is_kept = |line: &&[u8]| !is_removed(line.strip_suffix(b"\n").unwrap_or(line));
    lines.filter(is_kept).flatten().copied().collect()
}

/// Whether the text fits, and each row is one line. Later in the input, rows with quotes may have several
/// lines.
fn is_of_lines(case: &HintCase<'_>, text: &[u8]) -> bool {
    let Syntax::Csv { quote, .. } = case.how.format.syntax else { return fits_by_line(case, text) };
    (!text.contains(&quote) || case.has_no_other_text()) && fits_by_line(case, text)
}

fn fits_by_line(case: &HintCase<'_>, text: &[u8]) -> bool {
    let has_line = |row: &SampleRow| row.iter().flatten().any(|field| field.contains(&b'\n'));
    let reading = case.reading(text, &case.how.format).filter(|reading| case.fits(reading));
    reading.is_some_and(|reading| !reading.rows.iter().any(has_line))
}
