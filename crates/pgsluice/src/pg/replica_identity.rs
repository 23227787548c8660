//! Published changes: the server rejects an UPDATE or DELETE if subscribers could not find the rows.

use futures_util::future::try_join_all;
use pgsluice_core::catalog::{Relation, quote_identifier};
use tokio_postgres::Client;

use crate::error::kind::Kind;
use crate::error::{Error, Result};

const IS_ANY_PUBLISHED: &str = "SELECT EXISTS (SELECT FROM pg_catalog.pg_publication)";

/// Checks whether the server lets a session set `column`, and delete rows, in each of `leaves`. EXPLAIN runs
/// this check without touching any row.
///
/// # Errors
///
/// Fails with the server's error about the first leaf that is published without a replica identity.
pub(crate) async fn check(
    client: &Client,
    leaves: &[&Relation],
    column: Option<&str>,
    deletes: bool,
) -> Result<()> {
    if !client.query_typed_one(IS_ANY_PUBLISHED, &[]).await?.get::<_, bool>(0) {
        return Ok(());
    }
    let set = |column| format!("SET {} = DEFAULT", quote_identifier(column));
    let statements = leaves.iter().flat_map(|leaf| {
        let update =
            column.map(|column| format!("EXPLAIN UPDATE ONLY {leaf} {} WHERE false", set(column)));
        let delete = deletes.then(|| format!("EXPLAIN DELETE FROM ONLY {leaf} WHERE false"));
        update.into_iter().chain(delete).map(move |statement| (leaf, statement))
    });
    let asking = statements.map(|(leaf, statement)| async move {
        let asked = client.batch_execute(&statement).await;
        asked.map_err(|error| refused(Error::from(error), leaf))
    });
    try_join_all(asking).await.map(drop)
}

fn refused(error: Error, leaf: &Relation) -> Error {
    let error = error.with_kind(Kind::Server);
    match error.sqlstate() {
        Some("55000") => error.only_hint(format!(
            "ALTER TABLE {} REPLICA IDENTITY FULL; and so each leaf that lacks one. Or publish inserts only.",
            leaf.label()
        )),
        _ => error,
    }
}
