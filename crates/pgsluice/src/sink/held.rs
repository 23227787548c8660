//! Held: the one transaction of a connection whose load is all or nothing, and how it ends.
//!
//! Each payload is a part of it, behind a savepoint where rows may be rejected. Nothing is written to
//! the ledger with them: the mark that the load is finished says all.

use pgsluice_core::bucket::Wire;
use pgsluice_core::catalog::NodeId;
use tokio_postgres::error::SqlState;

use super::copy::Connection;
use super::failure::Failure;
use crate::atomic::deadlock_watch::{WAITED, entangled};
use crate::atomic::{Decision, Part};
use crate::counts::outcome::Committed;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::fate::Fate;
use crate::pg::ledger::{is_held, prepared};
use crate::pg::lost;
use crate::pg::sql;
use crate::plan::changes::Changes;
use crate::testing::failpoint::failpoint;

impl Connection<'_> {
    /// Begins the transaction, if one is to be held.
    pub(super) async fn hold(mut self) -> Result<Self> {
        let Some(mut part) = self.held.take() else { return Ok(self) };
        let client = &self.link.client;
        let holding = async {
            let session = client.query_one(prepared::SESSION, &[]).await?;
            let ledger = self.writer.as_ref().map(|writer| writer.ledger);
            let fence = ledger.map_or_else(String::new, |ledger| ledger.fence());
            let immediate = self.flow.rejects.map_or("", |_| sql::IMMEDIATE);
            let begin =
                format!("{}; {immediate}; {fence}; {}", sql::BEGIN, self.link.asks_session());
            let answers = client.simple_query(&begin).await?;
            self.link.check_session(&answers)?;
            match ledger {
                Some(ledger) if !is_held(&answers) => {
                    return Err(ledger.lost_attempt(client).await);
                }
                Some(ledger) => ledger.check_current(client).await?,
                None => {}
            }
            Ok((session.get(0), session.get(1)))
        };
        part.is_session(self.flow.control.stop.unless_stopped(holding).await?);
        self.held = Some(part);
        Ok(self)
    }

    /// Sends payloads until there are no more, all in the transaction that is held, and ends it with those
    /// of the other connections.
    pub(crate) async fn copy_all(&self, committed: &mut Committed) -> Result<()> {
        let Some(part) = &self.held else { return Ok(()) };
        let outcome = match self.copy(committed).await {
            Ok(()) if !self.flow.control.stop.is_stopped() => self.end(part, committed).await,
            outcome => outcome,
        };
        outcome.map_err(|error| self.apart(part, error))
    }

    /// Returns what begins a payload's part.
    pub(super) fn begin_part(&self, (node, wire): (NodeId, Wire)) -> String {
        let lock = self.flow.plan.lock(node, wire);
        let savepoint = self.divides_parts().then(|| sql::PART.to_owned());
        savepoint.into_iter().chain(lock).collect::<Vec<_>>().join("; ")
    }

    /// Whether a part that the server rejects may be stored in smaller parts.
    pub(super) fn divides_parts(&self) -> bool {
        let in_turn = |changes: &Changes| changes.by_any.is_some();
        self.flow.rejects.is_some() || self.flow.plan.changes.as_ref().is_some_and(in_turn)
    }

    /// Keeps the rows of this part if the transaction is committed.
    pub(super) async fn keep_part(&self) -> Result<(), Failure> {
        if self.divides_parts() {
            self.link.client.batch_execute(sql::KEEP_PART).await?;
        }
        Ok(())
    }

    /// Waits until all connections have sent their rows, and ends the transaction with theirs.
    async fn end(&self, part: &Part<'_>, committed: &Committed) -> Result<()> {
        let checking = async {
            self.link.client.batch_execute(sql::IMMEDIATE).await.map_err(Failure::Rows)?;
            Ok(Some(()))
        };
        let checked = self.link.canceller.settle(self.flow.control, checking).await;
        let Some(()) = self.judge(checked, &[])? else { return Ok(()) };
        failpoint("atomic::ready");
        part.is_ready(committed.clone());
        let fate = loop {
            if self.flow.control.stop.is_stopped() {
                return Ok(());
            }
            if self.link.is_closed().await {
                return Err(lost(self.link.ending()));
            }
            if let Some(fate) = part.may_end() {
                break fate;
            }
        };
        let ending = async {
            match part.is_only() {
                true => self.commit_whole(part, fate).await,
                false => self.prepare(part, committed).await,
            }
            .map(Some)
        };
        let ended = self.link.canceller.settle(self.flow.control, ending).await;
        self.judge(ended, &[]).map(|_| ())
    }

    /// Commits all rows of the load, and that it is finished.
    async fn commit_whole(&self, part: &Part<'_>, fate: Fate) -> Result<(), Failure> {
        let client = &self.link.client;
        if let Some(writer) = &self.writer {
            writer.ledger.close(client, fate).await.map_err(Failure::Ledger)?;
        }
        failpoint("atomic::committing");
        part.set_decision(Decision::Asked);
        let in_doubt = self.in_doubt(fate.inserted);
        let outcome = client.batch_execute(sql::COMMIT_DURABLY).await.map_err(Failure::Rows);
        in_doubt.settle(&outcome);
        match &outcome {
            Ok(()) => part.set_decision(Decision::Committed),
            Err(failure) if failure.is_answer() => part.set_decision(Decision::Open),
            Err(_) => {}
        }
        outcome?;
        failpoint("atomic::committed");
        self.flow.control.progress.show_held();
        Ok(())
    }

    async fn prepare(&self, part: &Part<'_>, committed: &Committed) -> Result<(), Failure> {
        if let (Some(writer), true) = (&self.writer, committed.rows_sent() > 0) {
            let name = writer.ledger.name_of(part.database, part.number);
            part.prepares(name.clone());
            let prepared = self.link.client.batch_execute(&prepared::prepare(&name)).await;
            prepared.map_err(|error| self.unprepared(error))?;
        }
        part.is_prepared();
        failpoint("atomic::prepared");
        Ok(())
    }

    /// Why a transaction is not prepared; what one connection can do without preparing is noted.
    fn unprepared(&self, error: tokio_postgres::Error) -> Failure {
        let why = match error.code() {
            // A trigger has done what cannot be prepared; or there is no room for another.
            Some(&SqlState::FEATURE_NOT_SUPPORTED | &SqlState::OUT_OF_MEMORY) => {
                "a transaction could not be prepared"
            }
            _ => return Failure::Begin(error),
        };
        self.flow.control.attempts.use_single_connection(why);
        Failure::Ledger(Error::from(error).with_hint("Load with -j 1.").permanent())
    }

    /// Has the next attempt send all rows leaf by leaf, and returns the error that ends this one.
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
        .with_hint("Load from a file, which can be read again, or without --atomic.")
        .permanent()
    }

    /// The error of a connection, with what holding a transaction has to do with it.
    fn apart(&self, part: &Part<'_>, error: Error) -> Error {
        match error.sqlstate() {
            // As several transactions do that write to the same rows; one alone may do better.
            Some("40P01") if !part.is_only() && !self.flow.control.stop.is_stopped() => {
                self.flow.control.attempts.use_single_connection(WAITED);
                entangled()
            }
            // More patience does not help.
            Some("53200") if !error.is_permanent() => error
                .with_detail(
                    "With --atomic, each leaf and index that was written stays locked until the \
                     end.",
                )
                .permanent(),
            _ => error,
        }
    }
}
