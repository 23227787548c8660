//! Indexes and foreign keys, created after the rows are copied: first on the leaves, over several connections at once,
//! then on the partitioned table, which adopts them.

use std::sync::atomic::Ordering::Relaxed;

use pgsluice_core::catalog::Relation;

use super::branches::Branches;
use super::sql::ddl;
use super::survey::Survey;
use crate::control::Control;
use crate::error::Result;
use crate::pg::conninfo::Target;
use crate::pg::statements::{self, Statement};

/// Makes the tree complete, over up to `jobs` connections.
pub(super) async fn build(
    survey: &Survey,
    branches: &Branches,
    jobs: usize,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let leaves = branches.leaves();
    let of_leaves: Vec<Vec<Statement>> = leaves
        .iter()
        .zip(&survey.leaf_indexes)
        .map(|(leaf, names)| of_leaf(survey, leaf, names))
        .filter(|task| !task.is_empty())
        .collect();
    control.progress.indexes_total.store((survey.indexes.len() * leaves.len()) as u64, Relaxed);
    statements::run(&of_leaves, jobs, target, control).await?;
    let label = survey.table.relation.label();
    control.progress.wait_for(Some(format!("completing the new table of {label}")));
    let completed = statements::run(&[of_root(survey)], 1, target, control).await;
    control.progress.wait_for(None);
    completed
}

fn of_leaf(survey: &Survey, leaf: &Relation, names: &[String]) -> Vec<Statement> {
    let label = leaf.label();
    let indexes = survey.indexes.iter().zip(names).map(|(new, name)| Statement {
        sql: new.index.create(leaf, name),
        what: format!("index {} on {label}", new.index.name),
        is_index: true,
    });
    let foreign_keys = survey.foreign_keys.iter().flat_map(|(name, definition)| {
        ddl::add_foreign_key(leaf, name, definition).map(|sql| Statement {
            sql,
            what: format!("foreign key {name} of {label}"),
            is_index: false,
        })
    });
    indexes.chain(foreign_keys).collect()
}

fn of_root(survey: &Survey) -> Vec<Statement> {
    let root = &survey.root;
    let label = root.label();
    let indexes = survey.indexes.iter().map(|new| Statement {
        sql: new.index.create(root, &new.new),
        what: format!("index {} on {label}", new.index.name),
        is_index: false,
    });
    let foreign_keys = survey.foreign_keys.iter().map(|(name, definition)| Statement {
        sql: ddl::add_constraint(root, name, definition),
        what: format!("foreign key {name} on {label}"),
        is_index: false,
    });
    // By itself, it takes the locks of one leaf at a time. Otherwise autovacuum and it would wait for each other.
    let analyze = Statement {
        sql: ddl::analyze(root),
        what: format!("statistics of {label}"),
        is_index: false,
    };
    indexes.chain(foreign_keys).chain([analyze]).collect()
}
