//! The maximum number of connections of a load, limited by the free connections of the server.

use tokio_postgres::Client;

use super::Plan;
use crate::error::Result;
use crate::job::Job;
use crate::pg::room;

/// The number of sessions that neither write nor evaluate keys: one holds the load's lock, one watches locks
/// or replicas, one swaps or decides.
const OTHER_SESSIONS: usize = 3;

impl Plan {
    /// Returns how many connections can be opened, if fewer than wanted. A load that opened more would fail,
    /// or take the last ones from other users.
    pub(super) async fn find_room(
        &self,
        job: &Job,
        client: &Client,
    ) -> Result<Option<(usize, String)>> {
        let wanted = self.jobs(job);
        if wanted == 1 {
            return Ok(None);
        }
        let (free, why) = room::connections(client).await?;
        // The session that asks this is closed before the others are opened.
        let asking = if self.asks() { self.routers(job) } else { 0 };
        let others = asking + OTHER_SESSIONS;
        let jobs = (free + 1).saturating_sub(others).max(1);
        Ok((jobs < wanted).then_some((jobs, why)))
    }
}
