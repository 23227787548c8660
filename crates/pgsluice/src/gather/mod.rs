//! Gathering: sorts the rows of an input into the order in which the server stores them with the least work,
//! for one connection that sends all of them through the root.
//!
//! ```text
//!     split -> parse -> route -> encode -> gather -> payloads     of all leaves in turns, in binary; and as text
//!     rows     fields   leaf     row       by leaf                the rows that are not written in binary
//! ```
//!
//! The server routes each row itself, so the leaf that is found here only determines the order. If the tree
//! has changed since, or a key is not native, the load is slower, but correct.

pub mod relay;

use pgsluice_core::bucket::{
    Block, BlockRow, Payload, Pool, Scheduler, Shard, Wire, gather, gather_each,
};

use crate::bucket::write::{RowBuffer, write};
use crate::duplicates::DuplicateRows;
use crate::error::{Error, Result};
use crate::plan::Plan;
use crate::route::row::KeyReader;
use crate::source::{Inputs, Split};

const WIRES: [Wire; 2] = [Wire::Binary, Wire::Text];

/// Checks that all rows of `split` can be converted into rows of the table.
///
/// # Errors
///
/// Fails at the first row that cannot be converted.
pub(crate) fn check_rows(inputs: &Inputs, split: &Split) -> Result<()> {
    (0..split.rows.len()).try_for_each(|index| check_row(inputs, split, index))
}

fn check_row(inputs: &Inputs, split: &Split, index: usize) -> Result<()> {
    let Some(refusal) = split.refusal(index) else { return Ok(()) };
    let place = inputs.locate_row(split, index);
    Err(place.into_iter().fold(Error::from(refusal.clone()), Error::at))
}

/// A collection of rows within a memory budget.
pub(crate) struct Gatherer {
    buffer: LocalBuffer,
    rows: u64,
    duplicates: DuplicateRows,
    left_out: u64,
    reader: KeyReader,
}

/// The blocks of rows that one thread writes and sends.
struct LocalBuffer {
    shard: Shard,
    pool: Pool,
}

impl RowBuffer for LocalBuffer {
    fn shard(&mut self) -> &mut Shard {
        &mut self.shard
    }

    fn block(&mut self, bytes: usize, _: BlockRow) -> Option<Block> {
        self.pool.take(bytes)
    }

    fn account(&mut self, grown: usize, unused: Option<Block>) {
        self.pool.grow(grown);
        unused.into_iter().for_each(|block| self.pool.give_back(block));
    }
}

impl Gatherer {
    /// Creates a gatherer for rows of `plan` that uses `memory` bytes.
    pub(crate) fn new(plan: &Plan, memory: usize) -> Self {
        Self::with_pool(plan, Pool::new(memory, plan.tree.nodes.len()))
    }

    /// Creates a gatherer for rows of `plan` without a memory limit.
    pub(crate) fn unbounded(plan: &Plan) -> Self {
        Self::with_pool(plan, Pool::unbounded())
    }

    fn with_pool(plan: &Plan, pool: Pool) -> Self {
        let shard = Shard::new(Scheduler::count(plan.tree.nodes.len()));
        Self {
            buffer: LocalBuffer { shard, pool },
            rows: 0,
            duplicates: DuplicateRows::default(),
            left_out: 0,
            reader: KeyReader::default(),
        }
    }

    /// Returns the number of bytes of the gathered rows.
    pub(crate) fn bytes(&self) -> usize {
        self.buffer.shard.bytes()
    }

    /// Returns the number of gathered rows.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Leaves out the rows `duplicates` of the next input.
    pub(crate) fn leave_out(&mut self, duplicates: DuplicateRows) {
        self.duplicates = duplicates;
        self.left_out = 0;
    }

    /// Returns the number of rows of the input that were left out.
    pub(crate) fn rows_left_out(&self) -> u64 {
        self.left_out
    }

    /// Adds the rows of `split` from the index `from` on. Returns the index of the first row that does not fit.
    ///
    /// # Errors
    ///
    /// Fails at the first row that cannot be converted into a row of the table.
    pub(crate) fn add(
        &mut self,
        plan: &Plan,
        inputs: &Inputs,
        split: &Split,
        from: usize,
    ) -> Result<Option<usize>> {
        for index in from..split.rows.len() {
            check_row(inputs, split, index)?;
            if self.duplicates.contains(split.first_row + index as u64) {
                self.left_out += 1;
                continue;
            }
            let routed = self.reader.route_natively(plan, split, index);
            if write(plan, split, &routed, &mut self.buffer).is_none() {
                return Ok(Some(index));
            }
            self.rows += 1;
        }
        Ok(None)
    }

    /// Takes the gathered rows in the order in which they are sent: first the binary ones, then the text
    /// ones.
    pub(crate) fn take(&mut self, plan: &Plan) -> Vec<Payload> {
        let (shard, nodes) = (&mut self.buffer.shard, plan.tree.nodes.len());
        let taken = WIRES.map(|wire| gather(shard, nodes, wire));
        self.arrange(plan, taken.into_iter().flatten().collect())
    }

    /// Takes the gathered rows as payloads of one node each.
    pub(crate) fn take_each(&mut self, plan: &Plan) -> Vec<Payload> {
        let (shard, nodes) = (&mut self.buffer.shard, plan.tree.nodes.len());
        let taken = WIRES.map(|wire| gather_each(shard, nodes, wire).collect::<Vec<_>>());
        self.arrange(plan, taken.into_iter().flatten().collect())
    }

    fn arrange(&mut self, plan: &Plan, mut payloads: Vec<Payload>) -> Vec<Payload> {
        self.rows = 0;
        payloads.iter_mut().for_each(|payload| payload.arrange(|node| plan.order(node)));
        payloads
    }

    /// Takes back the memory of rows that were sent.
    pub(crate) fn give_back(&mut self, payload: Payload) {
        let blocks = payload.into_blocks().into_iter();
        blocks.for_each(|block| self.buffer.pool.give_back(block));
    }
}
