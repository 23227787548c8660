//! Names: the header of the first input, or the keys of its first objects, read before all else because they say
//! what the columns are.

use std::io::{Cursor, Read};
use std::sync::Arc;

use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;
use pgsluice_core::split::{Row, Splitter};
use pgsluice_json::Keys;

use super::file_format::check_ndjson;
use super::reader::LONGEST_ROW;
use super::reading::unless_stopped;
use super::starts::BYTE_ORDER_MARK;
use super::{Input, Inputs, excel_delimiter, foreign};
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result};

/// Bytes that are read first.
const FIRST_BYTES: usize = 256 << 10;

/// The longest header that is read.
const LONGEST_HEADER: usize = 16 << 20;

impl Inputs {
    /// The names in the first input, and the same inputs: of one that can be read only once, what was read is put
    /// back. `format` is how the rows are written of which the first is a header; None for those of objects.
    pub(crate) fn names(
        &self,
        format: Option<&Format>,
        control: &Arc<Control>,
    ) -> Result<(Self, Vec<String>)> {
        let Some(first) = self.first() else { return Ok((self.clone(), Vec::new())) };
        let (reading, format) = (first.clone(), format.cloned());
        let read = unless_stopped(control, move || read(&reading, format.as_ref()));
        let (input, names) = read?;
        let inputs = std::iter::once(input).chain(self.iter().skip(1).cloned());
        Ok((self.replaced(inputs.collect()), names))
    }
}

fn read(input: &Input, format: Option<&Format>) -> Result<(Input, Vec<String>)> {
    let mut stream = input.open()?;
    let (mut bytes, mut want) = (Vec::new(), FIRST_BYTES);
    let names = loop {
        let more = (want - bytes.len()) as u64;
        let got = (&mut stream).take(more).read_to_end(&mut bytes);
        let is_last = (got.map_err(|error| input.cannot_read(&error))? as u64) < more;
        foreign::check(&bytes, input)?;
        let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
        let mut splitter = format.map_or_else(Splitter::by_line, Splitter::new);
        let mut rows = Vec::new();
        // What is malformed further on is said when it is read.
        let _ = splitter.scan(text, is_last, &mut rows);
        match (rows.first(), format) {
            (Some(row), Some(format)) => break header(row.of(text), format, input)?,
            (Some(_), None) => break keys(&rows, text, input)?,
            (None, None) if is_last => break Vec::new(),
            (None, Some(_)) if is_last || want >= LONGEST_HEADER => return Err(no_header(input)),
            // The reader refuses an object that is longer than a row may be.
            (None, None) if want > LONGEST_ROW => break Vec::new(),
            (None, _) => want *= 4,
        }
    };
    let input = match input.is_rereadable() {
        true => input.clone(),
        false => input.begun(Box::new(Cursor::new(bytes).chain(stream))),
    };
    Ok((input, names))
}

fn header(row: &[u8], format: &Format, input: &Input) -> Result<Vec<String>> {
    if let Some(delimiter) = excel_delimiter(row) {
        return Err(of_excel(row, delimiter, input));
    }
    let names = Parser::new(format, Vec::new()).all(row).into_iter();
    let names = names.map(|name| name.and_then(|name| String::from_utf8(name).ok()));
    names.collect::<Option<Vec<_>>>().ok_or_else(|| no_header(input))
}

/// The keys of the objects that are whole and well formed: what is wrong with others is said when they are read.
fn keys(rows: &[Row], text: &[u8], input: &Input) -> Result<Vec<String>> {
    check_ndjson(text, input)?;
    let mut keys = Keys::default();
    rows.iter().for_each(|row| _ = keys.add(row.of(text)));
    Ok(keys.names().to_vec())
}

/// The error for Excel's line in front of the names.
fn of_excel(row: &[u8], delimiter: u8, input: &Input) -> Error {
    let Input { name, .. } = input;
    let line = String::from_utf8_lossy(row);
    let message =
        format!("{name} begins with Excel's line {line}, and not with the names of columns");
    let delimiter =
        if delimiter == b'\t' { "\\t".to_owned() } else { char::from(delimiter).to_string() };
    let what = "To read the names behind it";
    let remedy = Remedy::filter(what, "tail -n +2", input.printed_by(), name);
    Error::new(Kind::Data, message)
        .with_sqlstate("22P04")
        .with_remedy(remedy.with_options(["--delimiter".to_owned(), delimiter]))
}

fn no_header(input: &Input) -> Error {
    let message = format!("{} does not begin with the names of columns", input.name);
    Error::new(Kind::Data, message).with_sqlstate("22P04").with_hint(
        "--header=map takes each field to the column of its name: a header must say the names, in UTF-8 unless \
         --encoding is given.",
    )
}
