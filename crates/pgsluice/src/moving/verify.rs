//! The comparison before the swap: the tree must have as many rows as the table, and the same sum of hashes.
//!
//! The session that holds the lock reads the table. Another session would queue behind one that waits for the
//! lock.

use futures_util::future::try_join;

use super::follow::Follower;
use super::sql::follow::{EXPORT, begin_at, begin_with};
use super::sql::locks::ALL_ROWS;
use super::sql::values::{COMPARED, fingerprint};
use super::survey::Survey;
use crate::control::{Control, WaitReason};
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::connect::{self, Link};
use crate::pg::conninfo::Target;
use crate::pg::sql::{COMMIT, DEPARSE_SETTINGS};

/// Compares the tree with the table, in two sessions at once. All columns count, including generated ones. If
/// others write to the table, both sessions use the same snapshot, and rows in the log are ignored.
pub(super) async fn verify(
    survey: &Survey,
    hold: &Link,
    follower: Option<&Follower<'_>>,
    target: &Target,
    control: &Control,
) -> Result<()> {
    let Survey { table, root, .. } = survey;
    let label = table.relation.label();
    control.wait_for(WaitReason::Work, &format!("comparing the new table with {label}"));
    let link = control.stop.unless_stopped(connect::open(target)).await?;
    link.client.batch_execute(&[DEPARSE_SETTINGS, ALL_ROWS].join("; ")).await?;
    let mut rows = String::new();
    if let Some(follower) = follower {
        hold.client.batch_execute(&begin_at(&follower.log.table)).await?;
        let snapshot: String = hold.client.query_one(EXPORT, &[]).await?.get(0);
        link.client.batch_execute(&begin_with(&snapshot)).await?;
        follower.check().await?;
        rows = follower.log.unchanged("moved");
    }
    let columns = hold.client.query(COMPARED, &[&table.oid]).await?;
    let columns: Vec<_> = columns.iter().map(|row| (row.get(0), row.get(1))).collect();
    let of = |from: &str| fingerprint(&format!("{from} AS moved{rows}"), &columns);
    let ((table_rows, table_sum), (tree_rows, tree_sum)) = try_join(
        sums(hold, of(&format!("ONLY {}", table.relation)), control),
        sums(&link, of(&root.to_string()), control),
    )
    .await?;
    if follower.is_some() {
        hold.client.batch_execute(COMMIT).await?;
    }
    control.resume(WaitReason::Work);
    if (table_rows, &table_sum) == (tree_rows, &tree_sum) {
        return Ok(());
    }
    if let Some(follower) = follower {
        // A truncated table is empty under any snapshot.
        follower.check().await?;
    }
    let message = format!("the new table differs from table {label}");
    let error = Error::new(Kind::Server, message).with_sqlstate("XX001");
    let detail = if table_rows == tree_rows {
        format!("Both have {table_rows} rows, but not the same ones.")
    } else {
        format!("The table has {table_rows} rows; the new one has {tree_rows}.")
    };
    Err(error.with_detail(detail))
}

async fn sums(link: &Link, sql: String, control: &Control) -> Result<(i64, String)> {
    let asking = async {
        let row = link.client.query_one(&sql, &[]).await?;
        Ok((row.get(0), row.get(1)))
    };
    link.canceller.unless_stopped(control, asking).await
}
