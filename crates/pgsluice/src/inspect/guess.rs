//! Guesses which mistake in how an input is read has led to an error, from the rows that the input begins with: a
//! header, a delimiter or an order of columns that the options do not name.

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

/// Rows that a guess must hold for.
const ROWS: usize = 20;
/// Columns whose order is guessed at: it takes as long as their permutations are many.
const MOST_COLUMNS: usize = 7;

/// Returns what to do about the mistake that an error in one of the first rows shows, if it is a known one.
pub(super) fn opening(error: &Error, job: &Job, plan: &Plan) -> Option<Remedy> {
    let place = error.place()?;
    let input = job.input.files.iter().find(|input| input.name == place.source)?;
    let is_text = job.input.file_format == FileFormat::Delimited;
    // An error about the header says what to do already.
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

/// What the user lacks who may not insert into the table.
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

/// The rows that an input begins with.
struct GuessOpening {
    /// Its text, without a byte order mark.
    text: Vec<u8>,
    /// Where each row begins, and the row; those of the header among them.
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

    /// Whether the place is one of the first rows: a mistake in how the input is read shows there.
    fn has(&self, place: &Location) -> bool {
        let first = self.rows.iter().take(self.headers + 2);
        first.into_iter().any(|(at, _)| *at == place.offset)
    }

    fn guess(&self, how: &InputOptions, plan: &Plan) -> Option<Remedy> {
        if how.header == Header::Map {
            return None;
        }
        let columns = &plan.catalogue.columns;
        let mut said = Vec::new();
        let mut add: Vec<Setting> = Vec::new();
        let split = self.other_split(&plan.shape.format, columns.len());
        let format = match split {
            Some((format, options)) => {
                let delimiter = char::from(format.delimiter).escape_default().to_string();
                said.push(format!("fields seem to be separated by '{delimiter}'"));
                add.extend(options);
                format
            }
            None => plan.shape.format.clone(),
        };
        let rows = rows(&self.text, &format);
        let fields = |row: &Vec<u8>| Parser::new(&format, Vec::new()).all(row);
        let all: Vec<_> = rows.iter().take(ROWS).map(|(_, row)| fields(row)).collect();
        let data = all.get(self.headers..).unwrap_or_default();
        // Of a row alone only the names of columns tell.
        let is_known = |names: &Vec<String>| all.len() > 1 || in_columns(names, columns).is_some();
        match (how.header, names(&all).filter(is_known)) {
            (Header::Absent, Some(names)) => {
                said.push("line 1 looks like a header".to_owned());
                match how.columns.is_none() && has_others(&names, columns) {
                    true => add.extend([option("header").of("map"), option("ignore-extra")]),
                    false => {
                        add.push(option("header"));
                        add.extend(named(&names, columns, how));
                    }
                }
            }
            (Header::Present | Header::Skip(_), Some(names))
                if said.is_empty()
                    && some_in(&names, columns)
                    && how.by_name.lead(&InputNames::of("", names.clone()), columns).is_ok() =>
            {
                said.push("to match fields to columns by the names in the header".to_owned());
                add.push(option("header").of("map"));
            }
            (Header::Match, Some(names)) if said.is_empty() => {
                add.extend(named(&names, columns, how));
                said.extend(
                    (!add.is_empty())
                        .then(|| "the header lists the columns in another order".to_owned()),
                );
            }
            _ if said.is_empty() && how.columns.is_none() => {
                let order = order(data, plan)?;
                said.push(format!("the fields fit the columns {} in this order", order.join(", ")));
                add.push(option("columns").of(list(&order)));
            }
            _ => {}
        }
        let what = capital(&said.join(", and "));
        (!said.is_empty()).then(|| Remedy::options(what, add))
    }

    /// Another delimiter by which each row has as many fields as there are columns, where by this one none
    /// has; and the options that say it.
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
                let options = vec![option("delimiter").of(spelled(delimiter))];
                tried.push((other(format, delimiter), options));
            }
            if !is_csv {
                let mut options = vec![option("format").of("csv")];
                if delimiter != b',' {
                    options.push(option("delimiter").of(spelled(delimiter)));
                }
                tried.push((other(&Format::csv(), delimiter), options));
            }
        }
        tried
            .into_iter()
            .find(|(tried, _)| tried.delimiter != format.delimiter && fits(tried, true))
    }
}

/// Where each whole row of `text` begins, and the row.
pub(super) fn rows(text: &[u8], format: &Format) -> Vec<(u64, Vec<u8>)> {
    let (mut found, is_whole) = (Vec::new(), text.len() < OPENING);
    // What is malformed further on is no matter here.
    let _ = Splitter::new(format).scan(text, is_whole, &mut found);
    found.iter().map(|row| (u64::from(row.start), row.of(text).to_vec())).collect()
}

pub(super) type SampleRow = Vec<Option<Vec<u8>>>;

/// The fields of the first row, if they look like names and those of the next do not.
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
    // In some column no other row has what could be a name.
    let differs = |at: usize| {
        let mut below = others.iter().filter_map(|row| row.get(at));
        !others.is_empty() && below.all(|field| name(&field.clone()).is_none())
    };
    let are_names = are_new && (0..names.len()).any(differs);
    (are_names || others.is_empty()).then_some(names)
}

/// The columns that a header names.
pub(super) fn in_columns(names: &[String], columns: &[String]) -> Option<Vec<String>> {
    let plain = |text: &str| text.to_lowercase().replace([' ', '-'], "_");
    let column = |name: &String| {
        let same = columns.iter().find(|column| *column == name);
        same.or_else(|| columns.iter().find(|column| plain(column) == plain(name))).cloned()
    };
    names.iter().map(column).collect()
}

/// Whether a header names all columns, and fields that are none.
fn has_others(names: &[String], columns: &[String]) -> bool {
    let is_known = |name: &&String| columns.contains(name);
    names.len() > columns.len() && names.iter().filter(is_known).count() == columns.len()
}

/// Whether a header names most of its fields by columns, and is not all of them in order.
fn some_in(names: &[String], columns: &[String]) -> bool {
    let named = names.iter().filter(|name| in_columns(&[(*name).clone()], columns).is_some());
    named.count() * 2 > names.len() && in_columns(names, columns).is_none_or(|all| all != columns)
}

/// `--columns` if a header has the names of columns, and not all of them in order.
fn named(names: &[String], columns: &[String], how: &InputOptions) -> Vec<Setting> {
    if how.columns.is_some() {
        return Vec::new();
    }
    match in_columns(names, columns) {
        Some(found) if found != columns => vec![option("columns").of(list(&found))],
        _ => Vec::new(),
    }
}

/// The one order of the table's columns in which each field of `rows` can be a value of its column.
fn order(rows: &[SampleRow], plan: &Plan) -> Option<Vec<String>> {
    let columns = &plan.catalogue.columns;
    let count = columns.len();
    if !(2..=MOST_COLUMNS).contains(&count) || rows.is_empty() {
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
            // The server parses it.
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

/// The ways, two at most, to give each field a column of its own that it fits.
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

/// Names as `--columns` takes them.
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

/// A delimiter as the option has it.
pub(super) fn spelled(delimiter: u8) -> String {
    match delimiter {
        b'\t' => "\\t".to_owned(),
        other => char::from(other).to_string(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
