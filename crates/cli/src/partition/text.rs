//! Moves as text.

use pgsluice::error::on_one_line;
use pgsluice::moving::{MoveEntry, MovePlan, Moved};

use crate::output::{bytes, count, group_digits};
use crate::progress::duration;
use crate::summary::fallbacks;

/// Describes the outcome of a move.
pub(super) fn summary(moved: &Moved) -> String {
    let Moved { table, rows, leaves, old_table, seconds, locked_seconds, changes, .. } = moved;
    let size =
        format!("{} in {}", count(*rows, "row", "rows"), count(*leaves as u64, "leaf", "leaves"));
    let what = match &moved.of {
        Some(parent) => format!("partition {table} of {parent} is drained"),
        None => format!("table {table} is partitioned"),
    };
    let mut text = match moved.swapped {
        true => format!(
            "{what}: {size} in {seconds:.2} s, others waited at most {:.0} ms",
            1000.0 * locked_seconds
        ),
        false => {
            format!("table {table} is copied: {size} in {seconds:.2} s; its changes are logged")
        }
    };
    if moved.rows_followed > 0 {
        let followed = count(moved.rows_followed, "changed row was", "changed rows were");
        text.push_str(&format!("\n  {followed} followed"));
    }
    text.push_str(&match moved.swapped {
        true => {
            let kind = if moved.of.is_some() { "partition" } else { "table" };
            format!("\n  the old {kind} is {old_table}; drop it when it is no longer needed")
        }
        false => format!("\n  to go on: pgsluice partition swap {table}"),
    });
    changes.iter().for_each(|change| text.push_str(&format!("\n  {change}")));
    moved.notes.iter().for_each(|note| text.push_str(&format!("\n  {}", on_one_line(note))));
    text + &fallbacks(&moved.fallbacks)
}

const OFFLINE_LOCKS: &str =
    "SHARE while rows are copied: others read, nobody writes; ACCESS EXCLUSIVE for the swap";
const ONLINE_LOCKS: &str = "SHARE ROW EXCLUSIVE to create two triggers, ACCESS EXCLUSIVE for the swap, each for at most --max-lock";

/// Describes the plan of a move.
pub(super) fn describe_plan(plan: &MovePlan, is_offline: bool) -> String {
    let MovePlan { table, rows_estimated, bytes: size, index_bytes, leaves, .. } = plan;
    let rows = match rows_estimated {
        Some(rows) => format!("about {} rows", group_digits(*rows)),
        None => "never analyzed".to_owned(),
    };
    let mut lines = vec![
        format!(
            "table    {table}, {rows}, {} and {} of indexes",
            bytes(*size),
            bytes(*index_bytes)
        ),
        format!(
            "disk     needs about {} more until {} is dropped{}",
            bytes(size + index_bytes),
            plan.old_table,
            free(plan)
        ),
        format!(
            "time     about {} on 2 cores, without writers",
            duration(plan.seconds_estimated as u64)
        ),
        format!("locks    {}", if is_offline { OFFLINE_LOCKS } else { ONLINE_LOCKS }),
    ];
    lines.extend(plan.changes.iter().map(|change| format!("changes  {change}")));
    for [why, next] in &plan.obstacles {
        lines.push(format!("refused  {why}"));
        lines.push(format!("         {next}"));
    }
    if *leaves > 0 {
        lines.insert(1, format!("becomes  {}", count(*leaves as u64, "leaf", "leaves")));
        lines.push(String::new());
    }
    lines.extend(plan.ddl.iter().map(|statement| format!("{statement};")));
    lines.join("\n")
}

/// Compares the disk space that is needed with the free space, if that is known.
fn free(plan: &MovePlan) -> String {
    match plan.free_bytes {
        None => String::new(),
        Some(free) if free < plan.bytes + plan.index_bytes => {
            format!(", but only {} are free", bytes(free))
        }
        Some(free) => format!(", {} are free", bytes(free)),
    }
}

/// Returns a line for each move.
pub(super) fn table(moves: &[MoveEntry]) -> String {
    if moves.is_empty() {
        return "no table is being partitioned".to_owned();
    }
    let line = |it: &MoveEntry| {
        let MoveEntry { table, tree, phase, begun, run, is_running, .. } = it;
        if it.is_lost() {
            return format!(
                "{table}  has triggers of a move that the ledger does not have; to drop them: pgsluice partition abort {table}"
            );
        }
        let tree = tree.as_deref().unwrap_or("no tree");
        let begun = begun.split('.').next().unwrap_or_default();
        let state = match is_running {
            true => format!("process {} on {}", run.pid, run.host),
            false if it.can_go_on() => {
                format!("not running; to go on: pgsluice partition swap {table}")
            }
            false => format!("not running; to drop it: pgsluice partition abort {table}"),
        };
        format!("{table}  {phase}  since {begun}  into {tree}  {state}")
    };
    moves.iter().map(line).collect::<Vec<_>>().join("\n")
}
