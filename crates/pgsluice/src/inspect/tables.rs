//! The tables of a database, for shell completion.

use std::time::Duration;

use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::pg::connect::connect;
use crate::pg::conninfo::Target;
use crate::pg::introspect::similar::names;

/// Returns the names of the tables as SQL identifiers, with their schemas if `search_path` does not contain
/// them. Partitions are excluded.
///
/// # Errors
///
/// Fails if the server cannot be reached, refuses the login, or does not answer within `patience`.
pub async fn list(target: &Target, patience: Duration) -> Result<Vec<String>> {
    let listing = async { names(&connect(target).await?).await };
    let listed = tokio::time::timeout(patience, listing).await;
    listed.unwrap_or_else(|_| Err(Error::new(Kind::Connection, "timeout expired")))
}
