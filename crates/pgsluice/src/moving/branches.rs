//! The partitions that a table gets: names and bounds, derived from its values or from another tree.

use pgsluice_core::catalog::{Relation, quote_identifier};
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use super::bounds::{NamedBound, bounds_of};
use super::drain::Drain;
use super::spec::{Level, MAX_LEAVES, Shape};
use super::sql::definitions::{KEYS, TREE};
use super::state::RelationName;
use super::table::{Table, find};
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::partitions::names::ExistingNames;
use crate::partitions::sql::steps;
use crate::pg::sql::{RESET_SEARCH_PATH, create_partition, portable};

/// The partitions of a table.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Branches {
    /// The partition key of the table, in the syntax of `PARTITION BY`.
    pub(super) key: String,
    pub(super) below: Vec<Branch>,
}

/// A partition.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Branch {
    #[serde(with = "RelationName")]
    pub(super) relation: Relation,
    pub(super) bound: String,
    /// Its own partition key, if it is not a leaf.
    key: Option<String>,
    below: Vec<Branch>,
}

impl Branches {
    /// Returns the partitions of `shape` that the rows of `table` need; if `drain` is given, those that drain
    /// it.
    pub(super) async fn find(
        shape: &Shape,
        (table, drain): (&Table, Option<&Drain>),
        client: &Client,
        names: &mut ExistingNames,
    ) -> Result<Self> {
        let branches = match (drain, &shape.like) {
            (Some(drain), _) => drain.branches(shape, table, client, names).await?,
            (None, Some(tree)) => like(tree, table, client, names).await?,
            (None, None) => by_levels(shape, table, client, names).await?,
        };
        let leaves = branches.leaves().len();
        if leaves > MAX_LEAVES {
            let message = format!("the table would have {leaves} leaves, more than {MAX_LEAVES}");
            return Err(Error::new(Kind::Usage, message).with_sqlstate("54000"));
        }
        Ok(branches)
    }

    /// Returns the statements to create the partitions of `root`. Leaves get the clauses `options`.
    pub(super) fn create(&self, root: &Relation, options: &str) -> Vec<String> {
        let mut statements = Vec::new();
        for branch in &self.below {
            branch.create(root, options, &mut statements);
        }
        statements
    }

    /// Returns the leaves.
    pub(super) fn leaves(&self) -> Vec<&Relation> {
        self.descendants()
            .into_iter()
            .filter(|it| it.key.is_none())
            .map(|it| &it.relation)
            .collect()
    }

    /// Returns all partitions, parents first.
    pub(super) fn tables(&self) -> Vec<&Relation> {
        self.descendants().into_iter().map(|branch| &branch.relation).collect()
    }

    fn descendants(&self) -> Vec<&Branch> {
        let mut all: Vec<&Branch> = self.below.iter().collect();
        let mut at = 0;
        while let Some(branch) = all.get(at).copied() {
            all.extend(&branch.below);
            at += 1;
        }
        all
    }
}

impl Branch {
    /// Creates a partition without partitions of its own.
    pub(super) fn leaf(relation: Relation, bound: String) -> Self {
        Self { relation, bound, key: None, below: Vec::new() }
    }

    fn create(&self, parent: &Relation, options: &str, statements: &mut Vec<String>) {
        let created = create_partition(&self.relation, parent, &self.bound, self.key.as_deref());
        let options = if self.key.is_none() { options } else { "" };
        statements.push(created + options);
        for branch in &self.below {
            branch.create(&self.relation, options, statements);
        }
    }
}

async fn by_levels(
    shape: &Shape,
    table: &Table,
    client: &Client,
    names: &mut ExistingNames,
) -> Result<Branches> {
    let mut bounds = Vec::new();
    for level in &shape.levels {
        for column in &level.columns {
            if !table.columns.contains(column) {
                let label = table.relation.label();
                let message = format!("column \"{column}\" of table {label} does not exist");
                return Err(Error::new(Kind::Usage, message).with_sqlstate("42703").with_hint(
                    "For a key with an expression, create an empty partitioned table and name it with "
                        + option("like")
                        + ".",
                ));
            }
        }
        bounds.push(bounds_of(shape, level, table, client).await?);
    }
    let keys: Vec<String> = shape.levels.iter().map(Level::sql).collect();
    let below = branches(&table.relation.schema, &table.relation.name, &keys[1..], &bounds, names);
    Ok(Branches { key: keys[0].clone(), below })
}

/// Creates a level of partitions for each element of `bounds`, from the top.
fn branches(
    schema: &str,
    parent: &str,
    keys: &[String],
    bounds: &[Vec<NamedBound>],
    names: &mut ExistingNames,
) -> Vec<Branch> {
    let Some((level, below)) = bounds.split_first() else { return Vec::new() };
    let branch = |(bound, suffix): &NamedBound| {
        let relation = names.free(schema, &format!("{parent}{suffix}"));
        let below =
            branches(schema, &relation.name, keys.get(1..).unwrap_or_default(), below, names);
        Branch { relation, bound: bound.clone(), key: keys.first().cloned(), below }
    };
    level.iter().map(branch).collect()
}

impl Level {
    /// Returns the key in the syntax of `PARTITION BY`.
    fn sql(&self) -> String {
        let columns: Vec<String> =
            self.columns.iter().map(|column| quote_identifier(column)).collect();
        format!("{} ({})", self.strategy, columns.join(", "))
    }
}

/// A table of the tree whose keys and bounds are copied.
struct CopiedNode {
    oid: u32,
    parent: Option<u32>,
    name: String,
    bound: String,
    key: Option<String>,
}

/// Returns the columns of all partition keys, or `None` if a key has an expression. Names are resolved as in
/// the session.
pub(super) async fn key_columns(shape: &Shape, client: &Client) -> Result<Option<Vec<String>>> {
    let mut columns: Vec<String> = match &shape.like {
        None => shape.levels.iter().flat_map(|level| level.columns.clone()).collect(),
        Some(tree) => {
            let (oid, _) = find(client, tree).await?;
            let rows = client.query(KEYS, &[&oid]).await?;
            if rows.iter().any(|row| row.get(0)) {
                return Ok(None);
            }
            rows.iter().flat_map(|row| row.get::<_, Vec<String>>(1)).collect()
        }
    };
    columns.sort();
    columns.dedup();
    Ok(Some(columns))
}

async fn like(
    tree: &str,
    table: &Table,
    client: &Client,
    names: &mut ExistingNames,
) -> Result<Branches> {
    client.batch_execute(RESET_SEARCH_PATH).await?;
    let (oid, relation) = find(client, tree).await?;
    client.batch_execute(steps::SESSION).await?;
    let rows = client.query(TREE, &[&oid]).await?;
    let copied = |row: &tokio_postgres::Row| CopiedNode {
        oid: row.get(0),
        parent: row.get(1),
        name: row.get(2),
        bound: portable(&row.get::<_, Option<String>>(3).unwrap_or_default()),
        key: row.get::<_, Option<String>>(4).map(|key| portable(&key)),
    };
    let tables: Vec<CopiedNode> = rows.iter().map(copied).collect();
    let root = tables.first().filter(|root| root.key.is_some());
    let Some((root, key)) = root.and_then(|root| Some((root, root.key.clone()?))) else {
        let message = format!("\"{}\" is not a partitioned table", relation.label());
        return Err(Error::new(Kind::Usage, message).with_sqlstate("42809"));
    };
    let below = copy(&tables, root, &table.relation.schema, &table.relation.name, names);
    if below.is_empty() {
        let message = format!("\"{}\" has no partitions", relation.label());
        return Err(Error::new(Kind::Usage, message).with_sqlstate("42809"));
    }
    Ok(Branches { key, below })
}

/// Copies the partitions of `parent`, with names that begin with `name`.
fn copy(
    tables: &[CopiedNode],
    parent: &CopiedNode,
    schema: &str,
    name: &str,
    names: &mut ExistingNames,
) -> Vec<Branch> {
    let children =
        tables.iter().filter(|table| table.parent == Some(parent.oid) && table.oid != parent.oid);
    let branch = |(number, child): (usize, &CopiedNode)| {
        let wanted = match child.name.strip_prefix(&parent.name) {
            Some(rest) if !rest.is_empty() => format!("{name}{rest}"),
            _ => format!("{name}_{number}"),
        };
        let relation = names.free(schema, &wanted);
        let below = copy(tables, child, schema, &relation.name, names);
        Branch { relation, bound: child.bound.clone(), key: child.key.clone(), below }
    };
    children.enumerate().map(branch).collect()
}
