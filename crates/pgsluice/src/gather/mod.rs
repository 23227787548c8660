//! Gather: the rows of an input in the order in which the server stores them with the least work, for one connection
//! that sends all of them through the root.
//!
//! ```text
//!     split -> parse -> route -> encode -> gather -> payloads     of all leaves in turns, in binary; and as text
//!     rows     fields   leaf     row       by leaf                the rows that are not written in binary
//! ```
//!
//! The server routes each row by itself, so the leaf that is found here decides about the order only. A tree that has
//! changed since, or a key that is not native, costs time and no more.

pub mod relay;

use std::convert::Infallible;

use pgsluice_core::bucket::{Payload, Pool, RowAt, Scheduler, Shard, Wire, gather, gather_each};
use pgsluice_core::catalog::NodeId;
use pgsluice_core::parse::Fields;
use pgsluice_core::route::{Route, Scratch};

use crate::duplicates::Superseded;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::source::{Inputs, Split};

const WIRES: [Wire; 2] = [Wire::Binary, Wire::Text];

/// Rows that are gathered, within a memory budget.
pub(crate) struct Gatherer {
    shard: Shard,
    pool: Pool,
    nodes: usize,
    rows: u64,
    superseded: Superseded,
    left_out: u64,
    fields: Fields,
    scratch: Scratch,
}

impl Gatherer {
    /// Gathers rows of `plan` in `memory` bytes.
    pub(crate) fn new(plan: &Plan, memory: usize) -> Self {
        Self::of(plan, Pool::new(memory, plan.tree.nodes.len()))
    }

    /// Gathers rows of `plan` in as much memory as they need.
    pub(crate) fn unbounded(plan: &Plan) -> Self {
        Self::of(plan, Pool::unbounded())
    }

    fn of(plan: &Plan, pool: Pool) -> Self {
        let nodes = plan.tree.nodes.len();
        Self {
            shard: Shard::new(Scheduler::count(nodes)),
            pool,
            nodes,
            rows: 0,
            superseded: Superseded::default(),
            left_out: 0,
            fields: Fields::default(),
            scratch: Scratch::default(),
        }
    }

    /// The bytes of the rows that are gathered.
    pub(crate) fn bytes(&self) -> usize {
        self.shard.bytes()
    }

    /// The rows that are gathered.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Leaves out the rows of the input that begins which are `superseded`.
    pub(crate) fn leave_out(&mut self, superseded: Superseded) {
        self.superseded = superseded;
        self.left_out = 0;
    }

    /// The rows of the input that were left out.
    pub(crate) fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Adds the rows of `split` from the place `from` on; the place of the first one that there is no room for.
    ///
    /// # Errors
    ///
    /// What is wrong with the first row that no row of the table can be made of.
    pub(crate) fn add(
        &mut self,
        plan: &Plan,
        inputs: &Inputs,
        split: &Split,
        from: usize,
    ) -> Result<Option<usize>> {
        for index in from..split.rows.len() {
            if let Some(refusal) = split.refusal(index) {
                let place = split.position(index).and_then(|at| inputs.locate(at));
                let error = Error::from(refusal.clone());
                return Err(place.into_iter().fold(error, Error::at));
            }
            if self.superseded.contains(split.first_row + index as u64) {
                self.left_out += 1;
                continue;
            }
            if !self.add_row(plan, split, index) {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Adds a row; false if there is no room for it.
    fn add_row(&mut self, plan: &Plan, split: &Split, index: usize) -> bool {
        let bytes = split.text(index);
        plan.parser.parse(bytes, &mut self.fields);
        let keyless = split.keyless(index);
        let route = match keyless {
            Some(cause) => plan.keyless(cause),
            None => plan.router.route(bytes, &self.fields, &mut self.scratch),
        };
        let node = match route {
            Route::Leaf(node) | Route::Node(node, _) | Route::Ask(node) => node,
        };
        let row = &split.rows[index];
        let at = RowAt::new(split.number, row.start, row.line);
        let encoder = plan.encoder.as_ref().filter(|_| keyless.is_none());
        let encoded = match (encoder, split.encoded(index)) {
            (None, _) | (_, Some(Err(_))) => Some(false),
            (Some(_), Some(Ok(encoded))) => {
                self.push(node, Wire::Binary, at, encoded.len(), |block| {
                    block.extend_from_slice(encoded);
                    Ok::<(), Infallible>(())
                })
            }
            (Some(encoder), None) => {
                let fields = std::mem::take(&mut self.fields);
                let room = encoder.room_for(bytes.len());
                let pushed = self.push(node, Wire::Binary, at, room, |block| {
                    encoder.encode(bytes, &fields, block)
                });
                self.fields = fields;
                pushed
            }
        };
        let pushed = match encoded {
            Some(false) => self.push(node, Wire::Text, at, bytes.len() + 1, |block| {
                block.extend_from_slice(bytes);
                block.push(b'\n');
                Ok::<(), Infallible>(())
            }),
            pushed => pushed,
        };
        self.rows += u64::from(pushed.is_some());
        pushed.is_some()
    }

    /// Writes a row into a bucket; whether it could be written, or None if there is no room for it.
    fn push<E>(
        &mut self,
        node: NodeId,
        wire: Wire,
        at: RowAt,
        bytes: usize,
        write: impl FnOnce(&mut Vec<u8>) -> std::result::Result<(), E>,
    ) -> Option<bool> {
        let Self { shard, pool, nodes, .. } = self;
        let bucket = Scheduler::of(*nodes, node, wire);
        let room = match shard.room(bucket, bytes) {
            Ok(room) => room,
            Err(bytes) => {
                let block = pool.take(bytes)?;
                shard.add_block(bucket, block)
            }
        };
        let pushed = room.push(at, write).is_ok();
        pool.grow(shard.grown());
        if !pushed && let Some(block) = shard.take_empty(bucket) {
            pool.give_back(block);
        }
        Some(pushed)
    }

    /// Takes the rows that are gathered, in the order in which they are sent: those in binary, and those as text.
    pub(crate) fn take(&mut self, plan: &Plan) -> Vec<Payload> {
        let Self { shard, nodes, .. } = self;
        let taken = WIRES.map(|wire| gather(shard, *nodes, wire));
        self.arranged(plan, taken.into_iter().flatten().collect())
    }

    /// Takes them as payloads of one node each.
    pub(crate) fn take_each(&mut self, plan: &Plan) -> Vec<Payload> {
        let Self { shard, nodes, .. } = self;
        let taken = WIRES.map(|wire| gather_each(shard, *nodes, wire).collect::<Vec<_>>());
        self.arranged(plan, taken.into_iter().flatten().collect())
    }

    fn arranged(&mut self, plan: &Plan, mut payloads: Vec<Payload>) -> Vec<Payload> {
        self.rows = 0;
        payloads.iter_mut().for_each(|payload| payload.arrange(|node| plan.order(node)));
        payloads
    }

    /// Takes the memory of rows that were sent, to use it again.
    pub(crate) fn give_back(&mut self, payload: Payload) {
        payload.into_blocks().into_iter().for_each(|block| self.pool.give_back(block));
    }
}
