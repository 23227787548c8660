//! The end of a connection whose commits did not wait for the disk.

use super::connection::Connection;
use super::failure::Failure;
use crate::error::Result;
use crate::pg::sql::FLUSH;
use crate::testing::failpoint::failpoint;

impl Connection<'_> {
    /// Makes all commits of this connection durable. It must run on the same connection: if the server has
    /// crashed and lost commits that it had confirmed, the connection is gone as well, or behind a pooler it
    /// has another session.
    pub(crate) async fn flush(&self) -> Result<()> {
        if self.flow.control.stop.is_stopped() {
            return Ok(());
        }
        failpoint("load::flushing");
        let flushing = async {
            let flush = [FLUSH, self.link.which_session()].join(";");
            let flushed = self.link.client.simple_query(&flush).await;
            match self.judge(Some(flushed.map_err(Failure::Begin)), &[])? {
                Some(answers) => self.link.check_same(&answers),
                None => Ok(()),
            }
        };
        // The statement may wait for a standby.
        self.flow.control.stop.unless_stopped(flushing).await
    }
}
