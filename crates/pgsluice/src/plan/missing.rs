//! Columns that an object or a file lacks: they get NULL, their default, or an error.

use std::collections::HashMap;
use std::sync::Arc;

use pgsluice_core::catalog::label;
use pgsluice_json::{KeyTarget, MissingKey, MissingKeyReason, Objects, UnknownKeys};
use tokio_postgres::types::Type;

use crate::error::{Setting, Words, option};
use crate::job::{Job, OnConflict};
use crate::pg::introspect::Catalogue;
use crate::source::{FileFormat, MatchedFields};

/// The first version with COPY's option `DEFAULT`.
pub(super) const FIRST_WITH_DEFAULT: u32 = 160_000;

/// Returns the converter of objects to rows.
pub(super) fn objects(job: &Job, catalogue: &Catalogue, fields: &MatchedFields) -> Objects {
    let unknown =
        if job.input.by_name.ignore_extra { UnknownKeys::Ignore } else { UnknownKeys::Refuse };
    let left_out = fields.lookup.columns().iter().filter(|name| !fields.columns.contains(name));
    let hints: HashMap<String, Words> =
        left_out.map(|name| (name.clone(), hint_of_left_out(job, catalogue, name))).collect();
    let targets = targets(job, catalogue, fields);
    let objects = Objects::with_lookup(targets.clone(), unknown, Arc::clone(&fields.lookup), hints);
    let objects = match job.input.file_format {
        FileFormat::Dicts => objects.with_tags(&targets, false).rounding(job.input.round),
        _ => objects,
    };
    let flag = job.changes.delete_when.as_ref();
    let place = flag.and_then(|flag| catalogue.columns.iter().position(|name| name == flag));
    match place {
        Some(place) => {
            let is_boolean = catalogue.types.get(place) == Some(&Type::BOOL.oid());
            objects.deleting(place, is_boolean)
        }
        None => objects,
    }
}

/// Returns the converter of lists of all values to rows.
pub(super) fn rows(job: &Job, catalogue: &Catalogue) -> Objects {
    let targets = catalogue.typed_columns.iter().map(|column| KeyTarget {
        key: column.name.clone(),
        column: column.clone(),
        missing: MissingKey::Null,
    });
    let targets: Vec<KeyTarget> = targets.collect();
    let objects = Objects::new(targets.clone(), UnknownKeys::Refuse).with_tags(&targets, true);
    objects.rounding(job.input.round)
}

/// Returns the columns of rows, each with its name in the input.
pub(super) fn targets(job: &Job, catalogue: &Catalogue, fields: &MatchedFields) -> Vec<KeyTarget> {
    let columns = fields.names.iter().zip(&fields.types).zip(&fields.has_default);
    let columns = columns.map(|((key, column), has_default)| KeyTarget {
        key: key.clone(),
        column: column.clone(),
        missing: missing(job, catalogue, &column.name, *has_default),
    });
    columns.collect()
}

/// Returns the value of a missing column, or the reason why it has none.
fn missing(job: &Job, catalogue: &Catalogue, column: &str, has_default: bool) -> MissingKey {
    let lacks = |why: &str, hint: Words| {
        MissingKey::Refused(Arc::new(MissingKeyReason { why: why.to_owned(), hint }))
    };
    let is_key = is_key(catalogue, column);
    let by_default = || {
        let hint = match job.input.file_format.is_typed() {
            true => "Load the files that lack it by themselves: their rows then get the default.",
            false => "Give the key in every object, or in none: its column then gets the default.",
        };
        lacks("its column has a default", hint.into())
    };
    let is_in = |list: &Option<Vec<String>>| {
        list.as_ref().is_some_and(|list| list.iter().any(|name| name == column))
    };
    let changes = &job.changes;
    match changes.on_conflict {
        OnConflict::Error if !has_default => MissingKey::Null,
        OnConflict::Error if catalogue.version >= FIRST_WITH_DEFAULT => MissingKey::Default,
        OnConflict::Error => by_default(),
        // The key of a row that may already exist must be known here.
        OnConflict::Skip if has_default => by_default(),
        OnConflict::Delete if has_default && is_key => by_default(),
        OnConflict::Skip | OnConflict::Delete => MissingKey::Null,
        OnConflict::Update if is_in(&changes.update) || is_besides(catalogue, column) => {
            MissingKey::Null
        }
        OnConflict::Update if is_key || changes.newer.as_deref() == Some(column) => {
            let hint = "Give the key in every object; null stands for NULL.".into();
            lacks("rows are compared by its column", hint)
        }
        OnConflict::Update if changes.update.is_none() => {
            let give = match job.input.file_format.is_typed() {
                true => "Load the files that lack it by themselves",
                false => "Give the key in every object or in none",
            };
            let update = update(job, catalogue, None);
            let hint = Words::from(give) + ", or let a missing key set NULL: " + update;
            lacks("an update would set its column to NULL", hint)
        }
        OnConflict::Update if has_default => by_default(),
        OnConflict::Update => MissingKey::Null,
    }
}

/// Returns the hint for a key whose column the load leaves out.
fn hint_of_left_out(job: &Job, catalogue: &Catalogue, column: &str) -> Words {
    let is_loaded = catalogue.version >= FIRST_WITH_DEFAULT;
    match job.changes.on_conflict {
        OnConflict::Update => {
            "Give the key in every object, or let a missing key set NULL: "
                + update(job, catalogue, Some(column))
        }
        OnConflict::Error if is_loaded => {
            "To load the column, with its default where the key is missing: "
                + option("map").with(format!("{{key}}={}", label(column)))
        }
        _ => "Give the key in every object, or load the objects that have it by themselves.".into(),
    }
}

/// Returns the option that lists the columns that are set now, and one `more`.
fn update(job: &Job, catalogue: &Catalogue, more: Option<&str>) -> Setting {
    let given = catalogue.columns.iter();
    let given = given.filter(|name| !is_key(catalogue, name) && !is_besides(catalogue, name));
    let set: Vec<&String> = match &job.changes.update {
        Some(update) => update.iter().collect(),
        None => given.collect(),
    };
    let set = set.into_iter().map(String::as_str).chain(more);
    option("update").with(set.map(label).collect::<Vec<_>>().join(","))
}

/// Whether this column is part of a match key.
fn is_key(catalogue: &Catalogue, column: &str) -> bool {
    let keys =
        catalogue.match_facts.iter().flat_map(|match_facts| match_facts.keys.iter().flatten());
    keys.into_iter().any(|key| key.name() == column)
}

/// Whether this is the column that the table lacks, and that marks rows that delete others.
fn is_besides(catalogue: &Catalogue, column: &str) -> bool {
    let place = catalogue.besides;
    place.and_then(|place| catalogue.columns.get(place)).is_some_and(|name| name == column)
}
