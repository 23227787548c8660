//! Guesses about mistakes in the options for reading an input, from its first rows: a header, a delimiter or
//! an order of columns that the options do not specify.

use std::collections::HashSet;

use pgsluice_core::catalog::{ROOT, label};
use pgsluice_core::encode::Encoder;
use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::parse::{Fields, Parser, Value, text_row};
use pgsluice_core::split::Splitter;
use pgsluice_core::types::Codec;
use serde::de::IgnoredAny;

use crate::error::{Error, Location, Remedy, Setting, option};
use crate::job::{InputOptions, Job};
use crate::plan::Plan;
use crate::source::{FileFormat, Header, Input, InputNames, OPENING};

/// Number of rows for which a guess must hold.
const ROWS: usize = 20;
/// Maximum number of columns whose order is guessed, because all permutations are tried.
const MAX_COLUMNS: usize = 7;

/// Returns a remedy for the mistake behind an error in one of the first rows, if it is recognised.
pub(super) fn opening(error: &Error, job: &Job, plan: &Plan) -> Option<Remedy> {
    let place = error.place()?;
    let input = job.input.files.iter().find(|input| input.name == place.source)?;
    let is_text = job.input.file_format == FileFormat::Delimited;
    // An error about the header already has a remedy.
    if error.remedies().next().is_some() {
        return None;
    }
    if !is_text || !error.sqlstate().is_some_and(|code| code.starts_with("22")) {
        return None;
    }
    let opening =
        GuessOpening::read(input, &job.input, plan).filter(|opening| opening.has(place))?;
    opening.guess(&job.input, plan)
}

/// Adds a hint about the privilege that a user who cannot insert into the table needs.
pub(crate) fn explain_rights(error: Error, plan: &Plan, user: &str) -> Error {
    let root = &plan.tree.nodes[ROOT].relation;
    let is_table = error.message().contains(&root.name);
    if error.sqlstate() != Some("42501") || plan.catalogue.facts[ROOT].may_insert || !is_table {
        return error;
    }
    let (table, user) = (root.label(), label(user));
    error
        .only_hint(format!("The user needs INSERT on the table: GRANT INSERT ON {table} TO {user}"))
}

/// The first rows of an input.
struct GuessOpening {
    /// Its text, without a byte order mark.
    text: Vec<u8>,
    /// The offset of each row, and the row, including header rows.
    rows: Vec<(u64, Vec<u8>)>,
    headers: usize,
}

impl GuessOpening {
    fn read(input: &Input, how: &InputOptions, plan: &Plan) -> Option<Self> {
        let mut bytes = input.opening(OPENING as u64)?;
        let mark = "\u{feff}".as_bytes();
        let skipped = if bytes.starts_with(mark) { mark.len() } else { 0 };
        let text = bytes.split_off(skipped);
        let rows = rows(&text, &plan.shape.format);
        let rows = rows.into_iter().map(|(at, row)| (at + skipped as u64, row)).collect();
        Some(Self { text, rows, headers: how.header.rows() })
    }

    /// Whether the location is in one of the first rows, where a mistake in the options shows.
    fn has(&self, place: &Location) -> bool {
        let first = self.rows.iter().take(self.headers + 2);
        first.into_iter().any(|(at, _)| *at == place.offset)
    }

    fn guess(&self, how: &InputOptions, plan: &Plan) -> Option<Remedy> {
        if how.header == Header::Map {
            return None;
        }
        let columns = &plan.catalogue.columns;
        let mut guesses = Vec::new();
        let mut add: Vec<Setting> = Vec::new();
        let split = self.other_split(&plan.shape.format, columns.len());
        let format = match split {
            Some((format, options)) => {
                let delimiter = char::from(format.delimiter).escape_default().to_string();
                guesses.push(format!("fields seem to be separated by '{delimiter}'"));
                add.extend(options);
                format
            }
            None => plan.shape.format.clone(),
        };
        let rows = rows(&self.text, &format);
        let fields = |row: &Vec<u8>| Parser::new(&format, Vec::new()).all(row);
        let all: Vec<_> = rows.iter().take(ROWS).map(|(_, row)| fields(row)).collect();
        let data = all.get(self.headers..).unwrap_or_default();
        // If there is only one row, it must match the names of columns.
        let is_known = |names: &Vec<String>| all.len() > 1 || in_columns(names, columns).is_some();
        match (how.header, names(&all).filter(is_known)) {
            (Header::Absent, Some(names)) => {
                guesses.push("line 1 looks like a header".to_owned());
                match how.columns.is_none() && has_others(&names, columns) {
                    true => add.extend([option("header").with("map"), option("ignore-extra")]),
                    false => {
                        add.push(option("header"));
                        add.extend(columns_option(&names, columns, how));
                    }
                }
            }
            (Header::Present | Header::Skip(_), Some(names))
                if guesses.is_empty()
                    && some_in(&names, columns)
                    && how
                        .by_name
                        .match_headers(&InputNames::new("", names.clone()), columns)
                        .is_ok() =>
            {
                guesses.push("to match fields to columns by the names in the header".to_owned());
                add.push(option("header").with("map"));
            }
            (Header::Match, Some(names)) if guesses.is_empty() => {
                add.extend(columns_option(&names, columns, how));
                guesses.extend(
                    (!add.is_empty())
                        .then(|| "the header lists the columns in another order".to_owned()),
                );
            }
            _ if guesses.is_empty() && how.columns.is_none() => {
                let order = order(data, plan)?;
                guesses
                    .push(format!("the fields fit the columns {} in this order", order.join(", ")));
                add.push(option("columns").with(list(&order)));
            }
            _ => {}
        }
        let what = capital(&guesses.join(", and "));
        (!guesses.is_empty()).then(|| Remedy::options(what, add))
    }

    /// Returns a format with another delimiter and the options for it, if each row then has as many fields as
    /// there are columns, and no row has with the current delimiter.
    fn other_split(&self, format: &Format, columns: usize) -> Option<(Format, Vec<Setting>)> {
        let fits = |format: &Format, all: bool| {
            let rows = rows(&self.text, format);
            let mut counts = rows
                .iter()
                .take(ROWS)
                .map(|(_, row)| Parser::new(format, Vec::new()).all(row).len() == columns);
            let is_empty = rows.is_empty();
            !is_empty && if all { counts.all(|fits| fits) } else { counts.any(|fits| fits) }
        };
        if columns < 2 || fits(format, false) {
            return None;
        }
        let is_csv = matches!(format.syntax, Syntax::Csv { .. });
        let other = |base: &Format, delimiter: u8| Format { delimiter, ..base.clone() };
        let mut tried: Vec<(Format, Vec<Setting>)> = Vec::new();
        for delimiter in [b',', b';', b'\t', b'|'] {
            if is_csv || delimiter == b'|' {
                let options = vec![option("delimiter").with(delimiter_value(delimiter))];
                tried.push((other(format, delimiter), options));
            }
            if !is_csv {
                let mut options = vec![option("format").with("csv")];
                if delimiter != b',' {
                    options.push(option("delimiter").with(delimiter_value(delimiter)));
                }
                tried.push((other(&Format::csv(), delimiter), options));
            }
        }
        tried
            .into_iter()
            .find(|(tried, _)| tried.delimiter != format.delimiter && fits(tried, true))
    }
}

/// Returns the offset of each complete row of `text`, and the row.
pub(super) fn rows(text: &[u8], format: &Format) -> Vec<(u64, Vec<u8>)> {
    let (mut found, is_whole) = (Vec::new(), text.len() < OPENING);
    // Errors further on do not matter here.
    let _ = Splitter::new(format).scan(text, is_whole, &mut found);
    found.iter().map(|row| (u64::from(row.start), row.slice(text).to_vec())).collect()
}

pub(super) type SampleRow = Vec<Option<Vec<u8>>>;

/// Returns the fields of the first row, if they look like names and the fields of the next rows do not.
pub(super) fn names(rows: &[SampleRow]) -> Option<Vec<String>> {
    let name = |field: &Option<Vec<u8>>| {
        let text = String::from_utf8(field.clone()?).ok()?;
        let text = text.trim();
        let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | ' ' | '-' | '.' | '#');
        let is_name = text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && text.chars().all(is_part)
            && text.len() < 64;
        is_name.then(|| text.to_owned())
    };
    let first = rows.first()?;
    let names: Vec<String> = first.iter().map(name).collect::<Option<_>>()?;
    let are_new = names.iter().collect::<HashSet<_>>().len() == names.len();
    let others = rows.get(1..).unwrap_or_default();
    // In some column, no other row has a value that could be a name.
    let differs = |at: usize| {
        let mut below = others.iter().filter_map(|row| row.get(at));
        !others.is_empty() && below.all(|field| name(&field.clone()).is_none())
    };
    let are_names = are_new && (0..names.len()).any(differs);
    (are_names || others.is_empty()).then_some(names)
}

/// Returns the columns that a header names.
pub(super) fn in_columns(names: &[String], columns: &[String]) -> Option<Vec<String>> {
    let plain = |text: &str| text.to_lowercase().replace([' ', '-'], "_");
    let column = |name: &String| {
        let same = columns.iter().find(|column| *column == name);
        same.or_else(|| columns.iter().find(|column| plain(column) == plain(name))).cloned()
    };
    names.iter().map(column).collect()
}

/// Whether a header names all columns, and also has fields that are not columns.
fn has_others(names: &[String], columns: &[String]) -> bool {
    let is_known = |name: &&String| columns.contains(name);
    names.len() > columns.len() && names.iter().filter(is_known).count() == columns.len()
}

/// Whether most fields of a header name columns, but they are not all columns in order.
fn some_in(names: &[String], columns: &[String]) -> bool {
    let named = names.iter().filter(|name| in_columns(&[(*name).clone()], columns).is_some());
    named.count() * 2 > names.len() && in_columns(names, columns).is_none_or(|all| all != columns)
}

/// Returns `--columns` if all fields of a header name columns, but they are not all columns in order.
fn columns_option(names: &[String], columns: &[String], how: &InputOptions) -> Vec<Setting> {
    if how.columns.is_some() {
        return Vec::new();
    }
    match in_columns(names, columns) {
        Some(found) if found != columns => vec![option("columns").with(list(&found))],
        _ => Vec::new(),
    }
}

/// Returns the only order of the table's columns in which each field of `rows` can be a value of its column.
fn order(rows: &[SampleRow], plan: &Plan) -> Option<Vec<String>> {
    let columns = &plan.catalogue.columns;
    let count = columns.len();
    if !(2..=MAX_COLUMNS).contains(&count) || rows.is_empty() {
        return None;
    }
    if rows.iter().any(|row| row.len() != count) {
        return None;
    }
    let fits = |field: usize, column: usize| {
        let Ok(codec) = &plan.catalogue.codecs[column] else { return false };
        let encoder = Encoder::new(vec![codec.clone()]);
        let (parser, mut fields) = (Parser::new(&Format::text(), vec![0]), Fields::default());
        rows.iter().all(|row| {
            let Some(value) = &row[field] else { return true };
            // The codec does not parse JSON.
            if *codec == Codec::Jsonb && serde_json::from_slice::<IgnoredAny>(value).is_err() {
                return false;
            }
            let mut text = Vec::new();
            text_row([(0, Value::Text(value))], &mut text);
            let text = text.strip_suffix(b"\n").unwrap_or(&text);
            parser.parse(text, &mut fields);
            encoder.encode(text, &fields, &mut Vec::new()).is_ok()
        })
    };
    let table: Vec<Vec<bool>> =
        (0..count).map(|field| (0..count).map(|column| fits(field, column)).collect()).collect();
    let mut found = Vec::new();
    permute(&table, &mut Vec::new(), &mut found);
    match &found[..] {
        [only] if !only.is_sorted() => Some(only.iter().map(|at| columns[*at].clone()).collect()),
        _ => None,
    }
}

/// Finds at most two assignments of fields to distinct columns that they fit.
fn permute(table: &[Vec<bool>], chosen: &mut Vec<usize>, found: &mut Vec<Vec<usize>>) {
    if found.len() > 1 {
        return;
    }
    if chosen.len() == table.len() {
        found.push(chosen.clone());
        return;
    }
    for column in 0..table.len() {
        if table[chosen.len()][column] && !chosen.contains(&column) {
            chosen.push(column);
            permute(table, chosen, found);
            chosen.pop();
        }
    }
}

/// Formats names for `--columns`.
pub(super) fn list(names: &[String]) -> String {
    let is_plain = |name: &String| {
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        name.chars().all(is_part)
    };
    let quoted = |name: &String| match is_plain(name) {
        true => name.clone(),
        false => format!("\"{}\"", name.replace('"', "\"\"")),
    };
    names.iter().map(quoted).collect::<Vec<_>>().join(",")
}

/// Formats a delimiter for its option.
pub(super) fn delimiter_value(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "\\t".to_owned(),
        other => char::from(other).to_string(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
