//! Changes: by which key rows of the input meet those of the table, and what is done to these.

mod allowed;
mod index;

use pgsluice_core::catalog::{KeyColumn, label};
use pgsluice_core::duplicates::{KeyPart, Rule};
use pgsluice_core::types::KeyType;

pub(super) use self::allowed::check_detours;
pub(super) use self::index::Chosen;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::{ChangeOptions, Duplicates, Job, OnConflict};
use crate::pg::introspect::Catalogue;
use crate::pg::introspect::uniques::Uniques;
use crate::plan::Plan;

/// How rows change what is in the table.
#[derive(Clone, Debug)]
pub struct Changes {
    /// What becomes of a row whose key is there.
    pub(crate) on_conflict: OnConflict,
    /// The key, and where the input has it.
    pub(crate) key: Key,
    /// Whether a row is there already if any constraint says so.
    pub(crate) any_constraint: bool,
    /// The columns that the table gets.
    pub(crate) columns: Vec<String>,
    /// Those that are set in rows that are there.
    pub(crate) set: Vec<String>,
    /// Whether rows are inserted whose key is not there.
    pub(crate) inserts: bool,
    /// Which row of the input counts of several with one key.
    pub(crate) rule: Rule,
    /// The column whose greatest value counts, if one does.
    pub(crate) newer: Option<KeyPart>,
    pub(crate) newer_column: Option<String>,
    /// The column that says which rows delete others, if one does.
    pub(crate) delete_when: Option<Flag>,
    /// Whether there must be no duplicates.
    pub(crate) refuses_duplicates: bool,
    /// Whether triggers fire for each row.
    pub(crate) has_triggers: bool,
    /// Whether rows may meet others through the root, leaf by leaf as in the leaves themselves.
    pub(crate) through_root: bool,
}

/// The key by which rows are the same.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    /// Its columns in the order of the index.
    pub(crate) columns: Vec<String>,
    /// How each is found in the input.
    pub(crate) parts: Vec<KeyPart>,
    /// NULL equals NULL.
    pub(crate) joins_nulls: bool,
    /// The whole table keeps it unique, not each leaf.
    pub(crate) is_of_root: bool,
}

/// The column that says which rows delete others.
#[derive(Clone, Debug)]
pub(crate) struct Flag {
    pub(crate) column: String,
    /// Then true deletes; otherwise any value that is not NULL.
    pub(crate) is_boolean: bool,
}

impl Changes {
    /// Decides how rows change what is there, by the index that [`choose`] has chosen.
    pub(super) fn new(job: &Job, catalogue: &Catalogue, chosen: Chosen) -> Result<Self> {
        let options = &job.changes;
        let (found, newer) = match &catalogue.met {
            Some(met) => (&met.key[..], met.newer.as_ref()),
            None => (&[][..], None),
        };
        let columns: Vec<String> = found.iter().map(|column| column.name().to_owned()).collect();
        let parts = found.iter().map(part).collect::<Result<Vec<_>>>()?;
        let newer = newer.map(part).transpose()?;
        if let (Some(column), None) = (&options.newer, &newer) {
            return Err(no_column(column, "is not in the table"));
        }
        let given = || {
            let named = catalogue.columns.iter().enumerate();
            named.filter(|(place, _)| catalogue.besides != Some(*place)).map(|(_, name)| name)
        };
        let set = match &options.update {
            Some(columns) => columns.clone(),
            None => given().filter(|name| !columns.contains(name)).cloned().collect(),
        };
        if let Some(name) = set.iter().find(|name| columns.contains(name)) {
            let message = format!("column {} is of the key, and cannot be updated", label(name));
            return Err(Error::new(Kind::Usage, message).with_sqlstate("42P10"));
        }
        let flag = |column: &String| Flag {
            column: column.clone(),
            is_boolean: is_boolean(catalogue, column),
        };
        let rule = match options.counting() {
            _ if options.newer.is_some() => Rule::Greatest,
            Duplicates::Last => Rule::Last,
            Duplicates::First | Duplicates::Error => Rule::First,
        };
        let Chosen { joins_nulls, is_of_root, .. } = chosen;
        // Through the root the server only counts which rows were not new, and what triggers do as well.
        let tells_new = options.on_conflict != OnConflict::Update
            || options.no_insert
            || catalogue.several.are_counted && !chosen.has_row_triggers;
        let changes = Self {
            on_conflict: options.on_conflict,
            key: Key { columns, parts, joins_nulls, is_of_root },
            any_constraint: options.key.is_none() && options.on_conflict == OnConflict::Skip,
            columns: given().cloned().collect(),
            set,
            inserts: !options.no_insert && options.on_conflict != OnConflict::Delete,
            rule,
            newer,
            newer_column: options.newer.clone(),
            delete_when: options.delete_when.as_ref().map(flag),
            refuses_duplicates: options.counting() == Duplicates::Error,
            has_triggers: chosen.has_row_triggers,
            through_root: is_of_root && tells_new,
        };
        allowed::check_fields(job, &catalogue.columns, &changes)?;
        Ok(changes)
    }

    /// What is done with rows whose key is there, and on which way, for people.
    pub fn words(&self, is_atomic: bool) -> String {
        let labels =
            |names: &[String]| names.iter().map(|name| label(name)).collect::<Vec<_>>().join(", ");
        let columns = labels(&self.key.columns);
        let mut what = match self.on_conflict {
            OnConflict::Error | OnConflict::Skip => {
                format!("rows are skipped where ({columns}) is there")
            }
            OnConflict::Update => match self.set.is_empty() {
                true => format!("rows stay as they are where ({columns}) is there"),
                false => format!("{} set where ({columns}) is there", labels(&self.set)),
            },
            OnConflict::Delete => format!("rows are deleted where ({columns}) is there"),
        };
        if let Some(newer) = &self.newer_column {
            what.push_str(&format!(" and {} is greater", label(newer)));
        }
        if let Some(flag) = &self.delete_when {
            let is = if flag.is_boolean { "true" } else { "not NULL" };
            what.push_str(&format!("; deleted where {} is {is}", label(&flag.column)));
        }
        if self.on_conflict == OnConflict::Update && !self.inserts {
            what.push_str("; others are left out");
        }
        let way = match (self.may_copy(), is_atomic) {
            (true, false) => {
                "copied straight in until some are there, then through a temporary table"
            }
            (true, true) => "through a temporary table, as one transaction cannot begin again",
            (false, _) => "through a temporary table, as not all are inserted",
        };
        format!("{what}; {way}")
    }

    /// Whether rows may be copied straight in while they meet no others.
    pub(crate) fn may_copy(&self) -> bool {
        self.inserts && self.delete_when.is_none()
    }

    /// Whether rows of several leaves may travel through the root together.
    pub(crate) fn may_join_leaves(&self) -> bool {
        self.may_copy() && self.through_root
    }
}

impl Plan {
    /// The type of a field that is read natively, for a partition key or the key of rows that change others.
    pub(crate) fn key_type(&self, field: usize) -> Option<&KeyType> {
        let of_changes = || {
            let changes = self.changes.as_ref()?;
            let mut parts = changes.key.parts.iter().chain(&changes.newer);
            parts.find(|part| part.slot == field).map(|part| &part.key_type)
        };
        self.tree.key_type(field).or_else(of_changes)
    }
}

/// Chooses the index by which rows are the same: on the key that is given, or else the primary key. Every leaf
/// must have one like it, and let its rows be changed.
pub(super) fn choose(
    catalogue: &Catalogue,
    uniques: &Uniques,
    options: &ChangeOptions,
) -> Result<Chosen> {
    allowed::check_columns(catalogue, options)?;
    allowed::check_tables(catalogue, options, &uniques.changing)?;
    let chosen = index::choose(&catalogue.tree, &uniques.indexes, options)?;
    let has_row_triggers = catalogue.facts.iter().any(|facts| facts.row_triggers)
        || uniques.changing.iter().any(|changing| changing.row_triggers);
    Ok(Chosen { has_row_triggers, ..chosen })
}

/// Whether a column of the input is read as a boolean.
fn is_boolean(catalogue: &Catalogue, column: &str) -> bool {
    const BOOL: u32 = 16;
    let place = catalogue.columns.iter().position(|name| name == column);
    place.is_some_and(|place| catalogue.types.get(place) == Some(&BOOL))
}

/// Returns how a column of the key is found in the input.
fn part(column: &KeyColumn) -> Result<KeyPart> {
    match column {
        KeyColumn::Native { field: Some(slot), ty, .. } => {
            Ok(KeyPart { slot: *slot, key_type: KeyType::clone(ty) })
        }
        KeyColumn::Opaque { column, why } => {
            let message = format!("values of column {} cannot be compared: {why}", label(column));
            Err(Error::new(Kind::Usage, message).with_sqlstate("0A000"))
        }
        other => Err(no_column(other.name(), "is of the key, and is not in the input")),
    }
}

fn no_column(name: &str, why: &str) -> Error {
    Error::new(Kind::Usage, format!("column {} {why}", label(name))).with_sqlstate("42703")
}
