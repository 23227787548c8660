//! Indexes and foreign keys, created after the rows are copied: first on the leaves, over several connections at once,
//! then on the partitioned table, which adopts them.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use pgsluice_core::catalog::Relation;
use tokio_postgres::Client;

use super::branches::Branches;
use super::hold::Hold;
use super::patience::{LONGEST, patiently};
use super::sql::ddl;
use super::sql::definitions::INDEXES_IN;
use super::sql::locks::lock_parents;
use super::survey::{NewIndex, Survey};
use super::table::ForeignKey;
use crate::control::{Control, WaitReason};
use crate::error::Result;
use crate::pg::connect::Link;
use crate::pg::conninfo::Target;
use crate::pg::statements::{self, Statement};

/// The first version whose ANALYZE can leave out the leaves of a partitioned table.
const ANALYZE_ONLY: u32 = 18;

/// Completes the tree, over up to `jobs` connections. Leaves out existing indexes. Foreign keys wait while
/// the table has other rows than the tree: they would prevent other sessions from deleting rows that only the
/// tree refers to. `client` is a session without a transaction, so that it holds no locks.
pub(super) async fn build(
    hold: &Hold,
    client: &Client,
    jobs: usize,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let Hold { survey, branches, .. } = hold;
    let Survey { root, table, drain, .. } = survey;
    let leaves = branches.leaves();
    let has_keys = survey.log.is_none();
    let built = client.query(INDEXES_IN, &[&table.relation.schema]).await?;
    let built: HashSet<String> = built.iter().map(|row| row.get(0)).collect();
    let mut of_leaves: Vec<Vec<Statement>> = match drain {
        Some(drain) => {
            let bounds = drain.bounds(root, client).await?;
            bounds.into_iter().map(|sql| vec![bound(sql)]).collect()
        }
        None => Vec::new(),
    };
    // The root of a drained partition needs no statistics. Before 18, ANALYZE of any other root includes its
    // leaves.
    let is_apart = drain.is_some() || hold.link.version() >= ANALYZE_ONLY;
    for (leaf, names) in leaves.iter().zip(&survey.leaf_indexes) {
        let mut task = indexes(survey, leaf, names, &built);
        if has_keys {
            task.extend(foreign_keys(survey, leaf).into_iter().flatten());
        }
        task.extend(is_apart.then(|| statistics(leaf, ddl::analyze(leaf))));
        of_leaves.push(task);
    }
    of_leaves.retain(|task| !task.is_empty());
    control.progress.indexes_total.store((survey.indexes.len() * leaves.len()) as u64, Relaxed);
    statements::run(&of_leaves, jobs, target, control).await?;
    let mut task = Vec::new();
    // The leaves of a drained partition are detached from the tree later.
    if drain.is_none() {
        task.extend(indexes_of_root(survey, &built));
        task.extend(has_keys.then(|| foreign_keys_of_root(survey, root)).into_iter().flatten());
    }
    // As a separate statement it locks one leaf at a time. Otherwise it and autovacuum would wait for each
    // other.
    if !is_apart {
        task.push(statistics(root, ddl::analyze(root)));
    } else if drain.is_none() {
        task.push(statistics(root, ddl::analyze_only(root)));
    }
    complete(survey, task, target, control).await
}

/// Returns the statements that make each leaf refuse new rows that violate a foreign key.
pub(super) fn add_foreign_keys(survey: &Survey, branches: &Branches) -> Vec<String> {
    let leaves = branches.leaves().into_iter();
    leaves.flat_map(|leaf| foreign_keys(survey, leaf)).map(|[add, _]| add.sql).collect()
}

/// Completes the foreign keys that [`add_foreign_keys`] has added, after the swap.
pub(super) async fn complete_foreign_keys(
    survey: &Survey,
    branches: &Branches,
    (jobs, max_lock): (usize, Duration),
    (link, target): (&Link, &Target),
    control: &Control,
) -> Result<()> {
    if survey.foreign_keys.is_empty() {
        return Ok(());
    }
    let leaves = branches.leaves();
    let validate =
        |leaf: &&Relation| foreign_keys(survey, leaf).into_iter().map(|[_, check]| check).collect();
    let of_leaves: Vec<Vec<Statement>> = leaves.iter().map(validate).collect();
    statements::run(&of_leaves, jobs, target, control).await?;
    let (root, wait) = (&survey.table.relation, max_lock.min(LONGEST));
    for statement in foreign_keys_of_root(survey, root) {
        let statements =
            [&lock_parents(survey.parents())[..], &[statement.sql]].concat().join("; ");
        patiently(&statements, &[root.to_string()], link, wait, control).await?;
    }
    Ok(())
}

fn statistics(table: &Relation, sql: String) -> Statement {
    Statement { sql, what: format!("statistics of {}", table.label()), is_index: false }
}

fn bound(sql: String) -> Statement {
    Statement { sql, what: "the bounds of the new partitions".to_owned(), is_index: false }
}

async fn complete(
    survey: &Survey,
    task: Vec<Statement>,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let label = survey.table.relation.label();
    control.wait_for(WaitReason::Work, &format!("completing the new table of {label}"));
    let completed = statements::run(&[task], 1, target, control).await;
    control.resume(WaitReason::Work);
    completed
}

fn indexes(
    survey: &Survey,
    leaf: &Relation,
    names: &[String],
    built: &HashSet<String>,
) -> Vec<Statement> {
    let label = leaf.label();
    let statement = |(new, name): (&NewIndex, &String)| Statement {
        sql: new.index.create(leaf, name),
        what: format!("index {} on {label}", new.index.name),
        is_index: true,
    };
    let missing = survey.indexes.iter().zip(names).filter(|(_, name)| !built.contains(*name));
    missing.map(statement).collect()
}

fn indexes_of_root(survey: &Survey, built: &HashSet<String>) -> Vec<Statement> {
    let statement = |new: &NewIndex| Statement {
        sql: new.index.create(&survey.root, &new.new),
        what: format!("index {} on {}", new.index.name, survey.root.label()),
        is_index: false,
    };
    survey.indexes.iter().filter(|new| !built.contains(&new.new)).map(statement).collect()
}

/// Returns two statements for each foreign key of a leaf: one adds it, and the other checks the rows.
fn foreign_keys(survey: &Survey, leaf: &Relation) -> Vec<[Statement; 2]> {
    let label = leaf.label();
    let statements = |ForeignKey { name, definition, .. }: &ForeignKey| {
        ddl::add_foreign_key(leaf, name, definition).map(|sql| Statement {
            sql,
            what: format!("foreign key {name} of {label}"),
            is_index: false,
        })
    };
    survey.foreign_keys.iter().map(statements).collect()
}

/// Returns the statements that add the foreign keys to the partitioned table. The foreign keys of the leaves
/// become part of them.
fn foreign_keys_of_root(survey: &Survey, root: &Relation) -> Vec<Statement> {
    let statements = |ForeignKey { name, definition, comment, .. }: &ForeignKey| {
        let add = ddl::add_constraint(root, name, definition);
        let comment = comment.iter().map(|comment| ddl::comment_on_constraint(root, name, comment));
        let what = format!("foreign key {name} on {}", root.label());
        let statement = |sql| Statement { sql, what: what.clone(), is_index: false };
        std::iter::once(add).chain(comment).map(statement).collect::<Vec<_>>()
    };
    survey.foreign_keys.iter().flat_map(statements).collect()
}
