//! Headers of inputs, or the keys of their first objects. They are read first, because they name the columns.

use std::collections::HashSet;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::sync::Arc;

use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;
use pgsluice_core::split::{Row, Splitter};
use pgsluice_json::Keys;

use super::file_format::check_ndjson;
use super::interruptible::unless_stopped;
use super::open::LONGEST_ROW;
use super::starts::BYTE_ORDER_MARK;
use super::{Input, Inputs, excel_delimiter, foreign};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, option};

/// The number of bytes read from the first input.
const FIRST_BYTES: usize = 256 << 10;

/// The number of bytes read from each other input.
const LATER_BYTES: usize = 64 << 10;

/// The maximum length of a header in bytes.
const LONGEST_HEADER: usize = 16 << 20;

/// The number of keys that are collected. Any other key is matched to a column when it occurs.
const MAX_KEYS: usize = 100_000;

/// The names in the inputs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct InputNames {
    /// The different lists of names, in the order of the inputs. An input without rows has no list.
    pub(crate) lists: Vec<List>,
    /// Whether no row has any other name.
    pub(crate) are_all: bool,
    /// Whether the names are in header rows, so that the columns can be named by position instead.
    pub(crate) are_in_headers: bool,
}

/// The names in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct List {
    /// The first input with these names.
    pub(crate) source: String,
    /// The names in order.
    pub(crate) names: Vec<String>,
}

/// The beginning of an input.
struct Beginning {
    text: Vec<u8>,
    rows: Vec<Row>,
    is_whole: bool,
}

impl InputNames {
    /// Creates the names of a header.
    pub(crate) fn new(source: &str, names: Vec<String>) -> Self {
        let lists = vec![List { source: source.to_owned(), names }];
        Self { lists, are_all: true, are_in_headers: true }
    }

    /// Adds the names in another input.
    pub(crate) fn add(&mut self, source: &str, names: Vec<String>) {
        if !self.lists.iter().any(|list| list.names == names) {
            self.lists.push(List { source: source.to_owned(), names });
        }
    }
}

impl Inputs {
    /// Returns the names in the header of the first input that has one, and the inputs. The bytes read from
    /// an input that can be read only once are put back.
    pub(crate) fn header(
        &self,
        format: &Format,
        control: &Arc<Control>,
    ) -> Result<(Self, InputNames)> {
        let mut inputs = self.to_vec();
        for place in 0..inputs.len() {
            let (reading, format) = (inputs[place].clone(), format.clone());
            let read = unless_stopped(control, move || {
                let (input, beginning) = begin(&reading, Some(&format), FIRST_BYTES)?;
                let row = beginning.rows.first().map(|row| row.slice(&beginning.text));
                let names = row.map(|row| header(row, &format, &reading)).transpose()?;
                Ok((input, names))
            });
            let (input, names) = read?;
            inputs[place] = input;
            if let Some(names) = names {
                let names = InputNames::new(&inputs[place].name, names);
                return Ok((self.with_list(inputs), names));
            }
        }
        Ok((self.with_list(inputs), InputNames { are_in_headers: true, ..InputNames::default() }))
    }

    /// Returns the keys of the objects at the beginning of each input, and the inputs. The `wanted` keys are
    /// looked for in all objects.
    pub(crate) fn keys(
        &self,
        wanted: HashSet<String>,
        control: &Arc<Control>,
    ) -> Result<(Self, InputNames)> {
        let (inputs, of_thread) = (self.clone(), Arc::clone(control));
        unless_stopped(control, move || look_at_keys(&inputs, wanted, &of_thread))
    }
}

/// Reads the keys of the first objects. Waits for a pipe only if it is the first input.
fn look_at_keys(
    inputs: &Inputs,
    wanted: HashSet<String>,
    control: &Control,
) -> Result<(Inputs, InputNames)> {
    let (mut begun, mut keys) = (inputs.to_vec(), Keys::default());
    let (mut are_all, mut has_objects) = (true, false);
    for (place, input) in inputs.iter().enumerate() {
        if control.stop.is_stopped() {
            return Err(Error::interrupted());
        }
        if place > 0 && !input.is_rereadable() {
            are_all = false;
            continue;
        }
        let min = if place == 0 { FIRST_BYTES } else { LATER_BYTES };
        let (again, beginning) = begin(input, None, input.bytes_in_memory().unwrap_or(min))?;
        begun[place] = again;
        let Beginning { text, rows, is_whole } = beginning;
        check_ndjson(&text, input)?;
        are_all &= is_whole;
        // Errors in an object are reported when it is read.
        for row in &rows {
            if keys.names().len() < MAX_KEYS {
                has_objects |= keys.add(row.slice(&text)).is_ok();
            } else {
                are_all = false;
            }
        }
    }
    let mut all = keys.names().to_vec();
    let missing = wanted.into_iter().filter(|key| !all.contains(key));
    let missing: HashSet<String> = missing.collect();
    if !are_all && !missing.is_empty() && inputs.are_rereadable() {
        are_all = true;
        all.truncate(MAX_KEYS);
        all.extend(look_for(inputs, missing, control)?);
    }
    let mut names = InputNames { are_all, ..InputNames::default() };
    if let Some(first) = inputs.first().filter(|_| has_objects || !all.is_empty()) {
        names.add(&first.name, all);
    }
    Ok((inputs.with_list(begun), names))
}

/// Searches all objects for keys, and returns the keys that occur.
fn look_for(inputs: &Inputs, wanted: HashSet<String>, control: &Control) -> Result<Vec<String>> {
    let mut keys = Keys::among(wanted);
    for input in inputs.iter() {
        let mut text = BufReader::new(input.open()?);
        let mut line = Vec::new();
        while !keys.are_all() {
            if control.stop.is_stopped() {
                return Err(Error::interrupted());
            }
            line.clear();
            let read = (&mut text).take(LONGEST_ROW as u64).read_until(b'\n', &mut line);
            if read.map_err(|error| input.cannot_read(&error))? == 0 {
                break;
            }
            // Errors in an object are reported when it is read.
            _ = keys.add(&line);
        }
    }
    Ok(keys.names().to_vec())
}

/// Reads the first `min` bytes of an input, or more if they do not contain a whole row.
fn begin(input: &Input, format: Option<&Format>, min: usize) -> Result<(Input, Beginning)> {
    let mut stream = input.open()?;
    let (mut bytes, mut want) = (Vec::new(), min);
    let (rows, skipped, is_whole) = loop {
        let more = (want - bytes.len()) as u64;
        let got = (&mut stream).take(more).read_to_end(&mut bytes);
        let is_last = (got.map_err(|error| input.cannot_read(&error))? as u64) < more;
        foreign::check(&bytes, input)?;
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let mut splitter = format.map_or_else(Splitter::by_line, Splitter::new);
        let mut rows = Vec::new();
        // Malformed rows further on are reported when they are read.
        let _ = splitter.scan(text, is_last, &mut rows);
        if !rows.is_empty() || is_last && text.is_empty() || is_last && format.is_none() {
            break (rows, bytes.len() - text.len(), is_last);
        }
        match format {
            Some(_) if is_last || want >= LONGEST_HEADER => return Err(no_header(input)),
            // The reader rejects an object that is longer than a row may be.
            None if want > LONGEST_ROW => break (rows, 0, false),
            _ => {}
        }
        want *= 4;
    };
    let text = bytes[skipped..].to_vec();
    let input = match input.is_rereadable() {
        true => input.clone(),
        false => input.begun(Box::new(Cursor::new(bytes).chain(stream))),
    };
    Ok((input, Beginning { text, rows, is_whole }))
}

fn header(row: &[u8], format: &Format, input: &Input) -> Result<Vec<String>> {
    if let Some(delimiter) = excel_delimiter(row) {
        return Err(excel_error(row, delimiter, input));
    }
    let names = Parser::new(format, Vec::new()).all(row).into_iter();
    // pandas writes its index as a column without a name.
    let names = names.map(|name| String::from_utf8(name.unwrap_or_default()).ok());
    let names = names.collect::<Option<Vec<_>>>();
    let has_one = |names: &Vec<String>| names.iter().any(|name| !name.is_empty());
    names.filter(has_one).ok_or_else(|| no_header(input))
}

/// Returns the error for Excel's line before the names.
fn excel_error(row: &[u8], delimiter: u8, input: &Input) -> Error {
    let Input { name, .. } = input;
    let line = String::from_utf8_lossy(row);
    let message = format!("{name} begins with Excel's line {line}, not with column names");
    let delimiter =
        if delimiter == b'\t' { "\\t".to_owned() } else { char::from(delimiter).to_string() };
    let what = "To read the column names after it";
    let remedy = Remedy::filter(what, "tail -n +2", &input.printed_by(), name);
    Error::new(Kind::Data, message)
        .with_sqlstate("22P04")
        .with_remedy(remedy.with_option(option("delimiter").with(delimiter)))
}

fn no_header(input: &Input) -> Error {
    let message = format!("{} does not begin with column names", input.name);
    Error::new(Kind::Data, message).with_sqlstate("22P04").with_hint(
        option("header").with("map")
            + " matches fields to columns by name: the first row must contain the names, in UTF-8 unless "
            + option("encoding")
            + " is given.",
    )
}
