//! The shadow of a leaf: the table that is built to replace it. The connection with its first rows creates it
//! in the same transaction, so that the rows need no WAL if `wal_level` is `minimal`.

use std::cell::OnceCell;
use std::time::Duration;

use pgsluice_core::catalog::{NodeId, ROOT, Relation};
use tokio_postgres::Client;

use super::{Exchange, LeafState, TOO_MANY};
use crate::control::Control;
use crate::error::{Error, Result};
use crate::exchange::sql::{BuildPhase, Defined, Definition, LeafReader};
use crate::pg::sql;

/// Interval at which a connection checks whether another one has created the shadow that it needs.
const CREATE_POLL: Duration = Duration::from_millis(5);

/// A table that is built for a leaf.
#[derive(Clone)]
pub(super) struct Shadow {
    pub(super) defined: Defined,
    pub(super) rows: u64,
}

impl Shadow {
    /// Returns the statements of one phase, in order.
    pub(super) fn steps(&self, phase: BuildPhase) -> impl Iterator<Item = &Definition> {
        self.defined.shadow.iter().filter(move |made| made.phase == phase)
    }
}

/// The table that gets the rows of a payload instead of the table in the plan.
pub(crate) struct Destination {
    /// The statements that begin the transaction.
    pub(crate) begin: String,
    pub(crate) relation: Relation,
    /// The leaf's definition, if this transaction creates the shadow.
    made: Option<Defined>,
}

/// Creates the shadows of leaves, on one connection.
pub(crate) struct Maker<'a> {
    exchange: &'a Exchange<'a>,
    reader: OnceCell<LeafReader>,
}

/// The state of the creation of a shadow, as seen by a connection.
enum CreationState {
    Mine,
    Anothers,
    Made,
    Direct,
    TooMany,
}

impl<'a> Maker<'a> {
    pub(crate) fn new(exchange: &'a Exchange<'a>) -> Self {
        Self { exchange, reader: OnceCell::new() }
    }

    /// Returns the destination of the rows of `node`, or `None` for the table in the plan.
    pub(crate) async fn destination(
        &self,
        client: &Client,
        control: &Control,
        node: NodeId,
    ) -> Result<Option<Destination>> {
        let relation = self.exchange.shadow_name(node);
        loop {
            return match self.exchange.begin_shadow(node) {
                CreationState::Direct => Ok(None),
                CreationState::TooMany => {
                    self.exchange.plan.refuse(node, TOO_MANY).map_or(Ok(None), Err)
                }
                CreationState::Made => {
                    Ok(Some(Destination { begin: sql::BEGIN.to_owned(), relation, made: None }))
                }
                CreationState::Mine => {
                    let defined = self.define(client, node).await?;
                    let begin = making(&defined);
                    Ok(Some(Destination { begin, relation, made: Some(defined) }))
                }
                CreationState::Anothers if control.stop.is_stopped() => {
                    Err(control.stop.failure().unwrap_or_else(Error::interrupted))
                }
                CreationState::Anothers => {
                    tokio::time::sleep(CREATE_POLL).await;
                    continue;
                }
            };
        }
    }

    /// Counts `rows` rows that are committed in `destination`.
    pub(crate) fn record_committed(&self, node: NodeId, destination: Destination, rows: u64) {
        let mut leaves = self.exchange.leaves();
        if let Some(defined) = destination.made {
            leaves.insert(node, LeafState::Made(Shadow { defined, rows: 0 }));
        }
        if let Some(LeafState::Made(shadow)) = leaves.get_mut(&node) {
            shadow.rows += rows;
        }
    }

    async fn define(&self, client: &Client, node: NodeId) -> Result<Defined> {
        let facts = &self.exchange.plan.catalogue.facts;
        client.batch_execute(sql::DEPARSE_SETTINGS).await?;
        let reader = match self.reader.get() {
            Some(reader) => reader,
            None => {
                let reader =
                    LeafReader::prepare(client, facts[ROOT].oid, &self.exchange.load).await?;
                self.reader.get_or_init(|| reader)
            }
        };
        let defined = reader.define(client, facts[node].oid).await?;
        if defined.itself.is_empty() {
            return Err(self.exchange.plan.moved(node));
        }
        Ok(defined)
    }
}

impl Exchange<'_> {
    fn begin_shadow(&self, node: NodeId) -> CreationState {
        if !self.eligible.leaves.contains(&node) {
            return CreationState::Direct;
        }
        let mut leaves = self.leaves();
        match leaves.get(&node) {
            Some(LeafState::Making) => CreationState::Anothers,
            Some(LeafState::Made(_)) => CreationState::Made,
            Some(LeafState::OverLimit) => CreationState::TooMany,
            None if leaves.len() < self.max => {
                leaves.insert(node, LeafState::Making);
                CreationState::Mine
            }
            None => {
                leaves.insert(node, LeafState::OverLimit);
                CreationState::TooMany
            }
        }
    }
}

/// Returns the statements that begin a transaction with the creation of the shadow, and reset the session's
/// settings.
fn making(defined: &Defined) -> String {
    let statements = defined.shadow.iter().filter(|made| made.phase == BuildPhase::Create);
    let statements: Vec<&str> = statements.map(|made| made.sql.as_str()).collect();
    [sql::BEGIN, &statements.join("; "), sql::RESET_SETTINGS].join("; ")
}
