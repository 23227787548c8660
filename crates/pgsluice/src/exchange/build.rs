//! The parts that the shadows lack after their rows are loaded: indexes, over several connections at once,
//! then keys, foreign keys and privileges, leaf by leaf.

use std::sync::atomic::Ordering::Relaxed;

use pgsluice_core::catalog::NodeId;

use super::shadow::Shadow;
use crate::control::Control;
use crate::error::Result;
use crate::exchange::sql::{BuildPhase, Definition};
use crate::pg::conninfo::Target;
use crate::pg::statements::{self, Statement};
use crate::plan::Plan;

/// Completes the shadows of `leaves`, over up to `jobs` connections.
pub(super) async fn build(
    plan: &Plan,
    leaves: &[(NodeId, Shadow)],
    jobs: usize,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let statement = |node: NodeId, step: &Definition| {
        let leaf = plan.tree.nodes[node].relation.label();
        let what = format!("{} {} of {leaf}", step.kind, step.name);
        Statement { sql: step.sql.clone(), what, is_index: step.phase == BuildPhase::Index }
    };
    // Several indexes of one table can be built at once. The later steps lock the table.
    let indexes: Vec<Vec<Statement>> = leaves
        .iter()
        .flat_map(|(node, shadow)| {
            shadow.steps(BuildPhase::Index).map(|index| vec![statement(*node, index)])
        })
        .collect();
    let rest = leaves.iter().map(|(node, shadow)| {
        shadow.steps(BuildPhase::Finish).map(|step| statement(*node, step)).collect()
    });
    let rest: Vec<Vec<Statement>> = rest.filter(|task: &Vec<_>| !task.is_empty()).collect();
    control.progress.indexes_total.store(indexes.len() as u64, Relaxed);
    for tasks in [indexes, rest] {
        statements::run(&tasks, jobs, target, control).await?;
    }
    Ok(())
}
