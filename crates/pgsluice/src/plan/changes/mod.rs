//! Changes: the key by which input rows match existing rows, and how they change them.

mod allowed;
mod columns;
mod index;

use std::collections::HashMap;

use pgsluice_core::catalog::{KeyColumn, NodeId, label};
use pgsluice_core::duplicates::{KeyPart, Rule};
use pgsluice_core::types::KeyType;

pub(super) use self::allowed::{check_detours, check_leaves};
use self::columns::{exact, is_boolean, is_readable};
pub(super) use self::index::ChosenIndex;
use self::index::Index;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::{ChangeOptions, Duplicates, Job, OnConflict};
use crate::pg::compared::ComparedColumn;
use crate::pg::introspect::Catalogue;
use crate::pg::introspect::uniques::Uniques;
use crate::plan::Plan;

/// The rules by which input rows change existing rows.
#[derive(Clone, Debug)]
pub struct Changes {
    /// The action for a row whose key exists.
    pub(crate) on_conflict: OnConflict,
    /// The key, and its fields in the input. It has no columns if several constraints identify rows.
    pub(crate) key: MatchKey,
    /// The reason why the rows of each leaf are sent in input order, if they are: the server decides which
    /// rows have the same key.
    pub(crate) in_order: Option<String>,
    /// Whether any constraint may identify an existing row.
    pub(crate) any_constraint: bool,
    /// The columns that are written to the table.
    pub(crate) columns: Vec<String>,
    /// The columns that are set in existing rows.
    pub(crate) set: Vec<String>,
    /// The columns whose equal values are stored in the same way.
    pub(crate) exact: Vec<String>,
    /// Whether rows with new keys are inserted.
    pub(crate) inserts: bool,
    /// The rule for which of several input rows with one key wins.
    pub(crate) rule: Rule,
    /// The column whose greatest value wins, if any.
    pub(crate) newer: Option<KeyPart>,
    pub(crate) newer_column: Option<String>,
    /// The column that marks rows that delete others, if any.
    pub(crate) delete_when: Option<Flag>,
    /// Whether duplicates are an error.
    pub(crate) refuses_duplicates: bool,
    /// Whether triggers fire for each row.
    pub(crate) has_triggers: bool,
    /// The rows that each leaf accepts, in SQL as the server deparses it, for leaves whose rows might match
    /// in another leaf unnoticed.
    pub(crate) places: HashMap<NodeId, String>,
    /// Whether rows may be matched through the root, with the same result as in each leaf.
    pub(crate) through_root: bool,
    /// Whether rows are merged in key order, so that sessions that do the same cannot deadlock.
    pub(crate) sorts_keys: bool,
}

/// The key that identifies rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct MatchKey {
    /// Its columns in the order of the index.
    pub(crate) columns: Vec<String>,
    /// These columns with their comparisons.
    pub(crate) compared: Vec<ComparedColumn>,
    /// The fields of these columns in the input.
    pub(crate) parts: Vec<KeyPart>,
    /// Whether NULLs are treated as equal.
    pub(crate) joins_nulls: bool,
    /// Whether it is unique in the whole table, not only in each leaf.
    pub(crate) is_of_root: bool,
}

impl MatchKey {
    /// Creates the key of an index; `found` has its columns in the input.
    fn new(index: &Index, found: &[KeyColumn]) -> Result<Self> {
        let Index { joins_nulls, is_of_root, .. } = *index;
        let columns = found.iter().map(|column| column.name().to_owned()).collect();
        let parts = found.iter().map(part).collect::<Result<Vec<_>>>()?;
        let compared = index.compared.clone();
        Ok(Self { columns, compared, parts, joins_nulls, is_of_root })
    }
}

/// The column that marks rows that delete others.
#[derive(Clone, Debug)]
pub(crate) struct Flag {
    pub(crate) column: String,
    /// Whether true deletes; otherwise any value other than NULL does.
    pub(crate) is_boolean: bool,
}

/// Returns the columns of an existing row that are set from the input row with its key.
fn columns_to_update<'c>(
    options: &ChangeOptions,
    given: impl Iterator<Item = &'c String>,
    key: &[String],
) -> Result<Vec<String>> {
    let set = match &options.update {
        Some(columns) => columns.clone(),
        None => given.filter(|name| !key.contains(name)).cloned().collect(),
    };
    match set.iter().find(|name| key.contains(name)) {
        Some(name) => {
            let message = format!("cannot update column {}: it is part of the key", label(name));
            Err(Error::new(Kind::Usage, message).with_sqlstate("42P10"))
        }
        None => Ok(set),
    }
}

/// Returns the rule for which row of a key wins.
fn rule(options: &ChangeOptions) -> Rule {
    match options.counting() {
        _ if options.newer.is_some() => Rule::Greatest,
        Duplicates::Last => Rule::Last,
        Duplicates::First | Duplicates::Error => Rule::First,
    }
}

/// Returns the constraints of the leaves for which the input has all needed columns.
fn places(catalogue: &Catalogue) -> HashMap<NodeId, String> {
    let constraints = catalogue.match_facts.as_ref().map(|match_facts| &match_facts.constraints);
    let readable = catalogue.tree.leaves().filter(|leaf| is_readable(catalogue, *leaf));
    let place = |leaf: NodeId| Some((leaf, constraints?.get(&catalogue.facts[leaf].oid)?.clone()));
    readable.filter_map(place).collect()
}

impl Changes {
    /// Decides how rows change existing ones, based on the index that [`choose`] has chosen.
    pub(super) fn new(job: &Job, catalogue: &Catalogue, chosen: ChosenIndex) -> Result<Self> {
        let options = &job.changes;
        let (found, newer) = match &catalogue.match_facts {
            Some(match_facts) => (&match_facts.keys[..], match_facts.newer.as_ref()),
            None => (&[][..], None),
        };
        let any_constraint = options.key.is_none() && options.on_conflict == OnConflict::Skip;
        let (key, in_order) = key(options, &chosen, found, any_constraint)?;
        let newer = newer.map(part).transpose()?;
        if let (Some(column), None) = (&options.newer, &newer) {
            return Err(no_column(column, "is not in the table"));
        }
        let given = || {
            let named = catalogue.columns.iter().enumerate();
            named.filter(|(place, _)| catalogue.besides != Some(*place)).map(|(_, name)| name)
        };
        let set = columns_to_update(options, given(), &key.columns)?;
        let flag = |column: &String| Flag {
            column: column.clone(),
            is_boolean: is_boolean(catalogue, column),
        };
        // Through the root, a row is marked before it is updated, and a trigger may leave it unchanged.
        let tells_new = options.on_conflict != OnConflict::Update
            || options.no_insert
            || !chosen.has_row_triggers;
        let through_root = key.is_of_root && tells_new;
        let changes = Self {
            on_conflict: options.on_conflict,
            key,
            in_order,
            any_constraint,
            columns: given().cloned().collect(),
            set,
            exact: exact(catalogue),
            inserts: !options.no_insert && options.on_conflict != OnConflict::Delete,
            rule: rule(options),
            newer,
            newer_column: options.newer.clone(),
            delete_when: options.delete_when.as_ref().map(flag),
            refuses_duplicates: options.counting() == Duplicates::Error,
            has_triggers: chosen.has_row_triggers,
            places: places(catalogue),
            through_root,
            sorts_keys: job.safety.shared,
        };
        allowed::check_fields(job, &catalogue.columns, &changes)?;
        Ok(changes)
    }

    /// Describes the action for existing rows, and how it is done, for the user.
    pub fn words(&self, is_atomic: bool) -> String {
        let labels =
            |names: &[String]| names.iter().map(|name| label(name)).collect::<Vec<_>>().join(", ");
        let columns = labels(&self.key.columns);
        let mut what = match self.on_conflict {
            OnConflict::Error | OnConflict::Skip if self.key.columns.is_empty() => {
                "rows that conflict with any constraint are skipped".to_owned()
            }
            OnConflict::Error | OnConflict::Skip => {
                format!("rows whose ({columns}) exists are skipped")
            }
            OnConflict::Update => match self.set.is_empty() {
                true => format!("rows stay unchanged where ({columns}) exists"),
                false => format!("{} updated where ({columns}) exists", labels(&self.set)),
            },
            OnConflict::Delete => format!("rows are deleted where ({columns}) exists"),
        };
        if let Some(newer) = &self.newer_column {
            what.push_str(&format!(" and {} is greater", label(newer)));
        }
        if let Some(flag) = &self.delete_when {
            let is = if flag.is_boolean { "true" } else { "not NULL" };
            what.push_str(&format!("; deleted where {} is {is}", label(&flag.column)));
        }
        if self.on_conflict == OnConflict::Update && !self.inserts {
            what.push_str("; new rows are not inserted");
        }
        if let Some(why) = &self.in_order {
            let way = match self.may_copy() && !is_atomic {
                true => "copied directly until a key exists, then through a temporary table",
                false => "through a temporary table",
            };
            return format!("{what}; {way}, in input order, because {why}");
        }
        let way = match (self.may_copy(), is_atomic) {
            (true, false) => "copied directly until a key exists, then through a temporary table",
            (true, true) => "through a temporary table, because one transaction cannot start over",
            (false, _) => "through a temporary table, because some rows are not inserted",
        };
        format!("{what}; {way}")
    }

    /// Returns a column that is set in existing rows, if any.
    pub(super) fn updated_column(&self) -> Option<&str> {
        let updates = self.on_conflict == OnConflict::Update;
        self.set.first().filter(|_| updates).map(String::as_str)
    }

    /// Whether existing rows may be deleted.
    pub(super) fn deletes(&self) -> bool {
        self.on_conflict == OnConflict::Delete || self.delete_when.is_some()
    }

    /// Returns all fields by which rows are compared.
    pub(crate) fn compared_parts(&self) -> impl Iterator<Item = &KeyPart> {
        self.key.parts.iter().chain(&self.newer)
    }

    /// Whether rows may be copied directly as long as they match no existing rows.
    pub(crate) fn may_copy(&self) -> bool {
        let may_change_keys = self.in_order.is_some() && self.has_triggers;
        self.inserts && self.delete_when.is_none() && !may_change_keys
    }

    /// Whether existing rows may be updated before new ones are inserted. A BEFORE INSERT trigger would not
    /// see the updated rows then, although it may change the values that they get.
    pub(crate) fn may_update_first(&self) -> bool {
        let updates = self.on_conflict == OnConflict::Update && self.inserts;
        updates && self.in_order.is_none() && !self.has_triggers
    }

    /// Whether rows of several leaves may travel through the root together.
    pub(crate) fn may_join_leaves(&self) -> bool {
        self.may_copy() && self.through_root
    }
}

impl Plan {
    /// Whether the rows of each leaf are sent in input order.
    pub(crate) fn is_in_order(&self) -> bool {
        self.changes.as_ref().is_some_and(|changes| changes.in_order.is_some())
    }

    /// Returns the type of a field that is read natively, for a partition key or a match key.
    pub(crate) fn key_type(&self, field: usize) -> Option<&KeyType> {
        let of_changes = || {
            let mut parts = self.changes.as_ref()?.compared_parts();
            parts.find(|part| part.slot == field).map(|part| &part.key_type)
        };
        self.tree.key_type(field).or_else(of_changes)
    }
}

/// Chooses the index that identifies rows: on the given key, or else on the primary key. Every leaf must have
/// one like it, and must allow its rows to be changed. If rows are skipped without a given key, all indexes
/// apply.
pub(super) fn choose(
    catalogue: &Catalogue,
    uniques: &Uniques,
    options: &ChangeOptions,
) -> Result<ChosenIndex> {
    allowed::check_columns(catalogue, options)?;
    allowed::check_tables(catalogue, options, &uniques.changing)?;
    if let Some(grant) = &uniques.staging {
        let message = "permission denied to create temporary tables in the database";
        let error = Error::new(Kind::Server, message).with_sqlstate("42501");
        let error =
            error.with_detail("Rows that may already exist are loaded through a temporary table.");
        return Err(error.with_hint(format!("{grant};")));
    }
    let mut chosen = index::choose(&catalogue.tree, &uniques.indexes, options)?;
    if let Some(why) = allowed::changed_key(catalogue, &uniques.triggers, options, &chosen)? {
        _ = chosen.in_order.get_or_insert(why);
    }
    let has_row_triggers = catalogue.facts.iter().any(|facts| facts.row_triggers)
        || uniques.changing.iter().any(|changing| changing.row_triggers);
    Ok(ChosenIndex { has_row_triggers, ..chosen })
}

/// Returns the key, if there is a single one whose columns can be compared here, and the reason why rows are
/// sent in input order, if they are.
fn key(
    options: &ChangeOptions,
    chosen: &ChosenIndex,
    found: &[Vec<KeyColumn>],
    any_constraint: bool,
) -> Result<(MatchKey, Option<String>)> {
    let key = chosen.index.as_ref().zip(found.first());
    let key = key.map(|(index, found)| MatchKey::new(index, found));
    let (key, why) = match (key, &chosen.in_order) {
        (Some(Ok(key)), None) => return Ok((key, None)),
        (Some(Ok(key)), Some(why)) if !any_constraint => (key, why.clone()),
        (Some(Err(error)), _) if !any_constraint => return Err(error),
        (Some(Err(error)), None) => (MatchKey::default(), error.message().to_owned()),
        (_, why) => (MatchKey::default(), why.clone().unwrap_or_default()),
    };
    allowed::check_in_order(options, &why, &key)?;
    Ok((key, Some(why)))
}

/// Returns the field of a key column in the input.
fn part(column: &KeyColumn) -> Result<KeyPart> {
    match column {
        KeyColumn::Native { field: Some(slot), ty, .. } => {
            Ok(KeyPart { slot: *slot, key_type: KeyType::clone(ty) })
        }
        KeyColumn::Opaque { column, why } => {
            let message = format!("cannot compare the values of column {}: {why}", label(column));
            Err(Error::new(Kind::Usage, message).with_sqlstate("0A000"))
        }
        other => Err(no_column(other.name(), "is part of the key, but is not in the input")),
    }
}

fn no_column(name: &str, why: &str) -> Error {
    Error::new(Kind::Usage, format!("column {} {why}", label(name))).with_sqlstate("42703")
}
