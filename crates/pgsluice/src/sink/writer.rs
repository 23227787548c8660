//! Writer: the receipts of one connection's payloads.

use futures_util::future::try_join3;
use tokio_postgres::{Client, Error, Statement};

use crate::ledger::{Ledger, Place, Writing};
use crate::splits::Splits;

/// Writes receipts on one connection. Its statements are planned beforehand: to plan one takes a round
/// trip, and COMMIT, which is not waited for, would come before what it is for.
pub(super) struct Writer<'a> {
    pub(super) ledger: &'a Ledger,
    statement: Statement,
    rejecting: Statement,
}

impl<'a> Writer<'a> {
    /// Marks the load as running, and has the statements planned.
    pub(super) async fn open(ledger: &'a Ledger, client: &Client) -> Result<Self, Error> {
        let stay = ledger.stay();
        let planning = (ledger.prepare(client), ledger.prepare_rejecting(client));
        let (_, statement, rejecting) =
            try_join3(client.simple_query(&stay), planning.0, planning.1).await?;
        Ok(Self { ledger, statement, rejecting })
    }

    /// Writes, in the transaction that `client` is in.
    pub(super) async fn write(&self, client: &Client, writing: &Writing) -> Result<(), Error> {
        self.ledger.write(client, &self.statement, writing).await
    }

    /// Marks the load as finished, in the transaction that `client` is in.
    pub(super) async fn close_whole(
        &self,
        client: &Client,
        splits: &Splits,
        rows: [u64; 4],
    ) -> Result<(), crate::Error> {
        self.ledger.close_whole(client, &self.statement, splits, rows).await
    }

    /// Notes rows that are rejected, in the same.
    pub(super) async fn reject(&self, client: &Client, rows: &[Place]) -> Result<(), Error> {
        self.ledger.reject(client, &self.rejecting, rows).await
    }
}
