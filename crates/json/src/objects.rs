//! Objects as rows, like `populate_record` in `jsonfuncs.c` (PostgreSQL 13 to 18), for the columns of a table.

use std::collections::HashMap;
use std::sync::Arc;

use pgsluice_core::column_lookup::ColumnLookup;
use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;

use pgsluice_core::words::Words;

use crate::copy::{self, DEFAULT, NULL};
use crate::finding::Finding;
use crate::key_match::KeyMatcher;
use crate::literal::LiteralBuffer;
use crate::missing::{RowFacts, check_missing, deletes, put_missing, put_tab};
use crate::refused::RefusedLine;
use crate::shape::ValueShape;
use crate::slots::Slots;
use crate::string::{self, CopyText};
use crate::target::{KeyTarget, MissingKey, ObjectColumn, UnknownKeys};
use crate::values::Values;
use crate::visit;

/// Writes the objects of an input as rows of a table.
#[derive(Clone, Debug)]
pub struct Objects {
    pub(crate) columns: Vec<ObjectColumn>,
    unknown: UnknownKeys,
    slots: Slots,
    matcher: KeyMatcher,
    /// The hint for a key whose column of the table is not in the rows.
    hints: Arc<HashMap<String, Words>>,
    /// The index of the column that marks rows as deletions, and whether it is boolean.
    flag: Option<(usize, bool)>,
    literals: LiteralBuffer,
    /// The row with its columns in order, if the keys had another order.
    sorted: Vec<u8>,
    /// Converts lines of a program's values to NDJSON.
    program: Option<Program>,
    /// Finds the values of rows.
    pub(crate) values: Parser,
    /// Finds the columns of rows that are [`DEFAULT`], which it reads as NULL.
    pub(crate) defaults: Parser,
}

/// The reader of a program's lines.
#[derive(Clone, Debug)]
struct Program {
    values: Values,
    /// The current line, as NDJSON.
    line: Vec<u8>,
}

impl Objects {
    /// Returns the number of columns of the rows.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Whether a field may be [`DEFAULT`].
    #[must_use]
    pub fn has_defaults(&self) -> bool {
        self.columns.iter().any(|column| column.missing == MissingKey::Default)
    }

    /// Reads lines of tagged values from a program: objects, or arrays if they `are_rows`. See the module
    /// `values`.
    #[must_use]
    pub fn with_tags(self, targets: &[KeyTarget], are_rows: bool) -> Self {
        let values = Values::new(targets, are_rows, self.matcher.clone());
        Self { program: Some(Program { values, line: Vec::new() }), ..self }
    }

    /// Lets the server round times of a program that have more digits than their columns, if it `rounds`.
    #[must_use]
    pub fn rounding(self, rounds: bool) -> Self {
        let program = self
            .program
            .map(|Program { values, line }| Program { values: values.rounding(rounds), line });
        Self { program, ..self }
    }

    /// Returns a line for a file of rejected rows, which is NDJSON.
    #[must_use]
    pub fn reject_line(&self, line: &[u8]) -> Vec<u8> {
        self.program
            .as_ref()
            .map_or_else(|| line.to_vec(), |program| program.values.reject_line(line))
    }

    /// Whether each line is an array of the values of all columns.
    #[must_use]
    pub fn are_rows(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.values.are_rows())
    }

    /// Creates rows with these columns. The targets name the key of each.
    #[must_use]
    pub fn new(targets: Vec<KeyTarget>, unknown: UnknownKeys) -> Self {
        let matcher = KeyMatcher::from_targets(&targets);
        Self::with_matcher(targets, unknown, matcher)
    }

    /// Creates rows with these columns of a table; `lookup` assigns keys to columns. `hints` contains the hint
    /// for the keys of each column that rows do not have; it may name the key as `{key}`.
    #[must_use]
    pub fn with_lookup(
        targets: Vec<KeyTarget>,
        unknown: UnknownKeys,
        lookup: Arc<ColumnLookup>,
        hints: HashMap<String, Words>,
    ) -> Self {
        let columns = targets.iter().map(|target| target.column.name.as_str());
        let matcher = KeyMatcher::new(lookup, columns);
        Self { hints: Arc::new(hints), ..Self::with_matcher(targets, unknown, matcher) }
    }

    /// Allows rows that delete others to lack any key. A row deletes if the column at `place` is true, or, if it
    /// is not boolean, has any value.
    #[must_use]
    pub fn deleting(self, place: usize, is_boolean: bool) -> Self {
        Self { flag: Some((place, is_boolean)), ..self }
    }

    fn with_matcher(targets: Vec<KeyTarget>, unknown: UnknownKeys, matcher: KeyMatcher) -> Self {
        let slots = Slots::new(targets.iter().map(|target| target.key.as_str()), &matcher);
        let all: Vec<usize> = (0..targets.len()).collect();
        let defaults = Format { null: DEFAULT.to_vec(), ..Format::text() };
        let columns = targets.into_iter().map(|target| ObjectColumn {
            key: target.key,
            shape: ValueShape::from_type(&target.column.ty),
            missing: target.missing,
            field: None,
            key_of_row: (0, false),
        });
        Self {
            columns: columns.collect(),
            unknown,
            slots,
            matcher,
            hints: Arc::default(),
            flag: None,
            literals: LiteralBuffer::default(),
            sorted: Vec::new(),
            program: None,
            values: Parser::new(&Format::text(), all.clone()),
            defaults: Parser::new(&defaults, all),
        }
    }

    /// Appends the row of COPY text for one line, both without their line ends. If the line is rejected, `out`
    /// is unchanged.
    pub fn put_row(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<RowFacts, RefusedLine> {
        let start = out.len();
        let done = match self.program.take() {
            None => object(line).and_then(|line| self.put_object_row(line, out)),
            Some(mut program) => {
                let done = program.read(line).and_then(|line| self.put_object_row(line, out));
                self.program = Some(program);
                done
            }
        };
        if done.is_err() {
            out.truncate(start);
        }
        done
    }

    /// Returns the keys that were left out since the last call.
    pub fn take_left_out(&mut self) -> Vec<String> {
        self.slots.take_left_out()
    }

    /// Appends the row of an object. Fields are written in the order of their keys. If that is the order of the
    /// columns, they form the row directly, with the missing columns between them.
    fn put_object_row(&mut self, line: &str, out: &mut Vec<u8>) -> Result<RowFacts, RefusedLine> {
        let Self { columns, slots, literals, sorted, .. } = self;
        let finding = Finding { unknown: self.unknown, matcher: &self.matcher, hints: &self.hints };
        let start = out.len();
        let (mut next, mut is_sorted) = (0, true);
        columns.iter_mut().for_each(|column| column.field = None);
        slots.begin();
        visit::members(line, line, |key, value| {
            let Some(place) = finding.column(line, &key, value, columns, slots)? else {
                string::check_key(line, &key, value)?;
                return string::check(line, value);
            };
            is_sorted &= place >= next;
            if is_sorted {
                put_missing(&columns[next..place], next, out);
                next = place + 1;
            }
            put_tab(place, out);
            let from = out.len();
            put_value(line, &columns[place].shape, value, literals, out)
                .map_err(|refused| with_column(refused, place, &key))?;
            columns[place].field = Some((from, out.len()));
            Ok(())
        })?;
        let deletes = self.flag.is_some_and(|flag| deletes(flag, columns, out));
        let facts = check_missing(line, columns, deletes)?;
        if is_sorted {
            put_missing(&columns[next..], next, out);
            return Ok(facts);
        }
        sorted.clear();
        for (place, column) in columns.iter().enumerate() {
            put_tab(place, sorted);
            let field = column.field.map_or(column.missing.field(), |(from, to)| &out[from..to]);
            sorted.extend_from_slice(field);
        }
        out.truncate(start);
        out.extend_from_slice(sorted);
        Ok(facts)
    }
}

impl Program {
    /// Writes a line as NDJSON.
    fn read(&mut self, line: &[u8]) -> Result<&str, RefusedLine> {
        self.line.clear();
        self.values.put_plain(line, &mut self.line)?;
        object(&self.line)
    }
}

/// Appends a value as a field; directly, if the type reads the value as it appears in the line.
#[inline]
fn put_value(
    line: &str,
    shape: &ValueShape,
    value: &str,
    literals: &mut LiteralBuffer,
    out: &mut Vec<u8>,
) -> Result<(), RefusedLine> {
    match (value.as_bytes().first(), shape) {
        (Some(b'n'), _) => out.extend_from_slice(NULL),
        (Some(b'"'), ValueShape::Json) if string::is_plain(value) => {
            out.extend_from_slice(value.as_bytes());
        }
        (Some(b'"'), ValueShape::Scalar | ValueShape::Array { .. } | ValueShape::Composite(_)) => {
            return string::unescape::<CopyText>(line, string::inner(value), out);
        }
        (Some(b'{' | b'['), ValueShape::Scalar | ValueShape::Json) => {
            string::check(line, value)?;
            copy::put_field(value.as_bytes(), out);
        }
        (Some(b'-' | b'0'..=b'9' | b't' | b'f'), ValueShape::Scalar | ValueShape::Json) => {
            out.extend_from_slice(value.as_bytes());
        }
        _ => {
            // Check first, so that no other reader rejects the value in other words.
            string::check(line, value)?;
            literals.text.clear();
            literals.members.clear();
            literals.put(line, shape, value)?;
            copy::put_field(&literals.text, out);
        }
    }
    Ok(())
}

#[cold]
fn with_column(refused: RefusedLine, place: usize, key: &str) -> RefusedLine {
    let hint = refused.hint.or_else(|| Some(format!("See the value of key \"{key}\".").into()));
    RefusedLine { column: Some(place), hint, ..refused }
}

/// Returns the text of a line, if it looks like an object.
pub(crate) fn object(line: &[u8]) -> Result<&str, RefusedLine> {
    let text = str::from_utf8(line).map_err(|error| RefusedLine::encoding(line, error))?;
    let trimmed = text.trim_matches([' ', '\t', '\n', '\r']);
    match trimmed.as_bytes() {
        [b'{'] => {
            let message =
                "a line must be a complete JSON object, but this one ends after its \"{\"";
            Err(RefusedLine::new(text, trimmed, message))
        }
        [b'{', ..] => Ok(text),
        [b'[', ..] => {
            Err(RefusedLine::new(text, trimmed, "a line must be a JSON object, not an array"))
        }
        _ => Err(RefusedLine::new(
            text,
            trimmed,
            "a line must be a JSON object that begins with \"{\"",
        )),
    }
}
