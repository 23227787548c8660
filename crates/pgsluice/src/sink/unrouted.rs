//! Rows that only the server can route, in a load that replaces rows. The server would store them in the old
//! leaves, and they would disappear with these. So they end the load.

use std::iter::once;
use std::sync::Arc;

use pgsluice_core::bucket::Payload;
use tokio_postgres::error::SqlState;

use super::connection::Connection;
use super::failure::Failure;
use super::part::{Landing, Part, Rows};
use crate::error::Error;

impl Connection<'_> {
    /// Sends the rows of `payload` to learn whether the server rejects them, usually because no partition
    /// takes them. Returns that error, or `refusal` if the server accepts the rows. Commits nothing.
    pub(super) async fn refuse_unrouted(&self, payload: &Arc<Payload>, refusal: Error) -> Failure {
        let into = once((payload.node(), payload.wire()));
        let mut transaction = self.transaction(self.commit_of_each(), into, None);
        let sending = async {
            transaction
                .store(Part { rows: Rows::All(payload), landing: Landing::Leaf(payload.node()) })
                .await?;
            transaction.end().await
        };
        match sending.await {
            Err(Failure::Rows { error, .. }) if is_there(&error) => Failure::Unmade(refusal),
            Err(failure) => failure,
            Ok(_) => Failure::Unmade(refusal),
        }
    }
}

/// Whether the error is about an existing row, which may be one of the rows to be replaced.
fn is_there(error: &tokio_postgres::Error) -> bool {
    [SqlState::UNIQUE_VIOLATION, SqlState::EXCLUSION_VIOLATION]
        .iter()
        .any(|code| error.code() == Some(code))
}
