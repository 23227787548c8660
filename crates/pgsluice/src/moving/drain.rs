//! Draining: the rows of a DEFAULT partition go to new partitions beside it.
//!
//! The partition is moved like a table: into a tree with the key of its parent. The tree has the new
//! partitions, and a DEFAULT partition for the rows that none of them accepts. The swap detaches these
//! partitions and attaches them to the parent, in place of the old DEFAULT partition. A statement that reads
//! the parent therefore sees each row once.

use pgsluice_core::catalog::Relation;
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;
use tokio_postgres::types::Oid;

use super::bounds::{NamedBound, Ranged, list_bounds, range, suffixes};
use super::branches::{Branch, Branches};
use super::spec::{MAX_LEAVES, Shape};
use super::sql::ddl;
use super::sql::drain::{
    BOUND, CONDITIONS, PARENT, SIBLINGS, add_bound, attach, detach, drop_root,
};
use super::state::RelationName;
use super::survey::Survey;
use super::table::{Property, Table, describe, find};
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::partitions::names::{ExistingNames, alike};
use crate::partitions::range_of;
use crate::partitions::sql::steps::Neighbour;
use crate::pg::sql::{DEPARSE_SETTINGS, portable};

/// The bound of a DEFAULT partition.
const DEFAULT: &str = "DEFAULT";

/// A DEFAULT partition whose rows are moved to new partitions.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Drain {
    /// The partitioned table.
    #[serde(with = "RelationName")]
    pub(super) parent: Relation,
    pub(super) oid: Oid,
    /// Its partition key, in the syntax of `PARTITION BY`.
    key: String,
    is_range: bool,
    /// The column of the key.
    pub(super) column: String,
    /// The condition that all its rows meet, if the parent is a partition itself.
    within: Option<String>,
    /// The definition of the DEFAULT partition, which must not change.
    pub(super) things: Vec<Property>,
}

impl Drain {
    /// Finds the parent of a partition. Returns `None` if `shape` does not request draining. From then on the
    /// session resolves names only in `pg_catalog`.
    pub(super) async fn find(
        client: &Client,
        shape: &Shape,
        (oid, table): (Oid, &Relation),
    ) -> Result<Option<Self>> {
        let Some(tree) = &shape.of else { return Ok(None) };
        let (wanted, tree) = find(client, tree).await?;
        client.batch_execute(DEPARSE_SETTINGS).await?;
        let refused = |state: &str, why: String| Error::new(Kind::Usage, why).with_sqlstate(state);
        let (own, parent) = (table.label(), tree.label());
        let row = client.query_opt(PARENT, &[&oid]).await?;
        let Some(row) = row.filter(|row| row.get::<_, Oid>(0) == wanted) else {
            let why = format!("table \"{own}\" is not a partition of \"{parent}\"");
            return Err(refused("42809", why));
        };
        if !row.get::<_, bool>(7) {
            let why = format!("\"{own}\" is not the DEFAULT partition of \"{parent}\"");
            return Err(refused("42809", why).with_hint("Only a DEFAULT partition can be drained."));
        }
        let Some(column) = row.get::<_, Option<String>>(5) else {
            let why = format!("the partition key of \"{parent}\" is not a single column");
            return Err(refused("0A000", why).with_hint(
                "Create the partitions that are missing, and load the rows of the detached DEFAULT \
                 partition into the table.",
            ));
        };
        let is_range = row.get::<_, &str>(4) == "r";
        if is_range != shape.step.is_some() {
            let why = match is_range {
                true => option("step") + " is needed for a RANGE key",
                false => option("step") + " is not used for a LIST key",
            };
            return Err(Error::new(Kind::Usage, why));
        }
        let parent = Relation { schema: row.get(1), name: row.get(2) };
        let key = portable(row.get(3));
        let within = row.get::<_, Option<String>>(6).filter(|condition| !condition.is_empty());
        let things = describe(client, oid).await?;
        Ok(Some(Self { parent, oid: wanted, key, is_range, column, within, things }))
    }

    /// Returns the partitions that the rows of `table` need, and a DEFAULT partition.
    pub(super) async fn branches(
        &self,
        shape: &Shape,
        table: &Table,
        client: &Client,
        names: &mut ExistingNames,
    ) -> Result<Branches> {
        let Self { parent, key, column, .. } = self;
        let bounds = match self.is_range {
            true => self.ranges(shape, table, client).await?,
            false => list_bounds(column, table, client).await?,
        };
        if bounds.is_empty() {
            let label = table.relation.label();
            let message = format!("partition {label} has no rows for new partitions");
            return Err(Error::new(Kind::Usage, message).with_sqlstate("02000"));
        }
        let schema = &table.relation.schema;
        let leaf = |(bound, name): NamedBound| {
            let name = match name.strip_prefix('_') {
                Some(_) => format!("{}{name}", parent.name),
                None => name,
            };
            Branch::leaf(names.free(schema, &name), bound)
        };
        let mut below: Vec<Branch> = bounds.into_iter().map(leaf).collect();
        let rest = names.free(schema, &format!("{}_rest", table.relation.name));
        below.push(Branch::leaf(rest, DEFAULT.to_owned()));
        Ok(Branches { key: key.clone(), below })
    }

    /// Returns the ranges that have rows, each with its name, or with the suffix for the parent's name.
    async fn ranges(
        &self,
        shape: &Shape,
        table: &Table,
        client: &Client,
    ) -> Result<Vec<NamedBound>> {
        let Self { column, .. } = self;
        let Ranged { counting, step, extent, .. } =
            Ranged::read(shape, column, table, client).await?;
        let Some((min, max)) = extent else { return Ok(Vec::new()) };
        let siblings = client.query(SIBLINGS, &[&self.oid]).await?;
        let sibling = |row: &tokio_postgres::Row| Some((row.get(0), range_of(row.get(1))?));
        let (known, ranges): (Vec<String>, Vec<_>) = siblings.iter().filter_map(sibling).unzip();
        let extent = (min.as_str(), max.as_str());
        let gaps = counting.find_gaps(client, &ranges, &step, extent, MAX_LEAVES).await?;
        if gaps.len() > MAX_LEAVES {
            return Err(Ranged::too_many(column, extent));
        }
        let own = table.relation.to_string();
        let lower: Vec<&str> = gaps.iter().map(|(lower, _)| lower.as_str()).collect();
        let mut used = counting.find_used(client, &own, column, &lower).await?;
        used.sort_unstable();
        let gaps: Vec<_> = used.into_iter().filter_map(|place| gaps.get(place).cloned()).collect();
        let lower: Vec<String> = gaps.iter().map(|(lower, _)| lower.clone()).collect();
        let near = counting.neighbours(client, &ranges, &lower).await?;
        let suffixes = suffixes(&gaps, counting.is_time());
        let bound =
            |(((lower, upper), near), suffix): (((String, Option<String>), Neighbour), _)| {
                let neighbour = near.place.and_then(|place| known.get(place));
                let name =
                    neighbour.and_then(|name| alike(name, &near.spellings)).unwrap_or(suffix);
                (range(&lower, upper.as_deref()), name)
            };
        Ok(gaps.into_iter().zip(near).zip(suffixes).map(bound).collect())
    }

    /// Returns the statements that make the server know that the leaves below `root` keep their bounds.
    pub(super) async fn bounds(&self, root: &Relation, client: &Client) -> Result<Vec<String>> {
        let rows = client.query(CONDITIONS, &[&root.to_string(), &BOUND]).await?;
        let bound = |row: &tokio_postgres::Row| {
            let conditions = std::iter::once(row.get(1)).chain(self.within.as_deref());
            portable(&add_bound(row.get(0), &conditions.collect::<Vec<&str>>()))
        };
        Ok(rows.iter().map(bound).collect())
    }

    /// Returns the statements that attach the new partitions in place of the old one. The server reads only
    /// the rows of the DEFAULT partition, because its bound depends on the other partitions.
    pub(super) fn swap(&self, survey: &Survey, branches: &Branches) -> Vec<String> {
        let Self { parent, .. } = self;
        let Survey { table, root, old, indexes, .. } = survey;
        let Relation { schema, name } = &table.relation;
        let mut statements =
            vec![detach(parent, &table.relation), ddl::rename("TABLE", schema, name, &old.name)];
        for index in indexes {
            statements.push(ddl::rename("INDEX", schema, &index.index.name, &index.old));
        }
        let leaves = branches.below.iter().zip(&survey.leaf_indexes);
        for (Branch { relation, bound, .. }, own) in leaves {
            statements.push(detach(root, relation));
            let mut partition = relation.clone();
            if bound == DEFAULT {
                partition = table.relation.clone();
                statements.push(ddl::rename("TABLE", schema, &relation.name, name));
                for (index, own) in indexes.iter().zip(own) {
                    statements.push(ddl::rename("INDEX", schema, own, &index.index.name));
                }
            }
            statements.push(attach(parent, &partition, bound));
            statements.push(ddl::drop_constraint(&partition, BOUND));
        }
        statements.push(drop_root(root));
        statements
    }
}
