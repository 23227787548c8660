//! Scheduler: decides which payload is sent when.

mod in_order;

use std::ops::DerefMut;

use super::block::{Block, SplitOffset};
use super::claim::{Claim, ClaimState, left_behind};
use super::payload::Payload;
use super::shard::Shard;
use super::{JOINED_BYTES, JOINED_NODES, MIN_COPY_BYTES, SEALED_BYTES, Wire};
use crate::catalog::NodeId;

/// The state that decides which payload is sent next, and counts the writers of each node.
#[derive(Debug)]
pub struct Scheduler {
    nodes: usize,
    /// Whether each node is a leaf. Rows of other nodes are not sent together with rows of leaves, because only
    /// the server knows the leaf that stores them.
    is_leaf: Vec<bool>,
    /// Buckets to be taken next, the fullest last. One ranking serves many payloads, so some buckets may have
    /// become empty or too small.
    ranked: Vec<usize>,
    /// Number of connections that write to each node.
    writers: Vec<u32>,
    /// Remainders of fewer rows than this are sent together.
    min_copy_rows: usize,
    /// State for claims, if payloads claim their rows.
    claims: Option<ClaimState>,
    /// Whether the rows of each node are sent in the order of the input.
    in_order: bool,
}

/// Limits of the size of a payload, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct PayloadSize {
    /// A payload with fewer bytes waits for more rows.
    pub min: usize,
    /// A payload with this many bytes takes no more rows.
    pub max: usize,
    /// Maximum number of leaves whose rows may share a payload.
    pub together: usize,
}

impl Scheduler {
    /// Creates a scheduler for nodes, given whether each is a leaf. Remainders of fewer than `min_copy_rows` rows are
    /// sent together; with 0 each node has its own payloads.
    pub fn new(is_leaf: Vec<bool>, min_copy_rows: usize) -> Self {
        let nodes = is_leaf.len();
        let writers = vec![0; nodes];
        let ranked = Vec::new();
        Self { nodes, is_leaf, ranked, writers, min_copy_rows, claims: None, in_order: false }
    }

    /// Makes each payload claim its rows (see [`Payload::claims`]). The caller must then report each split to
    /// [`Self::complete`], and to [`Shard::set_pending`] the rows that arrive later than others of their split.
    #[must_use]
    pub fn claiming(self) -> Self {
        Self { claims: Some(ClaimState::default()), ..self }
    }

    /// Sends the rows of each node in the order of the input, one payload after the other. All rows must be text
    /// and come from one shard: with several shards, earlier rows may still be on their way.
    #[must_use]
    pub fn in_order(self) -> Self {
        Self { in_order: true, ..self }
    }

    /// Marks a split as complete: all of its rows are on a shard or have been taken from there.
    pub fn complete(&mut self, split: u32) {
        self.claims.iter_mut().for_each(|claims| claims.complete(split));
    }

    /// Sets the number of rows below which remainders are sent together.
    pub fn set_min_copy_rows(&mut self, min_copy_rows: usize) {
        self.min_copy_rows = min_copy_rows;
    }

    /// Returns the number of buckets for `nodes` nodes.
    pub fn count(nodes: usize) -> usize {
        2 * nodes
    }

    /// Returns the bucket for the rows of one of `nodes` nodes in one format.
    #[inline]
    pub fn choose_bucket(nodes: usize, node: NodeId, wire: Wire) -> usize {
        match wire {
            Wire::Text => node,
            Wire::Binary => nodes + node,
        }
    }

    /// Takes the fullest payload, if it is large enough. Gives a node to two writers at a time only if no other
    /// work is left.
    pub fn take(
        &mut self,
        size: PayloadSize,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Option<Payload> {
        if self.in_order {
            return self.take_in_order(size, shards);
        }
        match self.find_fullest(size.min / size.together.max(1), true, shards) {
            Some(bucket)
                if self.is_small(bucket, shards)
                    && weight(bucket, shards).is_at_least(size.min) =>
            {
                Some(self.take_small(bucket, shards))
            }
            Some(bucket) => self.close_together(bucket, size, shards),
            None => {
                let bucket = self.find_fullest(size.min, false, shards)?;
                Some(self.close(bucket, size.max, shards))
            }
        }
    }

    /// Takes about the first `max` bytes of all rows of up to `nodes` nodes, the fullest first. Rows of leaves
    /// are sent together if `together` is set or if they are few.
    pub fn take_first(
        &mut self,
        max: usize,
        nodes: usize,
        together: bool,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Vec<Payload> {
        if self.in_order {
            let closed = (0..self.nodes).filter_map(|node| self.close_in_order(node, max, shards));
            return closed.take(nodes).collect();
        }
        self.ranked.clear();
        self.rank(0, shards);
        let buckets: Vec<usize> = self.ranked.drain(..).rev().take(nodes).collect();
        let all: usize = buckets.iter().map(|bucket| weight(*bucket, shards).bytes).sum();
        let share = |bytes: usize| match all > max {
            true => (bytes as u128 * max as u128 / all as u128) as usize,
            false => usize::MAX,
        };
        let (mut joined, mut alone): (Vec<Payload>, Vec<Payload>) = (Vec::new(), Vec::new());
        for bucket in buckets {
            let max = share(weight(bucket, shards).bytes).max(1);
            let is_joined = together || self.is_small(bucket, shards);
            let closed = self.close(bucket, max, shards);
            let kind = |it: &Payload| (self.is_leaf[it.nodes()[0]], it.wire());
            match joined.iter_mut().find(|it| kind(it) == kind(&closed)) {
                Some(others) if is_joined => others.join(closed),
                None if is_joined => joined.push(closed),
                _ => alone.push(closed),
            }
        }
        joined.extend(alone);
        joined
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

    /// Allows other connections to write to the nodes of `payload`, unless rows are sent in the order of the
    /// input.
    pub fn share(&mut self, payload: &mut Payload) {
        if !payload.is_shared && !self.in_order {
            payload.is_shared = true;
            self.stop_writing(payload);
        }
    }

    /// Marks a payload as committed.
    pub fn release(&mut self, payload: &Payload) {
        if !payload.is_shared {
            self.stop_writing(payload);
        }
        if let Some(claims) = &mut self.claims {
            payload.claims().iter().for_each(|claim| claims.land(claim));
        }
    }

    fn stop_writing(&mut self, payload: &Payload) {
        payload.nodes().iter().for_each(|&node| self.writers[node] -= 1);
    }

    fn node(&self, bucket: usize) -> NodeId {
        bucket % self.nodes
    }

    fn wire(&self, bucket: usize) -> Wire {
        if bucket / self.nodes == 1 { Wire::Binary } else { Wire::Text }
    }

    fn is_idle(&self, bucket: usize) -> bool {
        self.writers[self.node(bucket)] == 0
    }

    /// Returns the fullest bucket, or one of the fullest, if it has at least `min` bytes. If `idle`, considers
    /// only buckets whose nodes have no writer.
    fn find_fullest(
        &mut self,
        min: usize,
        idle: bool,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Option<usize> {
        self.pop_ranked(min, idle, shards).or_else(|| {
            // Looking at each of many buckets takes long, and is useless if all have few rows.
            let bound: usize = shards.iter().map(|shard| shard.max_bytes()).sum();
            if bound < min {
                return None;
            }
            self.rank(min, shards);
            self.pop_ranked(min, idle, shards)
        })
    }

    fn pop_ranked(
        &mut self,
        min: usize,
        idle: bool,
        shards: &[impl DerefMut<Target = Shard>],
    ) -> Option<usize> {
        while let Some(bucket) = self.ranked.pop() {
            if weight(bucket, shards).is_at_least(min) && (!idle || self.is_idle(bucket)) {
                return Some(bucket);
            }
        }
        None
    }

    fn rank(&mut self, min: usize, shards: &mut [impl DerefMut<Target = Shard>]) {
        shards.iter_mut().for_each(|shard| shard.recompute_max_bytes());
        let weights = (0..2 * self.nodes).map(|bucket| (bucket, weight(bucket, shards)));
        let mut full: Vec<(usize, Weight)> =
            weights.filter(|(_, weight)| weight.is_at_least(min)).collect();
        full.sort_unstable_by_key(|(_, weight)| weight.bytes);
        self.ranked.extend(full.into_iter().map(|(bucket, _)| bucket));
    }

    /// Whether `bucket` is too small for a COPY of its own.
    fn is_small(&self, bucket: usize, shards: &[impl DerefMut<Target = Shard>]) -> bool {
        let Weight { bytes, rows } = weight(bucket, shards);
        rows < self.min_copy_rows && bytes < MIN_COPY_BYTES
    }

    /// Takes the rows of `bucket`, and of other small buckets of the same kind whose nodes are idle.
    fn take_small(
        &mut self,
        bucket: usize,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Payload {
        let wire = self.wire(bucket);
        let is_leaf = self.is_leaf[self.node(bucket)];
        let first = self.close(bucket, usize::MAX, shards);
        let mut bytes = first.bytes();
        let mut others = Vec::new();
        for node in 0..self.nodes {
            let other = Self::choose_bucket(self.nodes, node, wire);
            let weight = weight(other, shards);
            let is_one = weight.rows > 0
                && self.is_leaf[node] == is_leaf
                && self.is_small(other, shards)
                && self.is_idle(other);
            if !is_one {
                continue;
            }
            bytes += weight.bytes;
            if bytes > JOINED_BYTES || others.len() + 1 == JOINED_NODES {
                break;
            }
            others.push(self.close(other, usize::MAX, shards));
        }
        first.with(others)
    }

    /// Takes the rows of `bucket`, the fullest, and of the next fullest if they may share a payload; `None` if
    /// all of them are too small for a COPY.
    fn close_together(
        &mut self,
        bucket: usize,
        size: PayloadSize,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Option<Payload> {
        let kind = |this: &Self, bucket| (this.is_leaf[this.node(bucket)], this.wire(bucket));
        let mut taken = vec![bucket];
        let mut bytes = weight(bucket, shards).bytes;
        let mut others = Vec::new();
        let together = if self.is_leaf[self.node(bucket)] { size.together } else { 1 };
        while taken.len() < together {
            let Some(next) = self.pop_ranked(size.min / together, true, shards) else { break };
            if kind(self, next) == kind(self, bucket) && self.node(next) != self.node(bucket) {
                bytes += weight(next, shards).bytes;
                taken.push(next);
            } else {
                others.push(next);
            }
        }
        self.ranked.extend(others.into_iter().rev());
        if bytes < size.min {
            self.ranked.extend(taken.into_iter().rev());
            return None;
        }
        let each = (size.max / taken.len()).max(1);
        let mut closed = taken.into_iter().map(|bucket| self.close(bucket, each, shards));
        let first = closed.next()?;
        Some(first.with(closed.collect()))
    }

    /// Takes blocks of `bucket`, the oldest first, until they have `max` bytes.
    fn close(
        &mut self,
        bucket: usize,
        max: usize,
        shards: &mut [impl DerefMut<Target = Shard>],
    ) -> Payload {
        let mut blocks = Vec::new();
        let mut bytes = 0;
        while bytes < max {
            let oldest = shards.iter_mut().filter_map(|shard| {
                let block = shard.bucket(bucket).first()?;
                Some((block.rows().first().map(|row| row.start.split), shard))
            });
            let Some((_, shard)) = oldest.min_by_key(|(split, _)| *split) else { break };
            let Some(block) = shard.take(bucket) else { break };
            bytes += block.bytes();
            blocks.push(block);
        }
        let node = self.node(bucket);
        self.writers[node] += 1;
        let claim = self.claim(node, &blocks, shards);
        Payload::new(node, self.wire(bucket), blocks).claiming(claim)
    }

    /// Returns the claim of a payload for `node`, whose `blocks` have been taken from the shards.
    fn claim(
        &mut self,
        node: NodeId,
        blocks: &[Block],
        shards: &[impl DerefMut<Target = Shard>],
    ) -> Option<Claim> {
        let claims = self.claims.as_mut()?;
        let last =
            blocks.iter().filter_map(|block| Some(block.rows().last()?.start.split)).max()?;
        let all = (node..Self::count(self.nodes)).step_by(self.nodes);
        let buckets =
            shards.iter().flat_map(|shard| all.clone().map(|bucket| shard.bucket(bucket)));
        // Limits the work to that of the payload's own rows.
        let few = blocks.iter().map(|block| block.rows().len()).sum();
        let others = buckets.flat_map(|bucket| left_behind(bucket.blocks(), last, few)).collect();
        let pending: Vec<SplitOffset> = shards.iter().filter_map(|shard| shard.pending()).collect();
        Some(claims.claim(node, blocks, others, &pending))
    }
}

/// The size of a bucket over all shards.
#[derive(Clone, Copy, Debug, Default)]
struct Weight {
    bytes: usize,
    rows: usize,
}

impl Weight {
    fn is_at_least(self, min: usize) -> bool {
        self.rows > 0 && self.bytes >= min
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
