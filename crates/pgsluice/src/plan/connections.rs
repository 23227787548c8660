//! How many connections a load opens at most: no more than the server has room for.

use tokio_postgres::Client;

use super::Plan;
use crate::error::Result;
use crate::job::Job;
use crate::pg::room;

/// Sessions besides those that write and those that ask: one keeps the load's lock, one looks at locks or
/// replicas, one swaps or decides.
const OWN_SESSIONS: usize = 3;

impl Plan {
    /// Returns how many connections there is room for, if not for all. A load that asked for more would
    /// fail, or take the last ones from others.
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
        // The session that asks goes before the others come.
        let asking = if self.asks() { self.routers(job) } else { 0 };
        let others = asking + OWN_SESSIONS;
        let jobs = (free + 1).saturating_sub(others).max(1);
        Ok((jobs < wanted).then_some((jobs, why)))
    }
}
