//! Rows with more fields than there are columns.

use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;

use super::Advice;
use super::case::{HintCase, Sample};
use crate::error::{Remedy, option};
use crate::inspect::guess::rows;
use crate::source::{ByName, FileFormat, Header, InputNames};

/// Number of rows that are examined.
const ROWS: usize = 100;

/// Suggests to ignore fields by their names, or to remove a delimiter after the last field of each row.
pub(super) fn fields(case: &HintCase<'_>) -> Option<Advice> {
    let is_meant = case.code() == "22P04"
        && case.error.message().starts_with("extra data")
        && case.how.file_format == FileFormat::Delimited
        && !case.how.header.is_by_name();
    let sample = case.sample.as_ref().filter(|_| is_meant)?;
    let parser = Parser::new(case.format, Vec::new());
    let all: Vec<_> = rows(&sample.text, case.format).into_iter().map(|(_, row)| row).collect();
    let fields: Vec<_> = all.iter().take(ROWS).map(|row| parser.all(row)).collect();
    let data = fields.get(case.how.header.rows()..)?;
    let more = case.columns.len() + 1;
    let is_empty = |field: &Option<Vec<u8>>| field.as_ref().is_none_or(Vec::is_empty);
    let ends = |row: &Vec<_>| row.len() == more && row.last().is_some_and(is_empty);
    if !data.is_empty() && data.iter().all(ends) {
        return behind_last(case.format, sample, &all);
    }
    by_name(case, &fields)
}

/// Suggests to remove the delimiter at the end of each line.
fn behind_last(format: &Format, sample: &Sample, all: &[Vec<u8>]) -> Option<Advice> {
    // A line end within quotes would be taken for the end of a row.
    let is_line = |row: &Vec<u8>| !row.contains(&b'\n') && row.ends_with(&[format.delimiter]);
    let delimiter = char::from(format.delimiter);
    let pattern = match delimiter {
        '^' => "\\^".to_owned(),
        '\\' => return None,
        other => format!("[{other}]"),
    };
    let is_crlf = sample.text.windows(2).any(|two| two == b"\r\n");
    let script = match is_crlf {
        true => format!("s/{pattern}\r$//"),
        false => format!("s/{pattern}$//"),
    };
    let filter = format!("sed {}", crate::error::quote_shell(&script));
    let what = format!(
        "Each row has a trailing delimiter '{}' after the last field",
        delimiter.escape_default()
    );
    let remedy = sample.filter(what, &filter);
    (format.delimiter.is_ascii() && all.iter().all(is_line)).then(|| remedy.into())
}

/// Suggests to match fields to columns by the header, and to ignore the other fields.
fn by_name(case: &HintCase<'_>, fields: &[Vec<Option<Vec<u8>>>]) -> Option<Advice> {
    let (header, data) = fields.split_first()?;
    if case.how.header.rows() > 1 || case.how.columns.is_some() || !case.has_all_columns {
        return None;
    }
    let text = |field: &Option<Vec<u8>>| String::from_utf8(field.clone()?).ok();
    let names: Vec<String> = header.iter().map(text).collect::<Option<_>>()?;
    let columns: Vec<String> = case.columns.iter().map(|column| column.name.to_owned()).collect();
    let by_name = ByName { ignore_extra: true, ..ByName::default() };
    let fields = by_name.match_headers(&InputNames::new("", names.clone()), &columns).ok()?;
    let is_left = |name: &String| !fields.columns.contains(name);
    let may_be_left = case.columns.iter().all(|column| {
        let nullness = column.nullness;
        !is_left(&column.name.to_owned()) || !nullness.is_not_null || nullness.has_default
    });
    let is_as_long = data.iter().all(|row| row.len() == names.len());
    let extra: Vec<&str> = names
        .iter()
        .map(String::as_str)
        .filter(|name| !fields.names.iter().any(|used| used == name))
        .collect();
    let what = match &extra[..] {
        [] => return None,
        [one] => format!("Field \"{one}\" matches no column; to ignore it"),
        several => {
            format!("{} fields match no column; to ignore them", several.len())
        }
    };
    let options = [option("header").with("map"), option("ignore-extra")];
    (may_be_left && is_as_long).then(|| Remedy::options(what, options).into())
}

impl Header {
    /// Whether its names determine the columns of fields.
    pub(super) fn is_by_name(self) -> bool {
        self == Self::Map
    }
}
