//! The options that `load`, `plan` and `verify` share: the inputs and their format.

use clap::{Args, ValueEnum, ValueHint};
use pgsluice::core::format::{Format, Syntax};
use pgsluice::error::{Remedy, option};
use pgsluice::job::{Columns, Job};
use pgsluice::source::{ByName, Encoding, FileFormat, Header, Input, Inputs, strip_compression};
use pgsluice::{Error, Kind, Result};
use serde::{Deserialize, Deserializer};

use crate::complete;
use crate::names::{Names, parse_name};
use crate::spec::{Given, listed, parsed};

#[derive(Args, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct InputArgs {
    /// Files, directories, glob patterns, or - for standard input
    #[arg(required_unless_present = "from_table", value_name = "FILE",
          value_hint = ValueHint::AnyPath)]
    pub(crate) files: Vec<String>,
    /// Read the rows of this table in place of files: orders_old, archive.orders
    #[arg(long, value_name = "TABLE", help_heading = "Table as input")]
    pub(crate) from_table: Option<String>,
    /// Server to read that table from, as for -d [default: the server and database of the target]
    #[arg(long, value_name = "CONNINFO", help_heading = "Table as input")]
    pub(crate) from: Option<String>,
    /// Read only the rows that satisfy this SQL condition; qualify names outside pg_catalog
    #[arg(long = "where", value_name = "SQL", help_heading = "Table as input")]
    #[serde(rename = "where")]
    pub(crate) filter: Option<String>,
    /// Inputs that replace the files.
    #[arg(skip)]
    #[serde(skip)]
    pub(crate) given: Option<Inputs>,
    /// The table, written as in SQL: orders, sales.orders, "Orders"
    #[arg(short, long, add = complete::table())]
    table: String,
}

/// The format of the input: COPY's options by their names.
#[derive(Args, Debug, Default, Deserialize)]
#[command(next_help_heading = "Input (as in COPY)")]
#[serde(default)]
pub(crate) struct ReadingArgs {
    /// Format of the files [default: detected from their names and first bytes, otherwise text]
    #[arg(long, value_name = "FORMAT")]
    #[serde(deserialize_with = "listed")]
    format: Option<FormatName>,
    /// Skip the first row of each file, which must be the same in all files; =N: skip N rows; =match:
    /// the row must list the columns in order; =map: in any order
    #[arg(long, num_args = 0..=1, require_equals = true, default_missing_value = "true",
          value_name = "map|match|N", value_parser = parse_header)]
    #[serde(deserialize_with = "header")]
    header: Option<Header>,
    /// Load the input field NAME into COLUMN; implies --header=map for csv and text
    #[arg(long, value_name = "NAME=COLUMN", value_parser = parse_pair)]
    map: Vec<(String, String)>,
    /// Ignore input fields that match no column; implies --header=map for csv and text
    #[arg(long)]
    ignore_extra: bool,
    /// Character encoding of the files: latin1, windows-1252, utf-16 and others [default: utf-8]
    #[arg(long, value_name = "ENCODING", value_parser = parse_encoding)]
    #[serde(deserialize_with = "encoding")]
    encoding: Option<Encoding>,
    /// Byte that separates fields; \t is a tab [default: comma in csv, tab in text]
    #[arg(long, value_name = "CHAR")]
    delimiter: Option<String>,
    /// String that stands for NULL [default: an empty field in csv, \N in text]
    #[arg(long, value_name = "STRING")]
    null: Option<String>,
    /// String that stands for the column's default; PostgreSQL 16 and later
    #[arg(long, value_name = "STRING")]
    default: Option<String>,
    /// csv: byte that quotes fields [default: "]
    #[arg(long, value_name = "CHAR")]
    quote: Option<String>,
    /// csv: byte that escapes a quote in a quoted field [default: the quote]
    #[arg(long, value_name = "CHAR")]
    escape: Option<String>,
    /// csv: columns whose quoted fields may be NULL, or * for all
    #[arg(long, value_name = "NAMES")]
    force_null: Option<Names>,
    /// csv: columns whose unquoted fields are never NULL, or * for all
    #[arg(long, value_name = "NAMES")]
    force_not_null: Option<Names>,
    /// Columns of the input, in its order: id,"Created at" [default: all]
    #[arg(long, value_name = "NAMES")]
    columns: Option<Names>,
    /// Round numbers and times to the precision of their columns, as PostgreSQL does for text
    /// [default: refuse such rows of parquet and arrow]
    #[arg(long)]
    round: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FormatName {
    Csv,
    Text,
    /// A JSON object in each line
    #[value(alias("jsonl"), alias("json"))]
    Ndjson,
    Parquet,
    /// Arrow IPC, files and streams
    #[value(alias("feather"), alias("ipc"))]
    Arrow,
}

impl FormatName {
    fn file_format(self) -> FileFormat {
        match self {
            Self::Csv | Self::Text => FileFormat::Delimited,
            Self::Ndjson => FileFormat::Ndjson,
            Self::Parquet => FileFormat::Parquet,
            Self::Arrow => FileFormat::Arrow,
        }
    }
}

impl ReadingArgs {
    /// Returns the options that describe the format of files, and whether each is given.
    pub(crate) fn list_file_options(&self) -> [Given; 12] {
        [
            Given("format", self.format.is_some()),
            Given("header", self.header.is_some()),
            Given("encoding", self.encoding.is_some()),
            Given("delimiter", self.delimiter.is_some()),
            Given("null", self.null.is_some()),
            Given("default", self.default.is_some()),
            Given("quote", self.quote.is_some()),
            Given("escape", self.escape.is_some()),
            Given("force-null", self.force_null.is_some()),
            Given("force-not-null", self.force_not_null.is_some()),
            Given("columns", self.columns.is_some()),
            Given("round", self.round),
        ]
    }
}

impl InputArgs {
    /// Builds the job from the arguments, and from the options that `set` adds.
    pub(crate) fn job(&self, reading: &ReadingArgs, set: impl FnOnce(&mut Job)) -> Result<Job> {
        let mut job = Job::new(&self.table);
        self.check_table(reading)?;
        let files = match (self.relation()?, &self.given) {
            (Some(relation), _) => Ok(Input::from_relation(relation).into()),
            (None, Some(given)) => Ok(given.clone()),
            (None, None) => Inputs::resolve(&self.files),
        };
        let file_format = match (reading.format, &files) {
            (Some(name), _) => Ok(name.file_format()),
            (None, Ok(files)) => files.file_format(),
            (None, Err(_)) => Ok(FileFormat::Delimited),
        };
        let is_delimited = file_format.as_ref().is_ok_and(|it| *it == FileFormat::Delimited);
        job.input.file_format =
            file_format.as_ref().map_or_else(|_| FileFormat::default(), |it| *it);
        job.input.is_format_given = reading.format.is_some();
        job.input.format = self.format(reading, files.as_deref().ok(), is_delimited)?;
        let by_name = ByName { map: reading.map.clone(), ignore_extra: reading.ignore_extra };
        let is_by_header = is_delimited && by_name != ByName::default();
        let implied = if is_by_header { Header::Map } else { Header::Absent };
        job.input.header = reading.header.unwrap_or(implied);
        job.input.by_name = by_name;
        job.input.round = reading.round;
        job.input.encoding = reading.encoding.unwrap_or_default();
        job.input.columns = reading.columns.as_ref().map(Names::columns).transpose()?;
        let fields = &mut job.input.fields;
        fields.force_null = some_columns(reading.force_null.as_ref())?;
        fields.force_not_null = some_columns(reading.force_not_null.as_ref())?;
        fields.default = reading.default.clone().map(String::into_bytes);
        set(&mut job);
        job.check_settings()?;
        // Errors in options are reported before errors in names of files.
        job.input.files = files.map_err(|error| self.explain_header(reading, error))?;
        file_format?;
        Ok(job)
    }

    /// Adds a hint to the error for a missing file whose name is a value of `--header`.
    fn explain_header(&self, reading: &ReadingArgs, error: Error) -> Error {
        let is_value = |file: &&String| matches!(file.as_str(), "map" | "match");
        match self.files.iter().find(is_value) {
            Some(value) if reading.header == Some(Header::Present) => error.only_hint(
                "Write the value of "
                    + option("header")
                    + " after an equals sign: "
                    + option("header").with(value),
            ),
            _ => error,
        }
    }

    /// Returns the format from the options, or from the names of all files. Errors in these options are
    /// reported before an error in a name.
    fn format(
        &self,
        reading: &ReadingArgs,
        files: Option<&[Input]>,
        is_delimited: bool,
    ) -> Result<Format> {
        let csv = match (reading.format, files) {
            _ if !is_delimited => false,
            (Some(name), _) => name == FormatName::Csv,
            (None, Some(files)) => files.iter().all(|file| is_csv(&file.name)),
            (None, None) => self.files.iter().all(|name| is_csv(name)),
        };
        let mut format = if csv { Format::csv() } else { Format::text() };
        if let Some(delimiter) = &reading.delimiter {
            format.delimiter = one_byte("delimiter", delimiter)?;
        }
        if let Some(null) = &reading.null {
            format.null = null.clone().into_bytes();
        }
        match &mut format.syntax {
            Syntax::Csv { quote, escape, .. } => {
                if let Some(given) = &reading.quote {
                    *quote = one_byte("quote", given)?;
                    *escape = *quote;
                }
                if let Some(given) = &reading.escape {
                    *escape = one_byte("escape", given)?;
                }
            }
            Syntax::Text => {
                for (name, given) in [("QUOTE", &reading.quote), ("ESCAPE", &reading.escape)] {
                    if given.is_some() {
                        let message = format!("COPY {name} requires CSV mode");
                        return Err(Error::new(Kind::Usage, message)
                            .with_hint("Add " + option("format").with("csv") + "."));
                    }
                }
            }
        }
        Ok(format)
    }
}

fn is_csv(name: &str) -> bool {
    strip_compression(name).to_ascii_lowercase().ends_with(".csv")
}

fn one_byte(name: &'static str, given: &str) -> Result<u8> {
    match given.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [byte] => Ok(*byte),
        _ => {
            let message = format!("COPY {name} must be a single one-byte character");
            let error = Error::new(Kind::Usage, message);
            let option = option(name);
            Err(match given.trim() {
                "tab" | "TAB" | "\\\\t" | "^I" | "\\x09" => {
                    error.with_remedy(Remedy::options("For a tab", [option.with("\\t")]))
                }
                byte if byte.len() == 1 => {
                    error.with_remedy(Remedy::options("Without the blanks", [option.with(byte)]))
                }
                several if name == "delimiter" && is_punctuation(several) => {
                    let pattern: String = several.chars().map(|c| format!("[{c}]")).collect();
                    error.with_hint(format!(
                        "For a delimiter of several characters, in bash: sed $'s/{pattern}/\\x1f/g' FILE | pgsluice \
                         load - ... {option} $'\\x1f'"
                    ))
                }
                _ => error.with_hint("For a control character, in bash: " + option + " $'\\x1f'"),
            })
        }
    }
}

/// Whether a pattern can contain these characters in brackets.
fn is_punctuation(signs: &str) -> bool {
    let is_sign =
        |c: char| c.is_ascii_punctuation() && !matches!(c, '^' | '\\' | '[' | ']' | '/' | '\'');
    signs.len() > 1 && signs.chars().all(is_sign)
}

/// Parses a name in a header and the column for it. The name may contain an equals sign.
fn parse_pair(text: &str) -> std::result::Result<(String, String), String> {
    let (name, column) = text.rsplit_once('=').ok_or("NAME=COLUMN")?;
    Ok((name.to_owned(), parse_name(column)?))
}

/// Parses the name of an encoding.
fn parse_encoding(text: &str) -> std::result::Result<Encoding, String> {
    Encoding::from_name(text).ok_or_else(|| {
        let known: Vec<&str> = Encoding::names().collect();
        format!("must be one of {}; iconv can convert other encodings", known.join(", "))
    })
}

/// Parses the value of `--header`: `true`, `match`, `map`, or the number of rows to skip.
fn parse_header(text: &str) -> std::result::Result<Header, String> {
    match text {
        "true" => Ok(Header::Present),
        "false" => Ok(Header::Absent),
        "match" => Ok(Header::Match),
        "map" => Ok(Header::Map),
        number => match number.parse() {
            Ok(0) => Ok(Header::Absent),
            Ok(lines) => Ok(Header::Skip(lines)),
            Err(_) => Err("must be map, match or a number of lines".to_owned()),
        },
    }
}

/// Returns columns by name, or all of them for `*`.
fn some_columns(list: Option<&Names>) -> Result<Columns> {
    match list {
        None => Ok(Columns::None),
        Some(Names::Text(list)) if list.trim() == "*" => Ok(Columns::All),
        Some(list) => list.columns().map(Columns::Named),
    }
}

/// Reads the value of `header`.
fn header<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Header>, D::Error> {
    parsed(from, parse_header)
}

/// Reads the name of an encoding.
fn encoding<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Encoding>, D::Error> {
    parsed(from, parse_encoding)
}

/// Reads a size.
pub(crate) fn size<'de, D: Deserializer<'de>>(from: D) -> Result<Option<usize>, D::Error> {
    parsed(from, parse_size)
}

/// Parses a size with PostgreSQL's units, optionally with an i. Both are powers of two.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => {
            return Err(
                "a size must be a number with an optional unit: B, kB, MB, GB or TB".to_owned()
            );
        }
    };
    let number: usize = number.parse().map_err(|_| "a size must begin with a number".to_owned())?;
    number.checked_mul(1 << shift).ok_or_else(|| "the size is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_of_a_directory_tell_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().display().to_string();
        let all_are_csv = || {
            let files = Inputs::resolve([&name]).expect("files");
            files.iter().all(|file| is_csv(&file.name))
        };
        std::fs::write(folder.path().join("a.csv"), "").unwrap();
        assert!(all_are_csv());
        std::fs::write(folder.path().join("b.txt"), "").unwrap();
        assert!(!all_are_csv());
    }

    #[test]
    fn sizes_have_postgresqls_units() {
        assert_eq!(parse_size("512MiB"), Ok(512 << 20));
        assert_eq!(parse_size("64 kB"), Ok(64 << 10));
        assert_eq!(parse_size("1000"), Ok(1000));
        assert!(parse_size("MB").is_err() && parse_size("1X").is_err());
        assert!(parse_size("99999999999GB").is_err());
    }
}
