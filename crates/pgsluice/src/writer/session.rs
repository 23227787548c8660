//! A session of a writer: its connection, the plan, and how rows are sent by it.

use std::sync::Arc;

use futures_util::SinkExt;
use futures_util::future::{join3, join4, try_join, try_join_all};
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::ROOT;
use tokio_postgres::Client;

use super::kept::Kept;
use super::parameters::{of_all, of_row};
use super::refused::{Read, refusal};
use super::way::{Way, Ways};
use crate::bucket::message::Message;
use crate::error::{Error, Result};
use crate::gather::Gatherer;
use crate::job::Job;
use crate::pg::connect::{Link, open};
use crate::pg::conninfo::Target;
use crate::pg::insert::Inserts;
use crate::pg::introspect::Catalogue;
use crate::pg::{is_answer, sql};
use crate::plan::Plan;
use crate::sink::recheck::Recheck;
use crate::sink::statements::{Sink, Statements};
use crate::source::{Inputs, Reader};

/// A connection, and what was prepared on it for rows of one shape, once the first have come.
pub(super) struct Session {
    pub(super) link: Link,
    pub(super) planned: Option<Planned>,
}

/// What is known of the table, and of the columns that rows have.
pub(super) struct Planned {
    plan: Plan,
    gatherer: Gatherer,
    pub(super) ways: Ways,
    inserts: Inserts,
    recheck: Recheck,
    statements: Statements,
    read: Read,
}

/// Why rows were not stored, or may not have been.
#[derive(Debug)]
pub(super) enum Trouble {
    /// None is.
    Refused(Error),
    /// None is: the table is not what was planned.
    Changed(Error),
    /// The server has not answered the COMMIT of so many.
    InDoubt(Error, u64),
}

impl Session {
    /// Connects; each commit is durable, or `is_lazy`.
    pub(super) async fn open(target: &Target, is_lazy: bool) -> Result<Self> {
        let link = open(target).await?;
        let durability = if is_lazy { sql::ASYNCHRONOUS } else { sql::DURABLE };
        link.client.batch_execute(&format!("{}; {durability}", sql::NO_LOCK_TIMEOUT)).await?;
        Ok(Self { link, planned: None })
    }

    /// Makes all that was committed so far durable, and goes on as before.
    pub(super) async fn flush(&self) -> Result<()> {
        Ok(self
            .link
            .client
            .batch_execute(&format!("{}; {}", sql::FLUSH, sql::ASYNCHRONOUS))
            .await?)
    }
}

impl Planned {
    /// Plans for rows such as those of `job`.
    pub(super) async fn new(job: &Job, client: &mut Client) -> Result<Self> {
        let plan = Plan::read(job, client).await?;
        let Catalogue { columns, types, facts, .. } = &plan.catalogue;
        let root = (&plan.tree.nodes[ROOT].relation, facts[ROOT].oid);
        let is_binary = plan.encoder.is_some();
        let preparing = Inserts::prepare(client, root, columns, types, is_binary);
        let (inserts, recheck) = try_join(preparing, Recheck::prepare(client, &plan)).await?;
        let ways = Ways::new(inserts.one.is_some(), inserts.all.is_some());
        let gatherer = Gatherer::unbounded(&plan);
        let (statements, read) = (Statements::default(), Read::default());
        Ok(Self { plan, gatherer, ways, inserts, recheck, statements, read })
    }

    /// The rows of `inputs` in the order in which they are sent.
    pub(super) fn gather(&mut self, inputs: &Inputs) -> Result<Vec<Arc<Payload>>> {
        let mut reader = Reader::new(inputs.clone(), &self.plan.shape);
        self.read = Read::of(inputs);
        let mut used = None;
        while let Some(split) = reader.next(used.take())? {
            self.read.add(&split);
            let added = self.gatherer.add(&self.plan, inputs, &split, 0);
            if let Err(error) = added {
                self.gatherer = Gatherer::unbounded(&self.plan);
                return Err(error);
            }
            used = Some(split);
        }
        Ok(self.gatherer.take(&self.plan).into_iter().map(Arc::new).collect())
    }

    /// Takes the memory of rows that are stored.
    pub(super) fn give_back(&mut self, payloads: Vec<Arc<Payload>>) {
        self.read = Read::default();
        let payloads = payloads.into_iter().filter_map(Arc::into_inner);
        payloads.for_each(|payload| self.gatherer.give_back(payload));
    }

    /// Stores the rows of `payloads`, which go by COPY unless they are one payload in binary, and commits them, with
    /// their position if one is kept; the rows that the server has stored.
    pub(super) async fn store(
        &self,
        client: &Client,
        (payloads, way): (&[Arc<Payload>], Way),
        kept: Option<(&Kept, Option<&str>)>,
    ) -> Result<u64, Trouble> {
        let rows: u64 = payloads.iter().map(|payload| payload.rows() as u64).sum();
        match (way, kept, payloads) {
            // A statement by itself is a transaction.
            (Way::Arrays, None, [payload]) => {
                self.insert_all(client, payload).await.map_err(|error| in_doubt(error, rows))
            }
            (Way::Single, None, [payload]) if rows == 1 => {
                self.insert_each(client, payload).await.map_err(|error| in_doubt(error, rows))
            }
            // What comes of the rows need not be known before they are committed.
            (Way::Copy, None, [payload]) => {
                let stored = self.copy(client, payload, rows).await;
                if stored.is_err() {
                    // If the connection is lost, the server does it.
                    let _ = client.batch_execute(sql::ROLLBACK).await;
                }
                stored
            }
            _ => {
                let sent = self.send(client, (payloads, way), rows, kept).await;
                let stored = match sent {
                    Ok(stored) => stored,
                    Err(trouble) => {
                        // If the connection is lost, the server does it.
                        let _ = client.batch_execute(sql::ROLLBACK).await;
                        return Err(trouble);
                    }
                };
                let dropping = async {
                    match kept.filter(|_| stored < rows) {
                        Some((kept, _)) => kept.drop_rows(client, rows - stored).await,
                        None => Ok(()),
                    }
                };
                let ending = try_join(dropping, client.batch_execute(sql::COMMIT)).await;
                ending.map_err(|error| in_doubt(error, rows))?;
                Ok(stored)
            }
        }
    }

    /// Begins a transaction and sends all of its rows; those that the server has stored.
    async fn send(
        &self,
        client: &Client,
        (payloads, way): (&[Arc<Payload>], Way),
        rows: u64,
        kept: Option<(&Kept, Option<&str>)>,
    ) -> Result<u64, Trouble> {
        let advancing = async {
            match kept {
                Some((kept, position)) => kept.advance(client, rows, position).await,
                None => Ok(true),
            }
        };
        let overtaken = |is_current: bool| match kept.filter(|_| !is_current) {
            Some((kept, _)) => Err(Trouble::Refused(kept.overtaken())),
            None => Ok(()),
        };
        let (Some(first), Way::Single | Way::Arrays) = (payloads.first(), way) else {
            return self.copy_all(client, payloads, (advancing, overtaken)).await;
        };
        let inserting = async {
            match way {
                Way::Arrays => self.insert_all(client, first).await,
                _ => self.insert_each(client, first).await,
            }
        };
        let begin = client.batch_execute(sql::BEGIN);
        let (begun, is_current, stored) = join3(begin, advancing, inserting).await;
        begun.map_err(refused)?;
        overtaken(is_current.map_err(refused)?)?;
        stored.map_err(refused)
    }

    /// Sends a payload by COPY in a transaction of its own, and commits it in the round trip that ends COPY.
    async fn copy(
        &self,
        client: &Client,
        payload: &Arc<Payload>,
        rows: u64,
    ) -> Result<u64, Trouble> {
        let nothing = async { Ok(true) };
        let (_, sink) = self.begin_copy(client, Some(payload), payload.wire(), nothing).await?;
        let Some(mut sink) = sink else { return Ok(0) };
        for message in Message::all(payload) {
            sink.feed(message).await.map_err(|error| self.row_refused(error, payload))?;
        }
        let ending = try_join(sink.as_mut().finish(), client.batch_execute(sql::COMMIT));
        let ended = ending.await.map_err(|error| match is_answer(&error) {
            true => self.row_refused(error, payload),
            false => Trouble::InDoubt(error.into(), rows),
        });
        Ok(ended?.0)
    }

    /// Sends payloads by COPY, behind the beginning of a transaction.
    async fn copy_all(
        &self,
        client: &Client,
        payloads: &[Arc<Payload>],
        (advancing, overtaken): (
            impl Future<Output = Result<bool, tokio_postgres::Error>>,
            impl FnOnce(bool) -> Result<(), Trouble>,
        ),
    ) -> Result<u64, Trouble> {
        let wire = match payloads.iter().any(|payload| payload.wire() == Wire::Binary) {
            true => Wire::Binary,
            false => Wire::Text,
        };
        let (is_current, mut next) =
            self.begin_copy(client, payloads.first(), wire, advancing).await?;
        overtaken(is_current)?;
        let mut stored = 0;
        for payload in payloads {
            let mut sink = match next.take() {
                Some(sink) => sink,
                None => {
                    let copy = self.plan.copy_statement(ROOT, payload.wire());
                    self.statements.begin(client, &copy).await.map_err(refused)?
                }
            };
            let sending = async {
                for message in Message::all(payload) {
                    sink.feed(message).await?;
                }
                sink.as_mut().finish().await
            };
            stored += sending.await.map_err(|error| self.row_refused(error, payload))?;
        }
        Ok(stored)
    }

    /// Begins a transaction and the COPY of its first payload, if it has one, with the table as it was planned for rows
    /// in this format; and what `advancing` has come to, which goes in the same round trip.
    async fn begin_copy(
        &self,
        client: &Client,
        first: Option<&Arc<Payload>>,
        wire: Wire,
        advancing: impl Future<Output = Result<bool, tokio_postgres::Error>>,
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
        let Catalogue { columns, .. } = &self.plan.catalogue;
        let table = &self.plan.tree.nodes[ROOT].relation.name;
        Trouble::Refused(self.read.refused(error, payload, (table, columns)))
    }

    async fn insert_all(
        &self,
        client: &Client,
        rows: &Payload,
    ) -> Result<u64, tokio_postgres::Error> {
        let Some(statement) = &self.inserts.all else { return Ok(0) };
        let arrays = of_all(rows, &self.plan.catalogue.types);
        client.execute_raw(statement, arrays).await
    }

    async fn insert_each(
        &self,
        client: &Client,
        rows: &Payload,
    ) -> Result<u64, tokio_postgres::Error> {
        let Some(statement) = &self.inserts.one else { return Ok(0) };
        let inserts = rows.in_order().map(|(_, row)| async move {
            let fields: Vec<_> = of_row(row).collect();
            client.execute_raw(statement, fields).await
        });
        Ok(try_join_all(inserts).await?.into_iter().sum())
    }
}

fn refused(error: tokio_postgres::Error) -> Trouble {
    Trouble::Refused(refusal(error))
}

/// What a statement that commits has come to.
fn in_doubt(error: tokio_postgres::Error, rows: u64) -> Trouble {
    if is_answer(&error) { refused(error) } else { Trouble::InDoubt(error.into(), rows) }
}
