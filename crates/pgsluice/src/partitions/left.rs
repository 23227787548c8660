//! Partitions that a load has created before it failed. Those that are empty are dropped again.

use std::time::Duration;

use crate::control::{Control, CreatedPartition};
use crate::error::Error;
use crate::partitions::sql::drops::{self, Dropping};
use crate::pg::connect::connect_internal;
use crate::pg::conninfo::Target;
use crate::pg::runtime::runtime;

/// Maximum time to drop all of them.
const PATIENCE: Duration = Duration::from_secs(5);

/// Maximum number of names in a message.
const MAX_NAMES: usize = 5;

/// Drops the empty partitions of a load that failed with `error`. Lists them in its detail, together with the
/// partitions that could not be dropped.
pub(crate) fn take_back(error: Error, target: &Target, control: &Control) -> Error {
    let made = control.attempts.take_created();
    if made.is_empty() {
        return error;
    }
    let mut outcomes =
        vec![Dropping::Left("the server could not be reached".to_owned()); made.len()];
    if let Ok(runtime) = runtime() {
        let dropping = drop_all(&made, &mut outcomes, target);
        // Partitions that are not processed in time are left.
        let _ = runtime.block_on(async { tokio::time::timeout(PATIENCE, dropping).await });
    }
    words(error, &made, &outcomes)
}

async fn drop_all(made: &[CreatedPartition], outcomes: &mut [Dropping], target: &Target) {
    let Ok(mut client) = connect_internal(target).await else { return };
    for (made, outcome) in made.iter().zip(outcomes) {
        *outcome = drops::drop_if_empty(&mut client, made).await;
    }
}

fn words(error: Error, made: &[CreatedPartition], outcomes: &[Dropping]) -> Error {
    let of = |wanted: fn(&Dropping) -> bool| -> Vec<&CreatedPartition> {
        made.iter()
            .zip(outcomes)
            .filter(|(_, outcome)| wanted(outcome))
            .map(|(made, _)| made)
            .collect()
    };
    let dropped = of(|outcome| *outcome == Dropping::Dropped);
    let error = match dropped.is_empty() {
        true => error,
        false => error.with_detail(format!(
            "The load created these partitions, and dropped them again because they were empty: \
             {}.",
            names(&dropped, |made| made.relation.label())
        )),
    };
    let left = of(|outcome| matches!(outcome, Dropping::Left(_)));
    let why = outcomes.iter().find_map(|outcome| match outcome {
        Dropping::Left(why) => Some(why),
        _ => None,
    });
    let Some(why) = why else { return error };
    error
        .with_detail(format!(
            "The load created these partitions, but could not drop them again: {} ({why}).",
            names(&left, |made| made.relation.label())
        ))
        .with_hint(format!(
            "To drop them, if they are empty and not needed: {}",
            names(&left, |made| drops::drop_statement(&made.relation)).replace(";, ", "; ")
        ))
}

/// Lists the first names.
fn names(made: &[&CreatedPartition], name: impl Fn(&CreatedPartition) -> String) -> String {
    let mut names: Vec<String> = made.iter().take(MAX_NAMES).map(|made| name(made)).collect();
    if let more @ 1.. = made.len().saturating_sub(MAX_NAMES) {
        names.push(format!("and {more} more"));
    }
    names.join(", ")
}
