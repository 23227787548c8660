//! The end of a connection that has committed without waiting for the disk.

use super::connection::Connection;
use super::failure::Failure;
use crate::error::Result;
use crate::pg::sql::FLUSH;
use crate::testing::failpoint::failpoint;

impl Connection<'_> {
    /// Makes all commits of this connection durable. It must be the same connection. If the server has
    /// crashed since, and lost what it had answered, the connection is gone as well; behind a pooler it
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
        // A standby may be waited for.
        self.flow.control.stop.unless_stopped(flushing).await
    }
}
