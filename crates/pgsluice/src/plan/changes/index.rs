//! The index by which rows are the same.

use pgsluice_core::catalog::{NodeId, ROOT, Tree, label};
use tokio_postgres::types::Oid;

use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::job::{ChangeOptions, OnConflict};
use crate::pg::introspect::uniques::UniqueIndex;

/// Indexes that one error names.
const NAMED: usize = 5;

/// The index that was chosen, of the first leaf.
#[derive(Clone, Debug)]
pub(in crate::plan) struct Chosen {
    pub(in crate::plan) oid: Oid,
    pub(super) joins_nulls: bool,
    pub(super) is_of_root: bool,
    /// Triggers of a table may change rows for each row that is changed.
    pub(super) has_row_triggers: bool,
}

/// All indexes of a tree that keep rows apart.
struct Indexes<'i> {
    tree: &'i Tree,
    all: &'i [UniqueIndex],
}

/// Chooses the index by which rows are the same. Every leaf has one like it.
pub(super) fn choose(
    tree: &Tree,
    indexes: &[UniqueIndex],
    options: &ChangeOptions,
) -> Result<Chosen> {
    let indexes = Indexes { tree, all: indexes };
    let Some(first_leaf) = tree.leaves().next() else {
        let message = format!("table {} has no partition", indexes.name(ROOT));
        return Err(no_key(message, Vec::new()));
    };
    let chosen = match &options.key {
        Some(columns) => indexes.on_key(columns)?,
        None if options.on_conflict == OnConflict::Skip => indexes.the_only_one()?,
        None => {
            let primary =
                indexes.of(ROOT).chain(indexes.of(first_leaf)).find(|index| index.is_primary);
            let columns: Option<Vec<String>> =
                primary.and_then(|index| index.columns.iter().cloned().collect());
            let columns = columns.ok_or_else(|| {
                let message = format!("table {} has no primary key", indexes.name(ROOT));
                no_key(message, indexes.of(first_leaf).collect())
                    .with_hint("Name the columns by which rows are the same with --key.")
            })?;
            indexes.on_key(&columns)?
        }
    };
    let is_of_root =
        indexes.of(ROOT).any(|index| why_unusable(index).is_none() && index.is_like(chosen));
    let UniqueIndex { oid, joins_nulls, .. } = *chosen;
    Ok(Chosen { oid, joins_nulls, is_of_root, has_row_triggers: false })
}

impl<'i> Indexes<'i> {
    fn name(&self, node: NodeId) -> String {
        self.tree.nodes[node].relation.label()
    }

    fn of(&self, node: NodeId) -> impl Iterator<Item = &'i UniqueIndex> + use<'i> {
        self.all.iter().filter(move |index| index.node == node)
    }

    /// The index of the first leaf on these columns.
    fn on_key(&self, columns: &[String]) -> Result<&'i UniqueIndex> {
        let is_on = |index: &&UniqueIndex| {
            let is_in =
                |name: &Option<String>| name.as_ref().is_some_and(|name| columns.contains(name));
            index.columns.len() == columns.len() && index.columns.iter().all(is_in)
        };
        self.alike(|leaf| {
            let on_key: Vec<_> =
                self.of(leaf).filter(is_on).filter(|it| !it.is_exclusion).collect();
            if on_key.is_empty() {
                let labels: Vec<String> = columns.iter().map(|name| label(name)).collect();
                let message =
                    format!("no unique index of {} is on ({})", self.name(leaf), labels.join(", "));
                return Err(no_key(message, self.of(leaf).collect()));
            }
            Ok(on_key)
        })
    }

    /// The index of the first leaf, if each has just one.
    fn the_only_one(&self) -> Result<&'i UniqueIndex> {
        self.alike(|leaf| {
            let found: Vec<_> = self.of(leaf).collect();
            match &found[..] {
                [] => Err(no_key(format!("table {} has no unique index", self.name(leaf)), Vec::new())),
                [first, others @ ..] if others.iter().all(|other| other.is_like(first)) => Ok(found),
                _ => {
                    let message =
                        format!("several constraints say which rows of {} are the same", self.name(leaf));
                    Err(no_key(message, found).with_hint(
                        "Name the columns by which rows are the same with --key. A row that another \
                         constraint refuses is an error then.",
                    ))
                }
            }
        })
    }

    /// The first usable one of those that `candidates` finds in each leaf, which must be alike.
    fn alike(
        &self,
        candidates: impl Fn(NodeId) -> Result<Vec<&'i UniqueIndex>>,
    ) -> Result<&'i UniqueIndex> {
        let mut chosen: Option<&UniqueIndex> = None;
        for leaf in self.tree.leaves() {
            let candidates = candidates(leaf)?;
            let usable = candidates.iter().filter(|index| why_unusable(index).is_none());
            let usable: Vec<&UniqueIndex> = usable.copied().collect();
            let alike =
                usable.iter().find(|index| chosen.is_none_or(|chosen| chosen.is_like(index)));
            match (alike, usable.first(), chosen) {
                (Some(index), ..) => _ = chosen.get_or_insert(index),
                (None, Some(index), Some(chosen)) => {
                    let (one, next) = (self.name(chosen.node), self.name(leaf));
                    let message = format!("the keys of {one} and {next} are not compared alike");
                    return Err(no_key(message, vec![chosen, index]));
                }
                _ => {
                    let why =
                        candidates.iter().find_map(|index| Some((index, why_unusable(index)?)));
                    let message = format!(
                        "no unique index of {} says which rows are the same",
                        self.name(leaf)
                    );
                    let error = no_key(message, Vec::new());
                    return Err(why.map_or(error.clone(), |(index, why)| {
                        error.with_detail(format!("Index {} is {why}.", label(&index.name)))
                    }));
                }
            }
        }
        chosen.ok_or_else(|| no_key(self.name(ROOT), Vec::new()))
    }
}

fn why_unusable(index: &UniqueIndex) -> Option<&'static str> {
    match index {
        UniqueIndex { is_exclusion: true, is_of_equals: false, .. } => {
            Some("of an exclusion constraint that is not about equal values")
        }
        UniqueIndex { is_valid: false, .. } => Some("not valid"),
        UniqueIndex { is_deferrable: true, .. } => Some("of a deferrable constraint"),
        UniqueIndex { is_partial: true, .. } => Some("of a part of the rows"),
        UniqueIndex { columns, .. } if columns.iter().any(Option::is_none) => {
            Some("on an expression")
        }
        _ => None,
    }
}

/// The error for a table without the key that is needed; `others` are the indexes that it has.
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
    error.with_detail(format!("Its unique indexes are {}.", described.join("; ")))
}
