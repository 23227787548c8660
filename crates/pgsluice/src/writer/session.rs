//! A session of a writer: its connection, the plan, and how rows are sent by it.

use std::cell::Cell;
use std::sync::Arc;

use futures_util::SinkExt;
use futures_util::future::{join3, join4, try_join};
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::ROOT;
use tokio_postgres::{Client, Statement};

use super::gathered::{Gathered, Gathering};
use super::kept::Keeping;
use super::named::Named;
use super::parameters::of_all;
use super::trouble::{Trouble, in_doubt, refused};
use super::way::Way;
use crate::bucket::message::Message;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::fate::Fate;
use crate::job::Job;
use crate::pg::connect::{Link, open};
use crate::pg::conninfo::Target;
use crate::pg::incarnation::Incarnation;
use crate::pg::insert::Inserts;
use crate::pg::introspect::Catalogue;
use crate::pg::{is_answer, sql};
use crate::plan::Plan;
use crate::plan::changes::Changes;
use crate::sink::recheck::Recheck;
use crate::sink::statements::{Sink, Statements};
use crate::sink::taken::apply;

/// So many flushes that have met no row are followed by one that goes straight in: what it has inserted is for VACUUM,
/// if it meets one.
pub(super) const ENOUGH_UNMET: u32 = 8;

/// A connection, and what was prepared on it for rows of one shape, once the first have come.
pub(super) struct Session {
    pub(super) link: Link,
    /// The server that it began in, if that could be seen.
    pub(super) incarnation: Option<Incarnation>,
    pub(super) planned: Option<Planned>,
}

/// What is known of the table, and of the columns that rows have.
pub(super) struct Planned {
    pub(super) plan: Plan,
    /// The names in the rows that it was planned for.
    pub(super) named: Named,
    pub(super) gathering: Gathering,
    pub(super) inserts: Inserts,
    pub(super) recheck: Recheck,
    pub(super) statements: Statements,
    /// Flushes one after the other that have met no rows which were there.
    pub(super) unmet: Cell<u32>,
    pub(super) has_stage: Cell<bool>,
    /// Whether rows that are there are updated before others are inserted, which INSERT alone would refuse.
    pub(super) updates_first: Cell<bool>,
}

impl Session {
    /// Connects. Each commit is durable. Asks for the server's incarnation if `identifies`.
    pub(super) async fn open(target: &Target, identifies: bool) -> Result<Self> {
        let link = open(target).await?;
        let settings = format!("{}; {}", sql::NO_LOCK_TIMEOUT, sql::DURABLE);
        let setting = async { link.client.batch_execute(&settings).await };
        let asking =
            async { Ok(if identifies { Incarnation::of(&link.client).await } else { None }) };
        let ((), incarnation) = try_join(setting, asking).await?;
        Ok(Self { link, incarnation, planned: None })
    }

    /// Commits without waiting for the disk from now on, until [`Self::flush`] ends what was committed so.
    pub(super) async fn commit_lazily(&self) -> Result<()> {
        Ok(self.link.client.batch_execute(sql::ASYNCHRONOUS).await?)
    }

    /// Makes all earlier commits durable, and goes on as before.
    ///
    /// These are two queries, because the statements of one query are one transaction, which commits as the last
    /// setting says.
    pub(super) async fn flush(&self) -> Result<()> {
        let flush = [sql::FLUSH, self.link.which_session()].join(";");
        let client = &self.link.client;
        let flushing = client.simple_query(&flush);
        let (answers, ()) = try_join(flushing, client.batch_execute(sql::ASYNCHRONOUS)).await?;
        self.link.check_same(&answers)
    }
}

impl Planned {
    /// Plans for rows such as those of `job`.
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
            let changing = changing.map(|changes| apply(&plan, (changes, false), ROOT));
            Inserts::prepare(client, root, oid, columns, types, changing).await
        };
        let (inserts, recheck) = try_join(preparing, Recheck::prepare(client, &plan)).await?;
        let gathering = Gathering::new(&plan);
        let statements = Statements::default();
        let (unmet, has_stage) = (Cell::new(ENOUGH_UNMET), Cell::new(false));
        let updates_first = Cell::new(false);
        Ok(Self {
            named: Named::new(job, &plan),
            plan,
            gathering,
            inserts,
            recheck,
            statements,
            unmet,
            has_stage,
            updates_first,
        })
    }

    /// Stores rows, which go by COPY or through the stage unless they are one payload in binary, and commits them, with
    /// their position if one is kept; what became of them.
    pub(super) async fn store(
        &self,
        client: &Client,
        (gathered, way): (&Gathered, Way),
        kept: Keeping<'_>,
    ) -> Result<Fate, Trouble> {
        let rows = gathered.rows();
        let stored = match (way, kept, &gathered.payloads[..], &self.inserts.plain) {
            // A statement by itself is a transaction.
            (Way::Arrays, None, [payload], Some(statement)) => {
                let inserting = self.insert(client, statement, payload);
                return in_fate(gathered, inserting.await.map_err(|error| in_doubt(error, rows)));
            }
            // What comes of the rows need not be known before they are committed.
            (Way::Copy, None, [payload], _) => {
                in_fate(gathered, self.copy(client, payload, gathered).await)
            }
            _ => self.store_and_settle(client, (gathered, way), kept).await,
        };
        if stored.is_err() {
            // If the connection is lost, the server does it.
            let _ = client.batch_execute(sql::ROLLBACK).await;
        }
        stored
    }

    /// The same, with what became of the rows in the ledger before they are committed.
    async fn store_and_settle(
        &self,
        client: &Client,
        (gathered, way): (&Gathered, Way),
        kept: Keeping<'_>,
    ) -> Result<Fate, Trouble> {
        let rows = gathered.rows();
        let fate = match (way, &self.plan.changes) {
            (Way::Stage, Some(changes)) => self.change(client, changes, gathered, kept).await,
            (Way::Conflict, Some(changes)) => {
                self.change_by_arrays(client, changes, gathered, kept).await
            }
            _ => in_fate(gathered, self.send(client, (gathered, way), kept).await),
        }?;
        let settling = async {
            match kept {
                Some((kept, _)) => kept.settle(client, &fate).await,
                None => Ok(()),
            }
        };
        let ending = try_join(settling, client.batch_execute(sql::COMMIT)).await;
        ending.map(|_| fate).map_err(|error| in_doubt(error, rows))
    }

    /// Begins a transaction and sends all of its rows; those that the server has stored.
    async fn send(
        &self,
        client: &Client,
        (gathered, way): (&Gathered, Way),
        kept: Keeping<'_>,
    ) -> Result<u64, Trouble> {
        let (Way::Arrays, [payload], Some(statement)) =
            (way, &gathered.payloads[..], &self.inserts.plain)
        else {
            return self.copy_all(client, gathered, kept).await;
        };
        let begin = client.batch_execute(sql::BEGIN);
        let advancing = advance(client, gathered, kept);
        let inserting = self.insert(client, statement, payload);
        let (begun, is_current, stored) = join3(begin, advancing, inserting).await;
        begun.map_err(refused)?;
        check_current(kept, is_current.map_err(refused)?)?;
        stored.map_err(refused)
    }

    /// Sends a payload by COPY in a transaction of its own, and commits it in the round trip that ends COPY.
    async fn copy(
        &self,
        client: &Client,
        payload: &Arc<Payload>,
        gathered: &Gathered,
    ) -> Result<u64, Trouble> {
        let (_, sink) =
            self.begin_copy(client, Some(payload), payload.wire(), (gathered, None)).await?;
        let Some(mut sink) = sink else { return Ok(0) };
        for message in Message::all(payload) {
            sink.feed(message).await.map_err(|error| self.row_refused(error, payload))?;
        }
        let ending = try_join(sink.as_mut().finish(), client.batch_execute(sql::COMMIT));
        let ended = ending.await.map_err(|error| match is_answer(&error) {
            true => self.row_refused(error, payload),
            false => Trouble::InDoubt(error.into(), gathered.rows()),
        });
        Ok(ended?.0)
    }

    /// Sends payloads by COPY, behind the beginning of a transaction.
    pub(super) async fn copy_all(
        &self,
        client: &Client,
        gathered: &Gathered,
        kept: Keeping<'_>,
    ) -> Result<u64, Trouble> {
        let payloads = &gathered.payloads;
        let wire = match payloads.iter().any(|payload| payload.wire() == Wire::Binary) {
            true => Wire::Binary,
            false => Wire::Text,
        };
        let beginning = self.begin_copy(client, payloads.first(), wire, (gathered, kept));
        let (is_current, mut next) = beginning.await?;
        check_current(kept, is_current)?;
        let mut stored = 0;
        for payload in payloads {
            let sink = match next.take() {
                Some(sink) => sink,
                None => {
                    let copy = self.plan.copy_statement(ROOT, payload.wire());
                    self.statements.begin(client, &copy).await.map_err(refused)?
                }
            };
            let sending = send_all(sink, payload).await;
            stored += sending.map_err(|error| self.row_refused(error, payload))?;
        }
        Ok(stored)
    }

    /// Begins a transaction and the COPY of its first payload, if it has one, with the table as it was planned for rows
    /// in this format; and whether the ledger, which is told in the same round trip, knows of no other writer.
    async fn begin_copy(
        &self,
        client: &Client,
        first: Option<&Arc<Payload>>,
        wire: Wire,
        (gathered, kept): (&Gathered, Keeping<'_>),
    ) -> Result<(bool, Option<Sink>), Trouble> {
        let lock = self.plan.lock(ROOT, wire).map(|lock| format!("; {lock}"));
        let begin = format!("{}{}", sql::BEGIN, lock.unwrap_or_default());
        let copying = async {
            match first {
                Some(first) => {
                    let copy = self.plan.copy_statement(ROOT, first.wire());
                    self.statements.begin(client, &copy).await.map(Some)
                }
                None => Ok(None),
            }
        };
        let checking = self.recheck.changed(&self.plan, client, ROOT, wire, false);
        let advancing = advance(client, gathered, kept);
        let (begun, is_current, changed, sink) =
            join4(client.batch_execute(&begin), advancing, checking, copying).await;
        begun.map_err(refused)?;
        if changed.map_err(refused)?.is_some() {
            return Err(Trouble::Changed(self.plan.retyped()));
        }
        Ok((is_current.map_err(refused)?, sink.map_err(refused)?))
    }

    /// The refusal of a row of `payload`, which was sent by COPY.
    fn row_refused(&self, error: tokio_postgres::Error, payload: &Payload) -> Trouble {
        let table = &self.plan.tree.nodes[ROOT].relation.name;
        self.gathering.refused(error, payload, (table, &self.plan.catalogue.columns))
    }

    async fn insert(
        &self,
        client: &Client,
        statement: &Statement,
        rows: &Payload,
    ) -> Result<u64, tokio_postgres::Error> {
        let arrays = of_all(rows, &self.plan.catalogue.types);
        client.execute_raw(statement, arrays).await
    }
}

/// What became of rows of which the server has stored so many.
fn in_fate(gathered: &Gathered, stored: Result<u64, Trouble>) -> Result<Fate, Trouble> {
    stored.map(|stored| gathered.fate(stored))
}

/// Tells the ledger, if one is kept, of the rows of the transaction that has begun; whether they are the current
/// writer's.
pub(super) async fn advance(
    client: &Client,
    gathered: &Gathered,
    kept: Keeping<'_>,
) -> Result<bool, tokio_postgres::Error> {
    match kept {
        Some((kept, position)) => kept.advance(client, gathered.rows(), position).await,
        None => Ok(true),
    }
}

/// Refuses rows of a writer that another one has taken over.
pub(super) fn check_current(kept: Keeping<'_>, is_current: bool) -> Result<(), Trouble> {
    match kept.filter(|_| !is_current) {
        Some((kept, _)) => Err(Trouble::Refused(kept.overtaken())),
        None => Ok(()),
    }
}

/// Sends a payload, and ends its COPY; the rows that the server has stored.
pub(super) async fn send_all(
    mut sink: Sink,
    payload: &Arc<Payload>,
) -> Result<u64, tokio_postgres::Error> {
    for message in Message::all(payload) {
        sink.feed(message).await?;
    }
    sink.as_mut().finish().await
}

/// Refuses changes that only a load makes.
fn check(plan: &Plan, changes: &Changes) -> Result<()> {
    let refuse = |message: &str, hint: &str| {
        Err(Error::new(Kind::Usage, message).with_sqlstate("0A000").with_hint(hint))
    };
    if let Some(why) = &changes.in_order {
        let (needs, hint) = match changes.key.columns.is_empty() {
            true => {
                ("skips rows by a single key", "Use --key to list the columns that identify a row.")
            }
            false => {
                ("needs unchanged keys", "Use a load instead, which sends the rows in input order.")
            }
        };
        return refuse(&format!("a loader {needs}, but {why}"), hint);
    }
    if !changes.through_root && plan.asks() {
        return refuse(
            "a loader cannot change rows of this table: only the server can find the leaf of a row",
            "Use a load instead.",
        );
    }
    Ok(())
}
