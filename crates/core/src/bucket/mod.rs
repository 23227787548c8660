//! Bucket: gathers the rows of each node into payloads, within a memory budget.
//!
//! ```text
//!     routers       Shard 0    Shard 1    Shard 2        one lock each, held for many rows
//!     node 7 text   [blocks]   [blocks]   [blocks]  \
//!     node 7 binary [blocks]   [blocks]   [blocks]   >   Scheduler: the fullest -> Payload -> connection
//!     node 8 text   [blocks]   [blocks]   [blocks]  /
//!                         Pool of blocks  <---------------------- used again ------'
//! ```
//!
//! 1. A bucket takes the rows of one node in one format. Each router has a [`Shard`] with its share of
//!    every bucket. Memory comes in blocks of one size from one [`Pool`].
//! 2. A connection that is free takes the fullest bucket that is worth a COPY. Under memory pressure, or at
//!    the end of the input, it takes any.
//! 3. A node has one writer at a time, unless no other work is left. So one leaf alone keeps all
//!    connections busy.
//! 4. At the end, remainders of few rows travel together through the root, ordered by leaf ([`FEW_ROWS`]).
//!    They come from at most 256 leaves, because the server keeps a lock on each.
//! 5. A payload's [`Claim`]s say which rows are in once it is committed.
//!
//! The threshold is measured: each load times three empty COPYs. A payload waits until that cost is at most
//! an eighth of what its rows take. Waiting costs nothing while input is fast. While it is slow, 64 KiB are
//! enough. Payloads that are not sorted grow to 4 MiB as the server falls behind.
//!
//! A payload is sorted if its leaf has a primary key, or an index that it is replicated or clustered by.
//! Only binary rows are: by the first sixteen bytes of the key, in payloads of up to a sixteenth of the
//! memory. More rows then share a page of the index. Only speed depends on this order: without it, rows
//! keep that of the input.

mod block;
mod claim;
mod payload;
mod pool;
mod shard;
mod sort;

use std::ops::DerefMut;

use crate::catalog::NodeId;
pub use block::{Block, RowAt};
pub use claim::{Claim, Mark, Span};
use claim::{Reckoning, left_behind};
pub use payload::Payload;
pub use pool::Pool;
pub use shard::{Room, Shard};
pub use sort::{Column, Order};

/// A payload takes blocks until it has this many bytes, if it is not sorted.
pub const SEALED_BYTES: usize = 4 << 20;

/// Fewer rows than this are not worth a COPY of their own: the remainders of several leaves then
/// travel through the root, ordered by leaf. Measured with rows of 100 bytes in 800 leaves on two
/// levels, by the processor time of client and server. With 50 rows a leaf it takes half, with 200 four
/// fifths, from 400 on the same.
pub const FEW_ROWS: usize = 300;

/// This many bytes are worth a COPY of their own, however few the rows.
const FEW_BYTES: usize = 64 << 10;

/// Remainders that travel together are no more than this many bytes.
const GATHERED_BYTES: usize = 1 << 20;

/// Nor are they of more nodes than this. The server keeps a lock on each until they are committed, and
/// its table of locks has room for a few thousand.
const GATHERED_NODES: usize = 256;

/// How rows are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// In the input's own format, as they stand there.
    Text,
    /// In COPY BINARY.
    Binary,
}

/// Which payload is sent when, and who is sending to which node.
#[derive(Debug)]
pub struct Scheduler {
    nodes: usize,
    /// Buckets that are to be taken next, the fullest last. Ranked once for many payloads, so some may
    /// be empty by now, or too small.
    ranked: Vec<usize>,
    /// How many connections are writing to each node.
    writers: Vec<u32>,
    /// Fewer rows than this travel with others.
    few_rows: usize,
    /// If payloads are to claim their rows.
    reckoning: Option<Reckoning>,
}

/// How large a payload must be, and may become, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Worth {
    /// With fewer bytes it waits for more rows.
    pub least: usize,
    /// With this many it takes no more.
    pub most: usize,
}

impl Scheduler {
    /// Makes a scheduler for `nodes` nodes. Remainders of fewer than `few_rows` rows travel together;
    /// with 0 each node has its own payloads.
    pub fn new(nodes: usize, few_rows: usize) -> Self {
        Self { nodes, ranked: Vec::new(), writers: vec![0; nodes], few_rows, reckoning: None }
    }

    /// Has each payload claim its rows: see [`Payload::claims`]. Then [`Self::complete`] must be told of
    /// each split, and [`Shard::expect`] of rows that come later than others of theirs.
    #[must_use]
    pub fn claiming(self) -> Self {
        Self { reckoning: Some(Reckoning::default()), ..self }
    }

    /// Marks a split as complete: all of its rows are on a shard, or were taken from there.
    pub fn complete(&mut self, split: u32) {
        self.reckoning.iter_mut().for_each(|reckoning| reckoning.complete(split));
    }

    /// From now on remainders of fewer than `few_rows` rows travel together.
    pub fn gather_below(&mut self, few_rows: usize) {
        self.few_rows = few_rows;
    }

    /// Returns the number of buckets for `nodes` nodes.
    pub fn count(nodes: usize) -> usize {
        2 * nodes
    }

    /// The bucket for the rows of a node of `nodes` in one format.
    #[inline]
    pub fn of(nodes: usize, node: NodeId, wire: Wire) -> usize {
        match wire {
            Wire::Text => node,
            Wire::Binary => nodes + node,
        }
    }

    /// The fullest payload, if it is worth it. One node is given to two writers at once only if it is
    /// the only work left.
    pub fn take(
        &mut self,
        worth: Worth,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Option<Payload> {
        let bucket = match self.fullest(worth.least, true, shards) {
            Some(bucket) if self.is_small(bucket, shards) => {
                return Some(self.gather(bucket, shards));
            }
            Some(bucket) => bucket,
            None => self.fullest(worth.least, false, shards)?,
        };
        Some(self.close(bucket, worth.most, shards))
    }

    /// Takes the rows of `bucket`, however few, if no connection writes to its node.
    pub fn take_bucket(
        &mut self,
        bucket: usize,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Option<Payload> {
        let has_rows = weight(bucket, shards).rows > 0;
        (has_rows && self.is_idle(bucket)).then(|| self.close(bucket, SEALED_BYTES, shards))
    }

    /// Marks a payload as committed.
    pub fn release(&mut self, payload: &Payload) {
        payload.nodes().iter().for_each(|&node| self.writers[node] -= 1);
        if let Some(reckoning) = &mut self.reckoning {
            payload.claims().iter().for_each(|claim| reckoning.land(claim));
        }
    }

    fn node(&self, bucket: usize) -> NodeId {
        bucket % self.nodes
    }

    fn wire(&self, bucket: usize) -> Wire {
        if bucket < self.nodes { Wire::Text } else { Wire::Binary }
    }

    fn is_idle(&self, bucket: usize) -> bool {
        self.writers[self.node(bucket)] == 0
    }

    /// A bucket of at least `least` bytes; of several one of the fullest. If `idle`, its node has no
    /// writer.
    fn fullest(
        &mut self,
        least: usize,
        idle: bool,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Option<usize> {
        self.next_ranked(least, idle, shards).or_else(|| {
            // Of many buckets it takes long to look at each, for nothing where all have few rows.
            let bound: usize = shards.iter().map(|shard| shard.fullest()).sum();
            if bound < least {
                return None;
            }
            self.rank(least, shards);
            self.next_ranked(least, idle, shards)
        })
    }

    fn next_ranked(
        &mut self,
        least: usize,
        idle: bool,
        shards: &[impl DerefMut<Target = Shard>],
    ) -> Option<usize> {
        while let Some(bucket) = self.ranked.pop() {
            if weight(bucket, shards).is_worth(least) && (!idle || self.is_idle(bucket)) {
                return Some(bucket);
            }
        }
        None
    }

    fn rank(&mut self, least: usize, shards: &mut [impl DerefMut<Target = Shard>]) {
        shards.iter_mut().for_each(|shard| shard.bound());
        let weights = (0..Self::count(self.nodes)).map(|bucket| (bucket, weight(bucket, shards)));
        let mut full: Vec<(usize, Weight)> =
            weights.filter(|(_, weight)| weight.is_worth(least)).collect();
        full.sort_unstable_by_key(|(_, weight)| weight.bytes);
        self.ranked.extend(full.into_iter().map(|(bucket, _)| bucket));
    }

    /// Whether what is in `bucket` is not worth a COPY of its own.
    fn is_small(&self, bucket: usize, shards: &[impl DerefMut<Target = Shard>]) -> bool {
        let Weight { bytes, rows } = weight(bucket, shards);
        rows < self.few_rows && bytes < FEW_BYTES
    }

    /// Takes the rows of `bucket`, and of other small buckets of idle nodes, as one payload through the
    /// root. If there are no others, it is a payload of `bucket` alone.
    fn gather(&mut self, bucket: usize, shards: &mut [impl DerefMut<Target = Shard>]) -> Payload {
        let wire = self.wire(bucket);
        let first = self.close(bucket, usize::MAX, shards);
        let mut bytes = first.bytes();
        let mut small = vec![first];
        for node in 0..self.nodes {
            let other = Self::of(self.nodes, node, wire);
            let weight = weight(other, shards);
            if weight.rows == 0 || !self.is_small(other, shards) || !self.is_idle(other) {
                continue;
            }
            bytes += weight.bytes;
            if bytes > GATHERED_BYTES || small.len() == GATHERED_NODES {
                break;
            }
            small.push(self.close(other, usize::MAX, shards));
        }
        match small.len() {
            1 => small.remove(0),
            _ => Payload::joined(small, wire),
        }
    }

    /// The blocks of `bucket` up to `most` bytes, the oldest first.
    fn close(
        &mut self,
        bucket: usize,
        most: usize,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Payload {
        let mut blocks = Vec::new();
        let mut bytes = 0;
        while bytes < most {
            let oldest = shards.iter_mut().filter_map(|shard| {
                let block = shard.bucket(bucket).first()?;
                Some((block.rows().first().map(|row| row.split), shard))
            });
            let Some((_, shard)) = oldest.min_by_key(|(split, _)| *split) else { break };
            let Some(block) = shard.take(bucket) else { break };
            bytes += block.bytes();
            blocks.push(block);
        }
        let node = self.node(bucket);
        self.writers[node] += 1;
        let claim = self.claim(node, &blocks, shards);
        Payload::new(vec![node], self.wire(bucket), blocks).claiming(claim)
    }

    /// Returns what a payload of `blocks`, which were taken from the shards, claims of `node`.
    fn claim(
        &mut self,
        node: NodeId,
        blocks: &[Block],
        shards: &[impl DerefMut<Target = Shard>],
    ) -> Option<Claim> {
        let reckoning = self.reckoning.as_mut()?;
        let last = blocks.iter().filter_map(|block| Some(block.rows().last()?.split)).max()?;
        let both = [Wire::Text, Wire::Binary].map(|wire| Self::of(self.nodes, node, wire));
        let buckets = shards.iter().flat_map(|shard| both.map(|bucket| shard.bucket(bucket)));
        // No more work than the payload's own rows make.
        let few = blocks.iter().map(|block| block.rows().len()).sum();
        let others = buckets.flat_map(|bucket| left_behind(bucket.blocks(), last, few)).collect();
        let pending: Vec<Mark> = shards.iter().filter_map(|shard| shard.expected()).collect();
        Some(reckoning.claim(node, blocks, others, &pending))
    }
}

/// The contents of a bucket, on all shards.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    bytes: usize,
    rows: usize,
}

impl Weight {
    fn is_worth(self, least: usize) -> bool {
        self.rows > 0 && self.bytes >= least
    }
}

fn weight(bucket: usize, shards: &[impl DerefMut<Target = Shard>]) -> Weight {
    shards.iter().fold(Weight::default(), |sum, shard| {
        let bucket = shard.bucket(bucket);
        Weight { bytes: sum.bytes + bucket.bytes, rows: sum.rows + bucket.rows }
    })
}

#[cfg(test)]
mod tests;
