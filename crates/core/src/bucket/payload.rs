//! Payload: the rows of one COPY, as consecutive slices, and the start of each row in its split.

use std::convert::Infallible;
use std::ops::Range;

use super::Wire;
use super::block::{Block, BlockRow, Slice};
use super::claim::Claim;
use super::sort::{self, SendOrder};
use super::turns::{Leaf, in_turns};
use crate::catalog::{NodeId, ROOT};

/// The rows of one COPY, which belong to one node or to several that are sent through the root.
///
/// In text every row ends with one newline, whatever ended it in the input.
#[derive(Debug)]
pub struct Payload {
    nodes: Vec<NodeId>,
    /// Number of rows of each node.
    shares: Vec<usize>,
    /// Number of blocks of each node.
    blocks_by_node: Vec<usize>,
    wire: Wire,
    pub(super) blocks: Vec<Block>,
    pub(super) slices: Vec<Slice>,
    pub(super) is_sorted: bool,
    bytes: usize,
    rows: usize,
    claims: Vec<Claim>,
    /// Whether other connections may write to the nodes while the payload is sent.
    pub(super) is_shared: bool,
}

impl Payload {
    /// Creates a payload of the rows of `node` in `blocks`, in the order of their splits. Within a split, rows
    /// keep the order in which they were added.
    pub(super) fn new(node: NodeId, wire: Wire, blocks: Vec<Block>) -> Self {
        let bytes = blocks.iter().map(Block::bytes).sum();
        let rows = blocks.iter().map(|block| block.rows().len()).sum();
        let mut payload = Self {
            nodes: vec![node],
            shares: vec![rows],
            blocks_by_node: vec![blocks.len()],
            wire,
            blocks,
            slices: Vec::new(),
            is_sorted: false,
            bytes,
            rows,
            claims: Vec::new(),
            is_shared: false,
        };
        payload.slices = payload.in_input_order(0..payload.blocks.len());
        payload
    }

    /// Adds the claim of the payload.
    pub(super) fn claiming(mut self, claim: Option<Claim>) -> Self {
        self.claims.extend(claim);
        self
    }

    /// Sorts the rows individually into the order of the input.
    pub(super) fn sort_by_place(mut self) -> Self {
        let blocks = self.blocks.iter().enumerate();
        let rows = blocks.flat_map(|(number, block)| {
            let rows = block.rows_in(0, block.bytes() as u32);
            rows.map(move |(at, start, end)| (at, Slice { block: number as u32, start, end }))
        });
        let mut rows: Vec<(BlockRow, Slice)> = rows.collect();
        rows.sort_unstable_by_key(|(row, _)| row.start);
        self.slices.clear();
        for (_, row) in rows {
            match self.slices.last_mut() {
                Some(last) if last.block == row.block && last.end == row.start => {
                    last.end = row.end
                }
                _ => self.slices.push(row),
            }
        }
        self
    }

    /// Adds the rows of other payloads in the same format.
    pub(super) fn with(mut self, others: Vec<Self>) -> Self {
        others.into_iter().for_each(|other| self.join(other));
        self
    }

    /// Appends the rows of another payload in the same format. [`Self::arrange`] can then let them take turns.
    pub(super) fn join(&mut self, other: Self) {
        let before = self.blocks.len() as u32;
        let slices = other.slices.iter().map(|at| Slice { block: before + at.block, ..*at });
        self.slices.extend(slices);
        self.nodes.extend(other.nodes);
        self.shares.extend(other.shares);
        self.blocks_by_node.extend(other.blocks_by_node);
        self.blocks.extend(other.blocks);
        self.bytes += other.bytes;
        self.rows += other.rows;
        self.claims.extend(other.claims);
    }

    /// Sorts the rows of each node into the order that `order` returns for it. Rows that are not in COPY BINARY
    /// keep the order of the input. The rows of several nodes take turns.
    pub fn arrange<'o>(&mut self, order: impl Fn(NodeId) -> &'o SendOrder) {
        let (mut begin, mut is_sorted) = (0, false);
        let mut of_nodes = Vec::new();
        for (&node, &blocks) in self.nodes.iter().zip(&self.blocks_by_node) {
            let blocks = begin..begin + blocks;
            begin = blocks.end;
            let columns = match self.wire {
                Wire::Binary => order(node).choose(&self.blocks, blocks.clone()),
                Wire::Text => None,
            };
            let sorted =
                columns.and_then(|columns| sort::sort_rows(&self.blocks, blocks.clone(), columns));
            let is_by_row = sorted.is_some();
            is_sorted |= is_by_row;
            let slices = sorted.unwrap_or_else(|| self.in_input_order(blocks));
            of_nodes.push(Leaf { slices, is_by_row });
        }
        self.slices = match of_nodes.len() {
            1 => of_nodes.swap_remove(0).slices,
            _ => in_turns(&self.blocks, of_nodes),
        };
        self.is_sorted = is_sorted;
    }

    /// Returns the memory that sorting needs while it runs, and the part of it that the order keeps.
    pub fn sorting_memory(&self) -> [usize; 2] {
        let order = self.rows * size_of::<Slice>();
        [self.rows * size_of::<u128>() + order, order]
    }

    /// Returns slices of the rows of `blocks` in the order of their splits.
    fn in_input_order(&self, blocks: Range<usize>) -> Vec<Slice> {
        let mut slices = Vec::new();
        for (block, rows) in self.blocks.iter().enumerate().take(blocks.end).skip(blocks.start) {
            let mut start = 0;
            for run in rows.rows().chunk_by(|one, next| one.start.split == next.start.split) {
                let Some(last) = run.last() else { continue };
                slices
                    .push((last.start.split, Slice { block: block as u32, start, end: last.end }));
                start = last.end;
            }
        }
        slices.sort_by_key(|(split, _)| *split);
        slices.into_iter().map(|(_, slice)| slice).collect()
    }

    /// Returns the nodes that the rows belong to: more than one if rows are sent together.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// Returns the number of rows of each node.
    pub fn rows_by_node(&self) -> impl Iterator<Item = (NodeId, usize)> {
        self.nodes.iter().copied().zip(self.shares.iter().copied())
    }

    /// Returns the rows of each node that are in the table once the payload is committed, if the scheduler is
    /// [`super::Scheduler::claiming`].
    pub fn claims(&self) -> &[Claim] {
        &self.claims
    }

    /// Returns the node that the rows are sent to: their own, or the root for rows of several nodes.
    pub fn node(&self) -> NodeId {
        match self.nodes[..] {
            [node] => node,
            _ => ROOT,
        }
    }

    /// Whether the rows are in the order of an index instead of that of the input.
    pub fn is_sorted(&self) -> bool {
        self.is_sorted
    }

    /// Returns the format of the rows.
    pub fn wire(&self) -> Wire {
        self.wire
    }

    /// Returns the number of bytes of all rows.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the number of slices.
    pub fn slices(&self) -> usize {
        self.slices.len()
    }

    /// Returns the bytes of slice `index`. A slice consists of whole rows, and slices are sent in order.
    #[inline]
    pub fn slice(&self, index: usize) -> &[u8] {
        let Slice { block, start, end } = self.slices[index];
        self.blocks[block as usize].slice(start, end)
    }

    /// Returns the rows of each node in the order in which they are sent to it, each row with its position in
    /// the input and its bytes.
    pub fn apart(&self) -> impl Iterator<Item = (NodeId, Vec<(BlockRow, &[u8])>)> {
        let mut begin = 0;
        self.nodes.iter().zip(&self.blocks_by_node).map(move |(&node, &blocks)| {
            let blocks = begin..begin + blocks;
            begin = blocks.end;
            let own = |slice: &&Slice| blocks.contains(&(slice.block as usize));
            (node, self.slices.iter().filter(own).flat_map(|slice| self.rows_of(slice)).collect())
        })
    }

    fn rows_of(&self, slice: &Slice) -> impl Iterator<Item = (BlockRow, &[u8])> {
        let block = &self.blocks[slice.block as usize];
        let rows = block.rows_in(slice.start, slice.end);
        rows.map(|(at, start, end)| (at, block.slice(start, end)))
    }

    /// Returns the rows in the order in which they are sent, each with its position in the input and its bytes.
    pub fn in_order(&self) -> impl Iterator<Item = (BlockRow, &[u8])> {
        self.slices.iter().flat_map(|slice| self.rows_of(slice))
    }

    /// Returns a copy of the rows whose numbers, in the order in which they are sent, `keeps` accepts. The copy
    /// has no claims.
    #[must_use]
    pub fn part(&self, mut keeps: impl FnMut(usize) -> bool) -> Self {
        let mut blocks: Vec<Block> = self.blocks.iter().map(|_| Block::default()).collect();
        let (mut slices, mut number) = (Vec::new(), 0);
        for slice in &self.slices {
            let block = &mut blocks[slice.block as usize];
            let start = block.bytes() as u32;
            for (at, row) in self.rows_of(slice) {
                if keeps(number) {
                    // Copying cannot fail.
                    let Ok(()) = block.push(at, |data| {
                        data.extend_from_slice(row);
                        Ok::<(), Infallible>(())
                    });
                }
                number += 1;
            }
            slices.push(Slice { block: slice.block, start, end: block.bytes() as u32 });
        }
        let mut rest = &blocks[..];
        let shares = self.blocks_by_node.iter().map(|count| {
            let (own, others) = rest.split_at(*count);
            rest = others;
            own.iter().map(|block| block.rows().len()).sum()
        });
        let shares: Vec<usize> = shares.collect();
        Self {
            nodes: self.nodes.clone(),
            rows: shares.iter().sum(),
            bytes: blocks.iter().map(Block::bytes).sum(),
            shares,
            blocks_by_node: self.blocks_by_node.clone(),
            wire: self.wire,
            blocks,
            slices,
            is_sorted: self.is_sorted,
            claims: Vec::new(),
            is_shared: self.is_shared,
        }
    }

    /// Returns the blocks, for reuse.
    pub fn into_blocks(self) -> Vec<Block> {
        self.blocks
    }
}
