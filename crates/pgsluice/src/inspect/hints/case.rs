//! The case for which a hint is chosen: the error, the options for reading the input, the columns, and the
//! rows around the refused one.

use pgsluice_core::catalog::Strategy;
use pgsluice_core::format::Format;
use pgsluice_core::parse::{Fields, Parser, Value};
use pgsluice_core::types::Codec;

use crate::error::{Error, Remedy, Words};
use crate::job::{InputOptions, Job};
use crate::pg::introspect::Nullness;
use crate::plan::Plan;
use crate::source::{OPENING, Shape};

/// Maximum number of bytes that are read from an input.
const MAX_BYTES: u64 = 32 << 20;

/// Number of rows on which a rule tries its advice.
const ROWS: usize = 1000;

/// The facts by which a hint is chosen.
pub(super) struct HintCase<'c> {
    pub(super) error: &'c Error,
    pub(super) how: &'c InputOptions,
    /// The format of rows after they are rewritten.
    pub(super) format: &'c Format,
    pub(super) version: u32,
    /// Whether rows may conflict with existing rows of the table.
    pub(super) changes: bool,
    pub(super) columns: Vec<CaseColumn<'c>>,
    /// Whether the input has every writable column.
    pub(super) has_all_columns: bool,
    /// The plan, for rows that no partition accepts.
    pub(super) plan: Option<&'c Plan>,
    /// The index of the column that the error is about.
    pub(super) column: Option<usize>,
    pub(super) sample: Option<Sample>,
}

/// A column of the input.
#[derive(Clone, Debug)]
pub(super) struct CaseColumn<'c> {
    pub(super) name: &'c str,
    pub(super) nullness: Nullness,
    /// Whether the column is part of a range or list partition key.
    pub(super) is_bound: bool,
    pub(super) codec: Option<&'c Codec>,
}

/// Rows of the input that the error is about.
#[derive(Debug, Default)]
pub(super) struct Sample {
    /// The name of the input.
    pub(super) name: String,
    /// Shell command that prints the input as text, such as `cat {}`.
    pub(super) reader: String,
    /// The text from the beginning to a point after the row, without a byte order mark.
    pub(super) text: Vec<u8>,
    /// Whether that is the whole input.
    pub(super) is_whole: bool,
    /// The first rows after the header, in the form for COPY.
    pub(super) rows: Vec<Vec<u8>>,
    /// The refused row, in the form of the input and in the form for COPY.
    pub(super) raw: Option<Vec<u8>>,
    pub(super) row: Option<Vec<u8>>,
}

impl<'c> HintCase<'c> {
    /// Returns the case of an error, if it has a location.
    pub(super) fn from_error(error: &'c Error, job: &'c Job, plan: &'c Plan) -> Option<Self> {
        error.place()?;
        let catalogue = &plan.catalogue;
        let bound: Vec<&str> = plan
            .tree
            .nodes
            .iter()
            .filter_map(|node| node.key.as_ref())
            .filter(|key| key.strategy != Strategy::Hash)
            .flat_map(|key| key.columns.iter().map(|column| column.name()))
            .collect();
        let columns = catalogue.columns.iter().enumerate().map(|(at, name)| CaseColumn {
            name,
            nullness: catalogue.nullness.get(at).copied().unwrap_or_default(),
            is_bound: bound.contains(&name.as_str()),
            codec: catalogue.codecs.get(at).and_then(|codec| codec.as_ref().ok()),
        });
        let columns: Vec<CaseColumn<'c>> = columns.collect();
        let column = error.column();
        let column = columns.iter().position(|known| Some(known.name) == column);
        Some(Self {
            error,
            how: &job.input,
            format: &plan.shape.format,
            version: catalogue.version,
            changes: job.changes.is_any(),
            columns,
            has_all_columns: !catalogue.omits_columns,
            plan: Some(plan),
            column,
            sample: Sample::read(error, job, &plan.shape),
        })
    }

    /// Returns the error's SQLSTATE, or an empty string.
    pub(super) fn code(&self) -> &str {
        self.error.sqlstate().unwrap_or_default()
    }

    /// Returns the decoded value of a field of `row`.
    pub(super) fn field(&self, format: &Format, row: &[u8], at: usize) -> OwnedValue {
        let (parser, mut fields) = (Parser::new(format, vec![at]), Fields::default());
        parser.parse(row, &mut fields);
        match fields.get(0, row) {
            Value::Missing | Value::Binary(_) => OwnedValue::Missing,
            Value::Null => OwnedValue::Null,
            Value::Text(text) => OwnedValue::Text(text.to_vec()),
        }
    }

    /// Returns all fields of the first rows and of the refused row.
    pub(super) fn all_fields(&self, format: &Format) -> Vec<Vec<Option<Vec<u8>>>> {
        let Some(sample) = &self.sample else { return Vec::new() };
        let parser = Parser::new(format, Vec::new());
        let rows = sample.rows.iter().chain(&sample.row);
        rows.map(|row| parser.all(row)).collect()
    }
}

/// A decoded field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum OwnedValue {
    Missing,
    Null,
    Text(Vec<u8>),
}

impl Sample {
    fn read(error: &Error, job: &Job, shape: &Shape) -> Option<Self> {
        let place = error.place()?;
        let input = job.input.files.iter().find(|input| input.name == place.source)?;
        if job.input.file_format.is_typed() {
            return None;
        }
        let opening = OPENING as u64;
        let max = match input.is_rereadable() {
            true => place.offset.saturating_add(opening).min(MAX_BYTES),
            false => opening,
        };
        let text = input.opening(max)?;
        let is_whole = (text.len() as u64) < max;
        let raw = match text.get(usize::try_from(place.offset).ok()?..) {
            Some(rest) => rows_of(rest, is_whole, shape).next(),
            None if input.is_rereadable() => input.row_at(place.offset, shape).ok(),
            None => None,
        };
        let mark = "\u{feff}".as_bytes();
        let skipped = if text.starts_with(mark) { mark.len() } else { 0 };
        let text = text[skipped..].to_vec();
        let start = &text[..text.len().min(OPENING)];
        let is_start = is_whole && start.len() == text.len();
        let rows = rows_of(start, is_start, shape).skip(job.input.header.rows()).take(ROWS);
        let rows = rows.map(|row| shape.rewrite_row(row)).collect();
        let row = raw.clone().map(|row| shape.rewrite_row(row));
        let (name, reader) = (input.name.clone(), input.printed_by());
        Some(Self { name, reader, text, is_whole, rows, raw, row })
    }

    /// Returns a remedy that pipes the input's text through a program before the load.
    pub(super) fn filter(&self, what: impl Into<Words>, filter: &str) -> Remedy {
        Remedy::filter(what, filter, &self.reader, &self.name)
    }
}

/// Returns the first rows of `text`.
fn rows_of<'t>(
    text: &'t [u8],
    is_whole: bool,
    shape: &Shape,
) -> impl Iterator<Item = Vec<u8>> + 't {
    let mut found = Vec::new();
    // Malformed rows further on do not matter here.
    let _ = shape.splitter().scan(text, is_whole, &mut found);
    found.into_iter().map(|row| row.slice(text).to_vec())
}
