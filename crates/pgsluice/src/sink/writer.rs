//! The receipts of one connection's payloads.

use futures_util::future::try_join3;
use tokio_postgres::{Client, Error, Statement};

use crate::error::Result;
use crate::ledger::{Ledger, ReceiptStatements, Writing};
use pgsluice_core::origin::Origin;

/// A writer of receipts on one connection. Its statements are prepared in advance: COMMIT is sent without
/// waiting for their answers, so it would overtake a statement that needed a round trip to be prepared.
pub(super) struct ReceiptWriter<'a> {
    pub(super) ledger: &'a Ledger,
    statements: ReceiptStatements,
    rejecting: Statement,
}

impl<'a> ReceiptWriter<'a> {
    /// Checks the ledger, marks the load as running, and prepares the statements.
    pub(super) async fn open(ledger: &'a Ledger, client: &Client) -> Result<Self> {
        let looking = async {
            ledger.trust(client).await?;
            ledger.hold_alive_lock(client).await
        };
        let planning = async { Ok(ledger.prepare(client).await?) };
        let rejecting = async { Ok(ledger.prepare_rejecting(client).await?) };
        let ((), statements, rejecting) = try_join3(looking, planning, rejecting).await?;
        Ok(Self { ledger, statements, rejecting })
    }

    /// Writes receipts in the transaction that `client` is in.
    pub(super) async fn write(
        &self,
        client: &Client,
        writing: &Writing,
    ) -> std::result::Result<(), Error> {
        self.ledger.write(client, &self.statements, writing).await
    }

    /// Records rejected rows in the transaction that `client` is in.
    pub(super) async fn reject(
        &self,
        client: &Client,
        rows: &[Origin],
    ) -> std::result::Result<(), Error> {
        self.ledger.reject(client, &self.rejecting, rows).await
    }
}
