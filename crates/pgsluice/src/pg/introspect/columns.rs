//! The columns of the input.

use std::collections::HashSet;

use pgsluice_core::catalog::label;
use tokio_postgres::Transaction;
use tokio_postgres::types::{Oid, Type};

use crate::error::kind::Kind;
use crate::error::{Error, Remedy, Result, option};
use crate::job::{Job, OnConflict};
use crate::source::{InputNames, MatchedFields, shorten_list};

const COLUMNS: &str = "
SELECT attname, attgenerated::pg_catalog.text <> '' AS generated,
       atthasdef OR attidentity::pg_catalog.text <> '' OR t.typdefault IS NOT NULL AS has_default,
       attnotnull OR t.typnotnull AS is_not_null
FROM pg_catalog.pg_attribute
JOIN pg_catalog.pg_type t ON t.oid = atttypid
WHERE attrelid = $1 AND attnum > 0 AND NOT attisdropped
ORDER BY attnum";

/// Whether a column accepts NULL, and whether it has a default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Nullness {
    pub(crate) is_not_null: bool,
    pub(crate) has_default: bool,
}

/// The columns of the input.
pub(super) struct InputColumns {
    /// The columns in the order of the input.
    pub(super) columns: Vec<String>,
    /// All columns of the table.
    pub(super) known: Vec<String>,
    /// The index of the column that the table lacks, if any.
    pub(super) besides: Option<usize>,
    /// Whether the input omits any writable column.
    pub(super) omits: bool,
    /// The match of names to columns, if the columns were found by name.
    pub(super) input_fields: Option<MatchedFields>,
    /// Whether each column accepts NULL.
    pub(super) nullness: Vec<Nullness>,
}

/// The columns of the input's fields.
#[derive(Clone, Copy, Debug)]
pub(crate) enum FieldColumns<'i> {
    /// All writable columns, in the table's order.
    All,
    /// The listed columns.
    Listed(&'i [String]),
    /// The columns that the inputs name.
    Named(&'i InputNames, &'i Job),
}

impl<'i> FieldColumns<'i> {
    /// Returns the columns of a job's inputs.
    pub(crate) fn from_job(job: &'i Job) -> Self {
        match (&job.input.names, &job.input.columns) {
            // Inputs without a header have no rows.
            (Some(names), _) if names.are_in_headers && names.lists.is_empty() => Self::All,
            (Some(names), _) => Self::Named(names, job),
            (None, Some(columns)) => Self::Listed(columns),
            (None, None) => Self::All,
        }
    }
}

/// Finds the input's columns. The table may lack the column that `besides` names.
pub(super) async fn find_input(
    transaction: &Transaction<'_>,
    root: Oid,
    fields: FieldColumns<'_>,
    besides: Option<&str>,
) -> Result<InputColumns> {
    let rows = transaction.query_typed(COLUMNS, &[(&root, Type::OID)]).await?;
    let writable: Vec<String> =
        rows.iter().filter(|row| !row.get::<_, bool>(1)).map(|row| row.get(0)).collect();
    let known: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let exists = |name: &String| known.contains(name);
    let nullness = |columns: &[String]| {
        let of = |name: &String| {
            let row = rows.iter().find(|row| row.get::<_, &str>(0) == name);
            let get = |row: &tokio_postgres::Row| Nullness {
                has_default: row.get(2),
                is_not_null: row.get(3),
            };
            row.map_or_else(Nullness::default, get)
        };
        columns.iter().map(of).collect()
    };
    let mut matched = None;
    let asked = match fields {
        FieldColumns::All => {
            let nullness = nullness(&writable);
            let (columns, besides, omits) = (writable, None, false);
            return Ok(InputColumns {
                columns,
                known,
                besides,
                omits,
                input_fields: matched,
                nullness,
            });
        }
        FieldColumns::Listed(columns) => columns,
        FieldColumns::Named(names, job) => {
            let besides = besides.map(str::to_owned).filter(|name| !exists(name));
            let columns: Vec<String> = writable.iter().cloned().chain(besides).collect();
            let with_default = rows.iter().filter(|row| row.get::<_, bool>(2));
            let with_default: HashSet<&str> = with_default.map(|row| row.get(0)).collect();
            let has_default = |name: &String| with_default.contains(name.as_str());
            &matched.insert(match_names(names, job, &columns, has_default)?).columns[..]
        }
    };
    let besides = asked.iter().position(|name| besides == Some(name) && !exists(name));
    let named = asked.iter().enumerate().filter(|(place, _)| besides != Some(*place));
    let named: Vec<String> = named.map(|(_, name)| name.clone()).collect();
    if let Some(unknown) = named.iter().find(|name| !exists(name)) {
        let error = Error::new(Kind::Server, format!("column \"{unknown}\" does not exist"));
        let error = error
            .with_sqlstate("42703")
            .with_hint(format!("The columns are: {}.", shorten_list(&known)));
        return Err(in_other_case(&named, &known).into_iter().fold(error, Error::with_remedy));
    }
    check(&named, &writable)?;
    let omits = writable.iter().any(|name| !asked.contains(name));
    let nullness = nullness(asked);
    Ok(InputColumns {
        columns: asked.to_vec(),
        known,
        besides,
        omits,
        input_fields: matched,
        nullness,
    })
}

/// Matches the names in the inputs to `columns`. A column that no first object has may occur in a later one.
/// It is left out if its default would be lost, or if rows are updated, because it would be set to NULL. It
/// is kept if options name it, unless it is known that no object has it. An input without objects has all
/// columns.
fn match_names(
    names: &InputNames,
    job: &Job,
    columns: &[String],
    has_default: impl Fn(&String) -> bool,
) -> Result<MatchedFields> {
    let changes = &job.changes;
    let updates = changes.on_conflict == OnConflict::Update;
    let is_empty = names.are_all && names.lists.is_empty();
    let is_set = |name: &String| changes.update.iter().flatten().any(|set| set == name);
    let may_come = |name: &String| !names.are_all && changes.columns().any(|named| named == name);
    let adds = |name: &String| {
        is_empty || is_set(name) || may_come(name) || !updates && !has_default(name)
    };
    let by_name = &job.input.by_name;
    let mut matched = match job.input.file_format {
        format if format.has_objects() => by_name.match_keys(names, columns, adds)?,
        _ => by_name.match_headers(names, columns)?,
    };
    matched.has_default = matched.columns.iter().map(has_default).collect();
    Ok(matched)
}

/// Returns the option with the names as spelled in the table, if they differ in case only.
fn in_other_case(asked: &[String], known: &[String]) -> Option<Remedy> {
    let of = |name: &String| {
        let mut alike = known.iter().filter(|it| it.to_lowercase() == name.to_lowercase());
        let only = alike.next().filter(|_| alike.next().is_none());
        known.iter().find(|it| *it == name).or(only)
    };
    let found: Vec<String> = asked
        .iter()
        .map(of)
        .collect::<Option<Vec<_>>>()?
        .into_iter()
        .map(|name| label(name))
        .collect();
    let what = "A name with capital letters needs quotes";
    Some(Remedy::options(what, [option("columns").with(found.join(","))]))
}

/// Rejects a column that is named twice or is generated, like COPY.
fn check(asked: &[String], writable: &[String]) -> Result<()> {
    for (index, name) in asked.iter().enumerate() {
        if asked[..index].contains(name) {
            let message = format!("column \"{name}\" specified more than once");
            return Err(Error::new(Kind::Server, message).with_sqlstate("42701"));
        }
        if !writable.contains(name) {
            let message = format!("column \"{name}\" is a generated column");
            return Err(Error::new(Kind::Server, message)
                .with_sqlstate("42P10")
                .with_detail("Generated columns cannot be used in COPY."));
        }
    }
    Ok(())
}
