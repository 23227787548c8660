//! The single transaction of an all-or-nothing load.
//!
//! Each payload is a part of it, with a savepoint before it if rows may be rejected. It writes no receipts,
//! because its COMMIT also marks the load as finished.

use std::cell::Cell;
use std::time::Instant;

use pgsluice_core::catalog::ROOT;
use tokio::runtime::Runtime;

use super::connection::Connection;
use super::failure::{Failure, InDoubt};
use crate::control::Event;
use crate::counts::outcome::{Committed, Decision};
use crate::error::kind::Kind;
use crate::error::{Error, Result, option};
use crate::ledger::sql::is_held;
use crate::pg::sql;
use crate::plan::changes::Changes;
use crate::row_counts::RowCounts;
use crate::testing::failpoint::failpoint;

/// The transaction after all rows are sent. Dropping it rolls it back.
pub(crate) struct Held<'a> {
    connection: Connection<'a>,
    /// The runtime of the connection.
    runtime: Runtime,
}

impl<'a> Held<'a> {
    /// Holds the transaction of `connection`, which runs in `runtime`.
    pub(crate) fn new(connection: Connection<'a>, runtime: Runtime) -> Self {
        Self { connection, runtime }
    }

    /// Commits all rows of the load and marks it as finished. Returns how far the commit got, and the error
    /// if it failed.
    pub(crate) fn commit(self, counts: RowCounts) -> (Decision, Result<()>) {
        let Self { connection, runtime } = self;
        let decision = Cell::new(Decision::Open);
        let committing = async {
            let ending = async { connection.commit_whole(&decision, counts).await };
            let ended = connection.link.canceller.settle(connection.flow.control, ending).await;
            connection.judge(ended, &[]).map(|_| ())
        };
        let outcome = runtime.block_on(committing);
        (decision.get(), outcome.map_err(explain))
    }
}

impl Connection<'_> {
    /// Begins the transaction of an all-or-nothing load.
    pub(super) async fn hold(&self) -> Result<()> {
        let client = &self.link.client;
        let ledger = self.writer.as_ref().map(|writer| writer.ledger);
        let fence = ledger.map_or_else(String::new, |ledger| ledger.fence());
        let immediate = self.flow.rejects.map_or("", |_| sql::IMMEDIATE);
        let begin = format!("{}; {immediate}; {fence}; {}", sql::BEGIN, self.link.asks_session());
        let holding = async {
            if self.flow.is_share() {
                // Waiting later would hold a snapshot and keep the share from other processes.
                self.flow.control.until_unpaused().await;
            }
            let answers = client.simple_query(&begin).await?;
            self.link.check_session(&answers)?;
            match ledger {
                Some(ledger) if !is_held(&answers) => Err(ledger.lost_attempt(client).await),
                Some(ledger) => ledger.open(client, self.target, self.flow.control).await,
                None => Ok(()),
            }
        };
        self.flow.control.stop.unless_stopped(holding).await
    }

    /// Sends all payloads in the transaction and checks all constraints. Returns `false` if the load was
    /// stopped.
    pub(crate) async fn copy_all(&self, committed: &mut Committed) -> Result<bool> {
        let sending = async {
            self.copy(committed).await?;
            if self.flow.control.stop.is_stopped() {
                return Ok(false);
            }
            let checking = async { Ok(self.link.client.batch_execute(sql::IMMEDIATE).await?) };
            let checked = self.link.canceller.settle(self.flow.control, checking).await;
            let checked = self.judge(checked, &[])?;
            failpoint("atomic::ready");
            Ok(checked.is_some())
        };
        sending.await.map_err(explain)
    }

    /// Whether a part that the server rejects may be stored in smaller parts.
    pub(super) fn divides_parts(&self) -> bool {
        let is_in_order = |changes: &Changes| changes.in_order.is_some();
        self.flow.rejects.is_some() || self.flow.plan.changes.as_ref().is_some_and(is_in_order)
    }

    async fn commit_whole(
        &self,
        decision: &Cell<Decision>,
        counts: RowCounts,
    ) -> Result<(), Failure> {
        let client = &self.link.client;
        if let Some(writer) = &self.writer {
            writer.ledger.close(client, counts).await.map_err(Failure::Ledger)?;
        }
        failpoint("atomic::committing");
        decision.set(Decision::Asked);
        let asked = if client.is_closed() { 0 } else { counts.inserted };
        let in_doubt = InDoubt::new(&self.flow.control.progress.rows_in_doubt, asked);
        let began = Instant::now();
        let outcome = client.batch_execute(sql::COMMIT_DURABLY).await.map_err(Failure::from);
        in_doubt.settle(&outcome);
        match &outcome {
            Ok(()) => decision.set(Decision::Committed),
            Err(failure) if failure.is_answer() => decision.set(Decision::Open),
            Err(_) => {}
        }
        outcome?;
        failpoint("atomic::committed");
        let [rows, bytes] = self.flow.control.progress.show_held();
        self.flow.control.emit(&Event::Committed {
            table: &self.flow.plan.tree.nodes[ROOT].relation.label(),
            rows,
            bytes,
            seconds: began.elapsed().as_secs_f64(),
            is_visible: true,
        });
        Ok(())
    }

    /// Makes the next attempt send all rows leaf by leaf, and returns the error that ends this attempt.
    pub(super) fn leaf_by_leaf(&self) -> Error {
        self.flow.control.attempts.go_leaf_by_leaf();
        Error::new(
            Kind::Server,
            "the server's statistics do not show which partitions the rows are in",
        )
        .with_sqlstate("55000")
        .with_detail(
            "Something else stores rows there in the same transaction, or track_counts was turned \
             off.",
        )
        .with_hint(
            "Load from a file, which can be read again, or without " + option("atomic") + ".",
        )
        .permanent()
    }
}

/// Adds an explanation to an error that is due to the length of the transaction.
fn explain(error: Error) -> Error {
    match error.sqlstate() {
        // Waiting longer does not help.
        Some("53200") if !error.is_permanent() => error
            .with_detail(
                "With "
                    + option("atomic")
                    + ", each leaf and index that was written stays locked until the end.",
            )
            .permanent(),
        _ => error,
    }
}
