//! Objects to rows: `populate_record` in `jsonfuncs.c` (PostgreSQL 13 to 18), for the columns of a table.

use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;
use pgsluice_core::types::Column;

use crate::copy::{self, DEFAULT, NULL};
use crate::literal::Literals;
use crate::refused::Refused;
use crate::shape::Shape;
use crate::slots::{Found, Slots};
use crate::string::{self, Copy};
use crate::values::Values;
use crate::walk;

/// A column of the rows, and the key of its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The key. Each is that of one column.
    pub key: String,
    /// The column.
    pub column: Column,
    /// What the column is where an object lacks the key.
    pub missing: Missing,
}

/// What a column is where an object lacks its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// NULL.
    Null,
    /// [`DEFAULT`]. COPY refuses it for a column that has no default.
    Default,
    /// The line is refused: the column has a default, and it cannot be asked for.
    Refused,
}

/// What a row is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Made {
    /// Whether one of its fields is [`DEFAULT`].
    pub has_default: bool,
}

/// What becomes of keys that go to no column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// The line is refused.
    Refuse,
    /// They are left out.
    Ignore,
}

/// How the objects of an input are written as rows of a table.
#[derive(Clone, Debug)]
pub struct Objects {
    pub(crate) columns: Vec<ObjectColumn>,
    unknown: Unknown,
    slots: Slots,
    literals: Literals,
    /// The columns in their order, where the keys had another one.
    sorted: Vec<u8>,
    /// Turns lines of a program's values into NDJSON.
    program: Option<Program>,
    /// Finds the values of rows.
    pub(crate) values: Parser,
    /// Finds the columns of rows that are [`DEFAULT`], as what it takes for NULL.
    pub(crate) defaults: Parser,
}

/// Lines of a program's values.
#[derive(Clone, Debug)]
struct Program {
    values: Values,
    /// The line that is being written, as NDJSON.
    line: Vec<u8>,
}

/// A column, and what is known of it in this row.
#[derive(Clone, Debug)]
pub(crate) struct ObjectColumn {
    pub(crate) key: String,
    pub(crate) shape: Shape,
    missing: Missing,
    /// Where its field stands in the row that is being written.
    field: Option<(usize, usize)>,
}

impl Objects {
    /// How many columns the rows have.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// Whether a field may be [`DEFAULT`].
    #[must_use]
    pub fn has_defaults(&self) -> bool {
        self.columns.iter().any(|column| column.missing == Missing::Default)
    }

    /// Rows with these columns, of lines as a program writes them: objects, or arrays if they `are_rows`. See the
    /// module `values`.
    #[must_use]
    pub fn of_program(targets: Vec<Target>, unknown: Unknown, are_rows: bool) -> Self {
        let values = Values::new(&targets, are_rows);
        let program = Some(Program { values, line: Vec::new() });
        Self { program, ..Self::new(targets, unknown) }
    }

    /// Returns a line for a file of rejected rows, which is NDJSON.
    #[must_use]
    pub fn shown(&self, line: &[u8]) -> Vec<u8> {
        self.program.as_ref().map_or_else(|| line.to_vec(), |program| program.values.shown(line))
    }

    /// Whether each line is an array of the values of all columns.
    #[must_use]
    pub fn are_rows(&self) -> bool {
        self.program.as_ref().is_some_and(|program| program.values.are_rows())
    }

    /// Rows with these columns.
    #[must_use]
    pub fn new(targets: Vec<Target>, unknown: Unknown) -> Self {
        let slots = Slots::new(targets.iter().map(|target| target.key.as_str()));
        let all: Vec<usize> = (0..targets.len()).collect();
        let defaults = Format { null: DEFAULT.to_vec(), ..Format::text() };
        let columns = targets.into_iter().map(|target| ObjectColumn {
            key: target.key,
            shape: Shape::of(&target.column.ty),
            missing: target.missing,
            field: None,
        });
        Self {
            columns: columns.collect(),
            unknown,
            slots,
            literals: Literals::default(),
            sorted: Vec::new(),
            program: None,
            values: Parser::new(&Format::text(), all.clone()),
            defaults: Parser::new(&defaults, all),
        }
    }

    /// Appends the row of COPY text for one line, both without their line ends. Where the line is refused,
    /// `out` is as it was.
    pub fn put_row(&mut self, line: &[u8], out: &mut Vec<u8>) -> Result<Made, Refused> {
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

    /// Fields are written as their keys come. If that is the order of the columns, they make the row as
    /// they stand, with what is missing between them.
    fn put_object_row(&mut self, line: &str, out: &mut Vec<u8>) -> Result<Made, Refused> {
        let Self { columns, unknown, slots, literals, sorted, .. } = self;
        let start = out.len();
        let (mut next, mut is_sorted) = (0, true);
        columns.iter_mut().for_each(|column| column.field = None);
        slots.begin();
        walk::members(line, line, |key, value| {
            let place = match slots.find(&key) {
                Found::Column(place) => place,
                Found::Duplicate => return Err(Refused::duplicate(line, &key, value)),
                Found::Unknown if *unknown == Unknown::Refuse => {
                    return Err(Refused::unknown(line, &key, value));
                }
                Found::Unknown => {
                    string::check_key(line, &key, value)?;
                    return string::check(line, value);
                }
            };
            is_sorted &= place >= next;
            if is_sorted {
                put_missing(&columns[next..place], next, out);
                next = place + 1;
            }
            put_tab(place, out);
            let from = out.len();
            put_value(line, &columns[place].shape, value, literals, out)
                .map_err(|refused| of_column(refused, place, &key))?;
            columns[place].field = Some((from, out.len()));
            Ok(())
        })?;
        let made = made(line, columns)?;
        if is_sorted {
            put_missing(&columns[next..], next, out);
            return Ok(made);
        }
        sorted.clear();
        for (place, column) in columns.iter().enumerate() {
            put_tab(place, sorted);
            let field = column.field.map_or(column.missing.field(), |(from, to)| &out[from..to]);
            sorted.extend_from_slice(field);
        }
        out.truncate(start);
        out.extend_from_slice(sorted);
        Ok(made)
    }
}

impl Program {
    /// Writes a line as NDJSON.
    fn read(&mut self, line: &[u8]) -> Result<&str, Refused> {
        self.line.clear();
        self.values.put_plain(line, &mut self.line)?;
        object(&self.line)
    }
}

impl Missing {
    fn field(self) -> &'static [u8] {
        match self {
            Self::Null | Self::Refused => NULL,
            Self::Default => DEFAULT,
        }
    }
}

/// What becomes of the keys that the line lacks.
fn made(line: &str, columns: &[ObjectColumn]) -> Result<Made, Refused> {
    let mut made = Made { has_default: false };
    for (place, column) in columns.iter().enumerate().filter(|(_, it)| it.field.is_none()) {
        match column.missing {
            Missing::Null => {}
            Missing::Default => made.has_default = true,
            Missing::Refused => {
                let message =
                    format!("key \"{}\" is missing, and its column has a default", column.key);
                let refused = Refused::new(line, line, message).with_hint(
                    "Give the key in every object, or in none: its column then gets the default.",
                );
                return Err(Refused { column: Some(place), ..refused });
            }
        }
    }
    Ok(made)
}

/// The tab before the field at `place`.
fn put_tab(place: usize, out: &mut Vec<u8>) {
    if place > 0 {
        out.push(b'\t');
    }
}

/// Appends columns whose keys are missing; the first one is at `first`.
fn put_missing(columns: &[ObjectColumn], first: usize, out: &mut Vec<u8>) {
    for (place, column) in columns.iter().enumerate() {
        put_tab(first + place, out);
        out.extend_from_slice(column.missing.field());
    }
}

/// Appends a value as a field: at once where it stands in the line as its type reads it.
#[inline]
fn put_value(
    line: &str,
    shape: &Shape,
    value: &str,
    literals: &mut Literals,
    out: &mut Vec<u8>,
) -> Result<(), Refused> {
    match (value.as_bytes().first(), shape) {
        (Some(b'n'), _) => out.extend_from_slice(NULL),
        (Some(b'"'), Shape::Json) if string::is_plain(value) => {
            out.extend_from_slice(value.as_bytes());
        }
        (Some(b'"'), Shape::Scalar | Shape::Array { .. } | Shape::Composite(_)) => {
            return string::unescape::<Copy>(line, string::inner(value), out);
        }
        (Some(b'{' | b'['), Shape::Scalar | Shape::Json) => {
            string::check(line, value)?;
            copy::put_field(value.as_bytes(), out);
        }
        (Some(b'-' | b'0'..=b'9' | b't' | b'f'), Shape::Scalar | Shape::Json) => {
            out.extend_from_slice(value.as_bytes());
        }
        _ => {
            // So that nothing within it is refused by another reader, in other words.
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
fn of_column(refused: Refused, place: usize, key: &str) -> Refused {
    let hint = refused.hint.or_else(|| Some(format!("See the value of key \"{key}\".")));
    Refused { column: Some(place), hint, ..refused }
}

/// The text of a line, if it seems to be an object.
pub(crate) fn object(line: &[u8]) -> Result<&str, Refused> {
    let text = str::from_utf8(line).map_err(|error| Refused::encoding(line, error))?;
    let trimmed = text.trim_matches([' ', '\t', '\n', '\r']);
    match trimmed.as_bytes() {
        [b'{'] => {
            let message = "a line must be a whole JSON object, and this one ends behind its \"{\"";
            Err(Refused::new(text, trimmed, message))
        }
        [b'{', ..] => Ok(text),
        [b'[', ..] => {
            Err(Refused::new(text, trimmed, "a line must be a JSON object, not an array"))
        }
        _ => Err(Refused::new(text, trimmed, "a line must be a JSON object, and begin with \"{\"")),
    }
}
