//! The single error type: kind, message, place in the input, PostgreSQL's SQLSTATE, and the next step.

pub mod backoff;
mod hint;
pub mod kind;
pub mod policy;
mod printable;
mod remedy;
pub mod sqlstate;
mod text;

use std::fmt;

use tokio_postgres::error::DbError;

use crate::error::hint::Hint;
use crate::error::kind::Kind;
pub use crate::error::printable::{on_one_line, printable};
pub use crate::error::remedy::{CommandChange, Remedy, TABLE, is_stream, quote_shell};
pub use pgsluice_core::words::{Named, Setting, Words, command, option};

/// A result whose error is [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A place in the input; `file:line` for people and editors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The input, as the user named it.
    pub source: String,
    /// Physical line of the row's first byte, from 1.
    pub line: u64,
    /// Byte offset of the row's first byte; or the number of the row in its input, from 0; or, in a table, its
    /// page and its number in that page.
    pub offset: u64,
    /// The number of the input, from 0.
    pub input: u32,
    /// The unit of `line` and `offset`.
    pub unit: Unit,
}

/// The unit that the place of a row is counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// Bytes, and physical lines.
    #[default]
    Bytes,
    /// Rows: the line is the row's number, from 1.
    Rows,
    /// Rows, where the line is the row's number within this row group, from 1.
    Group(u64),
    /// Pages of a table and, in the low 16 bits, the numbers of rows in them.
    Tuple,
}

impl Unit {
    /// Returns the row group, if the input has row groups.
    #[must_use]
    pub fn group(self) -> Option<u64> {
        match self {
            Self::Group(group) => Some(group),
            Self::Bytes | Self::Rows | Self::Tuple => None,
        }
    }
}

impl Location {
    /// Returns the ctid of a row of a table as PostgreSQL writes it: `(12,3)`.
    #[must_use]
    pub fn ctid(&self) -> Option<String> {
        let Self { offset, unit, .. } = self;
        (*unit == Unit::Tuple).then(|| format!("({},{})", offset >> 16, offset & 0xffff))
    }
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, unit, .. } = self;
        let source = on_one_line(&self.source);
        match unit {
            Unit::Group(group) => write!(f, "{source}:{group}:{line}"),
            Unit::Bytes | Unit::Rows => write!(f, "{source}:{line}"),
            Unit::Tuple => write!(f, "{source}, ctid {}", self.ctid().unwrap_or_default()),
        }
    }
}

/// The rows that a failed load leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Rows that are committed, by this run and earlier ones.
    pub committed: u64,
    /// Rows whose COMMIT the server did not answer, or may have lost since.
    pub in_doubt: u64,
    /// The rows in doubt that earlier calls of a writer have committed.
    pub earlier: u64,
    /// The id that resumes the load, if it can be resumed.
    pub load_id: Option<String>,
}

/// Message, detail and hint in PostgreSQL's style, with the place in the input.
#[derive(Clone, Debug)]
pub struct Error(Box<ReportedText>);

#[derive(Clone, Debug)]
struct ReportedText {
    kind: Kind,
    message: Words,
    sqlstate: Option<String>,
    place: Option<Location>,
    column: Option<String>,
    detail: Option<Words>,
    hints: Vec<Hint>,
    is_permanent: bool,
    lacks_password: bool,
    left: Option<Left>,
    is_foretold: bool,
    /// Whether all rows that were examined have the same mistake.
    is_for_all_rows: bool,
    /// Whether the message is the server's, which may have several lines.
    is_of_server: bool,
}

impl Error {
    /// Creates an error of `kind` with its one-line message, in lower case and without a full stop.
    pub fn new(kind: Kind, message: impl Into<Words>) -> Self {
        Self(Box::new(ReportedText {
            kind,
            message: message.into(),
            sqlstate: None,
            place: None,
            column: None,
            detail: None,
            hints: Vec::new(),
            is_permanent: false,
            lacks_password: false,
            left: None,
            is_foretold: false,
            is_for_all_rows: false,
            is_of_server: false,
        }))
    }

    /// Returns the error of work that was asked to end.
    pub fn interrupted() -> Self {
        Self::new(Kind::Interrupted, "interrupted")
    }

    /// Returns the error for a connection that ended by itself.
    pub fn lost() -> Self {
        let lost = Self::new(Kind::Connection, "server closed the connection unexpectedly");
        // 08006 stands for every broken connection; the server had no chance to report it.
        match sqlstate::next_step("08006") {
            Some(hint) => lost.with_hint(hint),
            None => lost,
        }
    }

    /// Sets the kind.
    #[must_use]
    pub fn with_kind(mut self, kind: Kind) -> Self {
        self.0.kind = kind;
        self
    }

    /// Adds a sentence of detail. Sentences are joined by newlines.
    #[must_use]
    pub fn with_detail(mut self, detail: impl Into<Words>) -> Self {
        let detail = detail.into();
        self.0.detail = Some(match self.0.detail.take() {
            Some(before) => before + "\n" + detail,
            None => detail,
        });
        self
    }

    /// Marks the error as permanent: another try would fail in the same way.
    #[must_use]
    pub fn permanent(mut self) -> Self {
        self.0.is_permanent = true;
        self
    }

    /// Returns whether another try is known to fail in the same way.
    pub fn is_permanent(&self) -> bool {
        self.0.is_permanent
    }

    /// Marks the error as that of a login for which the server wanted a password that was not given.
    #[must_use]
    pub fn lacking_password(mut self) -> Self {
        self.0.lacks_password = true;
        self
    }

    /// Whether the server asked for a password that was not given, like libpq's `PQconnectionNeedsPassword`.
    pub fn lacks_password(&self) -> bool {
        self.0.lacks_password
    }

    /// Whether both errors are about rows, and this row comes before the other's.
    pub fn is_earlier_than(&self, other: &Self) -> bool {
        let at = |error: &Self| error.place().map(|place| (place.input, place.offset));
        let are_rows = self.kind() == Kind::Data && other.kind() == Kind::Data;
        are_rows && matches!((at(self), at(other)), (Some(this), Some(that)) if this < that)
    }

    /// Marks the error as predicted, of a load that has not begun.
    #[must_use]
    pub fn into_predicted(mut self) -> Self {
        self.0.is_foretold = true;
        self
    }

    /// Marks the error as one that all rows cause, so that leaving out rows does not help.
    #[must_use]
    pub fn for_all_rows(mut self) -> Self {
        self.0.is_for_all_rows = true;
        self
    }

    /// Returns whether all rows that were examined have the same mistake.
    pub fn is_for_all_rows(&self) -> bool {
        self.0.is_for_all_rows
    }

    /// Sets the rows that the load leaves behind.
    #[must_use]
    pub fn leaving(mut self, left: Left) -> Self {
        self.0.left = Some(left);
        self
    }

    /// Returns the rows that the failed load leaves behind; `None` if nothing was sent.
    pub fn left(&self) -> Option<&Left> {
        self.0.left.as_ref()
    }

    /// Sets PostgreSQL's five-character code.
    #[must_use]
    pub fn with_sqlstate(mut self, code: impl Into<String>) -> Self {
        self.0.sqlstate = Some(code.into());
        self
    }

    /// Sets the row's place in the input.
    #[must_use]
    pub fn at(mut self, place: Location) -> Self {
        self.0.place = Some(place);
        self
    }

    /// Sets the column that the error is about.
    #[must_use]
    pub fn with_column(mut self, column: impl Into<String>) -> Self {
        self.0.column = Some(column.into());
        self
    }

    /// Returns the kind of failure.
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Returns the message, one line.
    pub fn message(&self) -> &str {
        self.0.message.as_str()
    }

    /// Returns more sentences about the error, one per line.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_ref().map(Words::as_str)
    }

    /// Returns PostgreSQL's five-character code, if known.
    pub fn sqlstate(&self) -> Option<&str> {
        self.0.sqlstate.as_deref()
    }

    /// Returns the column that the error is about, if any.
    pub fn column(&self) -> Option<&str> {
        self.0.column.as_deref()
    }

    /// Returns the row's place in the input, if one row is to blame.
    pub fn place(&self) -> Option<&Location> {
        self.0.place.as_ref()
    }
}

impl std::error::Error for Error {}

impl From<tokio_postgres::Error> for Error {
    fn from(error: tokio_postgres::Error) -> Self {
        match error.as_db_error() {
            Some(db) => Self::from(db),
            None if error.is_closed() => Self::lost(),
            None => Self::new(Kind::Connection, chain(&error)),
        }
    }
}

impl From<&DbError> for Error {
    fn from(db: &DbError) -> Self {
        let code = db.code().code();
        let mut report = Self::new(sqlstate::kind(code), db.message()).with_sqlstate(code);
        report.0.is_of_server = true;
        if let Some(detail) = db.detail() {
            report = report.with_detail(detail);
        }
        // The advice about DateStyle is given elsewhere, with the way to set it.
        let hint =
            db.hint().filter(|hint| code != "22008" || !hint.to_lowercase().contains("datestyle"));
        // An error within a function, for a row, is not about the table of the statement.
        let is_of_other = db.where_().is_some() && matches!(code, "42501" | "42P01");
        let next_step = || sqlstate::next_step(code).filter(|_| !is_of_other);
        match hint.or_else(next_step) {
            Some(hint) => report.with_hint(hint),
            None => report,
        }
    }
}

/// Returns the operating system's message, without the number that Rust adds.
pub fn plain_io(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((plain, _)) => plain.to_owned(),
        None => text,
    }
}

/// Returns the error and its causes on one line, each cause once.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(inner) = cause {
        let inner_text = inner.to_string();
        if !text.contains(&inner_text) {
            text.push_str(": ");
            text.push_str(&inner_text);
        }
        cause = inner.source();
    }
    text
}
