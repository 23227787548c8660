//! How the input's rows are read and sent: which of them the client may read itself, and whether it may
//! write them in binary.

use pgsluice_core::catalog::{ROOT, Tree, label};
use pgsluice_core::encode::Encoder;
use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::route::wanted_fields;
use pgsluice_json::{Missing, Objects, Target, Unknown};

use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::{FieldOptions, Job};
use crate::pg::introspect::Catalogue;
use crate::source::rewrite::Rewrite;
use crate::source::typed::Typed;
use crate::source::{FileFormat, Shape};

/// Returns the encoder of the rows, or why they are sent as text.
pub(super) fn encoder(
    job: &Job,
    catalogue: &Catalogue,
    one_statement: Option<&str>,
) -> Result<Encoder, (String, String)> {
    let all = |why: &str| Err(("all rows are sent as text".to_owned(), why.to_owned()));
    if !job.speed.binary {
        return all("as asked");
    }
    if job.safety.rejects.is_some()
        && let Some(why) = job.input.files.unseekable()
    {
        return all(why);
    }
    if !job.input.fields.is_empty() {
        return all("the server reads their fields, as asked");
    }
    // A row that cannot be encoded needs a COPY of its own.
    if one_statement.is_some() {
        return all("the load is one statement");
    }
    let mut codecs = Vec::new();
    for (column, codec) in catalogue.columns.iter().zip(&catalogue.codecs) {
        match codec {
            Ok(codec) => codecs.push(codec.clone()),
            Err(why) => return all(&format!("column {}: {why}", label(column))),
        }
    }
    let root = &catalogue.facts[ROOT];
    if !matches!(root.kind, 'r' | 'p') || !root.may_insert {
        // Then it cannot be locked, and its columns may change while rows are sent.
        return all("the table cannot be locked");
    }
    match codecs.len() {
        0 => all("they have no columns"),
        _ => Ok(Encoder::new(codecs)),
    }
}

/// The first version whose COPY has `DEFAULT`.
const FIRST_WITH_DEFAULT: u32 = 160_000;

/// Refuses `DEFAULT` where there is none.
pub(super) fn check_version(job: &Job, version: u32) -> Result<()> {
    if job.input.fields.default.is_none() || version >= FIRST_WITH_DEFAULT {
        return Ok(());
    }
    let message =
        format!("COPY DEFAULT needs PostgreSQL 16 or later, this is {}", version / 10_000);
    Err(Error::new(Kind::Usage, message)
        .with_sqlstate("0A000")
        .with_hint("Leave these fields out of the input, and name the others with --columns."))
}

/// How rows are read, as this server's version reads them.
///
/// Rows of typed files are `encoded` as they are read, if they are; then they have text of their `keys` only.
pub(super) fn shape(job: &Job, catalogue: &Catalogue, encoded: bool, keys: &[usize]) -> Shape {
    Shape {
        format: format_for(&job.input.format, catalogue.version),
        header: job.input.header,
        names: job.input.names.clone().unwrap_or_else(|| catalogue.columns.clone()),
        rewrite: rewrite(job, catalogue, Some(keys).filter(|_| encoded)),
    }
}

/// What becomes of rows that cannot be taken as they stand.
fn rewrite(job: &Job, catalogue: &Catalogue, keys: Option<&[usize]>) -> Option<Rewrite> {
    if job.input.file_format == FileFormat::Rows {
        return Some(Rewrite::Objects(rows(catalogue)));
    }
    let led = catalogue.led.as_ref()?;
    let columns = || led.names.iter().cloned().zip(led.types.iter().cloned());
    match job.input.file_format {
        FileFormat::Delimited | FileFormat::Rows => led.projection.clone().map(Rewrite::Fields),
        format @ (FileFormat::Ndjson | FileFormat::Dicts) => {
            let columns = columns().zip(&led.has_default);
            let columns = columns.map(|((key, column), &has_default)| Target {
                key,
                column,
                missing: missing(job, catalogue.version, has_default),
            });
            let extra = job.input.by_name.ignore_extra;
            let unknown = if extra { Unknown::Ignore } else { Unknown::Refuse };
            Some(Rewrite::Objects(match format {
                FileFormat::Dicts => Objects::of_program(columns.collect(), unknown, false),
                _ => Objects::new(columns.collect(), unknown),
            }))
        }
        format @ (FileFormat::Parquet | FileFormat::Arrow) => {
            let typed = Typed::new(format, columns(), job.input.by_name.ignore_extra);
            Some(Rewrite::Batches(match keys {
                Some(keys) => typed.encoded(keys),
                None => typed,
            }))
        }
    }
}

/// Rows of the values of all columns.
fn rows(catalogue: &Catalogue) -> Objects {
    let targets = catalogue.made.iter().map(|column| Target {
        key: column.name.clone(),
        column: column.clone(),
        missing: Missing::Null,
    });
    Objects::of_program(targets.collect(), Unknown::Refuse, true)
}

/// What a key that an object lacks stands for.
fn missing(job: &Job, version: u32, has_default: bool) -> Missing {
    match has_default {
        false => Missing::Null,
        // The key of a row that may be there already must be known here.
        true if version >= FIRST_WITH_DEFAULT && !job.changes.is_any() => Missing::Default,
        true => Missing::Refused,
    }
}

/// Before PostgreSQL 18 an unquoted line `\.` ends CSV data; from then on it is data.
pub(crate) fn format_for(format: &Format, version: u32) -> Format {
    let mut format = format.clone();
    if let Syntax::Csv { end_marker, .. } = &mut format.syntax {
        *end_marker = version < 180_000;
    }
    format
}

/// Why every key is left to the server, if they are.
pub(super) fn left_to_server(job: &Job, catalogue: &Catalogue) -> Option<String> {
    let FieldOptions { force_null, force_not_null, default } = &job.input.fields;
    if !job.speed.native {
        return Some("leaves are not found natively, as asked".to_owned());
    }
    if default.is_some() {
        return Some("a default may be in its place".to_owned());
    }
    let columns = &catalogue.columns;
    let wanted = wanted_fields(&catalogue.tree);
    let keys = wanted.iter().filter_map(|&field| columns.get(field));
    let forced = [force_null, force_not_null].map(|some| some.among(columns));
    let mut forced = keys.filter(|key| forced.iter().any(|some| some.contains(key)));
    let column = forced.next()?;
    Some(format!("whether {} is NULL, the server decides", label(column)))
}

/// Leaves every key to the server.
pub(super) fn make_opaque(tree: &mut Tree, why: &str) {
    let keys = tree.nodes.iter_mut().filter_map(|node| node.key.as_mut());
    for column in keys.flat_map(|key| &mut key.columns) {
        column.make_opaque(|| why.to_owned());
    }
}
