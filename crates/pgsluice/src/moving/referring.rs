//! Foreign keys of other tables that refer to the table. The swap makes them refer to the new one.
//!
//! It drops each and adds it again as NOT VALID, so that no rows are read under its lock. The rows are
//! checked after the swap. For a foreign key the server creates triggers on each leaf, which takes seconds if
//! there are many leaves. With more than [`MAX_LEAVES`], the key is added after the swap.

use std::time::Duration;

use pgsluice_core::catalog::Relation;
use tokio_postgres::Client;
use tokio_postgres::types::Oid;

use super::patience::{LONGEST, patiently};
use super::sql::ddl;
use super::sql::referring::REFERRING;
use super::survey::{NewIndex, Obstacle, Survey};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::pg::connect::Link;
use crate::pg::conninfo::Target;
use crate::pg::statements::{self, Statement};

/// Maximum number of leaves for which the swap adds foreign keys under its lock; a leaf counts once for each
/// of its foreign keys. 12, 100, 400 and 800 leaves took 4, 40, 391 and 3,417 ms on PostgreSQL 18.
const MAX_LEAVES: usize = 200;

/// A foreign key of another table.
#[derive(Clone, Debug)]
pub(super) struct Referring {
    pub(super) oid: Oid,
    /// The other table.
    pub(super) table: Relation,
    name: String,
    /// The definition, without NOT VALID.
    definition: String,
    is_valid: bool,
    comment: Option<String>,
    /// The table that it refers to.
    pub(super) target: Relation,
    /// The number of leaves that it refers to now.
    leaves: usize,
    /// The number of foreign keys that the server creates for each referenced leaf, for all keys together.
    parts: usize,
    /// The reason why it cannot refer to the new table.
    pub(super) obstacle: Option<Obstacle>,
}

/// Reads the foreign keys that refer to the table of a survey, or to a table that it is a partition of.
pub(super) async fn read(client: &Client, survey: &Survey) -> Result<Vec<Referring>> {
    // A key that lacks columns is an obstacle by itself. If it is widened, foreign keys to it are obstacles
    // next.
    let is_widened = |it: &&NewIndex| it.widened.is_some() || !it.index.lacks.is_empty();
    let widened = survey.indexes.iter().filter(is_widened);
    let widened: Vec<&str> = widened.map(|it| it.index.name.as_str()).collect();
    let rows = client.query(REFERRING, &[&survey.table.oid, &widened]).await?;
    let key = |row: &tokio_postgres::Row| {
        let definition: String = row.get(4);
        let next = |why| Obstacle { why, next: row.get::<_, String>(9).into() };
        Referring {
            oid: row.get(0),
            table: Relation { schema: row.get(1), name: row.get(2) },
            name: row.get(3),
            definition: definition.trim_end_matches(NOT_VALID).to_owned(),
            is_valid: row.get(5),
            comment: row.get(6),
            target: Relation { schema: row.get(11), name: row.get(12) },
            leaves: number(row, 7),
            parts: rows.iter().map(|row| number(row, 10)).sum(),
            obstacle: row.get::<_, Option<String>>(8).map(next),
        }
    };
    Ok(rows.iter().map(key).collect())
}

fn number(row: &tokio_postgres::Row, column: usize) -> usize {
    usize::try_from(row.get::<_, i64>(column)).unwrap_or(usize::MAX)
}

/// The end of the result of `pg_get_constraintdef` if the rows were never checked.
const NOT_VALID: &str = " NOT VALID";

impl Referring {
    /// Returns the statement that drops it.
    pub(super) fn drop(&self) -> String {
        ddl::drop_constraint(&self.table, &self.name)
    }

    /// Returns the statements that add it again. The rows are not checked.
    pub(super) fn add(&self) -> Vec<String> {
        let Self { table, name, definition, comment, .. } = self;
        let [add, _] = ddl::add_foreign_key(table, name, definition);
        let comment = comment.iter().map(|it| ddl::comment_on_constraint(table, name, it));
        std::iter::once(add).chain(comment).collect()
    }

    /// Returns the statement that checks its rows, if they were checked before.
    fn validate(&self) -> Option<Statement> {
        let Self { table, name, definition, .. } = self;
        let [_, sql] = ddl::add_foreign_key(table, name, definition);
        let what = format!("foreign key {name} of {}", table.label());
        self.is_valid.then_some(Statement { sql, what, is_index: false })
    }

    /// Whether it is added only after the swap, if the tree gets this many more leaves.
    pub(super) fn is_late(&self, more: usize) -> bool {
        self.leaves.saturating_add(more).saturating_mul(self.parts) > MAX_LEAVES
    }

    /// Describes the changes of it for the user, if the tree gets this many more leaves.
    pub(super) fn change(&self, more: usize) -> String {
        let Self { table, name, definition, .. } = self;
        let label = table.label();
        let what = format!("foreign key {name} of table {label} ({definition})");
        match self.is_late(more) {
            true => format!(
                "{what} is dropped in the swap and added after it: in between, rows of {label} are not checked"
            ),
            false => {
                format!("{what} is NOT VALID from the swap until the rows of {label} are checked")
            }
        }
    }
}

/// Adds the foreign keys that the swap has left out.
pub(super) async fn add_late(
    keys: &[Referring],
    (survey, more): (&Survey, usize),
    max_lock: Duration,
    link: &Link,
    control: &Control,
) -> Result<()> {
    for key in keys.iter().filter(|key| key.is_late(more)) {
        let tables = [key.table.to_string(), survey.whole().to_string()];
        let adding =
            patiently(&key.add().join("; "), &tables, link, max_lock.min(LONGEST), control).await;
        adding.map_err(|error| unfinished(error, keys, survey, more))?;
    }
    Ok(())
}

/// Checks the rows of the foreign keys that were valid.
pub(super) async fn validate(
    keys: &[Referring],
    (survey, more): (&Survey, usize),
    jobs: usize,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let tasks: Vec<Vec<Statement>> =
        keys.iter().filter_map(Referring::validate).map(|task| vec![task]).collect();
    let validated = statements::run(&tasks, jobs, target, control).await;
    validated.map_err(|error| unfinished(error, keys, survey, more))
}

/// Returns the error about incomplete foreign keys, with the remaining statements.
fn unfinished(error: Error, keys: &[Referring], survey: &Survey, more: usize) -> Error {
    let statements = |key: &Referring| {
        let add = if key.is_late(more) { key.add() } else { Vec::new() };
        add.into_iter().chain(key.validate().map(|task| task.sql)).collect::<Vec<_>>()
    };
    let statements: Vec<String> = keys.iter().flat_map(statements).collect();
    let label = survey.table.relation.label();
    error
        .with_detail(format!(
            "Table {label} is partitioned. Not all foreign keys of other tables that refer to it are complete."
        ))
        .only_hint(format!("Run those of these statements that are missing: {};", statements.join("; ")))
}
