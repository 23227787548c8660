//! Rows that may be there already: few go as arrays by one INSERT with `ON CONFLICT`, many are copied into the stage of
//! the session and applied from there.
//!
//! While no row has met another they go straight in, as any rows do. Once the server says that a key is there, that
//! flush goes again, through the stage, and so do the next ones by either way, until several have met none. Where rows
//! may not go through the root together, those of each leaf pass the stage by themselves.

use std::collections::HashSet;
use std::sync::Arc;

use futures_util::TryStreamExt;
use futures_util::future::{join3, join4, try_join};
use pgsluice_core::bucket::{Payload, Wire};
use pgsluice_core::catalog::{NodeId, ROOT};
use tokio_postgres::error::SqlState;
use tokio_postgres::{Client, Row};

use super::gathered::Gathered;
use super::kept::Keeping;
use super::parameters::of_all;
use super::session::{Planned, advance, check_current, send_all};
use super::trouble::{Trouble, refused};
use crate::bucket::message::Message;
use crate::counts::reconcile::misplaced;
use crate::error::kind::Kind;
use crate::error::{Error, Result};
use crate::fate::Fate;
use crate::pg::changes::Applied;
use crate::pg::sql;
use crate::pg::stage::{empty_stage, stage};
use crate::plan::changes::Changes;
use crate::sink::recheck::Changed;
use crate::sink::taken::{Taken, fate, in_node, made, take};

/// Rows of a payload that pass the stage at once.
struct Part<'p> {
    payload: &'p Arc<Payload>,
    node: NodeId,
    /// Those of one leaf; `None` for all.
    rows: Option<Vec<&'p [u8]>>,
}

impl Planned {
    /// Makes the stage of the session, unless it is there.
    async fn make_stage(&self, client: &Client) -> Result<(), tokio_postgres::Error> {
        if !self.has_stage.get() {
            let made = made(&self.plan).unwrap_or_default();
            // Another plan of the session may have made one.
            client.batch_execute(&format!("{}; {made}", sql::NO_TEMPORARY)).await?;
            self.has_stage.set(true);
        }
        Ok(())
    }

    /// Begins a transaction, and takes all rows through the stage; what became of them.
    pub(super) async fn change(
        &self,
        client: &Client,
        changes: &Changes,
        gathered: &Gathered,
        kept: Keeping<'_>,
    ) -> Result<Fate, Trouble> {
        self.make_stage(client).await.map_err(refused)?;
        let mut all = gathered.begun();
        let parts = gathered.payloads.iter().flat_map(|payload| self.parts(changes, payload));
        for (number, Part { payload, node, rows }) in parts.enumerate() {
            self.check_node(changes, payload)?;
            let first = number == 0;
            let before = if first { sql::BEGIN.to_owned() } else { empty_stage() };
            let lock = self.plan.lock(node, Wire::Binary);
            let begin = std::iter::once(before).chain(lock).collect::<Vec<_>>().join("; ");
            let copy = self.plan.copy_into(&stage(), payload.wire());
            let advancing = advance(client, gathered, kept.filter(|_| first));
            let checking = self.recheck.changed(&self.plan, client, node, payload.wire(), false);
            let copying = self.statements.begin(client, &copy);
            let (begun, is_current, changed, sink) =
                join4(client.batch_execute(&begin), advancing, checking, copying).await;
            begun.map_err(refused)?;
            check_current(kept, is_current.map_err(refused)?)?;
            match changed.map_err(refused)? {
                Some(Changed::Moved) => return Err(Trouble::Changed(self.plan.moved(node))),
                Some(Changed::Retyped) => return Err(Trouble::Changed(self.plan.retyped())),
                None => {}
            }
            let mut sink = sink.map_err(refused)?;
            let columns = &self.plan.catalogue.columns;
            let count = rows.as_ref().map_or(payload.rows(), Vec::len) as u64;
            let sent = async {
                let refused =
                    |error| self.gathering.refused(error, payload, (&stage().name, columns));
                match rows {
                    None => send_all(sink, payload).await.map_err(refused),
                    Some(rows) => {
                        let rows = rows.into_iter();
                        Message::send(sink.as_mut(), payload.wire(), rows).await.map_err(not_taken)
                    }
                }
            };
            let taking = async {
                let changes = (changes, self.updates_first.get());
                take(client, &self.plan, changes, node).await.map_err(not_taken)
            };
            let (_, taken) = try_join(sent, taking).await?;
            self.check_taken(payload, &taken)?;
            let applied = in_node(&self.plan, node, &taken.applied);
            all.add(fate(changes, count, applied));
        }
        self.record_met(gathered, &all);
        Ok(all)
    }

    /// Begins a transaction, and sends all rows by one statement; what became of them.
    pub(super) async fn change_by_arrays(
        &self,
        client: &Client,
        changes: &Changes,
        gathered: &Gathered,
        kept: Keeping<'_>,
    ) -> Result<Fate, Trouble> {
        let mut all = gathered.begun();
        let ([payload], Some(statement)) = (&gathered.payloads[..], &self.inserts.changing) else {
            return self.change(client, changes, gathered, kept).await;
        };
        let begin = client.batch_execute(sql::BEGIN);
        let advancing = advance(client, gathered, kept);
        let inserting = async {
            let arrays = of_all(payload, &self.plan.catalogue.types);
            client.query_raw(statement, arrays).await?.try_collect::<Vec<Row>>().await
        };
        let (begun, is_current, inserted) = join3(begin, advancing, inserting).await;
        begun.map_err(refused)?;
        check_current(kept, is_current.map_err(refused)?)?;
        let inserted = inserted.map_err(refused)?;
        let applied = inserted.iter().map(Applied::of_insert).collect();
        let taken = Taken { applied, misplaced: 0 };
        self.check_taken(payload, &taken)?;
        let applied = in_node(&self.plan, ROOT, &taken.applied);
        all.add(fate(changes, payload.rows() as u64, applied));
        self.record_met(gathered, &all);
        Ok(all)
    }

    /// Returns the parts of a payload that pass the stage in turn, with their destinations.
    fn parts<'p>(&self, changes: &Changes, payload: &'p Arc<Payload>) -> Vec<Part<'p>> {
        if self.updates_first.get() {
            let apart = payload.apart().map(|(node, rows)| {
                let rows = rows.into_iter().map(|(_, row)| row).collect();
                Part { payload, node, rows: Some(rows) }
            });
            return apart.collect();
        }
        // By its own name a leaf takes no rows that have become another one's.
        let node = if changes.may_join_leaves() { ROOT } else { payload.node() };
        vec![Part { payload, node, rows: None }]
    }

    fn record_met(&self, gathered: &Gathered, fate: &Fate) {
        let has_met = fate.inserted < gathered.sent();
        self.unmet.set(if has_met { 0 } else { self.unmet.get().saturating_add(1) });
    }

    /// Refuses rows of an unknown leaf, where these do not go through the root.
    fn check_node(&self, changes: &Changes, payload: &Payload) -> Result<(), Trouble> {
        let node = payload.node();
        if changes.through_root || self.is_leaf(node) {
            return Ok(());
        }
        let relation = self.plan.tree.nodes[node].relation.label();
        let message = format!("no partition of relation {relation} is known for the row");
        let error = Error::new(Kind::Data, message).with_sqlstate("23514");
        Err(Trouble::Changed(self.gathering.at_first(error, payload)))
    }

    /// Has the table planned for anew if rows have gone into other leaves than it was planned: what became of them was
    /// not counted there.
    fn check_taken(&self, payload: &Payload, taken: &Taken) -> Result<(), Trouble> {
        if taken.misplaced > 0 {
            let error = misplaced(&self.plan, payload.node(), taken.misplaced);
            return Err(Trouble::Changed(error));
        }
        let nodes = payload.nodes();
        let leaves: Vec<NodeId> = match nodes.iter().all(|node| self.is_leaf(*node)) {
            true => nodes.to_vec(),
            false => self.plan.tree.leaves().collect(),
        };
        let oids = leaves.into_iter().map(|leaf| self.plan.catalogue.facts[leaf].oid);
        // Statements that change rows in one table do not say which it was.
        let known: HashSet<u32> = oids.chain([0]).collect();
        match taken.applied.iter().all(|applied| known.contains(&applied.leaf)) {
            true => Ok(()),
            false => Err(Trouble::Changed(self.plan.moved(ROOT))),
        }
    }

    fn is_leaf(&self, node: NodeId) -> bool {
        self.plan.tree.nodes[node].key.is_none()
    }
}

/// The refusal of rows of the stage; by a partition's constraint, which has no name, the table is not what it was.
fn not_taken(error: tokio_postgres::Error) -> Trouble {
    let is_changed = error
        .as_db_error()
        .is_some_and(|db| *db.code() == SqlState::CHECK_VIOLATION && db.constraint().is_none());
    match refused(error) {
        Trouble::Refused(error) if is_changed => Trouble::Changed(error),
        trouble => trouble,
    }
}
