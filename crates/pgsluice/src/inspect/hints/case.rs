//! The case that a hint is chosen for: the error, how the input is read, the columns, and the rows around the one
//! that was refused.

use pgsluice_core::catalog::Strategy;
use pgsluice_core::format::Format;
use pgsluice_core::parse::{Fields, Parser, Value};
use pgsluice_core::types::Codec;

use crate::error::{Error, Remedy, Words};
use crate::job::{InputOptions, Job};
use crate::pg::introspect::Nullness;
use crate::plan::Plan;
use crate::source::{OPENING, Shape};

/// The most bytes that are read of an input.
const MOST: u64 = 32 << 20;

/// Rows that a rule tries its advice on.
const ROWS: usize = 1000;

/// All that a hint is chosen by.
pub(super) struct HintCase<'c> {
    pub(super) error: &'c Error,
    pub(super) how: &'c InputOptions,
    /// How rows are written, once they are rewritten.
    pub(super) format: &'c Format,
    pub(super) version: u32,
    /// Whether rows may meet others that are in the table.
    pub(super) changes: bool,
    pub(super) columns: Vec<CaseColumn<'c>>,
    /// Whether the input has every column that can be written.
    pub(super) has_all_columns: bool,
    /// The plan, for rows that no partition accepts.
    pub(super) plan: Option<&'c Plan>,
    /// The column that the error is about, by its place.
    pub(super) column: Option<usize>,
    pub(super) sample: Option<Sample>,
}

/// A column of the input.
#[derive(Clone, Debug)]
pub(super) struct CaseColumn<'c> {
    pub(super) name: &'c str,
    pub(super) nullness: Nullness,
    /// Whether rows are found by ranges or lists of its values.
    pub(super) is_bound: bool,
    pub(super) codec: Option<&'c Codec>,
}

/// Rows of the input that the error is about.
#[derive(Debug, Default)]
pub(super) struct Sample {
    /// The name of the input.
    pub(super) name: String,
    /// Shell command that prints the input as text, such as `cat {}`.
    pub(super) reader: &'static str,
    /// The text from the beginning to behind the row, without a byte order mark.
    pub(super) text: Vec<u8>,
    /// Whether that is all of it.
    pub(super) is_whole: bool,
    /// The first rows behind the header, in the form in which COPY takes them.
    pub(super) rows: Vec<Vec<u8>>,
    /// The refused row, in the form in which the input has it and in that for COPY.
    pub(super) raw: Option<Vec<u8>>,
    pub(super) row: Option<Vec<u8>>,
}

impl<'c> HintCase<'c> {
    /// Returns the case of an error, if it names the place of a row.
    pub(super) fn of(error: &'c Error, job: &'c Job, plan: &'c Plan) -> Option<Self> {
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

    /// The error's SQLSTATE, or nothing.
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

/// A field.
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
        let most = match input.is_rereadable() {
            true => place.offset.saturating_add(opening).min(MOST),
            false => opening,
        };
        let text = input.opening(most)?;
        let is_whole = (text.len() as u64) < most;
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
        let rows = rows.map(|row| shape.rewritten(row)).collect();
        let row = raw.clone().map(|row| shape.rewritten(row));
        let (name, reader) = (input.name.clone(), input.printed_by());
        Some(Self { name, reader, text, is_whole, rows, raw, row })
    }

    /// Returns a program to put in front of the load, which reads the input's text.
    pub(super) fn filter(&self, what: impl Into<Words>, filter: &str) -> Remedy {
        Remedy::filter(what, filter, self.reader, &self.name)
    }
}

/// The rows that `text` begins with.
fn rows_of<'t>(
    text: &'t [u8],
    is_whole: bool,
    shape: &Shape,
) -> impl Iterator<Item = Vec<u8>> + 't {
    let mut found = Vec::new();
    // A row that is malformed further on is of no concern here.
    let _ = shape.splitter().scan(text, is_whole, &mut found);
    found.into_iter().map(|row| row.of(text).to_vec())
}
