//! The survey of a table: its indexes and constraints, and the obstacles to a move.

use pgsluice_core::catalog::Relation;
use serde::{Deserialize, Serialize};
use tokio_postgres::Client;

use super::branches::{Branches, key_columns};
use super::drain::Drain;
use super::referring::{self, Referring};
use super::spec::Shape;
use super::sql::ddl;
use super::sql::definitions::{GRANTEES, OF_COLUMNS};
use super::sql::log::Log;
use super::sql::preflight::{OBSTACLES, UNPUBLISHED, stale};
use super::state::RelationName;
use super::table::{Constraint, ForeignKey, IdentityColumn, Table, TableIndex, find};
use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::partitions::names::ExistingNames;
use crate::partitions::sql::steps;
use crate::pg::sql::{DEPARSE_SETTINGS, RESET_SETTINGS};

/// The survey of a table.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Survey {
    pub(super) table: Table,
    /// The parent, if the table is a DEFAULT partition that is drained.
    pub(super) drain: Option<Drain>,
    pub(super) indexes: Vec<NewIndex>,
    pub(super) foreign_keys: Vec<ForeignKey>,
    /// The foreign keys of other tables, which the swap makes refer to the new table.
    #[serde(skip)]
    referring: Vec<Referring>,
    pub(super) identities: Vec<(IdentityColumn, String)>,
    /// The partitioned table before it gets the name of the table.
    #[serde(with = "RelationName")]
    pub(super) root: Relation,
    /// The name of the original table after the swap.
    #[serde(with = "RelationName")]
    pub(super) old: Relation,
    #[serde(skip)]
    pub(super) obstacles: Vec<Obstacle>,
    /// Descriptions of differences between the table and the partitioned one.
    pub(super) changes: Vec<String>,
    /// The log of changes; `None` if the table is locked while rows are copied.
    pub(super) log: Option<Log>,
    /// The names of the indexes of each leaf.
    pub(super) leaf_indexes: Vec<Vec<String>>,
    #[serde(skip)]
    names: ExistingNames,
}

/// An index, and the temporary names of the index and its successor.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct NewIndex {
    pub(super) index: TableIndex,
    /// The columns that were added to its key.
    pub(super) widened: Option<String>,
    /// The name of the new index before the swap.
    pub(super) new: String,
    /// The name of the original index after the swap.
    pub(super) old: String,
}

/// A reason why a table cannot be moved, and the next step.
#[derive(Clone, Debug)]
pub(super) struct Obstacle {
    pub(super) why: String,
    pub(super) next: Words,
}

impl Survey {
    /// Examines table `name`, but not its rows. From then on the session resolves names only in `pg_catalog`.
    pub(super) async fn make(
        client: &Client,
        name: &str,
        shape: &Shape,
        widens: bool,
        is_offline: bool,
    ) -> Result<Self> {
        let (oid, relation) = find(client, name).await?;
        let drain = Drain::find(client, shape, (oid, &relation)).await?;
        let key = match &drain {
            Some(drain) => Some(vec![drain.column.clone()]),
            None => key_columns(shape, client).await?,
        };
        client.batch_execute(DEPARSE_SETTINGS).await?;
        let table = Table::read(client, oid, relation).await?;
        let mut obstacles = obstacles_of(&table, drain.is_some(), client).await?;

        let schema = table.relation.schema.clone();
        let mut names = ExistingNames::new(steps::existing_names(client, &[&schema]).await?);
        let free = |names: &mut ExistingNames, name: &str, suffix| {
            names.free(&schema, &format!("{name}{suffix}"))
        };
        let root = free(&mut names, &table.relation.name, "_new");
        let old = free(&mut names, &table.relation.name, "_old");
        let mut changes = Vec::new();
        let mut indexes = Vec::new();
        for mut index in table.indexes(client, key.as_deref().unwrap_or_default()).await? {
            let was = index.definition.clone();
            let obstacle = match &drain {
                Some(_) => drained_key(&index),
                None => key_obstacle(&table, &index, key.is_some(), widens),
            };
            let widened = if obstacle.is_some() { None } else { index.widen() };
            obstacles.extend(obstacle);
            if widened.is_some() {
                let TableIndex { name, definition, .. } = &index;
                changes.push(format!(
                    "{name}: {was} becomes {definition}; ON CONFLICT must name all of its columns"
                ));
            }
            let new = free(&mut names, &index.name, "_new").name;
            let old = free(&mut names, &index.name, "_old").name;
            indexes.push(NewIndex { index, widened, new, old });
        }
        obstacles.extend(find_unpublished(&table, &indexes, key.as_deref(), client).await?);
        let identities = table.identities(client).await?;
        let renamed = |identity: IdentityColumn| {
            let old = free(&mut names, &identity.name, "_old").name;
            (identity, old)
        };
        let identities = identities.into_iter().map(renamed).collect();
        let mut log = None;
        if !is_offline {
            let key = key.unwrap_or_default();
            log = Log::describe(client, oid, &table.relation, &key, &mut names).await?;
            obstacles.extend(log.is_none().then(no_key));
        }
        let foreign_keys = table.foreign_keys(client).await?;
        if drain.is_some() && !is_offline {
            obstacles.extend(foreign_keys.iter().map(late_check));
        }
        changes.extend(foreign_keys.iter().map(|ForeignKey { name, .. }| {
            let old = &old.name;
            format!("{old} keeps foreign key {name}: rows that it refers to can be deleted after {old} is dropped")
        }));
        let mut survey = Self {
            table,
            drain,
            indexes,
            foreign_keys,
            referring: Vec::new(),
            identities,
            root,
            old,
            obstacles,
            changes,
            log,
            leaf_indexes: Vec::new(),
            names,
        };
        survey.referring = referring::read(client, &survey).await?;
        let obstacles = survey.referring.iter().filter_map(|key| key.obstacle.clone());
        survey.obstacles.extend(obstacles);
        Ok(survey)
    }

    /// Returns the partitions that the rows of the table need.
    pub(super) async fn branches(&mut self, shape: &Shape, client: &Client) -> Result<Branches> {
        // Bounds are computed in the session's own time zone. Everything else is deparsed in UTC.
        client.batch_execute(&[RESET_SETTINGS, steps::SESSION].join(";")).await?;
        let of = (&self.table, self.drain.as_ref());
        let branches = Branches::find(shape, of, client, &mut self.names).await?;
        client.batch_execute(DEPARSE_SETTINGS).await?;
        // If the server chose names for several connections at once, they could collide.
        let schema = &self.table.relation.schema;
        for leaf in branches.leaves() {
            let name = |new: &NewIndex| {
                let own = new.index.name.strip_prefix(&self.table.relation.name);
                let own = own.and_then(|rest| rest.strip_prefix('_')).unwrap_or(&new.index.name);
                format!("{}_{own}", leaf.name)
            };
            let names = self.indexes.iter().map(name);
            self.leaf_indexes.push(names.map(|name| self.names.free(schema, &name).name).collect());
        }
        let more = self.count(&branches);
        self.changes.extend(self.referring.iter().map(|key| key.change(more)));
        Ok(branches)
    }

    /// Returns the number of leaves. The last leaf of a drained partition is the new DEFAULT partition, and
    /// does not count.
    pub(super) fn count(&self, branches: &Branches) -> usize {
        branches.leaves().len() - usize::from(self.drain.is_some())
    }

    /// Returns the tables that foreign keys refer to, qualified and quoted.
    pub(super) fn parents(&self) -> impl Iterator<Item = &str> {
        self.foreign_keys.iter().map(|key| key.parent.as_str())
    }

    /// Fails if there is an obstacle.
    pub(super) fn check(&self) -> Result<()> {
        if self.obstacles.is_empty() { Ok(()) } else { Err(refused(&self.table, &self.obstacles)) }
    }

    /// Returns the table that others refer to: the one whose DEFAULT partition is drained, or the one that is
    /// moved.
    pub(super) fn whole(&self) -> &Relation {
        self.drain.as_ref().map_or(&self.table.relation, |drain| &drain.parent)
    }

    /// Fails if an obstacle has appeared since the survey. Returns the foreign keys of other tables.
    pub(super) async fn check_again(&self, client: &Client) -> Result<Vec<Referring>> {
        let mut obstacles = obstacles_of(&self.table, self.drain.is_some(), client).await?;
        let referring = referring::read(client, self).await?;
        obstacles.extend(referring.iter().filter_map(|key| key.obstacle.clone()));
        if obstacles.is_empty() { Ok(referring) } else { Err(refused(&self.table, &obstacles)) }
    }

    /// Fails if generated columns of rows would change, because the new leaves recompute them.
    pub(super) async fn check_generated(&self, client: &Client) -> Result<()> {
        let columns = self.table.generated_columns(client).await?;
        if columns.is_empty() {
            return Ok(());
        }
        let sql = stale(&self.table.relation.to_string(), &columns) + " LIMIT 1";
        if client.query_opt(&sql, &[]).await?.is_none() {
            return Ok(());
        }
        let label = self.table.relation.label();
        let message = format!("generated columns of table {label} would get other values");
        Err(Error::new(Kind::Data, message)
            .with_sqlstate("55000")
            .with_detail(
                "The expression of a generated column yields another value now than the one that \
                 is stored.",
            )
            .with_hint(format!("Find the rows: {};", stale(&label, &columns))))
    }

    /// Returns the statements that create the partitioned table and its partitions, without indexes.
    pub(super) async fn ddl(&self, branches: &Branches, client: &Client) -> Result<Vec<String>> {
        let Self { table, root, .. } = self;
        let own = &table.relation;
        // Partitions have the identity columns of their parent, not their own.
        let without = if self.drain.is_some() { " EXCLUDING IDENTITY" } else { "" };
        let key = &branches.key;
        let mut ddl = Vec::from(ddl::create_root(root, (own, without), key, &table.tablespace));
        ddl.extend(branches.create(root, &table.options));
        let of_columns = client.query(OF_COLUMNS, &[&table.oid, &root.to_string()]).await?;
        ddl.extend(of_columns.iter().map(|row| row.get(0)));
        let grantees = client.query(GRANTEES, &[]).await?;
        let grantees: Vec<String> = grantees.iter().map(|row| row.get(0)).collect();
        for created in std::iter::once(root).chain(branches.tables()) {
            ddl.extend(grantees.iter().map(|role| ddl::revoke(created, role)));
            let replica = table.replica_identity.iter();
            ddl.extend(replica.map(|what| ddl::replica_identity(created, what)));
            let owner = table.owner.iter();
            ddl.extend(owner.map(|owner| ddl::give(created, owner)));
        }
        let log = self.log.iter();
        ddl.extend(log.flat_map(|log| log.create(table.owner.as_deref(), &grantees)));
        Ok(ddl)
    }
}

async fn obstacles_of(table: &Table, is_drained: bool, client: &Client) -> Result<Vec<Obstacle>> {
    let rows = client.query(OBSTACLES, &[&table.oid, &is_drained]).await?;
    Ok(rows.iter().map(obstacle).collect())
}

/// Returns the publications that lack columns to be added to the primary key, as obstacles.
async fn find_unpublished(
    table: &Table,
    indexes: &[NewIndex],
    key: Option<&[String]>,
    client: &Client,
) -> Result<Vec<Obstacle>> {
    let is_primary = |it: &&NewIndex| it.index.constraint == Some(Constraint::Primary);
    if indexes.iter().find(is_primary).is_none_or(|it| it.widened.is_none()) {
        return Ok(Vec::new());
    }
    let rows = client.query(UNPUBLISHED, &[&table.oid, &key]).await?;
    Ok(rows.iter().map(obstacle).collect())
}

fn obstacle(row: &tokio_postgres::Row) -> Obstacle {
    Obstacle { why: row.get(0), next: row.get::<_, String>(1).into() }
}

/// Returns the error about obstacles.
fn refused(table: &Table, obstacles: &[Obstacle]) -> Error {
    let message = format!("cannot partition table {}", table.relation.label());
    let error = Error::new(Kind::Usage, message).with_sqlstate("0A000");
    let why = obstacles.iter().map(|it| format!("{}.", sentence(&it.why)));
    let error = why.fold(error, Error::with_detail);
    let next = obstacles.iter().map(|it| it.next.clone());
    next.fold(error, Error::with_hint)
}

/// Returns the obstacle of a unique index that the partitioned table cannot have.
fn key_obstacle(
    table: &Table,
    index: &TableIndex,
    has_columns: bool,
    widens: bool,
) -> Option<Obstacle> {
    let name = &index.name;
    if index.is_unique && !has_columns {
        let why = format!("unique key {name} cannot contain the expression of the partition key");
        let next = format!("Drop {name}, or partition by columns.").into();
        return Some(Obstacle { why, next });
    }
    if index.lacks.is_empty() {
        return None;
    }
    let columns = index.lacks.join(", ");
    if !widens {
        let why = format!(
            "unique key {name} does not contain {columns}, as a unique key of a partitioned table must"
        );
        let next =
            Words::from(format!("To add {columns} to {name}, use ")) + option("widen-keys") + ".";
        return Some(Obstacle { why, next });
    }
    let column =
        index.nullable.first().filter(|_| index.constraint == Some(Constraint::Primary))?;
    let why = format!("column {column} accepts NULL, which a primary key does not");
    let next = ddl::refuse_null(&table.relation.label(), column) + ";";
    Some(Obstacle { why, next: next.into() })
}

/// Returns the obstacle of a unique index of a drained partition that the new partitions cannot have.
fn drained_key(index: &TableIndex) -> Option<Obstacle> {
    let name = &index.name;
    let why = format!("unique key {name} does not contain the partition key");
    let next = format!("Drop {name}: the partitioned table does not have it.").into();
    (!index.lacks.is_empty()).then_some(Obstacle { why, next })
}

/// Returns the obstacle of a foreign key whose rows the server would check under the lock of the swap.
fn late_check(key: &ForeignKey) -> Obstacle {
    let name = &key.name;
    let why =
        format!("foreign key {name} would be checked for all rows under the lock of the swap");
    let next =
        Words::from("To have it checked before, block writes with ") + option("offline") + ".";
    Obstacle { why, next }
}

/// Returns the obstacle of a table without a key, during whose move others write.
fn no_key() -> Obstacle {
    let why = "no primary key identifies its rows, and no other unique key without NULL".to_owned();
    let next = Words::from("Add a primary key, or block writes with ") + option("offline") + ".";
    Obstacle { why, next }
}

/// Capitalizes the first letter of a text.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}
