//! Checks whether rows can be changed, and which columns options may name.

use pgsluice_core::catalog::{NodeId, label};
use pgsluice_core::route::Cause;

use super::{Changes, ChosenIndex, MatchKey, no_column};
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::job::{ChangeOptions, Duplicates, FieldOptions, Job, OnConflict};
use crate::pg::introspect::Catalogue;
use crate::pg::introspect::triggers::RowTrigger;
use crate::pg::introspect::uniques::Changing;
use crate::plan::Plan;

/// Checks that the input has the columns that options name.
pub(super) fn check_columns(catalogue: &Catalogue, options: &ChangeOptions) -> Result<()> {
    if let Some(name) = options.columns().find(|name| !catalogue.columns.contains(name)) {
        let all: Vec<String> = catalogue.columns.iter().map(|name| label(name)).collect();
        let detail = match &all[..] {
            [] => "The input has no columns.".to_owned(),
            all => format!("The input has these columns: {}.", all.join(", ")),
        };
        let error = no_column(name, "is not in the input").with_detail(detail);
        return Err(match &catalogue.input_fields {
            None => error.with_hint(
                "List the columns of the input, in order, with " + option("columns") + ".",
            ),
            Some(_) => error,
        });
    }
    let besides = catalogue.besides.and_then(|place| catalogue.columns.get(place));
    let mut set = options.key.iter().chain(&options.update).flatten();
    match set.find(|name| besides == Some(*name)) {
        Some(name) => Err(no_column(name, "is not in the table")),
        None => Ok(()),
    }
}

/// Rejects tables in which pgsluice could not change rows like the server.
pub(super) fn check_tables(
    catalogue: &Catalogue,
    options: &ChangeOptions,
    changing: &[Changing],
) -> Result<()> {
    let updates = options.on_conflict == OnConflict::Update;
    let deletes = options.on_conflict == OnConflict::Delete || options.delete_when.is_some();
    for (node, (facts, changing)) in catalogue.facts.iter().zip(changing).enumerate() {
        let name = catalogue.tree.nodes[node].relation.label();
        let why = match facts.kind {
            'r' | 'p' if changing.has_rules => "it has rules",
            'r' | 'p' if facts.row_security => "row security applies to it",
            'r' | 'p' if facts.statement_triggers || changing.statement_triggers => {
                "it has a statement-level trigger"
            }
            'r' | 'p' => "",
            'v' => "it is a view",
            _ => "it is a foreign table",
        };
        if !why.is_empty() {
            let state = if matches!(facts.kind, 'r' | 'p') { "0A000" } else { "42809" };
            return Err(cannot_change(catalogue, node, why).with_sqlstate(state));
        }
        if let Some(right) = changing.lacks(updates, deletes) {
            let why = format!("this user lacks the {right} privilege");
            return Err(cannot_change(catalogue, node, &why)
                .with_sqlstate("42501")
                .with_hint(format!("The owner of {name} can grant {right} on it to this user.")));
        }
    }
    Ok(())
}

/// Returns the reason why rows may be stored with another key than in the input, if a trigger may change
/// keys. If rows are only updated, they are found by the input's key, so a trigger that may change it is an
/// error.
pub(super) fn changed_key(
    catalogue: &Catalogue,
    triggers: &[RowTrigger],
    options: &ChangeOptions,
    chosen: &ChosenIndex,
) -> Result<Option<String>> {
    let updates = options.on_conflict == OnConflict::Update;
    let inserts = !options.no_insert && options.on_conflict != OnConflict::Delete;
    let columns = chosen.index.iter().flat_map(|index| &index.compared);
    let key: Vec<String> = columns.map(|column| column.name.clone()).collect();
    let fires = |it: &&RowTrigger| inserts && it.inserts || updates && it.updates;
    let Some(trigger) = triggers.iter().filter(fires).find(|it| it.may_change(&key)) else {
        return Ok(None);
    };
    let table = catalogue.tree.nodes[trigger.node].relation.label();
    let why = format!("trigger {} on {table} may change keys", label(&trigger.name));
    match inserts {
        true => Ok(Some(why)),
        false => {
            let message = option("no-insert") + format!(" needs unchanged keys, but {why}");
            Err(Error::new(Kind::Usage, message).with_sqlstate("0A000"))
        }
    }
}

/// Rejects options that compare the rows of the input with each other, because rows are sent in input order
/// for the reason `why`. In that case the first row of a key wins if rows are skipped, and the last one if
/// they are updated.
pub(super) fn check_in_order(options: &ChangeOptions, why: &str, key: &MatchKey) -> Result<()> {
    let by_itself = match options.on_conflict {
        OnConflict::Update => Duplicates::Last,
        OnConflict::Error | OnConflict::Skip | OnConflict::Delete => Duplicates::First,
    };
    let is_other = options.duplicates.is_some_and(|duplicates| duplicates != by_itself);
    if is_other && key.columns.is_empty() {
        let message = option("duplicates") + format!(" needs a key: {why}");
        return Err(Error::new(Kind::Usage, message)
            .with_sqlstate("42P10")
            .with_hint("Use " + option("key") + " to list the columns that identify a row."));
    }
    let name = match is_other {
        true => "duplicates",
        false if options.delete_when.is_some() => "delete-when",
        false => return Ok(()),
    };
    let message = option(name) + format!(" needs unchanged keys, but {why}");
    Err(Error::new(Kind::Usage, message).with_sqlstate("0A000"))
}

/// Rejects leaves that behave differently when written by name than through the root.
pub(in crate::plan) fn check_detours(
    catalogue: &Catalogue,
    detours: &[Option<String>],
) -> Result<()> {
    let mut leaves = catalogue.tree.leaves();
    match leaves.find_map(|leaf| Some((leaf, detours[leaf].as_ref()?))) {
        Some((leaf, why)) => Err(cannot_change(catalogue, leaf, why).with_sqlstate("0A000")),
        None => Ok(()),
    }
}

/// Rejects sending rows in input order if the leaf of some rows is unknown.
pub(in crate::plan) fn check_leaves(plan: &Plan) -> Result<()> {
    let Some(node) = plan.opaque_node().filter(|_| plan.is_in_order()) else { return Ok(()) };
    let (what, why) = plan.explain(node, Cause::Opaque);
    let message =
        format!("cannot send rows in input order: {what}: {why}, so the leaf of a row is unknown");
    Err(Error::new(Kind::Server, message).with_sqlstate("0A000"))
}

fn cannot_change(catalogue: &Catalogue, node: NodeId, why: &str) -> Error {
    let name = catalogue.tree.nodes[node].relation.label();
    Error::new(Kind::Server, format!("cannot change rows of {name}: {why}"))
}

/// Rejects options with which the server would read a column differently from the comparison here.
pub(super) fn check_fields(job: &Job, columns: &[String], changes: &Changes) -> Result<()> {
    let FieldOptions { force_null, force_not_null, default } = &job.input.fields;
    let forced = [force_null, force_not_null].map(|some| some.among(columns));
    let compared = changes.key.columns.iter().chain(&changes.newer_column);
    let mut compared = compared.filter(|name| forced.iter().any(|some| some.contains(name)));
    let why = match (default, compared.next()) {
        (Some(_), _) => "a field may stand for the default of its column".to_owned(),
        (None, Some(name)) => format!("only the server knows whether {} is NULL", label(name)),
        (None, None) => return Ok(()),
    };
    let message = format!("cannot compare the keys of the input: {why}");
    Err(Error::new(Kind::Usage, message).with_sqlstate("0A000"))
}
