//! Excel's first line, which names the delimiter: `sep=;`.

use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::parse::Parser;

use super::Advice;
use super::case::HintCase;
use crate::error::{Remedy, option};
use crate::inspect::guess::{delimiter_value, in_columns, list, names, rows};
use crate::source::{Header, excel_delimiter};

/// Suggests to skip that line and a header after it, and to use its delimiter.
pub(super) fn first_line(case: &HintCase<'_>) -> Option<Advice> {
    let sample = case.sample.as_ref()?;
    let Syntax::Csv { .. } = case.format.syntax else { return None };
    if !case.code().starts_with("22") || matches!(case.how.header, Header::Map) {
        return None;
    }
    let delimiter = excel_delimiter(&sample.text)?;
    let format = Format { delimiter, ..case.format.clone() };
    let all = rows(&sample.text, &format);
    let fields = all.iter().skip(1).map(|(_, row)| Parser::new(&format, Vec::new()).all(row));
    let fields: Vec<_> = fields.take(20).collect();
    let columns: Vec<String> = case.columns.iter().map(|column| column.name.to_owned()).collect();
    let mut options = Vec::new();
    let skipped = match names(&fields) {
        Some(names) => {
            let found = in_columns(&names, &columns);
            if let (Some(found), None) =
                (found.filter(|found| *found != columns), &case.how.columns)
            {
                options.push(option("columns").with(list(&found)));
            }
            2
        }
        None => 1,
    };
    let rows = case.how.header.rows();
    let is_skipped =
        matches!(case.how.header, Header::Present | Header::Skip(_)) && rows == skipped as usize;
    if is_skipped && case.format.delimiter == delimiter {
        return None;
    }
    let mut given = vec![option("header").with(skipped.to_string())];
    if case.format.delimiter != delimiter {
        given.push(option("delimiter").with(delimiter_value(delimiter)));
    }
    given.extend(options);
    Some(Remedy::options("Line 1 was written by Excel and names the delimiter", given).into())
}
