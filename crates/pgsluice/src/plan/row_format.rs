//! The form in which the input's rows are read and sent: which keys the client may read itself, and whether it
//! may write rows in binary.

use std::sync::Arc;

use pgsluice_core::catalog::{KeyColumn, ROOT, Tree, label};
use pgsluice_core::encode::Encoder;
use pgsluice_core::format::{Format, Syntax};
use pgsluice_core::parse::{Parser, Projection};
use pgsluice_core::route::wanted_fields;

use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::job::{FieldOptions, Job};
use crate::pg::introspect::Catalogue;
use crate::plan::missing::{FIRST_WITH_DEFAULT, objects, rows, targets};
use crate::source::key_form::KeyForm;
use crate::source::rewrite::Rewrite;
use crate::source::row_form::RowForm;
use crate::source::typed::Typed;
use crate::source::{Copied, Extra, FileFormat, Shape};

/// Returns the encoder of rows, or the reason why they are sent as text.
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
        return all("an option leaves their fields to the server");
    }
    // A row that cannot be encoded needs a separate COPY.
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
        // The table cannot be locked then, so its columns may change while rows are sent.
        return all("the table cannot be locked");
    }
    match codecs.len() {
        0 => all("they have no columns"),
        _ => Ok(Encoder::new(codecs)),
    }
}

/// Rejects `DEFAULT` on servers that do not have it.
pub(super) fn check_version(job: &Job, version: u32) -> Result<()> {
    if job.input.fields.default.is_none() || version >= FIRST_WITH_DEFAULT {
        return Ok(());
    }
    let message = format!(
        "COPY DEFAULT needs PostgreSQL 16 or later, but the server is PostgreSQL {}",
        version / 10_000
    );
    Err(Error::new(Kind::Usage, message).with_sqlstate("0A000").with_hint(
        "Leave these fields out of the input, and name the others with " + option("columns") + ".",
    ))
}

/// Returns the form in which the router reads the keys of typed rows. Questions to the server need text, and
/// match keys are compared as text.
pub(super) fn key_form(job: &Job, tree: &Tree) -> KeyForm {
    let keys = tree.nodes.iter().filter_map(|node| node.key.as_ref());
    let is_asked = |column: &KeyColumn| matches!(column, KeyColumn::Asked { .. });
    match job.changes.is_any() || keys.flat_map(|key| &key.columns).any(is_asked) {
        true => KeyForm::Text,
        false => KeyForm::Binary,
    }
}

/// Returns the shape of rows for this version of the server.
///
/// Typed rows are encoded while they are read if `keys` is given: the columns by which rows are routed, and
/// the form in which the router reads them.
pub(super) fn shape(job: &Job, catalogue: &Catalogue, keys: Option<(&[usize], KeyForm)>) -> Shape {
    let names = job.input.names.as_ref().and_then(|names| names.lists.first());
    let names = names.map_or_else(|| catalogue.columns.clone(), |list| list.names.clone());
    let format = format_for(&job.input.format, catalogue.version);
    let left_out =
        catalogue.input_fields.as_ref().map(|fields| &fields.extra[..]).unwrap_or_default();
    let extra = Arc::new(Extra::new(left_out));
    let rewrite = rewrite(job, catalogue, &extra, keys);
    let known = catalogue.known.clone();
    Shape { known, extra, rewrite, ..Shape::new(format, job.input.header, names) }
}

/// Returns the conversion of rows, if they need one.
fn rewrite(
    job: &Job,
    catalogue: &Catalogue,
    extra: &Arc<Extra>,
    keys: Option<(&[usize], KeyForm)>,
) -> Option<Rewrite> {
    if job.input.file_format == FileFormat::Rows {
        return Some(Rewrite::Objects(rows(job, catalogue), Arc::clone(extra)));
    }
    let fields = catalogue.input_fields.as_ref()?;
    match job.input.file_format {
        FileFormat::Delimited | FileFormat::Rows => {
            let format = Format::clone(&job.input.format);
            let projection =
                || Projection::new(Parser::new(&format, Vec::new()), fields.selected.clone());
            fields.selected.contains(&false).then(projection).map(Rewrite::Fields)
        }
        FileFormat::Ndjson | FileFormat::Dicts => {
            Some(Rewrite::Objects(objects(job, catalogue, fields), Arc::clone(extra)))
        }
        format => {
            let targets = targets(job, catalogue, fields);
            let form = match keys {
                Some((keys, form)) => RowForm::encoded(targets.len(), keys, form),
                None => RowForm::Text,
            };
            if format == FileFormat::Table {
                return Some(Rewrite::Copied(Copied::new(targets, form)));
            }
            let lookup = Arc::clone(&fields.lookup);
            let typed = Typed::new(format, targets, job.input.by_name.clone(), lookup);
            Some(Rewrite::Typed(typed.rounding(job.input.round).writing(form)))
        }
    }
}

/// Adapts a format to the version. Before PostgreSQL 18, an unquoted line `\.` ends CSV data; since then it
/// is data.
pub(crate) fn format_for(format: &Format, version: u32) -> Format {
    let mut format = format.clone();
    if let Syntax::Csv { end_marker, .. } = &mut format.syntax {
        *end_marker = version < 180_000;
    }
    format
}

/// Returns the reason why all keys are left to the server, if they are.
pub(super) fn left_to_server(job: &Job, catalogue: &Catalogue) -> Option<String> {
    let FieldOptions { force_null, force_not_null, default } = &job.input.fields;
    if !job.speed.native {
        return Some("native routing is turned off".to_owned());
    }
    if default.is_some() {
        return Some("a field may stand for the default of its column".to_owned());
    }
    let columns = &catalogue.columns;
    let wanted = wanted_fields(&catalogue.tree);
    let keys = wanted.iter().filter_map(|&field| columns.get(field));
    let forced = [force_null, force_not_null].map(|some| some.among(columns));
    let mut forced = keys.filter(|key| forced.iter().any(|some| some.contains(key)));
    let column = forced.next()?;
    Some(format!("only the server knows whether {} is NULL", label(column)))
}

/// Leaves all keys to the server.
pub(super) fn make_opaque(tree: &mut Tree, why: &str) {
    let keys = tree.nodes.iter_mut().filter_map(|node| node.key.as_mut());
    for column in keys.flat_map(|key| &mut key.columns) {
        column.make_opaque(|| why.to_owned());
    }
}
