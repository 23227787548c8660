//! Checks of the first bytes of all inputs, before any row is committed.

use std::io::Read;

use pgsluice_core::origin::Origin;
use pgsluice_core::parse::Parser;

use super::file_format::check_ndjson;
use super::inputs::pattern_of;
use super::{Input, Shape, foreign};
use crate::error::kind::Kind;
use crate::error::{Error, Result};

/// The byte order mark that some programs write before UTF-8.
pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// The number of bytes that are read of an input. A longer first row is not checked.
const LOOKED_AT: u64 = 64 << 10;

/// The maximum number of inputs that are checked: more would take longer than their mistakes cost.
const MAX_INPUTS: usize = 1000;

/// Rejects an input whose beginning does not fit this shape.
pub(super) fn check_start(start: &[u8], input: &Input, shape: &Shape) -> Result<()> {
    foreign::check(start, input)?;
    match shape.is_of_objects() && !shape.is_of_rows() {
        true => check_ndjson(start, input),
        false => Ok(()),
    }
}

/// Rejects inputs whose beginning shows a mistake in how they are read. With `counts`, the first row of each
/// later input must have as many fields as there are names; the reader checks the first input before anything
/// is committed.
pub(crate) fn check_all(inputs: &[Input], shape: &Shape, counts: bool) -> Result<()> {
    let Shape { header, names, .. } = shape;
    if shape.is_of_batches() {
        // Tables are checked when they are opened.
        let Some(typed) = shape.typed() else { return Ok(()) };
        let files = inputs.iter().filter(|input| input.is_rereadable());
        return files.take(MAX_INPUTS).try_for_each(|input| typed.check(input));
    }
    let all = (0..).zip(inputs).filter(|(_, input)| input.is_rereadable());
    all.take(MAX_INPUTS).try_for_each(|(number, input)| {
        let mut start = Vec::new();
        let read = input.open()?.take(LOOKED_AT).read_to_end(&mut start);
        read.map_err(|error| input.cannot_read(&error))?;
        check_start(&start, input, shape)?;
        let is_whole = (start.len() as u64) < LOOKED_AT;
        let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
        let mut rows = Vec::new();
        // A malformed row is reported when it is read.
        if shape.splitter().scan(text, is_whole, &mut rows).is_err() {
            return Ok(());
        }
        let mut rows = rows.iter().map(|row| (row, row.slice(text)));
        for _ in 0..header.rows() {
            let Some((_, row)) = rows.next() else { return Ok(()) };
            if header.is_compared() {
                shape.check_header(row, input, number).map_err(|error| among(inputs, error))?;
            }
        }
        match rows.next().filter(|_| counts && number > 0 && !names.is_empty()) {
            Some((row, text)) => {
                let line = 1 + u64::from(row.line);
                let origin = Origin { input: number, at: row.start.into() };
                check_fields(shape, text).map_err(|error| error.at(input.locate(origin, line)))
            }
            None => Ok(()),
        }
    })
}

/// Adds a hint to the error of a file if the names of the files end differently: the pattern of most files,
/// because this file may not belong to the input.
fn among(inputs: &[Input], error: Error) -> Error {
    let pattern = pattern_of(inputs.iter().map(|input| &input.name));
    let is_other = |input: &Input| pattern_of([&input.name]) != pattern;
    match &pattern {
        Some(pattern) if inputs.iter().any(is_other) => error.with_hint(format!(
            "If a file does not belong to the input, name the others by the pattern '{pattern}'."
        )),
        _ => error,
    }
}

/// Checks the number of fields like `NextCopyFrom` in `copyfromparse.c` (PostgreSQL 18).
fn check_fields(shape: &Shape, row: &[u8]) -> Result<()> {
    let Shape { format, names: columns, .. } = shape;
    if shape.is_of_objects() {
        let refusal = shape.refusal(&shape.rewrite_row(row.to_vec()));
        return refusal.map_or(Ok(()), |refusal| Err(refusal.into()));
    }
    let fields = Parser::new(format, Vec::new()).all(row).len();
    let refuse = |message: String| Err(Error::new(Kind::Data, message).with_sqlstate("22P04"));
    match columns.get(fields) {
        Some(column) => refuse(format!("missing data for column \"{column}\"")),
        None if fields > columns.len() => {
            refuse("extra data after last expected column".to_owned())
        }
        None => Ok(()),
    }
}
