//! A session of a writer: its connection, the plan, and the sending of rows.

use std::cell::Cell;
use std::future::ready;

use futures_util::future::try_join;
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::{NodeId, ROOT};
use tokio_postgres::{Client, Statement};

use super::batch::{BatchGatherer, WriteBatch};
use super::failure::{WriteFailure, in_doubt, refused};
use super::named::PlanNames;
use super::parameters::encode_arrays;
use super::record::RecordUpdate;
use super::send_method::SendMethod;
use crate::control::Control;
use crate::error::kind::Kind;
use crate::error::{Error, Result, Words, option};
use crate::job::Job;
use crate::pg::connect::{Link, open};
use crate::pg::conninfo::Target;
use crate::pg::introspect::Catalogue;
use crate::pg::sql;
use crate::plan::Plan;
use crate::plan::changes::Changes;
use crate::row_counts::RowCounts;
use crate::sink::channel::{Channel, Prepared};
use crate::sink::failure::Failure;
use crate::sink::fence::Fence;
use crate::sink::part::Part;
use crate::sink::stage_merge::apply;
use crate::sink::transaction::{Commit, Transaction, begin};
use crate::testing::failpoint::failpoint;
use crate::writer::extras::RejectInsert;
use crate::writer::sql::incarnation::Incarnation;
use crate::writer::sql::insert::Inserts;

/// Number of flushes without existing rows before a flush goes straight into the table. If that one meets an
/// existing row, the rows that it inserted are left for VACUUM.
pub(super) const ENOUGH_WITHOUT_CONFLICT: u32 = 8;

/// A connection, and the plan for rows of one shape after the first rows have come.
pub(super) struct Session {
    pub(super) link: Link,
    /// The incarnation of the server when the session began, if known.
    pub(super) incarnation: Option<Incarnation>,
    pub(super) planned: Option<Planned>,
}

/// The plan and the prepared statements for the table and the columns of the rows.
pub(super) struct Planned {
    pub(super) plan: Plan,
    /// The names in the rows that it was planned for.
    pub(super) named: PlanNames,
    pub(super) gatherer: BatchGatherer,
    pub(super) inserts: Inserts,
    pub(super) prepared: Prepared,
    /// The number of consecutive flushes without a conflict.
    pub(super) without_conflict: Cell<u32>,
    /// Whether existing rows are updated before others are inserted, because INSERT alone would refuse them.
    pub(super) updates_first: Cell<bool>,
}

impl Session {
    /// Connects. Each commit is durable. Asks for the server's incarnation if `identifies`.
    pub(super) async fn open(target: &Target, identifies: bool) -> Result<Self> {
        let link = open(target).await?;
        let settings = format!("{}; {}", sql::NO_LOCK_TIMEOUT, sql::DURABLE);
        let setting = async { link.client.batch_execute(&settings).await };
        let asking =
            async { Ok(if identifies { Incarnation::query(&link.client).await } else { None }) };
        let ((), incarnation) = try_join(setting, asking).await?;
        Ok(Self { link, incarnation, planned: None })
    }

    /// Commits without waiting for the disk from now on, until [`Self::flush`] makes the commits durable.
    pub(super) async fn commit_lazily(&self) -> Result<()> {
        Ok(self.link.client.batch_execute(sql::ASYNCHRONOUS).await?)
    }

    /// Makes all earlier commits durable, and continues to commit without waiting.
    ///
    /// There are two queries, because the statements of one query form one transaction, which commits
    /// according to the last setting.
    pub(super) async fn flush(&self) -> Result<()> {
        let flush = [sql::FLUSH, self.link.which_session()].join(";");
        let client = &self.link.client;
        let flushing = client.simple_query(&flush);
        let (answers, ()) = try_join(flushing, client.batch_execute(sql::ASYNCHRONOUS)).await?;
        self.link.check_same(&answers)
    }
}

impl Planned {
    /// Creates a plan for rows like those of `job`.
    pub(super) async fn new(job: &Job, client: &mut Client) -> Result<Self> {
        let plan = Plan::read(job, client).await?;
        plan.changes.as_ref().map_or(Ok(()), |changes| check(&plan, changes))?;
        let Catalogue { columns, types, facts, .. } = &plan.catalogue;
        let (root, oid) = (&plan.tree.nodes[ROOT].relation, facts[ROOT].oid);
        let joins = plan.changes.as_ref().is_none_or(Changes::may_join_leaves);
        let preparing = async {
            if plan.encoder.is_none() || !joins {
                return Ok(Inserts::none());
            }
            let changing = plan.changes.as_ref();
            let changing = changing.map(|changes| apply(&plan, changes, false, ROOT));
            Inserts::prepare(client, root, oid, columns, types, changing).await
        };
        let (inserts, prepared) = try_join(preparing, Prepared::new(client, &plan, false)).await?;
        let gatherer = BatchGatherer::new(&plan);
        let (without_conflict, updates_first) =
            (Cell::new(ENOUGH_WITHOUT_CONFLICT), Cell::new(false));
        let named = PlanNames::new(job, &plan);
        Ok(Self { plan, named, gatherer, inserts, prepared, without_conflict, updates_first })
    }

    /// Returns the channel of its transactions.
    pub(super) fn channel<'s>(&'s self, link: &'s Link, control: &'s Control) -> Channel<'s> {
        let Self { plan, prepared, .. } = self;
        Channel { link, plan, prepared, control, opening: None }
    }

    /// Stores rows and commits them, together with their position if it is recorded. Returns the outcome.
    pub(super) async fn store(
        &self,
        channel: Channel<'_>,
        batch: &WriteBatch,
        method: SendMethod,
        update: RecordUpdate<'_>,
        rejects: Option<&RejectInsert<'_>>,
    ) -> Result<RowCounts, WriteFailure> {
        let client = &channel.link.client;
        if let (SendMethod::Arrays, None, None, [payload], Some(statement)) =
            (method, update, rejects, &batch.payloads[..], &self.inserts.plain)
        {
            // A single statement is a transaction.
            let inserted = self.insert(client, statement, payload).await;
            let inserted = inserted.map_err(|error| in_doubt(error, batch.rows()))?;
            return Ok(batch.counts(inserted));
        }
        let stored = self.store_together(channel, batch, method, update, rejects).await;
        if stored.is_err() {
            // If the connection is lost, the server rolls back.
            let _ = client.batch_execute(sql::ROLLBACK).await;
        }
        stored
    }

    async fn store_together(
        &self,
        channel: Channel<'_>,
        batch: &WriteBatch,
        method: SendMethod,
        update: RecordUpdate<'_>,
        rejects: Option<&RejectInsert<'_>>,
    ) -> Result<RowCounts, WriteFailure> {
        let mut transaction = self.transaction(channel, batch, method, update);
        let sent = self.send(&mut transaction, batch, method).await?;
        failpoint("payload::committing");
        let failed = |failure| self.explain_failure(failure, batch, method);
        let doubtful = |failure: Failure| match failure.is_answer() {
            true => failed(failure),
            false => WriteFailure::InDoubt(failure.into_error(), batch.rows()),
        };
        let counts = match (sent, method) {
            (Some(counts), _) => counts,
            // The outcome need not be known before the commit.
            (None, SendMethod::Copy) if update.is_none() && rejects.is_none() => {
                let stored = transaction.commit(0, ready(Ok(()))).await.map_err(doubtful)?;
                return Ok(batch.counts(stored.iter().map(|stored| stored.rows).sum()));
            }
            (None, _) => self.count(batch, method, transaction.end().await.map_err(failed)?)?,
        };
        let client = &channel.link.client;
        let settling = async {
            match update {
                Some((record, positions)) => record.settle(client, &counts, positions).await,
                None => Ok(()),
            }
        };
        let rejecting = async {
            match rejects {
                Some(rejects) => rejects.execute(client).await,
                None => Ok(()),
            }
        };
        // Both are sent before COMMIT.
        let settling =
            async { try_join(settling, rejecting).await.map(|_| ()).map_err(Failure::Receipts) };
        transaction.commit(0, settling).await.map_err(doubtful)?;
        Ok(counts)
    }

    /// Returns a transaction for rows that are sent by `method`. It advances their position if it is recorded.
    pub(super) fn transaction<'t>(
        &'t self,
        channel: Channel<'t>,
        batch: &'t WriteBatch,
        method: SendMethod,
        update: RecordUpdate<'t>,
    ) -> Transaction<'t> {
        let payloads = batch.payloads.iter();
        let into: Vec<(NodeId, Wire)> = match method {
            SendMethod::Arrays | SendMethod::Conflict => Vec::new(),
            SendMethod::Copy => payloads.map(|payload| (ROOT, payload.wire())).collect(),
            SendMethod::Stage => {
                let nodes = payloads.flat_map(|payload| self.targets(payload));
                nodes.map(|(node, _)| (node, Wire::Binary)).collect()
            }
        };
        let fence = update.map_or(Fence::Open, |(record, positions)| {
            Fence::Positions(record.advance(batch.rows(), positions))
        });
        let begin = begin(&self.plan, Commit::Caller, into.into_iter());
        Transaction::new(channel, Commit::Caller, begin, fence)
    }

    /// Begins a transaction and sends all of its rows. Returns the outcome if it is known before COPY ends.
    pub(super) async fn send<'t>(
        &'t self,
        transaction: &mut Transaction<'t>,
        batch: &'t WriteBatch,
        method: SendMethod,
    ) -> Result<Option<RowCounts>, WriteFailure> {
        let client = transaction.client();
        let failed = |failure| self.explain_failure(failure, batch, method);
        let Inserts { plain, changing } = &self.inserts;
        match (method, &self.plan.changes, &batch.payloads[..], plain, changing) {
            (SendMethod::Arrays, _, [payload], Some(statement), _) => {
                let inserting = async { Ok(self.insert(client, statement, payload).await?) };
                let inserted = transaction.begin_with(inserting).await.map_err(failed)?;
                failpoint("payload::begun");
                failpoint("payload::sent");
                return Ok(Some(batch.counts(inserted)));
            }
            (SendMethod::Conflict, Some(changes), [payload], _, Some(statement)) => {
                let inserting = self.insert_or_change(client, statement, payload);
                let merged = transaction.begin_with(inserting).await.map_err(failed)?;
                return self.count_inserted(batch, changes, payload, &merged).map(Some);
            }
            (SendMethod::Stage | SendMethod::Conflict, Some(changes), ..) => {
                let made = self.prepared.make_stage(client, &self.plan).await;
                made.map_err(refused)?;
                for payload in &batch.payloads {
                    self.check_node(changes, payload)?;
                    for part in self.parts(payload) {
                        transaction.store(part).await.map_err(failed)?;
                    }
                }
            }
            (_, _, [], ..) => transaction.begin_with(ready(Ok(()))).await.map_err(failed)?,
            (_, _, payloads, ..) => {
                for payload in payloads {
                    let part = Part::through_root(payload);
                    transaction.store(part).await.map_err(failed)?;
                }
            }
        }
        Ok(None)
    }

    async fn insert(
        &self,
        client: &Client,
        statement: &Statement,
        rows: &Payload,
    ) -> Result<u64, tokio_postgres::Error> {
        let arrays = encode_arrays(rows, &self.plan.catalogue.types);
        client.execute_raw(statement, arrays).await
    }
}

/// Fails for changes that only a load can make.
fn check(plan: &Plan, changes: &Changes) -> Result<()> {
    let refuse = |message: &str, hint: Words| {
        Err(Error::new(Kind::Usage, message).with_sqlstate("0A000").with_hint(hint))
    };
    if let Some(why) = &changes.in_order {
        let (needs, hint) = match changes.key.columns.is_empty() {
            true => {
                let hint = "Use " + option("key") + " to list the columns that identify a row.";
                ("skips rows by a single key", hint)
            }
            false => {
                let hint = "Use a load instead, which sends the rows in input order.".into();
                ("needs unchanged keys", hint)
            }
        };
        return refuse(&format!("a Writer {needs}, but {why}"), hint);
    }
    if !changes.through_root && plan.asks() {
        return refuse(
            "a Writer cannot change rows of this table: only the server can find the leaf of a row",
            "Use a load instead.".into(),
        );
    }
    Ok(())
}
