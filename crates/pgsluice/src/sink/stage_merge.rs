//! The merge of the rows of the stage into their table: the statements, and the outcome by the server's
//! answers.

use pgsluice_core::catalog::{NodeId, ROOT};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Error, SimpleQueryMessage};

use crate::job::OnConflict;
use crate::pg::constraint::everywhere;
use crate::plan::Plan;
use crate::plan::changes::Changes;
use crate::row_counts::RowCounts;
use crate::sink::sql::changes::{Applied, Apply, ConflictAction};
use crate::sink::sql::misplaced;
use crate::sink::sql::stage::{make_stage, number_stage, stage};

/// The outcome of a merge of the rows of the stage.
#[derive(Default)]
pub(crate) struct MergeOutcome {
    /// The counts by leaf.
    pub(crate) applied: Vec<Applied>,
    /// The number of rows that do not belong to the leaf. If it is not 0, nothing may be committed.
    pub(crate) misplaced: u64,
}

/// Returns the statements that create the stage of a session, if rows may pass through one. Most loads whose
/// rows have no conflicts never need it.
pub(crate) fn create_stage(plan: &Plan) -> Option<String> {
    let (changes, catalogue) = (plan.changes.as_ref()?, &plan.catalogue);
    let root = &plan.tree.nodes[ROOT].relation;
    let create = make_stage(root, &catalogue.columns, catalogue.besides, changes.has_triggers);
    Some(match changes.in_order {
        Some(_) => [create, number_stage(&catalogue.columns)].join("; "),
        None => create,
    })
}

/// Merges the rows of the stage into `node`. If `updates_first`, existing rows are updated before others are
/// inserted, and a key that another session inserts is an error.
pub(crate) async fn merge_stage(
    client: &Client,
    plan: &Plan,
    changes: &Changes,
    updates_first: bool,
    node: NodeId,
) -> Result<MergeOutcome, Error> {
    let place = changes.places.get(&node).and_then(|place| everywhere(place));
    let statements = apply(plan, changes, updates_first, node).statements();
    let looking = place.iter().map(|place| misplaced(&stage(), place)).chain([statements]);
    let messages = client.simple_query(&looking.collect::<Vec<_>>().join("; ")).await?;
    let mut rows = messages.iter().filter_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let misplaced = place.and_then(|_| rows.next()?.get(0)?.parse().ok()).unwrap_or(0);
    Ok(MergeOutcome { applied: rows.map(Applied::from_answer).collect(), misplaced })
}

/// Returns how rows are merged into `node`.
pub(crate) fn apply<'p>(
    plan: &'p Plan,
    changes: &'p Changes,
    updates_first: bool,
    node: NodeId,
) -> Apply<'p> {
    let is_leaf = |node: NodeId| plan.tree.nodes[node].key.is_none();
    let how = match changes.on_conflict {
        OnConflict::Error | OnConflict::Skip => ConflictAction::Skip,
        OnConflict::Update => {
            ConflictAction::Update { set: &changes.set, inserts: changes.inserts }
        }
        OnConflict::Delete => ConflictAction::Delete,
    };
    Apply {
        into: &plan.tree.nodes[node].relation,
        has_leaves: !is_leaf(node),
        columns: &changes.columns,
        key: &changes.key.compared,
        any_constraint: changes.any_constraint,
        by_number: changes.in_order.as_ref().map(|_| &*plan.catalogue.columns),
        updates_first: updates_first && (is_leaf(node) || changes.through_root),
        joins_nulls: changes.key.joins_nulls,
        newer: changes.newer_column.as_deref(),
        delete_when: changes.delete_when.as_ref().map(|flag| (&*flag.column, flag.is_boolean)),
        exact: &changes.exact,
        sorts_keys: changes.sorts_keys,
        how,
    }
}

/// Whether INSERT may have refused rows that exist already. It also checks columns that an update would not
/// set, so an update may succeed.
pub(crate) fn may_exist(changes: &Changes, error: &Error) -> bool {
    let refused = error.as_db_error().is_some_and(|db| match *db.code() {
        SqlState::NOT_NULL_VIOLATION => true,
        // The bounds of a partition have no constraint name.
        SqlState::CHECK_VIOLATION => db.constraint().is_some(),
        _ => false,
    });
    refused && changes.may_update_first()
}

/// Returns the counts for `node`. If it is not a leaf, they include everything below it.
pub(crate) fn in_node(plan: &Plan, node: NodeId, applied: &[Applied]) -> Applied {
    let oid = plan.catalogue.facts[node].oid;
    let is_its =
        |it: &&Applied| it.leaf == oid || it.leaf == 0 || plan.tree.nodes[node].key.is_some();
    applied.iter().filter(is_its).fold(Applied::default(), Applied::with)
}

/// Returns the outcome of `rows` rows of one node.
pub(crate) fn counts(changes: &Changes, rows: u64, applied: Applied) -> RowCounts {
    let Applied { inserted, updated, matched, deleting, found, deleted, .. } = applied;
    let [inserted, updated, matched, deleting, found, deleted] =
        [inserted, updated, matched, deleting, found, deleted]
            .map(|rows| rows.max(0).cast_unsigned());
    let rows = rows.saturating_sub(deleting);
    let mut counts = RowCounts {
        inserted,
        updated,
        deleted,
        not_newer: found.saturating_sub(deleted),
        not_found: deleting.saturating_sub(found),
        ..RowCounts::default()
    };
    let same = match changes.on_conflict {
        OnConflict::Delete => 0,
        OnConflict::Error | OnConflict::Skip => {
            counts.skipped = rows.saturating_sub(inserted);
            0
        }
        OnConflict::Update if changes.inserts => rows.saturating_sub(inserted + updated),
        OnConflict::Update => {
            counts.not_found += rows.saturating_sub(matched);
            matched.saturating_sub(updated)
        }
    };
    match changes.newer {
        Some(_) => counts.not_newer += same,
        None => counts.unchanged += same,
    }
    counts
}
