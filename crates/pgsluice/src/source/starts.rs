//! Starts: what can be said of an input by its first bytes, before a row of any is committed.

use std::io::Read;

use pgsluice_core::format::Format;
use pgsluice_core::parse::Parser;
use pgsluice_core::split::Splitter;

use super::reader::{BYTE_ORDER_MARK, check_header};
use super::{Header, Input};
use crate::error::kind::Kind;
use crate::error::{Error, Location, Result};

/// What is read of an input; a first row that is longer is not looked at.
const LOOKED_AT: u64 = 64 << 10;

/// Inputs that are looked at: more would take longer than their mistakes cost.
const MOST_INPUTS: usize = 1000;

/// Formats that are known by their first bytes, and what reads them as text.
const KNOWN: [(&[u8], &str, &str); 8] = [
    (b"\x1f\x8b", "compressed by gzip", "zcat"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "zstdcat"),
    (b"\xfd7zXZ\0", "compressed by xz", "xzcat"),
    (b"BZh91AY&SY", "compressed by bzip2", "bzcat"),
    (b"\x04\x22\x4d\x18", "compressed by lz4", "lz4cat"),
    (b"PAR1\x15", "a Parquet file", ""),
    (b"ARROW1\0\0", "an Arrow file", ""),
    (b"PK\x03\x04", "a ZIP archive", "unzip -p"),
];

/// Refuses an input that begins as no text does.
pub(super) fn check_magic(start: &[u8], input: &Input) -> Result<()> {
    let known = KNOWN.iter().find(|(magic, ..)| start.starts_with(magic));
    let Some((_, what, reader)) = known else { return Ok(()) };
    let error = Error::new(Kind::Data, format!("{} is {what}", input.name)).with_sqlstate("0A000");
    Err(error.with_hint(match *reader {
        "" => "Write it as CSV first.".to_owned(),
        reader => format!("Load what it holds: {reader} ... | pgsluice load - ..."),
    }))
}

/// Refuses later inputs that begin with a mistake in how they are read: the first one's are found before
/// anything is committed. With `counts` their first rows must have as many fields as there are `columns`.
pub(crate) fn check_later(
    inputs: &[Input],
    format: &Format,
    (header, columns): (Header, &[String]),
    counts: bool,
) -> Result<()> {
    let later = inputs.iter().skip(1).filter(|input| input.is_rereadable());
    later.take(MOST_INPUTS).try_for_each(|input| {
        let mut start = Vec::new();
        let read = input.open()?.take(LOOKED_AT).read_to_end(&mut start);
        read.map_err(|error| input.cannot_read(&error))?;
        check_magic(&start, input)?;
        let is_whole = (start.len() as u64) < LOOKED_AT;
        let text = start.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&start);
        let mut rows = Vec::new();
        // What is malformed is said when it is read.
        if Splitter::new(format).scan(text, is_whole, &mut rows).is_err() {
            return Ok(());
        }
        let mut rows = rows.iter().map(|row| (row, row.of(text)));
        if header != Header::Absent {
            let Some((_, first)) = rows.next() else { return Ok(()) };
            if header == Header::Match {
                check_header(format, first, columns, input)?;
            }
        }
        match rows.next().filter(|_| counts && !columns.is_empty()) {
            Some((row, text)) => {
                let line = 1 + u64::from(row.line);
                let at = Location { source: input.name.clone(), line, offset: row.start.into() };
                check_fields(format, text, columns).map_err(|error| error.at(at))
            }
            None => Ok(()),
        }
    })
}

/// `NextCopyFrom` in `copyfromparse.c` (PostgreSQL 18).
fn check_fields(format: &Format, row: &[u8], columns: &[String]) -> Result<()> {
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
