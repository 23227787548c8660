//! The end of a connection that has committed without waiting for the disk, and whether its session is
//! still its own.

use tokio_postgres::SimpleQueryMessage;

use super::copy::Connection;
use super::failure::Failure;
use crate::error::Result;
use crate::pg::sql::{FLUSH, ROLLBACK};
use crate::testing::failpoint::failpoint;

impl Connection<'_> {
    /// Takes back a transaction that has begun in another session than those before it, once `copy` is dropped;
    /// `copy` if it has not.
    pub(super) async fn check_session<T>(
        &self,
        answers: &[SimpleQueryMessage],
        copy: T,
    ) -> Result<T, Failure> {
        let Err(error) = self.link.check_session(answers) else { return Ok(copy) };
        drop(copy);
        let _ = self.link.client.batch_execute(ROLLBACK).await;
        Err(Failure::Ledger(error))
    }

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
            match self.judge(Some(flushed.map(Some).map_err(Failure::Begin)), &[])? {
                Some(answers) => self.link.check_same(&answers),
                None => Ok(()),
            }
        };
        // A standby may be waited for.
        self.flow.control.stop.unless_stopped(flushing).await
    }
}
