//! The indexes that identify rows.

use pgsluice_core::catalog::{NodeId, ROOT, Tree, label};
use tokio_postgres::types::Oid;

use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::job::{ChangeOptions, OnConflict};
use crate::pg::compared::ComparedColumn;
use crate::pg::introspect::uniques::{UniqueIndex, Wanted};

/// The maximum number of indexes that an error names.
const NAMED: usize = 5;

/// The chosen index.
#[derive(Clone, Debug)]
pub(in crate::plan) struct ChosenIndex {
    /// `None` if several indexes identify rows.
    pub(super) index: Option<Index>,
    /// The reason why rows are sent in input order, if they are.
    pub(super) in_order: Option<String>,
    /// Whether row triggers may change rows.
    pub(super) has_row_triggers: bool,
}

/// An index, as found on the first leaf.
#[derive(Clone, Debug)]
pub(super) struct Index {
    oid: Oid,
    /// Its columns with their comparisons.
    pub(super) compared: Vec<ComparedColumn>,
    pub(super) joins_nulls: bool,
    pub(super) is_of_root: bool,
}

impl ChosenIndex {
    /// Returns the facts to read about the tables. A leaf rejects the insertion of another leaf's row, and a
    /// key of the whole table never matches a row in another leaf. In all other cases the leaf's constraint
    /// is needed.
    pub(in crate::plan) fn wanted(&self, options: &ChangeOptions) -> Wanted {
        let updates = options.on_conflict == OnConflict::Update;
        let is_found = self.index.iter().all(|index| index.is_of_root);
        let constraints = options.on_conflict == OnConflict::Delete
            || options.delete_when.is_some()
            || options.no_insert
            || updates && !is_found;
        Wanted { indexes: self.index.iter().map(|index| index.oid).collect(), constraints }
    }
}

/// All indexes of a tree that exclude duplicates.
struct Indexes<'i> {
    tree: &'i Tree,
    all: &'i [UniqueIndex],
}

/// Chooses the index that identifies rows. Every leaf must have one like it. If rows are skipped by any
/// index, none is chosen unless it is the only one.
pub(super) fn choose(
    tree: &Tree,
    indexes: &[UniqueIndex],
    options: &ChangeOptions,
) -> Result<ChosenIndex> {
    let indexes = Indexes { tree, all: indexes };
    let Some(first_leaf) = tree.leaves().next() else {
        let message = format!("table {} has no partition", indexes.name(ROOT));
        return Err(no_key(message, Vec::new()));
    };
    let chosen = match &options.key {
        Some(columns) => indexes.on_key(columns)?,
        None if options.on_conflict == OnConflict::Skip => return indexes.any(),
        None => {
            let primary =
                indexes.list(ROOT).chain(indexes.list(first_leaf)).find(|index| index.is_primary);
            let columns: Option<Vec<String>> =
                primary.and_then(|index| index.columns.iter().cloned().collect());
            let columns = columns.ok_or_else(|| {
                let message = format!("table {} has no primary key", indexes.name(ROOT));
                no_key(message, indexes.list(first_leaf).collect())
                    .with_hint("Use " + option("key") + " to list the columns that identify a row.")
            })?;
            indexes.on_key(&columns)?
        }
    };
    let index = Some(indexes.describe(chosen));
    Ok(ChosenIndex { index, in_order: None, has_row_triggers: false })
}

impl<'i> Indexes<'i> {
    fn name(&self, node: NodeId) -> String {
        self.tree.nodes[node].relation.label()
    }

    fn list(&self, node: NodeId) -> impl Iterator<Item = &'i UniqueIndex> + use<'i> {
        self.all.iter().filter(move |index| index.node == node)
    }

    /// Returns the first leaf's index on these columns that all leaves have. If several of them compare keys
    /// differently, the one with the columns' own comparisons is returned.
    fn on_key(&self, columns: &[String]) -> Result<&'i UniqueIndex> {
        let mut chosen: Option<Vec<&UniqueIndex>> = None;
        for leaf in self.tree.leaves() {
            let usable = self.usable(leaf, columns)?;
            let Some(before) = &mut chosen else {
                chosen = Some(usable);
                continue;
            };
            let last = before[0];
            before.retain(|index| usable.iter().any(|other| other.is_like(index)));
            if before.is_empty() {
                let (one, next) = (self.name(last.node), self.name(leaf));
                let message = format!("{one} and {next} compare the key in different ways");
                return Err(no_key(message, vec![last, usable[0]]));
            }
        }
        let mut chosen = chosen.unwrap_or_default();
        chosen.sort_by_key(|index| !index.is_default());
        let first = *chosen.first().ok_or_else(|| no_key(self.name(ROOT), Vec::new()))?;
        let other = chosen.iter().find(|index| !index.compares_alike(first));
        match other.filter(|_| !first.is_default()) {
            Some(other) => {
                let message = format!(
                    "several unique indexes of {} compare the key in different ways",
                    self.name(first.node)
                );
                Err(no_key(message, vec![first, other]))
            }
            None => self.distinguish(first),
        }
    }

    /// Rejects an index that `ON CONFLICT` cannot tell from another one that treats NULLs differently.
    fn distinguish(&self, index: &'i UniqueIndex) -> Result<&'i UniqueIndex> {
        let mut usable = self.all.iter().filter(|it| why_unusable(it).is_none());
        let other =
            usable.find(|it| it.compares_alike(index) && it.joins_nulls != index.joins_nulls);
        match other.filter(|_| !index.is_primary) {
            Some(other) => {
                let message = format!(
                    "two unique indexes of {} differ only in how they compare NULLs",
                    self.name(other.node)
                );
                Err(no_key(message, vec![index, other]))
            }
            None => Ok(index),
        }
    }

    /// Returns the usable indexes of a leaf on these columns. Fails if it has no such index.
    fn usable(&self, leaf: NodeId, columns: &[String]) -> Result<Vec<&'i UniqueIndex>> {
        let is_in = |name: &Option<String>| name.as_ref().is_some_and(|it| columns.contains(it));
        let is_on = |index: &&UniqueIndex| {
            index.columns.len() == columns.len() && index.columns.iter().all(is_in)
        };
        let on_key: Vec<_> = self.list(leaf).filter(is_on).filter(|it| !it.is_exclusion).collect();
        if on_key.is_empty() {
            let labels: Vec<String> = columns.iter().map(|name| label(name)).collect();
            let message =
                format!("{} has no unique index on ({})", self.name(leaf), labels.join(", "));
            return Err(no_key(message, self.list(leaf).collect()));
        }
        let usable: Vec<_> =
            on_key.iter().copied().filter(|index| why_unusable(index).is_none()).collect();
        match usable.is_empty() {
            true => Err(self.no_usable(leaf, on_key.first().copied())),
            false => Ok(usable),
        }
    }

    /// Chooses among all indexes that identify the rows of a leaf.
    fn any(&self) -> Result<ChosenIndex> {
        let leaves: Vec<NodeId> = self.tree.leaves().collect();
        let all: Vec<&UniqueIndex> = leaves.iter().flat_map(|leaf| self.list(*leaf)).collect();
        if all.is_empty() {
            let message = format!("table {} has no unique index", self.name(leaves[0]));
            return Err(no_key(message, Vec::new()));
        }
        if let Some(index) = all.iter().find(|index| index.is_deferrable) {
            return Err(self.no_usable(index.node, Some(index)));
        }
        let first = all[0];
        let unusable = all.iter().find_map(|index| Some((index, why_unusable(index)?)));
        let is_single = all.iter().all(|index| index.is_like(first));
        let in_order = match unusable {
            Some((index, why)) => Some(format!("index {} {why}", label(&index.name))),
            None if !is_single => Some("several constraints identify a row".to_owned()),
            None if leaves.iter().all(|leaf| self.list(*leaf).next().is_some()) => None,
            None => Some("some leaves have no unique index".to_owned()),
        };
        let index = in_order.is_none().then(|| self.describe(first));
        Ok(ChosenIndex { index, in_order, has_row_triggers: false })
    }

    fn describe(&self, index: &UniqueIndex) -> Index {
        let has = |node: NodeId| {
            self.list(node).any(|other| why_unusable(other).is_none() && other.is_like(index))
        };
        Index {
            oid: index.oid,
            compared: index.compared_columns(),
            joins_nulls: index.joins_nulls,
            is_of_root: has(ROOT),
        }
    }

    /// Returns the error for a leaf without a usable index; `index` is an unusable one.
    fn no_usable(&self, leaf: NodeId, index: Option<&UniqueIndex>) -> Error {
        let name = self.name(leaf);
        let error = no_key(format!("no unique index of {name} can identify rows"), Vec::new());
        match index.and_then(|index| Some((index, why_unusable(index)?))) {
            Some((index, why)) => error.with_detail(format!("Index {} {why}.", label(&index.name))),
            None => error,
        }
    }
}

fn why_unusable(index: &UniqueIndex) -> Option<&'static str> {
    match index {
        UniqueIndex { is_exclusion: true, is_of_equals: false, .. } => {
            Some("belongs to an exclusion constraint with operators other than equality")
        }
        UniqueIndex { is_valid: false, .. } => Some("is not valid"),
        UniqueIndex { is_deferrable: true, .. } => Some("belongs to a deferrable constraint"),
        UniqueIndex { is_partial: true, .. } => Some("is partial"),
        UniqueIndex { columns, .. } if columns.iter().any(Option::is_none) => {
            Some("is on an expression")
        }
        _ => None,
    }
}

/// Returns the error for a table without the required key; `others` are the indexes that it has.
fn no_key(message: String, others: Vec<&UniqueIndex>) -> Error {
    let error = Error::new(Kind::Usage, message).with_sqlstate("42P10");
    if others.is_empty() {
        return error;
    }
    let described = others.iter().take(NAMED).map(|index| {
        let columns = index.columns.iter();
        let columns: Vec<String> = columns
            .map(|name| name.as_ref().map_or("an expression".to_owned(), |name| label(name)))
            .collect();
        format!("{} ({})", label(&index.name), columns.join(", "))
    });
    let described: Vec<String> = described.collect();
    error.with_detail(format!("The unique indexes are {}.", described.join("; ")))
}
