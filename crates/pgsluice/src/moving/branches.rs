//! The partitions that a table gets: names and bounds, from its values or from another tree.

use pgsluice_core::catalog::{Relation, Strategy, quoted};
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use super::kept::RelationName;
use super::spec::{Level, MOST_LEAVES, Shape};
use super::sql::definitions::{KEYS, TREE};
use super::sql::values::{distinct, extent};
use super::table::{Table, find};
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::partitions::names::{TakenNames, after_value};
use crate::partitions::sql::steps::{self, Counting};
use crate::pg::sql::{RESET_SEARCH_PATH, create_partition, literal, portable};

/// The partitions of a table.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Branches {
    /// The partition key of the table, as `PARTITION BY` has it.
    pub(super) key: String,
    pub(super) below: Vec<Branch>,
}

/// A partition.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Branch {
    #[serde(with = "RelationName")]
    pub(super) relation: Relation,
    bound: String,
    /// Its own partition key, if it is not a leaf.
    key: Option<String>,
    below: Vec<Branch>,
}

/// A bound, and what its partition is named after.
type Bound = (String, String);

impl Branches {
    /// Returns the partitions of `shape` that the rows of `table` need.
    pub(super) async fn of(
        shape: &Shape,
        table: &Table,
        client: &Client,
        names: &mut TakenNames,
    ) -> Result<Self> {
        let branches = match &shape.like {
            Some(tree) => like(tree, table, client, names).await?,
            None => by_levels(shape, table, client, names).await?,
        };
        let leaves = branches.leaves().len();
        if leaves > MOST_LEAVES {
            let message = format!("the table would have {leaves} leaves, more than {MOST_LEAVES}");
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
        self.walk().into_iter().filter(|it| it.key.is_none()).map(|it| &it.relation).collect()
    }

    /// Returns all partitions, parents first.
    pub(super) fn tables(&self) -> Vec<&Relation> {
        self.walk().into_iter().map(|branch| &branch.relation).collect()
    }

    fn walk(&self) -> Vec<&Branch> {
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
    names: &mut TakenNames,
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
    bounds: &[Vec<Bound>],
    names: &mut TakenNames,
) -> Vec<Branch> {
    let Some((level, below)) = bounds.split_first() else { return Vec::new() };
    let branch = |(bound, suffix): &Bound| {
        let relation = names.free(schema, &format!("{parent}{suffix}"));
        let below =
            branches(schema, &relation.name, keys.get(1..).unwrap_or_default(), below, names);
        Branch { relation, bound: bound.clone(), key: keys.first().cloned(), below }
    };
    level.iter().map(branch).collect()
}

async fn bounds_of(
    shape: &Shape,
    level: &Level,
    table: &Table,
    client: &Client,
) -> Result<Vec<Bound>> {
    let mut bounds = match level.strategy {
        Strategy::Hash => {
            let leaves = shape.leaves.unwrap_or(1);
            let bound = |number| {
                (
                    format!("FOR VALUES WITH (MODULUS {leaves}, REMAINDER {number})"),
                    format!("_{number}"),
                )
            };
            return Ok((0..leaves).map(bound).collect());
        }
        Strategy::List => list_bounds(&level.columns[0], table, client).await?,
        Strategy::Range => range_bounds(shape, &level.columns[0], table, client).await?,
    };
    if shape.has_default {
        bounds.push(("DEFAULT".to_owned(), "_default".to_owned()));
    }
    if bounds.is_empty() {
        let message =
            format!("table {} has no rows to derive partitions from", table.relation.label());
        return Err(Error::new(Kind::Usage, message).with_hint(
            "Create an empty partitioned table and name it with " + option("like") + ".",
        ));
    }
    Ok(bounds)
}

async fn list_bounds(column: &str, table: &Table, client: &Client) -> Result<Vec<Bound>> {
    let own = table.relation.to_string();
    let found = client.query(&distinct(&own, column, MOST_LEAVES + 1), &[]).await?;
    if found.len() > MOST_LEAVES {
        let message = format!("column \"{column}\" has more than {MOST_LEAVES} values");
        return Err(Error::new(Kind::Usage, message).with_sqlstate("54000"));
    }
    let ty = steps::column_type(client, table.oid, column).await?;
    let keys: Vec<_> = found.iter().map(|row| (row.get(0), 1)).collect();
    let bound = |(value, literal, _): (Option<String>, String, u64)| {
        (format!("FOR VALUES IN ({})", literal), after_value("", value.as_deref()))
    };
    Ok(steps::values(client, &ty, &keys).await?.into_iter().map(bound).collect())
}

async fn range_bounds(
    shape: &Shape,
    column: &str,
    table: &Table,
    client: &Client,
) -> Result<Vec<Bound>> {
    let step = shape.step.as_deref().unwrap_or_default();
    steps::check(client, step).await?;
    let ty = steps::column_type(client, table.oid, column).await?;
    let is_numeric = ty.starts_with("numeric");
    let Some(counting) = Counting::of(ty) else {
        let message = format!("column \"{column}\" is neither a number nor a date");
        return Err(Error::new(Kind::Usage, message).with_sqlstate("42804").with_hint(
            "Create an empty partitioned table and name it with " + option("like") + ".",
        ));
    };
    let own = table.relation.to_string();
    let extent = extent(&own, column, counting.is_time(), is_numeric);
    let row = client.query_one(&extent, &[]).await?;
    let outside = [("NULL", row.get::<_, i64>(2)), ("an infinite value", row.get(3))];
    if let Some((what, rows)) = outside.into_iter().find(|(_, rows)| *rows > 0)
        && !shape.has_default
    {
        let message =
            format!("{rows} rows have {what} in column \"{column}\", which no range contains");
        return Err(Error::new(Kind::Data, message)
            .with_sqlstate("23514")
            .with_hint("Add " + option("default-partition") + " for them."));
    }
    let (Some(least), Some(most)) =
        (row.get::<_, Option<String>>(0), row.get::<_, Option<String>>(1))
    else {
        return Ok(Vec::new());
    };
    let step = counting.step(step);
    let ranges = counting.series(client, &step, (&least, &most), shape.ahead, MOST_LEAVES).await?;
    if ranges.len() > MOST_LEAVES {
        let message = format!("the step makes more than {MOST_LEAVES} partitions");
        let detail = format!("Column \"{column}\" has values from {least} to {most}.");
        return Err(Error::new(Kind::Usage, message)
            .with_sqlstate("54000")
            .with_detail(detail)
            .with_hint("Use a wider " + option("step") + "."));
    }
    let suffixes = suffixes(&ranges, counting.is_time());
    let bound = |((lower, upper), suffix): ((String, Option<String>), String)| {
        let to = upper.map_or("MAXVALUE".to_owned(), |upper| literal(upper.as_bytes()));
        (format!("FOR VALUES FROM ({}) TO ({to})", literal(lower.as_bytes())), suffix)
    };
    Ok(ranges.into_iter().zip(suffixes).map(bound).collect())
}

/// Returns what partitions with these bounds are named after: months by year and month, years by the year.
fn suffixes(ranges: &[(String, Option<String>)], is_time: bool) -> Vec<String> {
    let date = |text: &String| text.split([' ', '+']).next().unwrap_or_default().to_owned();
    let is_midnight =
        |text: &String| text.split(' ').nth(1).is_none_or(|time| time.starts_with("00:00:00"));
    let ends = || ranges.iter().flat_map(|(lower, upper)| [Some(lower), upper.as_ref()]).flatten();
    let mut names: Vec<String> = ranges.iter().map(|(lower, _)| lower.clone()).collect();
    if is_time && ends().all(is_midnight) {
        names = names.iter().map(date).collect();
        for part in ["-01", "-01-01"] {
            if ends().map(date).all(|end| end.ends_with(part)) {
                names.iter_mut().for_each(|name| name.truncate(name.len() - "-01".len()));
            }
        }
    }
    names.iter().map(|name| after_value("", Some(name))).collect()
}

impl Level {
    /// Returns the key as `PARTITION BY` has it.
    fn sql(&self) -> String {
        let columns: Vec<String> = self.columns.iter().map(|column| quoted(column)).collect();
        format!("{} ({})", self.strategy, columns.join(", "))
    }
}

/// A table of a tree that is taken over.
struct Copied {
    oid: u32,
    parent: Option<u32>,
    name: String,
    bound: String,
    key: Option<String>,
}

/// Returns the columns of all partition keys; `None` if a key has an expression. Looks names up as the session does.
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
    names: &mut TakenNames,
) -> Result<Branches> {
    client.batch_execute(RESET_SEARCH_PATH).await?;
    let (oid, relation) = find(client, tree).await?;
    client.batch_execute(steps::SESSION).await?;
    let rows = client.query(TREE, &[&oid]).await?;
    let copied = |row: &tokio_postgres::Row| Copied {
        oid: row.get(0),
        parent: row.get(1),
        name: row.get(2),
        bound: portable(&row.get::<_, Option<String>>(3).unwrap_or_default()),
        key: row.get::<_, Option<String>>(4).map(|key| portable(&key)),
    };
    let tables: Vec<Copied> = rows.iter().map(copied).collect();
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
    tables: &[Copied],
    parent: &Copied,
    schema: &str,
    name: &str,
    names: &mut TakenNames,
) -> Vec<Branch> {
    let children =
        tables.iter().filter(|table| table.parent == Some(parent.oid) && table.oid != parent.oid);
    let branch = |(number, child): (usize, &Copied)| {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn partitions_are_named_after_their_bounds() {
        let named = |bounds: &[&str], is_time| {
            let range =
                |pair: &[&str]| (pair[0].to_owned(), pair.get(1).map(|&end| end.to_owned()));
            suffixes(&bounds.windows(2).map(range).collect::<Vec<_>>(), is_time).join(" ")
        };
        assert_eq!(named(&["2026-01-01", "2026-02-01"], true), "_2026_01");
        assert_eq!(named(&["2025-01-01 00:00:00", "2026-01-01 00:00:00"], true), "_2025");
        assert_eq!(
            named(&["2026-01-05", "2026-01-12", "2026-01-19"], true),
            "_2026_01_05 _2026_01_12"
        );
        assert_eq!(named(&["2026-03-01 00:00:00+01", "2026-04-01 00:00:00+02"], true), "_2026_03");
        assert_eq!(
            named(&["2026-01-01 00:00:00", "2026-01-01 12:00:00", "2026-01-02 00:00:00"], true),
            "_2026_01_01 _2026_01_01_12_00_00"
        );
        assert_eq!(named(&["0", "1000", "2000"], false), "_0 _1000");
    }
}
