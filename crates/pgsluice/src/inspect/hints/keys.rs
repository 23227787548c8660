//! Rows whose key exists in the table, or earlier in the input. They can be skipped or updated by their keys.

use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Remedy, option};
use crate::inspect::guess::list;
use crate::job::{Job, OnConflict};
use crate::pg::conninfo::Target;
use crate::plan::Plan;

/// Adds the actions of `--on-conflict` that would load the row to the error of a duplicate key. Each action
/// is planned first, like a load: the table must have a key for it, and the user must have the privileges.
pub(crate) async fn explain_duplicate(error: Error, job: &Job, target: &Target) -> Error {
    let is_duplicate = matches!(error.sqlstate(), Some("23505" | "23P01"));
    if !is_duplicate || job.changes.is_any() || error.remedies().next().is_some() {
        return error;
    }
    let key = error.detail().and_then(key_of);
    let skipped = plan_other(job, target, OnConflict::Skip, None).await;
    let skip = skipped.map(|_| {
        let what = "To skip rows whose key already exists in the table or earlier in the input";
        Remedy::options(what, [option("on-conflict").with("skip")])
    });
    let update = update(job, target, key).await;
    skip.into_iter().chain(update).fold(error, Error::with_remedy)
}

/// Adds a remedy to the error of an input that has changed since load `id` began, whose first rows are in the
/// table.
pub(crate) async fn explain_changed(error: Error, job: &Job, id: &str, target: &Target) -> Error {
    if error.kind() != Kind::Input || error.sqlstate() != Some("55000") {
        return error;
    }
    let load_id = option("load-id").with(format!("{id}-2"));
    if job.changes.is_any() {
        return error.with_remedy(Remedy::options("To load the changed input as well", [load_id]));
    }
    match plan_other(job, target, OnConflict::Skip, None).await {
        Some(_) => {
            let skip = option("on-conflict").with("skip");
            let what = "To load the changed input without rows whose keys are in the table";
            error.with_remedy(Remedy::options(what, [load_id, skip]))
        }
        None => error.with_hint(
            "To load the changed input, first remove the rows of this load from the table. The table has no \
             unique key by which they could be left out.",
        ),
    }
}

/// Returns the remedy that updates rows by the violated key.
async fn update(job: &Job, target: &Target, key: Option<Vec<String>>) -> Option<Remedy> {
    let key = key?;
    let is_by = |plan: &Plan| {
        let columns = &plan.changes.as_ref()?.key.columns;
        (columns.len() == key.len() && columns.iter().all(|name| key.contains(name))).then_some(())
    };
    let what = "To update the existing rows; the last input row with a key wins";
    let update = option("on-conflict").with("update");
    let by_primary = plan_other(job, target, OnConflict::Update, None).await;
    if by_primary.as_ref().and_then(is_by).is_some() {
        return Some(Remedy::options(what, [update]));
    }
    let by_key = plan_other(job, target, OnConflict::Update, Some(key.clone())).await?;
    is_by(&by_key)?;
    Some(Remedy::options(what, [update, option("key").with(list(&key))]))
}

/// Returns the plan of the load with another action for existing rows, if there can be one.
async fn plan_other(
    job: &Job,
    target: &Target,
    on_conflict: OnConflict,
    key: Option<Vec<String>>,
) -> Option<Plan> {
    let mut job = job.clone();
    job.changes.on_conflict = on_conflict;
    job.changes.key = key;
    Plan::make(&job, target, &Control::default()).await.ok()
}

/// Returns the columns of the key in `Key (a, b)=(1, 2) already exists.`, in any language.
fn key_of(detail: &str) -> Option<Vec<String>> {
    let (before, _) = detail.split_once(")=(")?;
    let (_, columns) = before.split_once('(')?;
    let plain = |name: &str| match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        Some(inner) => inner.replace("\"\"", "\""),
        None => name.to_owned(),
    };
    Some(columns.split(", ").map(plain).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_read_from_the_detail() {
        let key = |detail: &str| key_of(detail).expect("a key");
        assert_eq!(key("Key (a, \"B c\")=(1, x) already exists."), ["a", "B c"]);
        assert_eq!(key("Schlüssel »(id)=(1)« existiert bereits."), ["id"]);
        assert_eq!(key_of("Something else."), None);
    }
}
