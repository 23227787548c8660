//! Writer: the receipts of one connection's payloads.

use futures_util::future::try_join;
use tokio_postgres::{Client, Error, Statement};

use crate::ledger::{Ledger, Writing};
use crate::splits::Splits;

/// Writes receipts on one connection.
pub(super) struct Writer<'a> {
    pub(super) ledger: &'a Ledger,
    statement: Statement,
}

impl<'a> Writer<'a> {
    /// Marks the load as running, and has the statement planned.
    pub(super) async fn open(ledger: &'a Ledger, client: &Client) -> Result<Self, Error> {
        let stay = ledger.stay();
        let (_, statement) = try_join(client.simple_query(&stay), ledger.prepare(client)).await?;
        Ok(Self { ledger, statement })
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
}
