//! What the tables lack when their rows are in: indexes, over several connections at once, then keys,
//! foreign keys and privileges, leaf by leaf.

use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use futures_util::future::join_all;
use pgsluice_core::catalog::NodeId;

use super::shadow::Shadow;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::sqlstate;
use crate::error::{Error, Result};
use crate::exchange::sql::{BuildStage, Definition};
use crate::pg::connect;
use crate::pg::conninfo::Target;
use crate::pg::qualified::qualified;
use crate::pg::sql;
use crate::plan::Plan;

/// Some statements, one after the other, for one leaf.
struct Task<'a> {
    node: NodeId,
    steps: Vec<&'a Definition>,
}

/// Makes `leaves` complete, over up to `jobs` connections.
pub(super) async fn build(
    plan: &Plan,
    leaves: &[(NodeId, Shadow)],
    jobs: usize,
    target: &Target,
    control: &Control,
) -> Result<()> {
    // Indexes of one table can be built at once; what comes after them locks it.
    let indexes: Vec<Task> = leaves
        .iter()
        .flat_map(|(node, shadow)| {
            let indexes = shadow.steps(BuildStage::Index);
            indexes.map(|index| Task { node: *node, steps: vec![index] })
        })
        .collect();
    let rest: Vec<Task> = leaves
        .iter()
        .map(|(node, shadow)| Task {
            node: *node,
            steps: shadow.steps(BuildStage::Finish).collect(),
        })
        .filter(|task| !task.steps.is_empty())
        .collect();
    control.progress.indexes_total.store(indexes.len() as u64, Relaxed);
    for tasks in [indexes, rest] {
        let next = AtomicUsize::new(0);
        let workers =
            (0..jobs.min(tasks.len())).map(|_| work(plan, &tasks, &next, target, control));
        // All of them, since those that are stopped cancel what they are at.
        join_all(workers).await.into_iter().collect::<Result<()>>()?;
    }
    Ok(())
}

/// One connection, which takes tasks until there are no more.
async fn work(
    plan: &Plan,
    tasks: &[Task<'_>],
    next: &AtomicUsize,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let link = control.stop.unless_stopped(connect::open(target)).await?;
    let doing = async {
        let session =
            [sql::NO_LOCK_TIMEOUT, sql::DEPARSE_SETTINGS, sql::RESET_SEARCH_PATH].join(";");
        link.client.batch_execute(&session).await?;
        while let Some(task) = tasks.get(next.fetch_add(1, Relaxed)) {
            for step in &task.steps {
                let made = link.client.batch_execute(&safe(step)).await;
                made.map_err(|error| refused(plan, task.node, step, error))?;
                control
                    .progress
                    .indexes_built
                    .fetch_add(u64::from(step.stage == BuildStage::Index), Relaxed);
            }
        }
        Ok(())
    };
    let done = link.canceller.unless_stopped(control, doing).await;
    done.inspect_err(|error| control.stop.fail(error.clone()))
}

/// The statement of `step`, with its names qualified: they were deparsed under another search_path. Where
/// one cannot be, the statement has that path, and functions of an index do without the user's.
fn safe(step: &Definition) -> String {
    match qualified(&step.sql) {
        Some(qualified) => qualified,
        None => [sql::PG_CATALOG_ONLY, &step.sql, sql::RESET_SEARCH_PATH].join("; "),
    }
}

fn refused(plan: &Plan, node: NodeId, step: &Definition, error: tokio_postgres::Error) -> Error {
    let leaf = plan.tree.nodes[node].relation.label();
    let blames_row = error.code().is_some_and(|code| sqlstate::blames_row(code.code()));
    let error = Error::from(error)
        .with_detail(format!("pgsluice was reproducing {} {} of {leaf}.", step.kind, step.name));
    if blames_row { error.of_kind(Kind::Data) } else { error }
}
