//! File formats, known by file names and first bytes.

use serde::de::IgnoredAny;

use super::compression::strip_compression;
use super::foreign::is_binary;
use super::inputs::{Input, Inputs, pattern_of};
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, Words, option};

/// The format of all inputs of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileFormat {
    /// Rows in the text or CSV format of COPY.
    #[default]
    Delimited,
    /// A JSON object per line.
    Ndjson,
    /// Parquet.
    Parquet,
    /// Arrow IPC: files and streams.
    Arrow,
    /// Objects that a program writes as lines, such as a list of dicts in Python.
    Dicts,
    /// Arrays that a program writes as lines, with a value for every column in order, such as a list of
    /// tuples.
    Rows,
    /// The rows of a table, copied out by a server.
    Table,
}

use FileFormat::{Arrow, Delimited, Dicts, Ndjson, Parquet, Rows, Table};

/// File name suffixes of the formats other than COPY's.
const SUFFIXES: [(&str, FileFormat); 11] = [
    (".ndjson", Ndjson),
    (".jsonl", Ndjson),
    (".jsonlines", Ndjson),
    (".json", Ndjson),
    (".parquet", Parquet),
    (".parq", Parquet),
    (".pq", Parquet),
    (".arrow", Arrow),
    (".arrows", Arrow),
    (".feather", Arrow),
    (".ipc", Arrow),
];

impl FileFormat {
    /// Returns its name for the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Delimited => "csv or text",
            Ndjson => "ndjson",
            Parquet => "parquet",
            Arrow => "arrow",
            Dicts => "dicts",
            Rows => "rows",
            Table => "table",
        }
    }

    /// Whether each line is an object whose keys name its columns.
    pub(crate) fn has_objects(self) -> bool {
        matches!(self, Ndjson | Dicts)
    }

    /// Whether its columns have names and types.
    pub(crate) fn is_typed(self) -> bool {
        matches!(self, Parquet | Arrow | Table)
    }

    /// Derives the format from the name of a file.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        let name = strip_compression(name).to_ascii_lowercase();
        SUFFIXES.iter().find(|(suffix, _)| name.ends_with(suffix)).map(|(_, format)| *format)
    }

    /// Detects the format by the first bytes of an input that is read as text. No text begins like an Arrow
    /// stream: with a marker, then a length that is not large.
    pub(super) fn from_start(start: &[u8]) -> Option<Self> {
        match start {
            [0xff, 0xff, 0xff, 0xff, _, _, _, 0, ..] => Some(Arrow),
            _ => Self::from_bytes(start),
        }
    }

    /// Detects the format by the first bytes of a file.
    pub(super) fn from_bytes(start: &[u8]) -> Option<Self> {
        match start {
            // The header of a page or of the footer follows, which is not text.
            [b'P', b'A', b'R', b'1', head @ ..] if is_binary(&head[..head.len().min(4)]) => {
                Some(Parquet)
            }
            [b'A', b'R', b'R', b'O', b'W', b'1', 0, 0, ..] => Some(Arrow),
            _ => None,
        }
    }
}

impl Inputs {
    /// Returns the format of these inputs, by their first bytes or their names.
    ///
    /// # Errors
    ///
    /// Fails if the inputs have different formats; the user must then say which of them to load.
    pub fn file_format(&self) -> Result<FileFormat> {
        let Some(first) = self.first() else { return Ok(Delimited) };
        let format = choose(first);
        match self.iter().find(|input| choose(input) != format) {
            None => Ok(format),
            Some(other) => Err(mixed(self, (first, format), (other, choose(other)))),
        }
    }
}

fn choose(input: &Input) -> FileFormat {
    let named = FileFormat::from_name(&input.name);
    input.known.or(named).unwrap_or_default()
}

fn mixed(inputs: &[Input], one: (&Input, FileFormat), other: (&Input, FileFormat)) -> Error {
    let [one, other] = [one, other].map(|(input, format)| (&input.name, format.name()));
    let message = format!("{} is {}, but {} is {}", one.0, one.1, other.0, other.1);
    let pattern = pattern_of(inputs.iter().map(|input| &input.name));
    let such_as = pattern.map(|pattern| format!(" with a pattern such as '{pattern}'"));
    Error::new(Kind::Input, message)
        .with_detail("All inputs of a load must have the same format.")
        .with_hint(
            Words::from("Select the files of one format")
                + such_as.unwrap_or_default()
                + ", or set the format with "
                + option("format")
                + ".",
        )
}

/// Rejects a JSON file that is a single array. If its first bytes are valid JSON, the hint uses `jq` to print
/// its elements.
pub(super) fn check_ndjson(start: &[u8], input: &Input) -> Result<()> {
    if start.trim_ascii_start().first() != Some(&b'[') {
        return Ok(());
    }
    let name = &input.name;
    let message = format!("{name} is a single JSON array, not one object per line");
    let error = Error::new(Kind::Data, message).with_sqlstate("0A000");
    Err(match serde_json::from_slice::<IgnoredAny>(start) {
        Err(broken) if !broken.is_eof() => {
            error.with_detail(format!("It is not valid JSON either: {broken}."))
        }
        _ => {
            let what = "Load its elements";
            error.with_remedy(Remedy::filter(what, "jq -c '.[]'", &input.printed_by(), name))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(files: &[(&str, &[u8])]) -> (tempfile::TempDir, Inputs) {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |(name, bytes): &(&str, &[u8])| {
            let path = folder.path().join(name);
            std::fs::write(&path, bytes).expect("a file");
            path.display().to_string()
        };
        let names: Vec<String> = files.iter().map(write).collect();
        let inputs = Inputs::resolve(names).expect("inputs");
        (folder, inputs)
    }

    fn found(files: &[(&str, &[u8])]) -> Result<FileFormat> {
        inputs(files).1.file_format()
    }

    #[test]
    fn names_and_bytes_say_what_files_are() {
        for (name, bytes, format) in [
            ("a.csv", &b"1,2"[..], Delimited),
            ("a", b"1\t2", Delimited),
            ("a.JSONL", b"{}", Ndjson),
            ("a.ndjson.zst", b"\x28\xb5\x2f\xfd", Ndjson),
            ("a.json.gz", b"\x1f\x8b", Ndjson),
            ("a.parquet", b"PAR1", Parquet),
            ("a.parquet", b"", Parquet),
            ("part-0", b"PAR1\x15", Parquet),
            ("a.csv", b"ARROW1\0\0", Arrow),
            ("a.arrows", b"\xff\xff\xff\xff", Arrow),
        ] {
            assert_eq!(found(&[(name, bytes)]).expect(name), format, "{name}");
        }
    }

    #[test]
    fn inputs_are_of_one_format() {
        let error = found(&[("a.csv", b"1"), ("b.parquet", b"PAR1")]).expect_err("mixed");
        let message = error.to_string();
        assert!(
            message.contains("a.csv is csv or text, but ")
                && message.contains("b.parquet is parquet")
        );
        assert_eq!(found(&[("a.csv", b"1"), ("b.txt", b"1")]).expect("one"), Delimited);
    }

    #[test]
    fn an_array_is_no_line() {
        let check = |start: &[u8]| {
            let (_folder, inputs) = inputs(&[("a.json", start)]);
            check_ndjson(start, &inputs[0]).map_err(|error| error.to_string())
        };
        assert_eq!(check(b"{\"a\": 1}"), Ok(()));
        let array = check(b" [\n{").expect_err("an array");
        assert!(array.contains("jq -c '.[]' ") && array.contains("a.json | pgsluice"), "{array}");
        let broken = check(b"[{\"a\":1},]").expect_err("an array");
        assert!(broken.contains("not valid JSON either") && !broken.contains("jq"), "{broken}");
    }
}
