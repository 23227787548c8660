//! Rows that only the server can route, in a load that replaces rows: the server would store them in the old
//! leaves, and they would be gone with these. So they end the load.

use std::sync::Arc;

use pgsluice_core::bucket::Payload;
use tokio_postgres::error::SqlState;

use super::copy::Connection;
use super::failure::Failure;
use super::settled::Loaded;
use crate::error::Error;

impl Connection<'_> {
    /// Sends the rows of `payload` to learn whether the server rejects them: most often no partition takes them.
    /// Otherwise `refusal` is the error. Nothing is committed. None if the load was stopped.
    pub(super) async fn refuse_unrouted(
        &self,
        payload: &Arc<Payload>,
        refusal: Error,
    ) -> Result<Option<Loaded>, Failure> {
        let sending = async {
            let into = (payload.node(), payload.wire());
            let (mut sink, _) = self.begin(into, None, std::slice::from_ref(payload)).await?;
            self.send(&mut sink, payload).await?;
            Ok(sink.as_mut().finish().await?)
        };
        let sent = sending.await;
        if self.flow.control.stop.is_stopped() {
            return Ok(None);
        }
        Err(match sent {
            Err(Failure::Rows(error)) if is_there(&error) => Failure::Unmade(refusal),
            Err(failure) => failure,
            Ok(_) => Failure::Unmade(refusal),
        })
    }
}

/// Whether a row is in the table already. It may be one of those that were to be replaced.
fn is_there(error: &tokio_postgres::Error) -> bool {
    [SqlState::UNIQUE_VIOLATION, SqlState::EXCLUSION_VIOLATION]
        .iter()
        .any(|code| error.code() == Some(code))
}
